/*
 * CSV with a header line (RFC 4180; commas, semicolons or tabs): our own fields, or
 * pg_cron's cron.job_run_details. A row becomes the object that JSON would be.
 */
#include <stdio.h>
#include <stdlib.h>

#include "correlate/events_parts.h"

enum { COLUMNS_MAX = 64, RECORD_MAX = 1 << 20 };

struct csv {
	char separator;
	char *names[COLUMNS_MAX];
	size_t count;
	struct buf record; /* lines of one record, while a quote is open */
	struct buf field;
	uint64_t line; /* where the record began */
};

static bool is_row_of_names(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= 'A' && s.p[i] <= 'Z') &&
			!strchr("_,;\t\" ", s.p[i]))
			return false;
	return s.n > 0;
}

static bool holds(struct slice s, const char *word)
{
	return memmem(s.p, s.n, word, strlen(word)) != NULL;
}

bool events_is_csv_header(struct slice line)
{
	bool is_run = holds(line, "start_time") && (holds(line, "job") || holds(line, "runid"));

	return is_row_of_names(line) && !memchr(line.p, '|', line.n) &&
	       ((holds(line, "kind") && holds(line, "name")) || is_run);
}

static char separator_of(struct slice header)
{
	return memchr(header.p, '\t', header.n)  ? '\t'
	       : memchr(header.p, ';', header.n) ? ';'
						 : ',';
}

/* The next field of the record; false when it does not read as RFC 4180 says. */
static bool next_field(struct csv *c, struct slice *rest, bool *is_last)
{
	bool is_quoted = rest->n && *rest->p == '"';
	size_t i = is_quoted;

	buf_reset(&c->field);
	for (; i < rest->n; i++) {
		if (is_quoted && rest->p[i] == '"') {
			if (i + 1 >= rest->n || rest->p[i + 1] != '"')
				break;
			i++;
		} else if (!is_quoted && rest->p[i] == c->separator) {
			break;
		}
		buf_add(&c->field, rest->p + i, 1);
	}
	if (is_quoted && (i >= rest->n || rest->p[i++] != '"'))
		return false;
	if (i < rest->n && rest->p[i] != c->separator)
		return false;
	*is_last = i >= rest->n;
	i += !*is_last;
	rest->p += i;
	rest->n -= i;
	return true;
}

static bool read_header(struct csv *c, struct slice line, struct err *e)
{
	bool is_last = false;

	c->separator = separator_of(line);
	while (!is_last) {
		if (!next_field(c, &line, &is_last) || c->count == COLUMNS_MAX)
			return err_set(e, ERR_INPUT, "not a header of CSV");
		c->names[c->count] = strdup(buf_text(&c->field));
		if (!c->names[c->count])
			return err_set(e, ERR_ENV, "out of memory");
		c->count++;
	}
	return true;
}

static struct json *row_of(struct csv *c, struct slice record, struct err *e)
{
	struct json *row = json_object();
	bool is_last = false, is_good = true;
	size_t at = 0;

	for (; !is_last && is_good; at++) {
		is_good = at < c->count && next_field(c, &record, &is_last);
		if (!is_good)
			break;
		const char *text = buf_text(&c->field);
		char *end;
		double number = strtod(text, &end);

		/* A dose is a number; times are read as texts, which is exact. */
		if (*text && *end == '\0' && strcmp(c->names[at], "dose") == 0)
			json_set_number(row, c->names[at], number);
		else if (*text && strcmp(c->names[at], "command") != 0)
			json_set_text(row, c->names[at], text);
	}
	if (is_good && at == c->count)
		return row;
	json_free(row);
	err_set(e, ERR_INPUT, "%s",
		at == c->count ? "more fields than the header has"
			       : "fewer fields than the header has, or a quote without its end");
	return NULL;
}

static void take_record(struct events *ev, struct csv *c, struct slice record)
{
	struct err bad = { 0 };
	struct json *row CLEANUP(json_cleanup) = row_of(c, record, &bad);

	if (!row) {
		events_bad(ev, c->line, &bad);
		return;
	}
	const struct events_format *f =
		events_pg_cron.fits(row, NULL) ? &events_pg_cron : &events_plain;
	ev->dialect = f->dialect;
	ev->is_log |= f->is_log;
	ev->objects++;
	if (!f->take(ev, row, &bad))
		events_bad(ev, c->line, &bad);
}

static bool has_open_quote(struct slice s)
{
	size_t quotes = 0;

	for (size_t i = 0; i < s.n; i++)
		quotes += s.p[i] == '"';
	return quotes % 2;
}

static void take_line(struct events *ev, struct csv *c, struct slice line, uint64_t number)
{
	if (!c->record.n) {
		if (!line.n && line.p)
			return;
		c->line = number;
	} else {
		buf_add_byte(&c->record, '\n');
	}
	buf_add_slice(&c->record, line);
	if (has_open_quote(buf_slice(&c->record)) && c->record.n < RECORD_MAX)
		return;
	take_record(ev, c, buf_slice(&c->record));
	buf_reset(&c->record);
}

static bool read_rows(struct events *ev, struct csv *c, struct textlines *t, struct err *e)
{
	struct slice line;
	enum step step;

	while ((step = textlines_next(t, &line, e)) == STEP_ITEM) {
		if (!c->count && !line.n)
			continue;
		if (c->count)
			take_line(ev, c, line, textlines_number(t));
		else if (!read_header(c, line, e))
			return err_in(e, "%s: line 1", ev->source_name);
	}
	/* A quote that never closed: the lines behind it were in it. */
	if (c->record.n)
		take_record(ev, c, buf_slice(&c->record));
	return step == STEP_END;
}

bool events_read_csv(struct events *ev, struct textlines *t, struct err *e)
{
	struct csv c = { 0 };

	buf_init(&c.record, (size_t)RECORD_MAX * 2);
	bool ok = read_rows(ev, &c, t, e);
	for (size_t i = 0; i < c.count; i++)
		free(c.names[i]);
	buf_free(&c.record);
	buf_free(&c.field);
	return ok;
}
