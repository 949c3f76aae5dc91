#include "correlate/input_private.h"

enum { FIELDS_MAX = 64 };

static const char delimiters[] = ",\t;|";

/* ---- fields */

/* RFC 4180; unquotes in place. Ends behind field `last`. -1: the quotes do not match. */
static int split_quoted(struct slice line, char delimiter, int last, struct slice *fields)
{
	char *p = (char *)line.p, *end = p + line.n;
	int count = 0;

	while (count < FIELDS_MAX) {
		char *start = p, *to = p;

		if (p < end && *p == '"') {
			start = to = ++p;
			for (; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
				p += *p == '"';
				*to++ = *p;
			}
			if (p++ >= end)
				return -1;
		} else {
			while (p < end && *p != delimiter)
				p++;
			to = p;
		}
		fields[count++] = (struct slice){ start, (size_t)(to - start) };
		if (p >= end || count > last)
			break;
		if (*p++ != delimiter)
			return -1;
	}
	return count;
}

static int split_plain(struct slice line, char delimiter, int last, struct slice *fields)
{
	const char *p = line.p, *end = p + line.n;
	int count = 0;

	while (count < FIELDS_MAX) {
		const char *found = memchr(p, delimiter, (size_t)(end - p));

		fields[count++] = (struct slice){ p, (size_t)((found ? found : end) - p) };
		if (!found || count > last)
			break;
		p = found + 1;
	}
	return count;
}

enum quoting { QUOTES_CLOSED, QUOTES_OPEN, QUOTES_BROKEN };

struct quotes {
	size_t at; /* looked at so far */
	size_t closed; /* behind the last quote that closed; 0: none */
	bool is_inside;
};

/* Goes on where a shorter text ended. A quote opens at the start of a field only; a
 * doubled one closes and opens again; behind a closing one the field ends. */
static enum quoting look_at_quotes(struct quotes *q, struct slice text, char delimiter)
{
	for (; q->at < text.n; q->at++) {
		const char *p = text.p + q->at, *next = q->at + 1 < text.n ? p + 1 : NULL;

		if (*p != '"')
			continue;
		if (!q->is_inside && q->at && p[-1] != delimiter && q->closed != q->at)
			continue;
		q->is_inside = !q->is_inside;
		q->closed = q->is_inside ? 0 : q->at + 1;
		if (!q->is_inside && next && *next != delimiter && !strchr("\"\r\n", *next))
			return QUOTES_BROKEN;
	}
	return q->is_inside ? QUOTES_OPEN : QUOTES_CLOSED;
}

static struct slice without_return(struct slice line)
{
	line.n -= line.n && line.p[line.n - 1] == '\r';
	return line;
}

/* A line break inside of quotes joins lines; when the quotes never end only the first
 * line is lost. */
static bool join_quoted(struct text_reader *r, struct slice *line)
{
	size_t bytes = r->lines->at - r->lines->start;
	uint64_t number = r->lines->number;
	struct quotes q = { 0 };
	enum quoting state;

	while ((state = look_at_quotes(&q, *line, r->delimiter)) == QUOTES_OPEN)
		if (!lines_join(r->lines, line))
			break;
	if (state != QUOTES_CLOSED) {
		if (r->lines->number > number)
			lines_cut(r->lines, bytes, number);
		return false;
	}
	*line = without_return(*line);
	return true;
}

static int split(struct text_reader *r, struct slice line, struct slice *fields)
{
	if (!memchr(line.p, '"', line.n))
		return split_plain(line, r->delimiter, r->last_column, fields);
	if (!join_quoted(r, &line))
		return -1;
	return split_quoted(line, r->delimiter, r->last_column, fields);
}

/* ---- columns */

static int name_columns(const struct slice *fields, int count,
	const struct input_name *names[PARTS], int columns[PARTS])
{
	int found = 0;

	for (int i = 0; i < count; i++) {
		const struct input_name *name = input_name_of(fields[i]);

		found += name != NULL;
		if (name && (!names[name->part] || name < names[name->part])) {
			names[name->part] = name;
			columns[name->part] = i;
		}
	}
	return found;
}

/* True when the fields name columns; at the first line some of them are enough, and what
 * is missing is said. */
static bool set_columns(struct text_reader *r, const struct slice *fields, int count, bool is_first)
{
	const struct input_name *names[PARTS] = { NULL };
	int columns[PARTS] = { -1, -1, -1, -1, -1 };
	int found = name_columns(fields, count, names, columns);
	const char *lack = input_lack(names);

	if (!found || (lack && !is_first))
		return false;
	r->lack = lack;
	r->unit_ns = names[PART_MS] ? names[PART_MS]->unit_ns : 0;
	memcpy(r->columns, columns, sizeof(columns));
	r->last_column = 0;
	for (int i = 0; i < PARTS; i++)
		r->last_column = columns[i] > r->last_column ? columns[i] : r->last_column;
	return true;
}

static int count_fields(struct slice line, char delimiter)
{
	bool is_inside = false;
	int count = 1;

	for (size_t i = 0; i < line.n; i++) {
		is_inside ^= line.p[i] == '"';
		count += !is_inside && line.p[i] == delimiter;
	}
	return count;
}

/* The one by which there are most fields; a comma when there are fewer than three. */
static char guess_delimiter(struct slice line)
{
	char best = ',';
	int most = 2;

	for (const char *d = delimiters; *d; d++) {
		int count = count_fields(line, *d);

		if (count > most) {
			most = count;
			best = *d;
		}
	}
	return best;
}

static bool is_time(const struct text_reader *r, struct slice field)
{
	struct field_clock clock = { .zone = r->clock.zone };
	struct err e;
	int64_t t_ns;

	return field_time(&clock, field, &t_ns, &e);
}

static void columns_by_place(struct text_reader *r)
{
	static const int by_place[PARTS] = { 0, 1, 2, 3, -1 };

	memcpy(r->columns, by_place, sizeof(by_place));
	r->unit_ns = NS_PER_MS;
	r->last_column = 3;
}

static bool csv_fields(struct text_reader *r, const struct slice *fields, int count, struct err *e)
{
	struct input_parts parts = { .unit_ns = r->unit_ns };

	if (r->lack)
		return err_set(e, ERR_INPUT, "%s", r->lack);
	if (r->columns[PART_T] >= count || r->columns[PART_ROUTE] >= count ||
		r->columns[PART_MS] >= count)
		return err_set(e, ERR_INPUT, "%d field%s, where t, route and ms are needed", count,
			count == 1 ? "" : "s");
	for (int i = 0; i < PARTS; i++)
		if (r->columns[i] >= 0 && r->columns[i] < count)
			parts.text[i] = fields[r->columns[i]];
	return input_add(r, &parts, e);
}

/* Files written one behind the other repeat their header. */
static bool is_next_header(struct text_reader *r, struct slice line)
{
	struct slice fields[FIELDS_MAX];

	return !memchr(line.p, '"', line.n) &&
	       set_columns(r, fields, split_plain(line, r->delimiter, FIELDS_MAX, fields), false);
}

bool input_csv_line(struct text_reader *r, struct slice line, bool *ret_header, struct err *e)
{
	struct slice fields[FIELDS_MAX];
	bool is_first = !r->delimiter;

	line = without_return(line);
	if (is_first) {
		r->delimiter = guess_delimiter(line);
		r->last_column = FIELDS_MAX;
	}
	int count = split(r, line, fields);
	if (is_first)
		columns_by_place(r);
	if (count < 0)
		return err_set(
			e, ERR_INPUT, "a quoted field does not end, or goes on behind its quote");
	*ret_header = is_first && !is_time(r, fields[0]) && set_columns(r, fields, count, true);
	if (*ret_header || csv_fields(r, fields, count, e))
		return true;
	return *ret_header = !is_first && is_next_header(r, line);
}
