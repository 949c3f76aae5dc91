#include <strings.h>

#include "correlate/metric_file.h"

static const char delimiters[] = ",\t;|";

static bool is_one_of(struct slice field, const char *const *names)
{
	for (; *names; names++)
		if (field.n == strlen(*names) && strncasecmp(field.p, *names, field.n) == 0)
			return true;
	return false;
}

static char guess_delimiter(struct slice line)
{
	size_t most = 0;
	char best = ',';

	for (const char *d = delimiters; *d; d++) {
		size_t n = 0;

		for (size_t i = 0; i < line.n; i++)
			n += line.p[i] == *d;
		if (n > most) {
			most = n;
			best = *d;
		}
	}
	return best;
}

static struct slice trim(struct slice s)
{
	for (; s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\r'); s.n--)
		;
	for (; s.n && *s.p == ' '; s.n--)
		s.p++;
	return s;
}

/* RFC 4180 without line breaks in fields; a quoted field keeps doubled quotes. -1: the
 * quotes do not match, or there are too many fields. */
static int split(struct metric_file *f, struct slice line)
{
	const char *p = line.p, *end = line.p + line.n;

	for (int count = 0; count < METRIC_COLUMNS_MAX;) {
		const char *from = p;

		if (p < end && *p == '"') {
			for (from = ++p; p < end && (*p != '"' || (p + 1 < end && p[1] == '"'));
				p++)
				p += *p == '"';
			if (p >= end)
				return -1;
			f->fields[count++] = (struct slice){ from, (size_t)(p - from) };
			p++;
		} else {
			const char *stop = memchr(p, f->delimiter, (size_t)(end - p));

			p = stop ? stop : end;
			f->fields[count++] = trim((struct slice){ from, (size_t)(p - from) });
		}
		if (p >= end)
			return count;
		if (*p++ != f->delimiter)
			return -1;
	}
	return -1;
}

static int find_column(const struct metric_file *f, int count, const char *const *names)
{
	for (int i = 0; i < count; i++)
		if (is_one_of(f->fields[i], names))
			return i;
	return -1;
}

static bool set_columns(struct metric_file *f, int count)
{
	static const char *const t[] = { "t", "time", "timestamp", "ts", "@timestamp", "date",
		NULL };
	static const char *const name[] = { "name", "metric", "series", NULL };
	static const char *const value[] = { "value", "v", NULL };

	f->t = find_column(f, count, t);
	f->name = find_column(f, count, name);
	f->value = find_column(f, count, value);
	f->column_count = count;
	f->is_wide = f->name < 0 || f->value < 0;
	return f->t >= 0 && count >= 2;
}

static bool name_columns(struct metric_file *f, struct err *e)
{
	for (int i = 0; i < f->column_count; i++) {
		if (i == f->t || f->fields[i].n == 0)
			continue;
		f->columns[i] = metric_file_metric(f, f->fields[i], false, e);
		if (!f->columns[i])
			return false;
	}
	return true;
}

/* A header, or else t, name, value. */
static bool first_line(struct metric_file *f, int count, bool *ret_header, struct err *e)
{
	struct field_clock clock = { .zone = f->clock.zone };
	struct err ignored;
	int64_t t_ns;

	*ret_header = set_columns(f, count);
	if (*ret_header)
		return !f->is_wide || name_columns(f, e);
	f->is_wide = false;
	f->t = 0;
	f->name = 1;
	f->value = 2;
	f->column_count = 3;
	if (count == 3 && field_time(&clock, f->fields[0], &t_ns, &ignored))
		return true;
	err_set(e, ERR_INPUT, "no header with t, and not t, name, value");
	return err_hint(e,
		"a header says what the columns are: t,name,value or t and one column per metric");
}

static bool is_header_again(const struct metric_file *f)
{
	static const char *const t[] = { "t", "time", "timestamp", "ts", "@timestamp", "date",
		NULL };

	return is_one_of(f->fields[f->t], t);
}

static bool take_wide(struct metric_file *f, int64_t t_ns, int count, struct err *e)
{
	bool ok = true;

	for (int i = 0; i < count && i < f->column_count; i++)
		if (f->columns[i])
			ok &= metric_file_add(f, f->columns[i], t_ns, f->fields[i], e);
	return ok;
}

bool metric_file_csv(struct metric_file *f, struct slice line, struct err *e)
{
	bool is_header = false, is_first = !f->delimiter;
	int64_t t_ns;

	if (is_first)
		f->delimiter = guess_delimiter(line);
	int count = split(f, line);
	if (count < 0)
		return err_set(e, ERR_INPUT, "a quoted field does not end, or too many fields");
	if (is_first && !first_line(f, count, &is_header, e))
		return false;
	if (is_header || (f->t < count && is_header_again(f)))
		return true;
	if (count < f->column_count && !f->is_wide)
		return err_set(
			e, ERR_INPUT, "%d fields, where t, name and value are needed", count);
	if (f->t >= count)
		return err_set(e, ERR_INPUT, "no time");
	if (!field_time(&f->clock, f->fields[f->t], &t_ns, e))
		return false;
	if (f->is_wide)
		return take_wide(f, t_ns, count, e);
	struct metric *m = metric_file_metric(f, f->fields[f->name], false, e);
	return m && metric_file_add(f, m, t_ns, f->fields[f->value], e);
}
