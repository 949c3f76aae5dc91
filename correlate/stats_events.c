#include "correlate/stats_events.h"

#include <math.h>
#include <stdlib.h>

enum { KINDS = 4, STALE = 3 };

static const char *const kinds[KINDS] = { "vacuum", "autovacuum", "analyze", "autoanalyze" };
static const char *const stamps[KINDS] = { "last_vacuum", "last_autovacuum", "last_analyze",
	"last_autoanalyze" };
static const char *const times[KINDS] = { "vacuum_time", "autovacuum_time", "analyze_time",
	"autoanalyze_time" };

/* Of a table, or a setting (counts[0]). */
struct stats_tally {
	bool is_known;
	int64_t counts[KINDS], times[KINDS];
};

/* Of a row of "running". */
struct stats_running {
	int64_t from_ns, to_ns; /* the latest time it was seen; 0: never */
	bool is_on;
};

void stats_events_init(struct stats_events *s, struct event_list *list, uint16_t source)
{
	*s = (struct stats_events){
		.list = list, .source = source, .started = STATS_NONE, .conf_loaded = STATS_NONE
	};
	stats_tracks_init(&s->tracks);
}

void stats_events_free(struct stats_events *s)
{
	stats_tracks_free(&s->tracks);
	free(s->tallies);
	free(s->running);
	*s = (struct stats_events){ 0 };
}

static void *grow(void *items, size_t *room, uint32_t track, size_t size)
{
	size_t n = *room ? *room : 64;

	if (track < *room)
		return items;
	while (n <= track)
		n *= 2;
	char *grown = realloc(items, n * size);
	if (!grown)
		return NULL;
	memset(grown + *room * size, 0, (n - *room) * size);
	*room = n;
	return grown;
}

static struct stats_tally *tally_of(struct stats_events *s, uint32_t track)
{
	if (track == STATS_NO_TRACK)
		return NULL;
	void *grown = grow(s->tallies, &s->tally_room, track, sizeof(*s->tallies));
	if (!grown)
		return NULL;
	s->tallies = grown;
	return &s->tallies[track];
}

static struct stats_running *running_of(struct stats_events *s, uint32_t track)
{
	if (track == STATS_NO_TRACK)
		return NULL;
	void *grown = grow(s->running, &s->running_room, track, sizeof(*s->running));
	if (!grown)
		return NULL;
	s->running = grown;
	return &s->running[track];
}

static void add_event(struct stats_events *s, const char *kind, struct slice name, int64_t start_ns,
	int64_t end_ns, double dose)
{
	char text[STATS_KEY_MAX + 1];

	snprintf(text, sizeof(text), "%.*s", (int)name.n, name.p);
	struct event event = { .kind = kind,
		.name = text,
		.start_ns = start_ns,
		.end_ns = end_ns > start_ns ? end_ns : start_ns,
		.has_end = end_ns > start_ns,
		.dose = dose,
		.source = s->source };
	if (event_append(s->list, &event))
		s->count++;
	else
		s->is_out_of_memory = true;
}

/* A stamp of the server, in our clock; the fallback when it has none or an absurd one. */
static int64_t stamp_ns(const struct stats_events *s, int64_t us, int64_t fallback)
{
	if (us <= 0 || us > INT64_C(4000000000000000))
		return fallback;
	return us * NS_PER_US - s->offset_ns;
}

static int64_t value(const struct stats_section *schema, const int64_t *values, const char *column)
{
	int c = stats_table_column(schema, column);

	return c < 0 ? STATS_NONE : values[c];
}

/* ---- what runs */

/* "vacuum:public.orders": since when, if it was seen at the last round or this one. */
static int64_t seen_running(const struct stats_events *s, const char *kind, struct slice key)
{
	for (uint32_t t = 0; t < s->tracks.count && t < s->running_room; t++) {
		const struct stats_track *track = &s->tracks.items[t];
		size_t n = strlen(kind);

		if (strcmp(track->section, "running") == 0 && track->key.n == n + 1 + key.n &&
			memcmp(track->key.p, kind, n) == 0 &&
			memcmp(track->key.p + n + 1, key.p, key.n) == 0 && s->running[t].to_ns &&
			s->running[t].to_ns >= s->before_ns)
			return s->running[t].from_ns;
	}
	return 0;
}

/* Vacuums and analyzes are told by their tallies. */
static void end_running(struct stats_events *s, uint32_t track)
{
	struct slice key = s->tracks.items[track].key;
	const char *colon = memchr(key.p, ':', key.n);
	char kind[32];

	s->running[track].is_on = false;
	if (!colon || colon - key.p >= (int)sizeof(kind))
		return;
	snprintf(kind, sizeof(kind), "%.*s", (int)(colon - key.p), key.p);
	if (strcmp(kind, "vacuum") == 0 || strcmp(kind, "analyze") == 0)
		return;
	struct slice name = { colon + 1, key.n - (size_t)(colon + 1 - key.p) };
	add_event(s, kind, name, s->running[track].from_ns, s->running[track].to_ns, (double)NAN);
}

static void see_running(struct stats_events *s, const struct stats_table *table, size_t section)
{
	const struct stats_rows *rows = &table->sections[section];

	for (size_t row = 0; row < rows->count; row++) {
		uint32_t track = stats_track_of(&s->tracks, table, section, row);
		struct stats_running *r = rows->is_here[row] ? running_of(s, track) : NULL;

		if (!r)
			continue;
		if (!r->is_on)
			r->from_ns = s->t_ns;
		r->is_on = true;
		r->to_ns = s->t_ns;
	}
	for (uint32_t t = 0; t < s->tracks.count && t < s->running_room; t++)
		if (s->running[t].is_on && s->running[t].to_ns < s->t_ns)
			end_running(s, t);
}

/* ---- tables */

static void tell_table(struct stats_events *s, const struct stats_section *schema,
	const int64_t *values, struct slice key, int kind, int64_t took_us)
{
	bool is_analyze = kind >= 2;
	int64_t end_ns = stamp_ns(s, value(schema, values, stamps[kind]), s->t_ns);
	int64_t seen_ns = seen_running(s, is_analyze ? "analyze" : "vacuum", key);
	/* Not seen running, it began after the round before. */
	int64_t start_ns = s->is_after_gap ? end_ns : s->before_ns;

	if (took_us > 0 && took_us < INT64_C(1000000000000))
		start_ns = end_ns - took_us * NS_PER_US;
	else if (seen_ns && seen_ns < end_ns)
		start_ns = seen_ns;
	/* The server tells of it a while after it ended. */
	if (start_ns > end_ns)
		start_ns = end_ns;
	add_event(s, kinds[kind], key, start_ns, end_ns, (double)NAN);
}

static void see_table_row(struct stats_events *s, const struct stats_section *schema,
	const int64_t *values, uint32_t track)
{
	struct stats_tally *tally = tally_of(s, track);

	if (!tally)
		return;
	for (int k = 0; k < KINDS; k++) {
		int64_t count = value(schema, values, kinds[k]);
		int64_t time = value(schema, values, times[k]);

		/* "known" needs that the round before was seen: else it happened who knows when. */
		if (tally->is_known && count > tally->counts[k] && s->before_ns) {
			bool has_time = time != STATS_NONE && tally->times[k] != STATS_NONE;
			bool is_one = count - tally->counts[k] == 1;

			s->merged += !is_one;
			tell_table(s, schema, values, s->tracks.items[track].key, k,
				has_time && is_one ? time - tally->times[k] : 0);
		}
		tally->counts[k] = count;
		tally->times[k] = time;
	}
	tally->is_known = true;
}

static void see_tables(struct stats_events *s, const struct stats_table *table, size_t section)
{
	const struct stats_rows *rows = &table->sections[section];

	for (size_t row = 0; row < rows->count; row++)
		if (rows->is_here[row])
			see_table_row(s, &rows->schema, stats_values(rows, row),
				stats_track_of(&s->tracks, table, section, row));
}

static void see_settings(struct stats_events *s, const struct stats_table *table, size_t section)
{
	const struct stats_rows *rows = &table->sections[section];

	for (size_t row = 0; row < rows->count && rows->schema.column_count; row++) {
		uint32_t track = stats_track_of(&s->tracks, table, section, row);
		struct stats_tally *tally = rows->is_here[row] ? tally_of(s, track) : NULL;
		int64_t changes = stats_values(rows, row)[0];

		if (!tally)
			continue;
		if (tally->is_known && changes > tally->counts[0])
			add_event(s, "setting", s->tracks.items[track].key,
				stamp_ns(s, s->conf_loaded, s->t_ns), 0, (double)NAN);
		tally->counts[0] = changes;
		tally->is_known = true;
	}
}

/* ---- the server */

static void see_server(struct stats_events *s, const struct stats_table *table, size_t section)
{
	const struct stats_rows *rows = &table->sections[section];
	const int64_t *values = rows->count ? stats_values(rows, 0) : NULL;

	if (!values)
		return;
	int64_t started = value(&rows->schema, values, "started");
	int64_t loaded = value(&rows->schema, values, "conf_loaded");
	int64_t clock = value(&rows->schema, values, "clock");
	bool has_restarted = s->started != STATS_NONE && started != s->started;

	if (clock > 0 && clock < INT64_C(4000000000000000)) {
		s->offset_ns = clock * NS_PER_US - s->t_ns;
		if (llabs(s->offset_ns) > s->offset_most_ns)
			s->offset_most_ns = llabs(s->offset_ns);
		/* What a query takes is no difference of clocks. */
		if (llabs(s->offset_ns) < NS_PER_S)
			s->offset_ns = 0;
	}
	if (has_restarted)
		add_event(s, "restart", SLICE("postgres"), stamp_ns(s, started, s->t_ns), 0,
			(double)NAN);
	else if (s->conf_loaded != STATS_NONE && loaded != s->conf_loaded)
		add_event(s, "reload", SLICE("postgres"), stamp_ns(s, loaded, s->t_ns), 0,
			(double)NAN);
	s->started = started;
	s->conf_loaded = loaded;
}

static void end_checkpoint(struct stats_events *s, int64_t end_ns)
{
	if (s->checkpoint_ns)
		add_event(s, "checkpoint", slice_of(s->checkpoint), s->checkpoint_ns, end_ns,
			(double)NAN);
	s->checkpoint_ns = 0;
}

static void see_checkpoints(struct stats_events *s, const struct stats_table *table, size_t section)
{
	static const char *const columns[] = { "timed", "requested", "write_time", "sync_time" };
	const struct stats_rows *rows = &table->sections[section];
	int64_t now[LENGTH(columns)], *before = s->checkpoint_before;

	if (!rows->count)
		return;
	for (size_t i = 0; i < LENGTH(columns); i++)
		now[i] = value(&rows->schema, stats_values(rows, 0), columns[i]);
	if (s->before_ns && !s->is_after_gap) {
		for (size_t i = 0; i < 2; i++)
			if (now[i] > before[i]) {
				end_checkpoint(s, s->before_ns);
				s->checkpoint_ns = s->before_ns;
				s->checkpoint = columns[i];
			}
		if (now[2] > before[2] || now[3] > before[3])
			end_checkpoint(s, s->t_ns);
	} else {
		end_checkpoint(s, s->before_ns);
	}
	memcpy(before, now, sizeof(now));
}

/* ---- rounds */

struct part {
	const char *section;
	void (*see)(struct stats_events *s, const struct stats_table *table, size_t section);
};

/* In this order: stamps need the clock, vacuums what runs. */
static const struct part parts[] = {
	{ "server", see_server },
	{ "running", see_running },
	{ "checkpoints", see_checkpoints },
	{ "tables", see_tables },
	{ "settings", see_settings },
};

void stats_events_see(
	struct stats_events *s, const struct stats_round *round, const struct stats_table *table)
{
	bool has_server = false;

	s->t_ns = round->t_ns;
	if (round->is_new_table)
		stats_tracks_renew(&s->tracks);
	s->is_after_gap =
		s->usual_ns && s->before_ns && s->t_ns - s->before_ns > STALE * s->usual_ns;
	for (size_t i = 0; i < LENGTH(parts); i++) {
		int section = stats_table_section(table, parts[i].section);

		if (section < 0 || !round->has_section[section])
			continue;
		has_server |= i == 0;
		parts[i].see(s, table, (size_t)section);
	}
	if (has_server)
		s->before_ns = round->t_ns;
}

bool stats_events_end(struct stats_events *s)
{
	for (uint32_t t = 0; t < s->tracks.count && t < s->running_room; t++)
		if (s->running[t].is_on)
			end_running(s, t);
	end_checkpoint(s, 0);
	event_sort(s->list);
	return !s->is_out_of_memory;
}
