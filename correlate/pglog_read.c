#include "correlate/pglog_read.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/format/pglog_csv.h"
#include "core/format/pglog_json.h"
#include "core/format/pglog_learn.h"
#include "core/format/pglog_stderr.h"
#include "core/format/zone.h"
#include "correlate/pglog_events.h"
#include "correlate/textlines.h"

enum { RECORD_MAX = 16 << 20, FILES_MAX = 256 };

/* What stands between two records of one log at most: a week without a line is a gap. */
#define FOLLOWS_NS (7 * 86400 * NS_PER_S)
#define YEARS_200_NS (INT64_C(200) * 365 * 86400 * NS_PER_S)

struct reader {
	const struct events_options *o;
	struct zone zone;
	struct pglog_events *events;
	struct reach *reach;
	const char *path;
	enum pglog_format format;
	struct pglog_prefix prefix; /* of the file before, too: a short one teaches nothing */
	bool has_prefix;
	struct pglog_csv csv;
	struct pglog_json json;
	struct pglog_stderr lines_of;
	struct buf record; /* csvlog: lines of one record */
	size_t quotes, tries, next_try;
	uint64_t number, lines, foreign;
	int64_t from_ns, to_ns;
	int64_t before_ns; /* the end of the file before */
	char assumed[8]; /* an abbreviation that was taken as it is used everywhere */
};

/* ---- times */

static bool refuse_zone(struct slice zone, struct err *e)
{
	err_set(e, ERR_INPUT, "the time zone '%.*s' does not say its offset from UTC",
		(int)(zone.n < 20 ? zone.n : 20), zone.p);
	return err_hint(e, "name the zone of log_timezone with --zone, as Europe/Berlin or +02:00");
}

static bool time_of(struct reader *r, const struct pglog_line *line, int64_t *ret_ns, struct err *e)
{
	const struct pglog_stamp *stamp = &line->time;
	int64_t offset_ns;

	*ret_ns = line->has_utc ? line->utc_ns : stamp->local_ns - stamp->offset_ns;
	if (line->has_utc || stamp->has_offset)
		return true;
	/* The servers' own name beats --zone, which is for names that say nothing. */
	if (r->o->zone && zone_to_utc(&r->zone, stamp->local_ns, stamp->zone, ret_ns))
		return true;
	if (!zone_abbreviation(stamp->zone, &offset_ns))
		return refuse_zone(stamp->zone, e);
	snprintf(r->assumed, sizeof(r->assumed), "%.*s", (int)stamp->zone.n, stamp->zone.p);
	*ret_ns = stamp->local_ns - offset_ns;
	return true;
}

/* ---- lines */

static void leave_out(struct reader *r, const char *why)
{
	struct err bad = { 0 };

	r->reach->bad++;
	if (r->reach->first_bad.kind != ERR_NONE)
		return;
	err_set(&bad, ERR_INPUT, "%s", why);
	err_in(&bad, "%s: line %llu", r->path, (unsigned long long)r->number);
	r->reach->first_bad = bad;
}

/* The log before may be another server's, or one from long ago: nothing goes on. */
static bool check_follows(struct reader *r, int64_t t_ns, struct err *e)
{
	bool follows = r->before_ns == INT64_MIN ||
		       (t_ns >= r->before_ns - NS_PER_S && t_ns - r->before_ns < FOLLOWS_NS);

	return follows || pglog_events_finish(r->events, e);
}

static bool take(struct reader *r, const struct pglog_line *line, struct err *e)
{
	int64_t t_ns;
	struct err bad = { 0 };

	if (!time_of(r, line, &t_ns, &bad)) {
		r->reach->bad++;
		if (r->reach->first_bad.kind == ERR_NONE) {
			err_in(&bad, "%s: line %llu", r->path, (unsigned long long)r->number);
			r->reach->first_bad = bad;
		}
		return true;
	}
	if (t_ns < -YEARS_200_NS || t_ns > YEARS_200_NS) {
		leave_out(r, "a time out of range");
		return true;
	}
	if (!r->lines++ && !check_follows(r, t_ns, e))
		return false;
	r->from_ns = t_ns < r->from_ns ? t_ns : r->from_ns;
	r->to_ns = t_ns > r->to_ns ? t_ns : r->to_ns;
	return pglog_events_take(r->events, line, t_ns, e);
}

static bool take_records(struct reader *r, bool is_last, struct err *e)
{
	struct slice rest = buf_slice(&r->record);
	struct pglog_line line;
	const char *why;

	for (;;) {
		switch (pglog_csv_next(&r->csv, &rest, is_last, &line, &why)) {
		case STEP_ITEM:
			if (!take(r, &line, e))
				return false;
			break;
		case STEP_FAIL:
			leave_out(r, why);
			break;
		default:
			buf_eat(&r->record, r->record.n - rest.n);
			return true;
		}
	}
}

static size_t quotes_in(struct slice s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == '"';
	return n;
}

/* A record is looked for when its quotes are even; of what stays incomplete all the same
 * (a log cut in front) ever more is gathered first, so that time stays linear. */
static bool take_csv(struct reader *r, struct slice text, struct err *e)
{
	buf_add_slice(&r->record, text);
	buf_add_byte(&r->record, '\n');
	r->quotes += quotes_in(text);
	bool is_whole = r->quotes % 2 == 0 && r->tries < 8;
	if (!is_whole && r->record.n < r->next_try)
		return true;
	size_t before = r->record.n;
	if (!take_records(r, r->record.n > RECORD_MAX, e))
		return false;
	r->quotes = quotes_in(buf_slice(&r->record));
	r->tries = r->record.n < before ? 0 : r->tries + 1;
	r->next_try = r->record.n * 2 + 65536;
	return true;
}

static bool take_json(struct reader *r, struct slice text, struct err *e)
{
	struct pglog_line line;
	const char *why;

	if (!text.n)
		return true;
	if (pglog_json_line(&r->json, text, &line, &why))
		return take(r, &line, e);
	leave_out(r, why);
	return true;
}

static bool take_stderr(struct reader *r, struct slice text, struct err *e)
{
	struct pglog_line line;
	const char *why;

	switch (pglog_stderr_line(&r->lines_of, text, NULL, &line, &why)) {
	case STEP_ITEM:
		return take(r, &line, e);
	case STEP_FAIL:
		leave_out(r, why);
		return true;
	default:
		return true;
	}
}

static bool take_line(struct reader *r, struct slice text, struct err *e)
{
	if (!text.p) {
		leave_out(r, "a line of more than 64 MiB");
		return true;
	}
	if (r->format == PGLOG_CSV)
		return take_csv(r, text, e);
	if (r->format == PGLOG_JSON)
		return take_json(r, text, e);
	return take_stderr(r, text, e);
}

/* What waits for a line that will not come. */
static bool take_rest(struct reader *r, struct err *e)
{
	struct pglog_line line;

	if (r->format == PGLOG_CSV)
		return take_records(r, true, e);
	while (r->format == PGLOG_STDERR && pglog_stderr_end(&r->lines_of, &line) == STEP_ITEM)
		if (!take(r, &line, e))
			return false;
	return true;
}

/* ---- a file begins */

static size_t lines_in(struct slice bytes, struct slice lines[PGLOG_LEARN_LINES])
{
	size_t n = 0;

	while (bytes.n && n < PGLOG_LEARN_LINES) {
		const char *end = memchr(bytes.p, '\n', bytes.n);
		size_t used = end ? (size_t)(end - bytes.p) : bytes.n;

		lines[n++] = (struct slice){ bytes.p, used };
		bytes.p += used + (end != NULL);
		bytes.n -= used + (end != NULL);
	}
	return n;
}

static bool learn(struct reader *r, struct slice first, struct err *e)
{
	struct slice lines[PGLOG_LEARN_LINES];
	struct pglog_learned learned = { 0 };
	bool is_learned = pglog_learn(lines, lines_in(first, lines), &learned);

	r->foreign += learned.foreign;
	if (is_learned) {
		r->prefix = learned.prefix;
		r->has_prefix = true;
	}
	if (!r->has_prefix && learned.foreign > learned.lines) {
		err_set(e, ERR_INPUT, "its messages are not in English ('%s')", learned.example);
		return err_hint(e, "set lc_messages = 'C', then reload and log again");
	}
	if (!r->has_prefix) {
		err_set(e, ERR_INPUT,
			"not a log of Postgres, or of a log_line_prefix that its lines do not teach");
		return err_hint(e,
			"csvlog, jsonlog and stderr logs are read as the server wrote them; "
			"lines of syslog or a collector need its wrapping taken off");
	}
	bool has_time = pglog_prefix_has(&r->prefix, 'm') || pglog_prefix_has(&r->prefix, 't') ||
			pglog_prefix_has(&r->prefix, 'n');
	if (!has_time) {
		err_set(e, ERR_INPUT, "its log_line_prefix '%.60s' has no time", r->prefix.source);
		return err_hint(e, "add %%m: log_line_prefix = '%%m [%%p] '");
	}
	pglog_stderr_free(&r->lines_of);
	pglog_stderr_init(&r->lines_of, &r->prefix);
	return true;
}

static bool is_jsonlog(struct slice first)
{
	return first.n && *first.p == '{';
}

static bool begin(struct reader *r, struct slice first, struct err *e)
{
	r->format = pglog_detect(first);
	if (r->format == PGLOG_NONE && is_jsonlog(first)) {
		err_set(e, ERR_INPUT, "JSON, but not a jsonlog of Postgres");
		return err_hint(e, "events of other sources are for --events");
	}
	if (r->format == PGLOG_NONE)
		r->format = PGLOG_STDERR;
	buf_reset(&r->record);
	r->quotes = r->tries = 0;
	r->next_try = 65536;
	return r->format != PGLOG_STDERR || learn(r, first, e);
}

/* ---- one file */

static bool read_lines(struct reader *r, struct textlines *t, struct err *e)
{
	struct slice line;
	enum step step;

	while ((step = textlines_next(t, &line, e)) == STEP_ITEM) {
		if (r->o->run && run_stopped(r->o->run))
			break;
		r->number = textlines_number(t);
		if (!take_line(r, line, e))
			return false;
	}
	return step != STEP_FAIL && take_rest(r, e);
}

static void note(struct reader *r, const char *text)
{
	struct arena *arena = event_arena(r->o->list);

	r->reach->note = r->reach->note ? arena_printf(arena, "%s; %s", r->reach->note, text)
					: arena_copy(arena, slice_of(text)).p;
}

static void note_foreign(struct reader *r)
{
	notes_lack(r->o->notes,
		"'%s' is not in English: only its deadlocks are known; lc_messages = 'C' tells the rest",
		r->path);
	note(r, "not in English: only deadlocks are known");
	/* Nothing told is not nothing happened. */
	r->reach->from_ns = r->reach->to_ns = r->from_ns;
}

static void end(struct reader *r, struct textlines *t)
{
	char text[120], from[CLOCK_TEXT_MAX], to[CLOCK_TEXT_MAX];

	r->reach->from_ns = r->from_ns;
	r->reach->to_ns = r->to_ns;
	if (r->foreign + r->events->foreign)
		note_foreign(r);
	if (r->assumed[0]) {
		snprintf(text, sizeof(text), "times are in %s; --zone says otherwise", r->assumed);
		note(r, text);
	}
	if (textlines_was_cut(t))
		notes_lack(r->o->notes,
			"'%s' ends inside of its compressed data: what came before is used",
			r->path);
	notes_bad(r->o->notes, r->reach->bad, "lines of the Postgres log", &r->reach->first_bad);
	if (r->to_ns < r->o->first_ns || r->from_ns > r->o->last_ns)
		notes_add(r->o->notes,
			"'%s' tells of %s to %s, which is not the time of the traffic", r->path,
			clock_text(r->from_ns, from), clock_text(r->to_ns, to));
}

static bool read_open(struct reader *r, struct textlines *t, struct err *e)
{
	struct slice first = textlines_first(t);
	uint64_t told = r->events->told;

	if (!first.n) {
		notes_add(r->o->notes, "'%s' is empty: nothing is known from it", r->path);
		r->reach->from_ns = r->reach->to_ns = 0;
		return true;
	}
	if (!begin(r, first, e) || !read_lines(r, t, e))
		return err_in(e, "%s", r->path);
	r->reach->read = r->events->told - told;
	if (!r->lines) {
		*e = r->reach->first_bad;
		return e->kind != ERR_NONE
			       ? false
			       : err_set(e, ERR_INPUT, "no line of a log in '%s'", r->path);
	}
	end(r, t);
	r->before_ns = r->to_ns;
	return true;
}

static bool read_file(struct reader *r, const char *path, struct err *e)
{
	struct textlines *t = textlines_open(path, e);

	if (!t)
		return false;
	textlines_obey(t, r->o->run);
	r->path = path;
	r->reach = reach_add(r->o->reaches, path, "postgres log");
	r->events->source = reach_index(r->o->reaches, r->reach);
	r->events->foreign = 0;
	r->number = r->lines = r->foreign = 0;
	r->from_ns = INT64_MAX;
	r->to_ns = INT64_MIN;
	r->assumed[0] = '\0';
	bool ok = read_open(r, t, e);
	textlines_close(t);
	return ok;
}

/* ---- several files */

struct dated {
	const char *path;
	char first[24]; /* the first time that stands in it, as text that compares */
	size_t given;
};

static bool is_shape(const char *p, const char *shape)
{
	for (; *shape; p++, shape++)
		if (*shape == 'd' ? *p < '0' || *p > '9' : *shape != '?' && *p != *shape)
			return false;
	return true;
}

static void first_time(struct slice s, char to[24])
{
	to[0] = '\0';
	for (size_t i = 0; i + 19 <= s.n && i < 65536; i++)
		if (is_shape(s.p + i, "dddd-dd-dd?dd:dd:dd")) {
			snprintf(to, 24, "%.19s", s.p + i);
			to[10] = 'T';
			return;
		}
	if (s.n >= 14 && is_shape(s.p, "dddddddddd.ddd"))
		snprintf(to, 24, "%.14s", s.p);
}

static int by_first(const void *a, const void *b)
{
	const struct dated *x = a, *y = b;
	int order = strcmp(x->first, y->first);

	return order ? order : (x->given > y->given) - (x->given < y->given);
}

/* stdin can be looked at once only: it comes first. */
static bool look(struct dated *d, struct err *e)
{
	struct textlines *t;

	if (strcmp(d->path, "-") == 0)
		return true;
	t = textlines_open(d->path, e);
	if (!t)
		return false;
	first_time(textlines_first(t), d->first);
	textlines_close(t);
	return true;
}

static bool read_all(struct reader *r, struct dated *files, size_t count, struct err *e)
{
	if (count > 1) {
		for (size_t i = 0; i < count; i++)
			if (!look(&files[i], e))
				return false;
		qsort(files, count, sizeof(*files), by_first);
	}
	for (size_t i = 0; i < count; i++)
		if (!read_file(r, files[i].path, e))
			return false;
	return pglog_events_finish(r->events, e);
}

static void close_reader(struct reader *r)
{
	zone_close(&r->zone);
	free(r->events);
	pglog_csv_free(&r->csv);
	pglog_json_free(&r->json);
	pglog_stderr_free(&r->lines_of);
	buf_free(&r->record);
}

bool pglog_read(
	const struct events_options *o, const char *const *paths, size_t count, struct err *e)
{
	struct reader r CLEANUP(close_reader) = {
		.o = o, .before_ns = INT64_MIN, .events = calloc(1, sizeof(*r.events))
	};
	struct dated files[FILES_MAX];

	if (!r.events)
		return err_set(e, ERR_ENV, "out of memory");
	if (count > FILES_MAX)
		return err_set(e, ERR_USAGE, "more than %d logs", FILES_MAX);
	if (o->zone && !zone_open(&r.zone, o->zone, e))
		return false;
	buf_init(&r.record, (size_t)RECORD_MAX * 8);
	pglog_events_init(r.events, o->list, 0);
	for (size_t i = 0; i < count; i++) {
		files[i] = (struct dated){ .path = paths[i], .given = i };
	}
	return read_all(&r, files, count, e);
}
