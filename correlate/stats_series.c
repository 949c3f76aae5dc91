#include "correlate/stats_series.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	CHANGES_LEAST = 2, /* a series that changed less tells nothing */
	STEP_MOST_S = 300,
	SCHEMAS_MAX = 4 * STATS_SECTIONS_MAX,
};

void stats_series_init(struct stats_series *s)
{
	*s = (struct stats_series){ .started = STATS_NONE, .database_reset = STATS_NONE };
	stats_tracks_init(&s->tracks);
}

void stats_series_free(struct stats_series *s)
{
	stats_tracks_free(&s->tracks);
	free(s->schemas);
	free(s->cells);
	free(s->first_cell);
	free(s->seen_in);
	free(s->zeros);
	*s = (struct stats_series){ 0 };
}

/* ---- cells */

static bool grow_tracks(struct stats_series *s, uint32_t track)
{
	size_t room = s->track_room ? s->track_room : 256;

	if (track < s->track_room)
		return true;
	while (room <= track)
		room *= 2;
	uint32_t *first = realloc(s->first_cell, room * sizeof(*first));
	s->first_cell = first ? first : s->first_cell;
	uint64_t *seen = realloc(s->seen_in, room * sizeof(*seen));
	s->seen_in = seen ? seen : s->seen_in;
	if (!first || !seen)
		return false;
	memset(first + s->track_room, 0, (room - s->track_room) * sizeof(*first));
	memset(seen + s->track_room, 0, (room - s->track_room) * sizeof(*seen));
	s->track_room = room;
	return true;
}

/* The cells of a track, one a column; NULL at the cap. */
static struct stats_cell *cells_of(struct stats_series *s, uint32_t track, size_t columns)
{
	if (track == STATS_NO_TRACK || !grow_tracks(s, track))
		return NULL;
	if (s->first_cell[track])
		return &s->cells[s->first_cell[track] - 1];
	if (s->cell_count + columns > STATS_CELLS_MAX) {
		s->refused += columns;
		return NULL;
	}
	if (s->cell_count + columns > s->cell_cap) {
		size_t cap = 2 * s->cell_cap + columns + 1024;
		struct stats_cell *grown = realloc(s->cells, cap * sizeof(*grown));

		if (!grown)
			return NULL;
		s->cells = grown;
		s->cell_cap = cap;
	}
	s->first_cell[track] = (uint32_t)s->cell_count + 1;
	memset(s->cells + s->cell_count, 0, columns * sizeof(*s->cells));
	s->cell_count += columns;
	return &s->cells[s->cell_count - columns];
}

/* ---- points */

static void close_point(struct stats_series *s, struct stats_cell *c)
{
	struct metric *m = c->metric ? &s->list->items[c->metric - 1] : NULL;

	if (m && c->point_ns && c->weight > 0)
		(void)metric_add(s->list, m, c->point_ns, c->sum / c->weight);
	c->point_ns = 0;
}

static void add_value(
	struct stats_series *s, struct stats_cell *c, int64_t t_ns, double value, double weight)
{
	c->changes += c->points && value != c->value;
	c->value = value;
	c->points++;
	if (!c->metric)
		return;
	/* A fixed grid, so that the points of all series stand together. */
	if (c->point_ns && t_ns / s->step_ns != c->point_ns / s->step_ns)
		close_point(s, c);
	if (!c->point_ns) {
		c->point_ns = t_ns;
		c->sum = c->weight = 0;
	}
	c->sum += value * weight;
	c->weight += weight;
}

static void see_counter(
	struct stats_series *s, struct stats_cell *c, int64_t t_ns, int64_t value, int64_t reset)
{
	int64_t before = c->before, before_ns = c->before_ns;
	bool is_anew = !before_ns || c->reset != reset || value < before || t_ns <= before_ns ||
		       (s->usual_ns && t_ns - before_ns > STATS_STALE * s->usual_ns);

	c->before = value;
	c->before_ns = t_ns;
	c->reset = reset;
	if (is_anew)
		return;
	double seconds = (double)(t_ns - before_ns) / 1e9;
	add_value(s, c, before_ns, ((double)value - (double)before) / seconds, seconds);
}

static void see_values(struct stats_series *s, const struct stats_section *schema, uint32_t track,
	const int64_t *values, int64_t t_ns, int64_t reset)
{
	struct stats_cell *c = cells_of(s, track, schema->column_count);

	if (!c)
		return;
	s->seen_in[track] = s->round;
	for (size_t i = 0; i < schema->column_count; i++) {
		int64_t value = values ? values[i] : 0;

		if (value == STATS_NONE)
			continue;
		if (schema->columns[i].kind == STATS_GAUGE)
			add_value(s, &c[i], t_ns, (double)value, 1);
		else if (schema->columns[i].kind == STATS_COUNTER && values)
			see_counter(s, &c[i], t_ns, value, reset);
	}
}

/* ---- rounds */

static int64_t one_value(const struct stats_table *table, const struct stats_round *round,
	const char *section, const char *column)
{
	int i = stats_table_section(table, section);
	int c = i < 0 ? -1 : stats_table_column(&table->sections[i].schema, column);

	if (c < 0 || !round->has_section[i] || !table->sections[i].count)
		return STATS_NONE;
	return stats_values(&table->sections[i], 0)[c];
}

/* A restart without a clean shutdown loses all counters, pg_stat_reset() a database's. */
static void see_resets(
	struct stats_series *s, const struct stats_round *round, const struct stats_table *table)
{
	int64_t started = one_value(table, round, "server", "started");
	int64_t reset = one_value(table, round, "database", "stats_reset");

	if (started != STATS_NONE) {
		s->resets += s->started != STATS_NONE && started != s->started;
		s->started = started;
	}
	if (reset != STATS_NONE) {
		s->resets += s->database_reset != STATS_NONE && reset != s->database_reset;
		s->database_reset = reset;
	}
}

/* A track of a section whose gone rows are zeros, seen for the first time. */
static void note_zero(struct stats_series *s, const struct stats_section *schema, uint32_t track)
{
	if (!(schema->flags & STATS_GONE_IS_ZERO) || track == STATS_NO_TRACK ||
		(track < s->track_room && s->first_cell[track]))
		return;
	if (s->zero_count == s->zero_room) {
		size_t room = s->zero_room ? 2 * s->zero_room : 64;
		uint32_t *grown = realloc(s->zeros, room * sizeof(*grown));

		if (!grown)
			return;
		s->zeros = grown;
		s->zero_room = room;
	}
	s->zeros[s->zero_count++] = track;
}

static void see_section(struct stats_series *s, const struct stats_round *round,
	const struct stats_table *table, size_t section)
{
	const struct stats_rows *rows = &table->sections[section];
	int stamp = stats_table_column(&rows->schema, "stats_reset");
	bool is_host = rows->schema.flags & STATS_HOST;

	for (size_t row = 0; row < rows->count; row++) {
		const int64_t *values = stats_values(rows, row);
		/* Two tellers of resets in one word: that it differs is all that matters. */
		int64_t reset = is_host ? 0 : s->resets;

		if (!rows->is_here[row])
			continue;
		if (stamp >= 0 && values[stamp] != STATS_NONE)
			reset = (int64_t)((uint64_t)values[stamp] + (uint64_t)reset);
		uint32_t track = stats_track_of(&s->tracks, table, section, row);
		note_zero(s, &rows->schema, track);
		see_values(s, &rows->schema, track, values, round->t_ns, reset);
	}
	for (size_t i = 0; i < s->zero_count; i++) {
		uint32_t t = s->zeros[i];
		const struct stats_track *track = &s->tracks.items[t];

		if (s->seen_in[t] != s->round && track->columns == rows->schema.column_count &&
			strcmp(track->section, rows->schema.name) == 0)
			see_values(s, &rows->schema, t, NULL, round->t_ns, 0);
	}
}

static const struct stats_section *find_schema(
	const struct stats_series *s, const char *name, size_t columns)
{
	for (size_t i = 0; i < s->schema_count; i++)
		if (s->schemas[i].column_count == columns && strcmp(s->schemas[i].name, name) == 0)
			return &s->schemas[i];
	return NULL;
}

/* The tables are gone when metrics are named. */
static void keep_schemas(struct stats_series *s, const struct stats_table *table)
{
	for (size_t i = 0; i < table->section_count; i++) {
		const struct stats_section *of = &table->sections[i].schema;

		if (find_schema(s, of->name, of->column_count) || s->schema_count == SCHEMAS_MAX)
			continue;
		struct stats_section *grown =
			realloc(s->schemas, (s->schema_count + 1) * sizeof(*grown));
		if (!grown)
			return;
		s->schemas = grown;
		s->schemas[s->schema_count++] = *of;
	}
}

void stats_series_see(
	struct stats_series *s, const struct stats_round *round, const struct stats_table *table)
{
	s->round++;
	if (round->is_new_table)
		stats_tracks_renew(&s->tracks);
	if (round->is_new_table || !s->schema_count)
		keep_schemas(s, table);
	see_resets(s, round, table);
	for (size_t i = 0; i < table->section_count; i++)
		if (round->has_section[i] && !(table->sections[i].schema.flags & STATS_OWN))
			see_section(s, round, table, i);
}

/* ---- choosing */

struct candidate {
	uint32_t track, column, changes;
};

static int by_changes(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->changes != y->changes)
		return x->changes > y->changes ? -1 : 1;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return (x->column > y->column) - (x->column < y->column);
}

static void name_metric(
	const struct stats_section *schema, size_t column, struct slice key, char *to, size_t size)
{
	const char *name = schema->columns[column].name;
	bool is_only = schema->column_count == 1;

	if (schema->flags & STATS_COLUMN_FIRST)
		snprintf(to, size, "%s.%.*s", name, (int)key.n, key.p);
	else
		snprintf(to, size, "%s%s%.*s%s%s", schema->name, key.n ? "." : "", (int)key.n,
			key.p, is_only ? "" : ".", is_only ? "" : name);
}

static void unit_of(const struct stats_column *c, char to[16])
{
	if (c->kind == STATS_COUNTER)
		snprintf(to, 16, "%s/s", c->unit[0] ? c->unit : "1");
	else
		snprintf(to, 16, "%s", c->unit);
}

static void make_metric(struct stats_series *s, const struct candidate *of)
{
	const struct stats_track *track = &s->tracks.items[of->track];
	const struct stats_section *schema = find_schema(s, track->section, track->columns);
	char name[400], unit[16];

	name_metric(schema, of->column, track->key, name, sizeof(name));
	unit_of(&schema->columns[of->column], unit);
	struct metric *m = metric_get(s->list, name, unit[0] ? unit : NULL);
	if (m)
		s->cells[s->first_cell[of->track] - 1 + of->column].metric =
			(uint32_t)(m - s->list->items) + 1;
	s->kept += m != NULL;
}

/* Those that change, most first. */
static size_t list_candidates(struct stats_series *s, struct candidate *to)
{
	size_t n = 0;

	for (uint32_t t = 0; t < s->tracks.count && t < s->track_room; t++) {
		const struct stats_track *track = &s->tracks.items[t];
		const struct stats_section *of = find_schema(s, track->section, track->columns);

		if (!of || !s->first_cell[t])
			continue;
		for (uint32_t c = 0; c < of->column_count; c++) {
			uint32_t changes = s->cells[s->first_cell[t] - 1 + c].changes;

			if (changes >= CHANGES_LEAST)
				to[n++] = (struct candidate){ t, c, changes };
			else
				s->constant += of->columns[c].kind <= STATS_COUNTER;
		}
	}
	if (n)
		qsort(to, n, sizeof(*to), by_changes);
	return n;
}

/* How many series fit, and how wide their points are then. */
static size_t fit(struct stats_series *s, size_t n, uint64_t rounds)
{
	size_t free_metrics = METRICS_MAX - s->list->count;
	/* Something is left for other sources. */
	uint64_t points = (METRIC_POINTS_MAX - s->list->points) / 4 * 3;
	int64_t usual_ns = s->usual_ns ? s->usual_ns : NS_PER_S;
	uint64_t widest = (uint64_t)(STEP_MOST_S * NS_PER_S / usual_ns);

	widest = widest ? widest : 1;
	n = n < free_metrics ? n : free_metrics;
	if (rounds && n > points * widest / rounds)
		n = points * widest / rounds;
	uint64_t wide = points ? (n * rounds + points - 1) / points : 1;
	s->step_ns = (int64_t)(wide > 1 ? wide : 1) * usual_ns;
	/* With a point each round, one never shares a cell of the grid with the next. */
	if (wide <= 1)
		s->step_ns = 1;
	return n;
}

bool stats_series_keep(struct stats_series *s, struct metric_list *list, uint64_t rounds)
{
	struct candidate *all = calloc(s->cell_count + 1, sizeof(*all));

	if (!all)
		return false;
	s->list = list;
	size_t n = list_candidates(s, all), fitting = fit(s, n, rounds);
	s->dropped = n - fitting;
	for (size_t i = 0; i < fitting; i++)
		make_metric(s, &all[i]);
	free(all);
	for (size_t i = 0; i < s->cell_count; i++)
		s->cells[i] = (struct stats_cell){ .metric = s->cells[i].metric };
	s->started = s->database_reset = STATS_NONE;
	s->resets = 0;
	return true;
}

void stats_series_end(struct stats_series *s)
{
	for (size_t i = 0; i < s->cell_count; i++)
		close_point(s, &s->cells[i]);
}
