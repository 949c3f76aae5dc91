/*
 * pg_cron's table cron.job: JSON (a list, or an object a line), CSV, or what psql prints.
 * Of its columns jobid, jobname, schedule and active are used; the command is not kept.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/json.h"
#include "core/format/cronrun.h"
#include "core/model/event.h"
#include "correlate/schedule_load.h"

enum { COLUMNS_MAX = 32, CELL_BYTES = 256, INTERVAL_MAX_S = 59 };

struct job {
	char id[CELL_BYTES], name[CELL_BYTES], schedule[CELL_BYTES], active[CELL_BYTES];
};

/* In the order of the table's columns. */
struct table {
	char separator;
	bool is_psql; /* "a | b", padded */
	size_t columns;
	int job_field[COLUMNS_MAX]; /* offset in struct job, or -1 */
};

static int field_named(struct slice name)
{
	static const struct {
		const char *name;
		int offset;
	} known[] = { { "jobid", offsetof(struct job, id) },
		{ "jobname", offsetof(struct job, name) },
		{ "schedule", offsetof(struct job, schedule) },
		{ "active", offsetof(struct job, active) } };

	for (size_t i = 0; i < LENGTH(known); i++)
		if (slice_is(name, known[i].name))
			return known[i].offset;
	return -1;
}

static struct slice trim(struct slice s)
{
	while (s.n && strchr(" \t\r", s.p[s.n - 1]))
		s.n--;
	while (s.n && strchr(" \t", *s.p))
		s = (struct slice){ s.p + 1, s.n - 1 };
	return s;
}

/* The next cell of a row; a quoted one may go over lines (RFC 4180). False at the row's
 * end. */
static bool next_cell(struct slice *text, const struct table *t, char cell[CELL_BYTES])
{
	size_t n = 0, i = 0;
	bool is_quoted = text->n && *text->p == '"' && !t->is_psql;

	for (i = is_quoted; i < text->n; i++) {
		char c = text->p[i];

		if (is_quoted && c == '"') {
			if (i + 1 < text->n && text->p[i + 1] == '"')
				i++;
			else {
				is_quoted = false;
				continue;
			}
		} else if (!is_quoted && (c == t->separator || c == '\n')) {
			break;
		}
		if (n < CELL_BYTES - 1)
			cell[n++] = c;
	}
	cell[n] = '\0';
	struct slice bare = trim((struct slice){ cell, n });
	memmove(cell, bare.p, bare.n);
	cell[bare.n] = '\0';
	bool is_more = i < text->n && text->p[i] == t->separator;
	*text = (struct slice){ text->p + i + (i < text->n), text->n - i - (i < text->n) };
	return is_more;
}

static bool read_header(struct slice *text, struct table *t)
{
	struct slice copy = *text, line;
	char cell[CELL_BYTES];
	bool is_more = true, has_schedule = false, has_key = false;

	*t = (struct table){ .separator = ',' };
	if (!schedule_line(&copy, &line))
		return false;
	t->is_psql = memchr(line.p, '|', line.n) != NULL;
	t->separator = t->is_psql                     ? '|'
		       : memchr(line.p, '\t', line.n) ? '\t'
		       : memchr(line.p, ';', line.n)  ? ';'
						      : ',';
	while (is_more && t->columns < COLUMNS_MAX) {
		is_more = next_cell(text, t, cell);
		int field = field_named(slice_of(cell));
		has_schedule |= strcmp(cell, "schedule") == 0;
		has_key |= strcmp(cell, "jobid") == 0 || strcmp(cell, "jobname") == 0;
		t->job_field[t->columns++] = field;
	}
	return has_schedule && has_key;
}

bool schedule_is_pg_cron(struct slice text)
{
	struct table t;
	struct slice start = trim(text);

	if (!start.p || !start.n)
		return false;
	if (strchr("[{", *start.p))
		return memmem(start.p, start.n, "\"jobid\"", 7) ||
		       memmem(start.p, start.n, "\"jobname\"", 9);
	return read_header(&text, &t);
}

/* "30 seconds" counts from the start of the run before. */
static bool is_interval(const char *schedule)
{
	unsigned s;
	int used = 0;

	return sscanf(schedule, "%2u second%n", &s, &used) == 1 && used && s >= 1 &&
	       s <= INTERVAL_MAX_S && (strcmp(schedule + used, "s") == 0 || !schedule[used]);
}

static bool parse_schedule(const char *text, struct cron_fields *f, struct err *bad)
{
	struct slice rest = slice_of(text), word = cron_next_word(&rest);

	if (word.n && *word.p == '@')
		return cron_fields_word(word, f) ||
		       err_set(bad, ERR_INPUT, "unknown word '%.*s'",
			       (int)(word.n < 40 ? word.n : 40), word.p);
	rest = slice_of(text);
	return cron_fields_parse(CRON_PG, &rest, f, bad);
}

static bool run_job(
	struct schedule_loader *l, const struct job *job, const struct zone *zone, struct err *bad)
{
	struct cron_fields f;
	struct cron_span span = { .first_s = l->to->first_ns / NS_PER_S,
		.last_s = l->to->last_ns / NS_PER_S,
		.emit = schedule_emit,
		.data = l };
	bool is_reboot =
		strcmp(job->schedule, "@reboot") == 0 || strcmp(job->schedule, "@restart") == 0;

	if (strchr("fF0", *job->active) && *job->active)
		schedule_silent(l, SILENT_SUSPENDED);
	else if (is_reboot)
		schedule_silent(l, SILENT_REBOOT);
	else if (is_interval(job->schedule))
		schedule_silent(l, SILENT_INTERVAL);
	else if (!parse_schedule(job->schedule, &f, bad))
		return false;
	else
		cron_run_zoned(&f, zone, NULL, &span);
	return true;
}

static bool add_job(struct schedule_loader *l, const struct job *job, const struct zone *zone,
	const char *place, struct err *e)
{
	struct err bad = { 0 };
	const char *name = *job->name ? arena_copy(&l->to->list->arena, slice_of(job->name)).p
				      : arena_printf(&l->to->list->arena, "pg_cron-%.40s", job->id);

	if (!*job->schedule || (!*job->name && !*job->id))
		err_set(&bad, ERR_INPUT, "no schedule, or neither jobname nor jobid");
	else if (!name || !event_name_is_plain(slice_of(name)))
		err_set(&bad, ERR_INPUT, "a job's name holds control characters");
	else if (!schedule_entry(l, name, e))
		return false;
	else if (run_job(l, job, zone, &bad))
		return true;
	else
		schedule_drop(l);
	schedule_bad(l, &bad, place);
	return true;
}

static void put(char to[CELL_BYTES], const struct json *v)
{
	if (json_type(v) == JSON_NUMBER)
		snprintf(to, CELL_BYTES, "%.0f", json_number(v, 0));
	else if (json_type(v) == JSON_BOOL)
		snprintf(to, CELL_BYTES, "%s", json_is_true(v, true) ? "t" : "f");
	else
		snprintf(to, CELL_BYTES, "%.255s", json_text(v, ""));
}

static bool add_object(struct schedule_loader *l, const struct json *object,
	const struct zone *zone, const char *place, struct err *e)
{
	struct job job;

	put(job.id, json_get(object, "jobid"));
	put(job.name, json_get(object, "jobname"));
	put(job.schedule, json_get(object, "schedule"));
	put(job.active, json_get(object, "active"));
	return add_job(l, &job, zone, place, e);
}

static bool read_list(
	struct schedule_loader *l, struct slice text, const struct zone *zone, struct err *e)
{
	struct json *list CLEANUP(json_cleanup) = json_parse(text, l->path, e);
	bool ok = list != NULL;
	char place[32];

	for (size_t i = 0; ok && i < json_count(list); i++) {
		snprintf(place, sizeof(place), "job %zu", i + 1);
		ok = add_object(l, json_at(list, i), zone, place, e);
	}
	return ok;
}

static bool read_json_lines(
	struct schedule_loader *l, struct slice text, const struct zone *zone, struct err *e)
{
	struct slice line;
	bool ok = true;

	for (unsigned number = 1; ok && schedule_line(&text, &line); number++) {
		struct err bad = { 0 };
		char place[32];

		if (!trim(line).n)
			continue;
		snprintf(place, sizeof(place), "line %u", number);
		struct json *object = json_parse(line, "JSON", &bad);
		if (object)
			ok = add_object(l, object, zone, place, e);
		else
			schedule_bad(l, &bad, place);
		json_free(object);
	}
	return ok;
}

/* The rule below psql's header, and "(3 rows)". */
static bool is_ornament(const struct table *t, const char *first)
{
	return t->is_psql && (strncmp(first, "---", 3) == 0 || *first == '(');
}

static bool read_rows(
	struct schedule_loader *l, struct slice text, const struct zone *zone, struct err *e)
{
	struct table t;

	if (!read_header(&text, &t))
		return err_set(e, ERR_INPUT, "%s: no header with jobid and schedule", l->path);
	for (unsigned row = 1; text.n; row++) {
		struct job job = { 0 };
		char cell[CELL_BYTES], place[32];
		bool is_more = true, is_skipped = false, is_empty = true;

		for (size_t i = 0; is_more; i++) {
			is_more = next_cell(&text, &t, cell);
			is_skipped |= i == 0 && is_ornament(&t, cell);
			is_empty = is_empty && !*cell;
			if (i < t.columns && t.job_field[i] >= 0)
				memcpy((char *)&job + t.job_field[i], cell, CELL_BYTES);
		}
		snprintf(place, sizeof(place), "row %u", row);
		if (!is_skipped && !is_empty && !add_job(l, &job, zone, place, e))
			return false;
	}
	return true;
}

bool schedule_read_pg_cron(struct schedule_loader *l, struct slice text, struct err *e)
{
	struct zone zone;
	struct slice start = trim(text);

	/* cron.timezone is GMT unless it was set: not said, as it is no guess. */
	if (!zone_open(&zone, l->to->zone, e))
		return false;
	bool ok = start.n && *start.p == '['   ? read_list(l, text, &zone, e)
		  : start.n && *start.p == '{' ? read_json_lines(l, text, &zone, e)
					       : read_rows(l, text, &zone, e);
	zone_close(&zone);
	return ok;
}
