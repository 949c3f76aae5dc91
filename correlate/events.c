#include "correlate/events.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/format/pglog.h"
#include "correlate/events_parts.h"

enum { DEPLOYS_MAX = 200000, JOBS_MAX = 20000, LOOKED_AT = 200 };

/* ---- one for all files */

struct events *events_new(const struct events_options *o, struct err *e)
{
	struct events *ev = calloc(1, sizeof(*ev));

	if (!ev) {
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	ev->o = *o;
	ev->zoned_ns = INT64_MIN;
	table_init(&ev->jobs, JOBS_MAX);
	table_init(&ev->names, JOBS_MAX);
	table_init(&ev->deploys, DEPLOYS_MAX);
	if (!o->zone || zone_open(&ev->zone, o->zone, e))
		return ev;
	events_free(ev);
	return NULL;
}

void events_free(struct events *ev)
{
	if (!ev)
		return;
	zone_close(&ev->zone);
	zone_close(&ev->line_zone);
	table_free(&ev->jobs);
	table_free(&ev->names);
	table_free(&ev->deploys);
	free(ev->deploy_items);
	free(ev);
}

/* ---- what readers call */

bool events_add_from(struct events *ev, uint16_t source, const char *kind, const char *name,
	int64_t start_ns, int64_t end_ns, double dose, struct err *e)
{
	struct event event = { .start_ns = start_ns,
		.end_ns = end_ns == INT64_MIN ? start_ns : end_ns,
		.has_end = end_ns != INT64_MIN,
		.kind = kind,
		.name = name,
		.dose = dose,
		.source = source };

	if (!*kind || !*name)
		return err_set(e, ERR_INPUT, "an event without a name");
	if (!event_name_is_plain(slice_of(kind)) || !event_name_is_plain(slice_of(name)))
		return err_set(e, ERR_INPUT, "a name holds control characters");
	if (!event_append(ev->o.list, &event))
		return err_set(e, ERR_ENV, "out of memory, or names hold too many bytes");
	events_saw(ev, start_ns);
	ev->o.reaches->items[source].read++;
	return true;
}

bool events_add(struct events *ev, const char *kind, const char *name, int64_t start_ns,
	int64_t end_ns, double dose, struct err *e)
{
	return events_add_from(ev, ev->source, kind, name, start_ns, end_ns, dose, e);
}

void events_end(struct events *ev, size_t event, int64_t end_ns)
{
	struct event *at =
		event && event <= ev->o.list->count ? &ev->o.list->items[event - 1] : NULL;

	if (!at || at->has_end || end_ns < at->start_ns)
		return;
	at->end_ns = end_ns;
	at->has_end = true;
}

void events_saw(struct events *ev, int64_t t_ns)
{
	if (t_ns < ev->seen_from_ns)
		ev->seen_from_ns = t_ns;
	if (t_ns > ev->seen_to_ns)
		ev->seen_to_ns = t_ns;
}

static void add_note(struct events *ev, struct reach *reach, const char *text)
{
	struct arena *arena = event_arena(ev->o.list);

	if (!reach->note)
		reach->note = arena_copy(arena, slice_of(text)).p;
	else if (!strstr(reach->note, text))
		reach->note = arena_printf(arena, "%s; %s", reach->note, text);
}

void events_note(struct events *ev, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add_note(ev, ev->reach, text);
}

uint16_t events_reach_of(
	struct events *ev, const char *dialect, const char *id, const char *why, int64_t t_ns)
{
	struct reach_list *list = ev->o.reaches;
	size_t own = (size_t)(ev->reach - list->items);
	char note[500];

	snprintf(note, sizeof(note), "%s: %s", id, why);
	for (size_t i = own; i < list->count; i++) {
		struct reach *r = &list->items[i];

		if (r->note && strcmp(r->note, note) == 0) {
			r->from_ns = t_ns < r->from_ns ? t_ns : r->from_ns;
			return (uint16_t)i;
		}
	}
	/* Past half of the list the file's own must do, and it says so. */
	if (list->count >= REACHES_MAX / 2) {
		events_note(ev, "further names share this reach, which is too long for some");
		return ev->source;
	}
	struct reach *r = reach_add(list, ev->reach->source, dialect);
	r->note = arena_copy(event_arena(ev->o.list), slice_of(note)).p;
	r->from_ns = t_ns;
	r->is_assumed = true;
	return reach_index(list, r);
}

/* ---- which format it is */

static const struct format_name {
	const char *name, *dialect;
	char how; /* 'j' JSON, 'c' CSV, 's' syslog */
} format_names[] = {
	{ "json", NULL, 'j' },
	{ "csv", NULL, 'c' },
	{ "syslog", "syslog", 's' },
	{ "journal", "journal", 'j' },
	{ "github", "github", 'j' },
	{ "gitlab", "gitlab", 'j' },
	{ "grafana", "grafana", 'j' },
	{ "kubernetes", "kubernetes", 'j' },
	{ "argo", "argo", 'j' },
	{ "pg_cron", "pg_cron", 0 },
	{ "pgbackrest", "pgbackrest", 'j' },
	{ "barman", "barman", 'j' },
	{ "airflow", "airflow", 'j' },
};

/* "syslog:FILE"; a file of that name wins by "./syslog:FILE". */
static const struct format_name *forced_format(const char *spec, const char **ret_path)
{
	for (size_t i = 0; i < LENGTH(format_names); i++) {
		size_t n = strlen(format_names[i].name);

		if (strncmp(spec, format_names[i].name, n) == 0 && spec[n] == ':' && spec[n + 1]) {
			*ret_path = spec + n + 1;
			return &format_names[i];
		}
	}
	*ret_path = spec;
	return NULL;
}

static struct slice next_line(struct slice *rest)
{
	const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
	struct slice line = { rest->p, end ? (size_t)(end - rest->p) : rest->n };

	rest->p += line.n + (end != NULL);
	rest->n -= line.n + (end != NULL);
	while (line.n && strchr(" \t\r", line.p[line.n - 1]) && line.p[line.n - 1])
		line.n--;
	while (line.n && (*line.p == ' ' || *line.p == '\t')) {
		line.p++;
		line.n--;
	}
	return line;
}

struct looks {
	size_t lines, objects, syslog; /* lines that are each */
	struct slice first, second;
};

static struct looks look(struct slice bytes)
{
	struct looks k = { 0 };

	while (bytes.n && k.lines < LOOKED_AT) {
		struct slice line = next_line(&bytes);

		if (!line.n)
			continue;
		if (k.lines == 0)
			k.first = line;
		else if (k.lines == 1)
			k.second = line;
		k.lines++;
		k.objects += *line.p == '{' && line.n > 1 && line.p[line.n - 1] == '}';
		k.syslog += events_is_syslog(line);
	}
	return k;
}

/* 'd' a JSON document, 'l' JSON lines, 'c', 's', or 0. */
static char how_of(const struct looks *k, char forced)
{
	bool is_object = k->first.n && *k->first.p == '{';
	bool is_whole = is_object && k->first.n > 1 && k->first.p[k->first.n - 1] == '}';

	if (k->first.n && *k->first.p == '[')
		return 'd';
	/* An object over several lines, or a line that was cut. */
	if (is_object && !is_whole && !(k->second.n && *k->second.p == '{'))
		return 'd';
	if (forced == 'j' || is_object)
		return 'l';
	if (forced)
		return forced;
	if (events_is_csv_header(k->first))
		return 'c';
	if (k->objects || k->syslog)
		return k->objects >= k->syslog ? 'l' : 's';
	return 0;
}

static bool refuse(
	const struct events *ev, const struct looks *k, struct slice first, struct err *e)
{
	enum pglog_format log = pglog_detect(first);
	int n = (int)(k->first.n < 40 ? k->first.n : 40);

	if (log != PGLOG_NONE) {
		err_set(e, ERR_INPUT, "a log of Postgres is no file of events");
		err_hint(e, "--pglog %s", ev->source_name);
	} else if (memchr(first.p, 0, first.n)) {
		err_set(e, ERR_INPUT, "not text");
		err_hint(e,
			"events are text: JSON, CSV, syslog (also packed by gzip, zstd or bzip2)");
	} else if (memchr(k->first.p, '|', k->first.n)) {
		err_set(e, ERR_INPUT, "a table as psql prints it for people");
		err_hint(e, "psql --csv, or COPY (...) TO STDOUT WITH (FORMAT csv, HEADER)");
	} else {
		err_set(e, ERR_INPUT, "'%.*s' is no event of a known format", n,
			event_name_is_plain((struct slice){ k->first.p, (size_t)n }) ? k->first.p
										     : "");
		err_hint(e, "events are JSON lines {t, t_end?, kind, name}; docs/formats/events.md "
			    "has the other formats; schedules are for --crontab");
	}
	return err_in(e, "%s: line 1", ev->source_name);
}

/* ---- one file */

static void begin_file(struct events *ev, const char *source, const struct format_name *forced)
{
	ev->source_name = source;
	ev->reach = reach_add(ev->o.reaches, source, "events");
	ev->source = reach_index(ev->o.reaches, ev->reach);
	ev->forced = forced ? forced->dialect : NULL;
	ev->dialect = ev->list_kind = NULL;
	ev->objects = ev->mixed = ev->total = 0;
	ev->seen_from_ns = INT64_MAX;
	ev->seen_to_ns = INT64_MIN;
	ev->is_log = ev->is_year_guessed = false;
	ev->zoned_ns = INT64_MIN;
}

static const uint16_t *pages_of(const char *dialect)
{
	static const struct events_format *const paged[] = { &events_github, &events_gitlab,
		&events_grafana, &events_airflow };

	for (size_t i = 0; i < LENGTH(paged); i++)
		if (strcmp(paged[i]->dialect, dialect) == 0)
			return paged[i]->pages;
	return NULL;
}

/* A full page is probably not the last one, and lists begin with the newest. */
static void note_page(struct events *ev)
{
	const uint16_t *page = pages_of(ev->dialect);

	if (ev->total > ev->objects)
		events_note(ev, "%llu of %llu: get all pages", (unsigned long long)ev->objects,
			(unsigned long long)ev->total);
	for (; page && *page && !ev->reach->note; page++)
		if (ev->objects == *page)
			events_note(
				ev, "exactly %u: probably one page of more, get them all", *page);
	if (ev->reach->note && page)
		ev->reach->from_ns = ev->seen_from_ns;
}

static bool is_apart(const struct events *ev)
{
	return ev->seen_to_ns < ev->o.first_ns || ev->seen_from_ns > ev->o.last_ns;
}

/* An hour's error is the usual reason, a year's the next. */
static void note_apart(struct events *ev)
{
	char from[CLOCK_TEXT_MAX], to[CLOCK_TEXT_MAX];

	notes_add(ev->o.notes, "'%s' tells of %s to %s, which is not the time of the traffic",
		ev->source_name, clock_text(ev->seen_from_ns, from),
		clock_text(ev->seen_to_ns, to));
}

static void end_file(struct events *ev)
{
	struct reach *r = ev->reach;
	bool has_times = ev->seen_from_ns <= ev->seen_to_ns;

	if (ev->dialect) {
		r->dialect = ev->dialect;
		note_page(ev);
	}
	if (ev->is_log && has_times) {
		r->from_ns = ev->seen_from_ns;
		r->to_ns = ev->seen_to_ns;
	} else {
		r->is_assumed = true;
	}
	if (r->note && has_times && r->from_ns == INT64_MIN)
		r->from_ns = ev->seen_from_ns;
	if (ev->mixed)
		events_note(ev, "%llu objects are of other formats", (unsigned long long)ev->mixed);
	if (ev->is_year_guessed)
		events_note(ev, "its stamps have no year: the one nearest to the traffic is taken");
	notes_bad(ev->o.notes, r->bad, ev->is_log ? "log lines" : "events", &r->first_bad);
	if (has_times && is_apart(ev))
		note_apart(ev);
}

static bool read_how(struct events *ev, char how, struct textlines *t, struct err *e)
{
	struct slice all;

	switch (how) {
	case 'd':
		return textlines_rest(t, &all, e) && events_read_json(ev, all, 1, e);
	case 'l':
		return events_read_json_lines(ev, t, e);
	case 'c':
		return events_read_csv(ev, t, e);
	default:
		return events_read_syslog(ev, t, e);
	}
}

static bool is_nothing(const struct events *ev, struct err *e)
{
	const struct reach *r = ev->reach;

	if (ev->objects || ev->mixed || !r->bad)
		return false;
	*e = r->first_bad;
	return true;
}

static bool read_lines(
	struct events *ev, const struct format_name *forced, struct textlines *t, struct err *e)
{
	struct looks k = look(textlines_first(t));

	if (!k.lines) {
		notes_add(ev->o.notes, "no event in '%s'", ev->source_name);
		ev->reach->is_assumed = true;
		return true;
	}
	char how = how_of(&k, forced ? forced->how : 0);
	if (!how)
		return refuse(ev, &k, textlines_first(t), e);
	if (!read_how(ev, how, t, e))
		return false;
	if (textlines_was_cut(t))
		notes_lack(ev->o.notes,
			"'%s' ends inside of its compressed data: what came before is used",
			ev->source_name);
	/* Objects that were all refused are a file of something else, or of another zone. */
	if (is_nothing(ev, e) ||
		(!ev->reach->read && ev->reach->bad && ev->reach->bad >= ev->objects)) {
		*e = ev->reach->first_bad;
		return false;
	}
	end_file(ev);
	if (!ev->reach->read && !ev->reach->bad && !ev->objects)
		notes_add(ev->o.notes, "no event in '%s'", ev->source_name);
	return true;
}

bool events_read(struct events *ev, const char *spec, struct err *e)
{
	const char *path;
	const struct format_name *forced = forced_format(spec, &path);
	struct textlines *t;

	if (strstr(path, "://")) {
		err_set(e, ERR_USAGE, "cannot read events from '%.40s...'", path);
		return err_hint(e, "save the answer to a file");
	}
	begin_file(ev, path, forced);
	t = textlines_open(path, e);
	if (!t)
		return false;
	textlines_obey(t, ev->o.run);
	bool ok = read_lines(ev, forced, t, e);
	textlines_close(t);
	return ok;
}

bool events_read_text(
	struct events *ev, const char *source, const char *format, struct slice text, struct err *e)
{
	const struct format_name *forced = NULL;

	for (size_t i = 0; format && i < LENGTH(format_names); i++)
		if (strcmp(format_names[i].name, format) == 0)
			forced = &format_names[i];
	begin_file(ev, source, forced);
	if (!events_read_json(ev, text, 1, e))
		return false;
	if (is_nothing(ev, e))
		return false;
	end_file(ev);
	return true;
}

bool events_finish(struct events *ev, struct err *e)
{
	/* What is added now belongs to files that have ended. */
	ev->seen_from_ns = INT64_MAX;
	ev->seen_to_ns = INT64_MIN;
	if (!events_github_finish(ev, e))
		return false;
	uint64_t twice = event_unique(ev->o.list);
	if (twice)
		notes_add(ev->o.notes, "%llu events were given twice and count once",
			(unsigned long long)twice);
	return true;
}
