/*
 * diff_rules.c - what counts as a difference, and how much it may cost.
 *
 * Scores order the kinds as they hurt plans and latency: what makes the planner
 * blind first (missing index, statistics that do not know the rows), then volume,
 * settings, versions, shape, bloat, cache. Noise of ANALYZE at the default target,
 * measured over repeats: frequencies +-0.005, n_distinct +-2 %, correlation +-0.01.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/diff.h"

static double number(const struct json *row, const char *key, double fallback)
{
	return json_number(json_get(row, key), fallback);
}

static const struct json *section_list(const struct diff *d, int side, const char *dotted)
{
	return json_path(json_get(d->profile[side], "sections"), dotted);
}

static double at_most(double v, double most)
{
	return v < most ? v : most;
}

static double rows_of(const struct diff_table *t, int side)
{
	double reltuples = number(t->relation[side], "reltuples", -1);
	double live = number(t->activity[side], "live", -1);

	return live > reltuples ? live : reltuples;
}

/* Statistics */

static bool believes_to_know_all(const struct json *column)
{
	const struct json *frequencies = json_get(column, "common_frequencies");
	double sum = number(column, "null_frac", 0);

	for (size_t i = 0; i < json_count(frequencies); i++)
		sum += json_number(json_at(frequencies, i), 0);
	return json_count(frequencies) > 0 && sum > 0.9995 &&
	       number(column, "histogram_bounds", 0) == 0;
}

/* A column whose common values are, to the planner, all values there are: a row with
 * a new one is estimated as a single row. */
static const char *closed_column(const struct diff *d, const char *table, double *ret_values)
{
	const struct json *columns = section_list(d, 0, "columns.columns");
	size_t schema = (size_t)(strchr(table, '.') - table);

	for (size_t i = 0; i < json_count(columns); i++) {
		const struct json *c = json_at(columns, i);
		const char *name = json_text(json_get(c, "schema"), "");

		if (strlen(name) != schema || strncmp(name, table, schema) != 0 ||
			strcmp(json_text(json_get(c, "table"), ""), table + schema + 1) != 0)
			continue;
		if (believes_to_know_all(c)) {
			*ret_values = (double)json_count(json_get(c, "common_frequencies"));
			return json_text(json_get(c, "name"), "");
		}
	}
	return NULL;
}

/* The later of two times, as RFC 3339 in UTC; "" is never. */
static const char *later(const struct json *row, const char *one, const char *two)
{
	const char *a = json_text(json_get(row, one), "");
	const char *b = json_text(json_get(row, two), "");

	return strcmp(a, b) > 0 ? a : b;
}

/* ANALYZE leaves its row count in reltuples, so what is live beyond it came later;
 * unless a vacuum counted anew since, then its own counter of inserts is the guess. */
static double inserted_since_analyze(const struct diff_table *t, int side)
{
	const struct json *activity = t->activity[side];
	double modified = number(activity, "modified_since_analyze", 0);
	double grown = number(activity, "live", 0) - number(t->relation[side], "reltuples", 0);
	bool is_vacuumed_since = strcmp(later(activity, "last_vacuum", "last_autovacuum"),
					 later(activity, "last_analyze", "last_autoanalyze")) > 0;
	double inserted = is_vacuumed_since ? number(activity, "inserted_since_vacuum", 0) : grown;

	return inserted < 0 ? 0 : at_most(inserted, modified);
}

static double stale_share(const struct diff_table *t, int side)
{
	double inserted = inserted_since_analyze(t, side);
	double updated = number(t->activity[side], "modified_since_analyze", 0) - inserted;
	double rows = rows_of(t, side);

	/* An update rarely moves a distribution, a new row often does. */
	return rows > 0 ? (inserted + 0.1 * updated) / rows : 0;
}

static void stale_statistics(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double share = stale_share(t, 0), other = stale_share(t, 1), values = 0;
		double inserted = inserted_since_analyze(t, 0);
		const char *column = inserted >= 50 ? closed_column(d, t->name, &values) : NULL;
		const char *why;

		if (inserted < 50 || share < (column ? 0.001 : 0.005) || share < 2 * other)
			continue;
		why = column ? diff_text(d,
				       "%.0f rows came after ANALYZE; for column '%s' the planner believes that its %.0f"
				       " known values are all there are, so a new one is planned as a single row",
				       inserted, column, values)
			     : diff_text(d,
				       "%.0f rows came after ANALYZE: the planner does not know their values",
				       inserted);
		diff_add(d,
			(struct diff_finding){
				.kind = "stale statistics",
				.object = t->name,
				.a = diff_text(d, "%.1f %% of the rows changed since ANALYZE",
					100 * number(t->activity[0], "modified_since_analyze", 0) /
						rows_of(t, 0)),
				.b = diff_text(d, "%.1f %%",
					rows_of(t, 1) > 0
						? 100 *
							  number(t->activity[1],
								  "modified_since_analyze", 0) /
							  rows_of(t, 1)
						: 0),
				.why = why,
				.close = diff_text(d, "ANALYZE %s", t->name),
				.condition = "stats",
				.score = t->weight *
					 (60 + 25 * at_most(share / 0.03, 1) + (column ? 8 : 0)) *
					 at_most(log10(rows_of(t, 0) + 1) / 4, 1),
			});
	}
}

static bool has_statistics(const struct diff *d, int side, const char *table)
{
	const struct json *columns = section_list(d, side, "columns.columns");
	size_t schema = (size_t)(strchr(table, '.') - table);

	for (size_t i = 0; i < json_count(columns); i++) {
		const struct json *c = json_at(columns, i);
		const char *name = json_text(json_get(c, "schema"), "");

		if (strlen(name) == schema && strncmp(name, table, schema) == 0 &&
			strcmp(json_text(json_get(c, "table"), ""), table + schema + 1) == 0 &&
			json_is_true(json_get(c, "has_statistics"), false))
			return true;
	}
	return false;
}

static void never_analysed(struct diff *d)
{
	/* A role that may not read statistics sees none: that proves nothing. */
	if (strcmp(json_text(json_path(d->profile[0], "sections.columns.status"), ""), "ok") != 0)
		return;
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double pages = number(t->relation[0], "pages", 0);

		if (pages < 10 || !t->relation[1] || has_statistics(d, 0, t->name) ||
			!has_statistics(d, 1, t->name))
			continue;
		diff_add(d,
			(struct diff_finding){
				.kind = "never analysed",
				.object = t->name,
				.a = diff_text(d, "%.0f pages, no statistics", pages),
				.b = "has statistics",
				.why = "without statistics the planner takes fixed guesses for every condition",
				.close = diff_text(d, "ANALYZE %s", t->name),
				.condition = "stats",
				.score = t->weight * (70 + 15 * at_most(log10(pages) / 4, 1)),
			});
	}
}

/* The planner scales the row density at ANALYZE by today's pages; a table that lost
 * or gained rows per page since is misjudged by that ratio. */
static void wrong_row_estimate(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double relpages = number(t->relation[0], "relpages", 0),
		       pages = number(t->relation[0], "pages", 0);
		double reltuples = number(t->relation[0], "reltuples", -1),
		       live = number(t->activity[0], "live", -1);
		double implied = relpages > 0 ? reltuples / relpages * pages : -1;
		double ratio;

		if (implied < 1000 || live < 1000 || reltuples < 0)
			continue;
		ratio = implied > live ? implied / live : live / implied;
		if (ratio < 2)
			continue;
		diff_add(d,
			(struct diff_finding){
				.kind = "row estimate",
				.object = t->name,
				.a = diff_text(d, "planned as %.0f rows, about %.0f are there",
					implied, live),
				.b = "-",
				.why = "the planner's row count for the table is off by that factor",
				.close = diff_text(d, "ANALYZE %s", t->name),
				.condition = "stats",
				.score = t->weight * (60 + 10 * at_most(log10(ratio), 2)),
			});
	}
}

/* Volume */

static void row_count(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double a = rows_of(t, 0), b = rows_of(t, 1), ratio;

		if (!t->relation[0] || !t->relation[1] || (a < 1000 && b < 1000) || a < 0 || b < 0)
			continue;
		ratio = (a > b ? a : b) / ((a > b ? b : a) + 1);
		if (ratio < 2)
			continue;
		diff_add(d,
			(struct diff_finding){
				.kind = "row count",
				.object = t->name,
				.a = diff_text(d, "%.0f rows, %.0f pages", a,
					number(t->relation[0], "pages", 0)),
				.b = diff_text(d, "%.0f rows, %.0f pages", b,
					number(t->relation[1], "pages", 0)),
				.why = "scans, sorts, locks held while scanning and plan choices grow with the rows",
				.close = "reprod snapshot build DSN --into DIR",
				.condition = "data",
				.score = t->weight * (55 + 8 * at_most(log10(ratio), 3)) *
					 at_most(log10((a > b ? a : b) + 1) / 5, 1),
			});
	}
}

static void missing_table(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		int has = t->relation[0] ? 0 : 1;

		if (t->relation[0] && t->relation[1])
			continue;
		diff_add(d, (struct diff_finding){
				    .kind = "missing table",
				    .object = t->name,
				    .a = has == 0 ? "there" : "missing",
				    .b = has == 1 ? "there" : "missing",
				    .why = "statements on it fail on the other side",
				    .condition = "data",
				    .score = t->weight * 50,
			    });
	}
}

/* Indexes */

static const struct json *find_index(const struct json *list, const struct json *like)
{
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *x = json_at(list, i);

		if (strcmp(json_text(json_get(x, "schema"), ""),
			    json_text(json_get(like, "schema"), "")) == 0 &&
			strcmp(json_text(json_get(x, "table"), ""),
				json_text(json_get(like, "table"), "")) == 0 &&
			strcmp(json_text(json_get(x, "columns"), ""),
				json_text(json_get(like, "columns"), "")) == 0 &&
			strcmp(json_text(json_get(x, "method"), ""),
				json_text(json_get(like, "method"), "")) == 0 &&
			json_is_true(json_get(x, "is_partial"), false) ==
				json_is_true(json_get(like, "is_partial"), false) &&
			json_is_true(json_get(x, "is_valid"), true))
			return x;
	}
	return NULL;
}

static void missing_index(struct diff *d)
{
	for (int side = 0; side < 2; side++) {
		const struct json *mine = section_list(d, side, "indexes.indexes");
		const struct json *others = section_list(d, !side, "indexes.indexes");

		for (size_t i = 0; i < json_count(mine); i++) {
			const struct json *x = json_at(mine, i);
			const char *schema = json_text(json_get(x, "schema"), "");
			const char *table = json_text(json_get(x, "table"), "");
			const char *name = json_text(json_get(x, "name"), "");
			struct diff_table *t = diff_find_table(d, schema, table);
			const char *shape;

			if (!t || !t->relation[!side] || find_index(others, x) ||
				!json_is_true(json_get(x, "is_valid"), true))
				continue;
			shape = diff_text(d, "%s (%s)", json_text(json_get(x, "method"), ""),
				json_text(json_get(x, "columns"), ""));
			diff_add(d, (struct diff_finding){
					    .kind = "missing index",
					    .object = diff_text(d, "%s.%s", schema, name),
					    .a = side == 0 ? shape : "no such index",
					    .b = side == 1 ? shape : "no such index",
					    .why = diff_text(d, "plans on %s.%s cannot be the same",
						    schema, table),
					    .close = "create or drop the index on one side",
					    .condition = diff_text(d, "index:%s", name),
					    .score = t->weight * 90 *
						     at_most(log10(rows_of(t, side) + 10) / 5, 1),
				    });
		}
	}
}

static void invalid_index(struct diff *d)
{
	const struct json *mine = section_list(d, 0, "indexes.indexes");

	for (size_t i = 0; i < json_count(mine); i++) {
		const struct json *x = json_at(mine, i);

		if (json_is_true(json_get(x, "is_valid"), true))
			continue;
		diff_add(d, (struct diff_finding){
				    .kind = "invalid index",
				    .object = diff_text(d, "%s.%s",
					    json_text(json_get(x, "schema"), ""),
					    json_text(json_get(x, "name"), "")),
				    .a = "invalid: maintained, never used",
				    .b = "-",
				    .why = "a concurrent build failed; reads scan without it",
				    .close = diff_text(d, "REINDEX INDEX CONCURRENTLY %s",
					    json_text(json_get(x, "name"), "")),
				    .condition = diff_text(
					    d, "index:%s", json_text(json_get(x, "name"), "")),
				    .score = 88,
			    });
	}
}

/* Settings and versions */

static double setting_weight(const char *name)
{
	static const struct {
		const char *prefix;
		double weight;
	} weights[] = {
		{ "enable_", 82 },
		{ "random_page_cost", 75 },
		{ "work_mem", 72 },
		{ "hash_mem_multiplier", 68 },
		{ "plan_cache_mode", 75 },
		{ "jit", 66 },
		{ "effective_cache_size", 60 },
		{ "shared_buffers", 62 },
		{ "max_parallel", 60 },
		{ "default_statistics_target", 60 },
		{ "join_collapse", 62 },
		{ "from_collapse", 62 },
		{ "geqo", 55 },
		{ "seq_page_cost", 65 },
		{ "cpu_", 55 },
		{ "parallel_", 55 },
		{ "synchronous_commit", 70 },
		{ "commit_delay", 65 },
		{ "max_connections", 45 },
		{ "autovacuum", 50 },
		{ "vacuum_", 40 },
		{ "temp_buffers", 45 },
		{ "statement_timeout", 40 },
		{ "lock_timeout", 40 },
		{ "idle_in_transaction", 35 },
		{ "wal_", 35 },
		{ "checkpoint", 40 },
		{ "max_wal_size", 40 },
		{ "effective_io", 45 },
		{ "maintenance_work_mem", 30 },
		{ "backend_flush_after", 35 },
		{ "bgwriter", 30 },
		{ "cursor_tuple_fraction", 45 },
		{ "recursive_worktable", 40 },
		{ "constraint_exclusion", 50 },
		{ "default_transaction_isolation", 50 },
		{ "track_io_timing", 25 },
		{ "shared_preload_libraries", 25 },
	};

	for (size_t i = 0; i < LENGTH(weights); i++)
		if (strncmp(name, weights[i].prefix, strlen(weights[i].prefix)) == 0)
			return weights[i].weight;
	return 12;
}

/* Settings that say where the server lives, not how it behaves. */
static bool is_place(const char *name)
{
	static const char *const places[] = { "port", "data_", "in_hot_standby", "server_version",
		"lc_", "listen_", "unix_socket", "log_", "segment_size", "wal_segment_size",
		"block_size", "archive", "max_wal_senders", "max_replication", "wal_level",
		"recovery_", "primary_", "fsync", "max_logical", "shared_memory_size",
		"server_encoding", "huge_page", "debug_", "ssl", "bonjour", "event_source",
		"cluster_name" };

	for (size_t i = 0; i < LENGTH(places); i++)
		if (strncmp(name, places[i], strlen(places[i])) == 0)
			return true;
	return false;
}

static const struct json *find_setting(const struct json *list, const char *name)
{
	for (size_t i = 0; i < json_count(list); i++)
		if (strcmp(json_text(json_get(json_at(list, i), "name"), ""), name) == 0)
			return json_at(list, i);
	return NULL;
}

static void settings(struct diff *d)
{
	const struct json *mine = section_list(d, 0, "settings.settings");
	const struct json *others = section_list(d, 1, "settings.settings");

	for (size_t i = 0; i < json_count(mine); i++) {
		const char *name = json_text(json_get(json_at(mine, i), "name"), "");
		const char *a = json_text(json_get(json_at(mine, i), "value"), "");
		const char *unit = json_text(json_get(json_at(mine, i), "unit"), "");
		const struct json *other = find_setting(others, name);
		const char *b = json_text(json_get(other, "value"), "");

		if (!other || is_place(name) || strcmp(a, b) == 0)
			continue;
		diff_add(
			d, (struct diff_finding){
				   .kind = "setting",
				   .object = name,
				   .a = diff_text(d, "%s%s%s", a, *unit ? " x " : "", unit),
				   .b = diff_text(d, "%s%s%s", b, *unit ? " x " : "", unit),
				   .why = setting_weight(name) >= 55 ? "plans or waits depend on it"
								     : "may matter for load",
				   .close = diff_text(d, "ALTER SYSTEM SET %s = '%s'", name, b),
				   .condition = diff_text(d, "setting:%s", name),
				   .score = setting_weight(name),
			   });
	}
}

static const struct json *find_override(const struct json *list, const struct json *like)
{
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *x = json_at(list, i);

		if (strcmp(json_text(json_get(x, "role"), ""),
			    json_text(json_get(like, "role"), "")) == 0 &&
			strcmp(json_text(json_get(x, "name"), ""),
				json_text(json_get(like, "name"), "")) == 0)
			return x;
	}
	return NULL;
}

static void overrides(struct diff *d)
{
	const struct json *mine = section_list(d, 0, "settings.overrides");
	const struct json *others = section_list(d, 1, "settings.overrides");

	for (size_t i = 0; i < json_count(mine); i++) {
		const struct json *x = json_at(mine, i);
		const struct json *other = find_override(others, x);
		const char *name = json_text(json_get(x, "name"), "");
		const char *a = json_text(json_get(x, "value"), "");

		if (other && strcmp(json_text(json_get(other, "value"), ""), a) == 0)
			continue;
		diff_add(d,
			(struct diff_finding){
				.kind = "setting",
				.object = diff_text(d, "%s for role '%s', database '%s'", name,
					json_text(json_get(x, "role"), ""),
					json_text(json_get(x, "database"), "")),
				.a = a,
				.b = other ? json_text(json_get(other, "value"), "") : "not set",
				.why = "an override per role or database escapes a look at the configuration file",
				.close = "ALTER ROLE or ALTER DATABASE ... SET on one side",
				.condition = diff_text(d, "setting:%s", name),
				.score = setting_weight(name),
			});
	}
}

static void versions(struct diff *d)
{
	double a = json_number(json_path(d->profile[0], "sections.identity.server_version_num"), 0);
	double b = json_number(json_path(d->profile[1], "sections.identity.server_version_num"), 0);
	bool is_major = (int)a / 10000 != (int)b / 10000;

	if (a == b || a == 0 || b == 0)
		return;
	diff_add(d,
		(struct diff_finding){
			.kind = "version",
			.object = "server",
			.a = json_text(
				json_path(d->profile[0], "sections.identity.server_version"), ""),
			.b = json_text(
				json_path(d->profile[1], "sections.identity.server_version"), ""),
			.why = is_major ? "planners of two major versions choose differently"
					: "minor fixes differ",
			.score = is_major ? 60 : 15,
		});
}

/* Shape of columns */

static const struct json *find_column(const struct json *list, size_t hint, const struct json *like)
{
	size_t n = json_count(list);

	/* Both lists are sorted alike, so the match is near the hint. */
	for (size_t step = 0; step < n; step++) {
		const struct json *x = json_at(list, (hint + step) % n);

		if (strcmp(json_text(json_get(x, "name"), ""),
			    json_text(json_get(like, "name"), "")) == 0 &&
			strcmp(json_text(json_get(x, "table"), ""),
				json_text(json_get(like, "table"), "")) == 0 &&
			strcmp(json_text(json_get(x, "schema"), ""),
				json_text(json_get(like, "schema"), "")) == 0)
			return x;
	}
	return NULL;
}

static double distinct_values(const struct json *column, double rows)
{
	double n = number(column, "n_distinct", 0);

	return n < 0 ? -n * rows : n;
}

static void column_shape(
	struct diff *d, const struct diff_table *t, const struct json *x, const struct json *y)
{
	double correlation = fabs(number(x, "correlation", 0) - number(y, "correlation", 0));
	double nulls = fabs(number(x, "null_frac", 0) - number(y, "null_frac", 0));
	double wide = number(x, "avg_width", 1), narrow = number(y, "avg_width", 1);
	double a = distinct_values(x, rows_of(t, 0)) / (rows_of(t, 0) + 1);
	double b = distinct_values(y, rows_of(t, 1)) / (rows_of(t, 1) + 1);
	const char *object = diff_text(d, "%s.%s", t->name, json_text(json_get(x, "name"), ""));

	if (correlation > 0.3 && rows_of(t, 0) > 10000 && rows_of(t, 1) > 10000)
		diff_add(d,
			(struct diff_finding){ .kind = "correlation",
				.object = object,
				.a = diff_text(d, "%.2f", number(x, "correlation", 0)),
				.b = diff_text(d, "%.2f", number(y, "correlation", 0)),
				.why = "the order of rows on disk decides what an index range scan costs",
				.close = "reprod snapshot build DSN --into DIR",
				.condition = "data",
				.score = t->weight * 40 * correlation });
	if (nulls > 0.05)
		diff_add(d, (struct diff_finding){ .kind = "null share",
				    .object = object,
				    .a = diff_text(d, "%.3f", number(x, "null_frac", 0)),
				    .b = diff_text(d, "%.3f", number(y, "null_frac", 0)),
				    .why = "estimates for IS NULL and joins on it differ",
				    .close = "reprod snapshot build DSN --into DIR",
				    .condition = "data",
				    .score = t->weight * 35 * nulls });
	if (wide > 16 && narrow > 0 && (wide / narrow > 2 || narrow / wide > 2))
		diff_add(d, (struct diff_finding){ .kind = "width",
				    .object = object,
				    .a = diff_text(d, "%.0f bytes", wide),
				    .b = diff_text(d, "%.0f bytes", narrow),
				    .why = "sorts, hashes and TOAST depend on the width",
				    .close = "reprod snapshot build DSN --into DIR",
				    .condition = "data",
				    .score = t->weight * 25 });
	if (a > 0 && b > 0 && fabs(log10(a / b)) > 1 && rows_of(t, 1) > 10000)
		diff_add(d, (struct diff_finding){ .kind = "distinct values",
				    .object = object,
				    .a = diff_text(d, "%.0f", distinct_values(x, rows_of(t, 0))),
				    .b = diff_text(d, "%.0f", distinct_values(y, rows_of(t, 1))),
				    .why = "rows per value differ tenfold",
				    .close = "reprod snapshot build DSN --into DIR",
				    .condition = "data",
				    .score = t->weight * 35 });
}

static void columns(struct diff *d)
{
	const struct json *mine = section_list(d, 0, "columns.columns");
	const struct json *others = section_list(d, 1, "columns.columns");

	for (size_t i = 0; i < json_count(mine); i++) {
		const struct json *x = json_at(mine, i);
		const struct diff_table *t = diff_find_table(d,
			json_text(json_get(x, "schema"), ""), json_text(json_get(x, "table"), ""));
		const struct json *y = t && t->relation[1] ? find_column(others, i, x) : NULL;

		if (y && json_is_true(json_get(x, "has_statistics"), false) &&
			json_is_true(json_get(y, "has_statistics"), false))
			column_shape(d, t, x, y);
	}
}

/* Bloat and age */

static void dead_tuples(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double live = number(t->activity[0], "live", 0),
		       dead = number(t->activity[0], "dead", 0);
		double other =
			number(t->activity[1], "dead", 0) / (number(t->activity[1], "live", 0) + 1);
		double share = dead / (live + 1);

		if (dead < 1000 || share < 0.1 || share < 2 * other)
			continue;
		diff_add(d,
			(struct diff_finding){
				.kind = "dead tuples",
				.object = t->name,
				.a = diff_text(d, "%.0f dead beside %.0f live rows", dead, live),
				.b = diff_text(d, "%.0f", number(t->activity[1], "dead", 0)),
				.why = "scans and index lookups visit every dead version until vacuum may remove it",
				.close = diff_text(d, "VACUUM %s", t->name),
				.condition = "bloat",
				.score = t->weight * (52 + 30 * at_most(share / 2, 1)) *
					 at_most(log10(dead + 1) / 5, 1),
			});
	}
}

static double pages_per_row(const struct diff_table *t, int side)
{
	double rows = rows_of(t, side);

	return rows > 0 ? number(t->relation[side], "pages", 0) / rows : 0;
}

static void bloat(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double a = pages_per_row(t, 0), b = pages_per_row(t, 1);

		if (number(t->relation[0], "pages", 0) < 200 || rows_of(t, 1) < 500 || b <= 0 ||
			a / b < 1.5)
			continue;
		diff_add(d, (struct diff_finding){
				    .kind = "bloat",
				    .object = t->name,
				    .a = diff_text(d, "%.1f rows a page", 1 / a),
				    .b = diff_text(d, "%.1f rows a page", 1 / b),
				    .why = diff_text(d,
					    "each row costs %.1f times the pages to read", a / b),
				    .close = diff_text(d, "VACUUM FULL %s (locks it)", t->name),
				    .condition = "bloat",
				    .score = t->weight * (45 + 25 * at_most(log2(a / b) / 4, 1)),
			    });
	}
}

static void horizon(struct diff *d)
{
	const struct json *h = json_path(d->profile[0], "sections.horizon");
	double transaction_s = number(h, "oldest_transaction_s", 0),
	       xmin_age = number(h, "oldest_xmin_age", 0);
	double slots = number(h, "slot_xmin_age", 0),
	       prepared = number(h, "prepared_transactions", 0);

	if (transaction_s < 300 && xmin_age < 100000 && slots < 100000 && prepared == 0)
		return;
	diff_add(d,
		(struct diff_finding){
			.kind = "vacuum held back",
			.object = "server",
			.a = diff_text(d,
				"oldest transaction %.0f s, oldest snapshot %.0f transactions old",
				transaction_s, xmin_age > slots ? xmin_age : slots),
			.b = "-",
			.why = "dead rows newer than that cannot be removed by any vacuum",
			.close =
				"end the transaction, the prepared transaction or the slot that holds it",
			.condition = "bloat",
			.score = 55,
		});
}

static void visibility(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double a = number(t->relation[0], "relallvisible", 0) /
			   (number(t->relation[0], "relpages", 0) + 1);
		double b = number(t->relation[1], "relallvisible", 0) /
			   (number(t->relation[1], "relpages", 0) + 1);

		if (number(t->relation[0], "relpages", 0) < 500 || !t->relation[1] ||
			number(t->relation[1], "relpages", 0) < 10 || b - a < 0.3)
			continue;
		diff_add(d, (struct diff_finding){
				    .kind = "visibility",
				    .object = t->name,
				    .a = diff_text(d, "%.0f %% of pages all-visible", 100 * a),
				    .b = diff_text(d, "%.0f %%", 100 * b),
				    .why = "index-only scans visit the heap for the rest",
				    .close = diff_text(d, "VACUUM %s", t->name),
				    .condition = "bloat",
				    .score = t->weight * 32,
			    });
	}
}

static double hit_ratio(const struct json *row)
{
	double hit = number(row, "heap_hit", 0) + number(row, "index_hit", 0);
	double read = number(row, "heap_read", 0) + number(row, "index_read", 0);

	return hit + read >= 1000 ? hit / (hit + read) : -1;
}

static void cache(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double a = hit_ratio(t->cache[0]), b = hit_ratio(t->cache[1]);

		if (a < 0 || a > 0.9 || (b >= 0 && b - a < 0.1))
			continue;
		diff_add(d,
			(struct diff_finding){
				.kind = "cache",
				.object = t->name,
				.a = diff_text(
					d, "%.0f %% of block reads were buffer hits", 100 * a),
				.b = b < 0 ? "too few reads to tell"
					   : diff_text(d, "%.0f %%", 100 * b),
				.why = "what is not in shared buffers is read from the page cache or the disk",
				.condition = "cache",
				.score = t->weight * (20 + 40 * (0.9 - a)),
			});
	}
}

static void extended_statistics(struct diff *d)
{
	const struct json *mine = section_list(d, 0, "dependencies.extended_statistics");
	const struct json *others = section_list(d, 1, "dependencies.extended_statistics");

	if (json_count(mine) == json_count(others))
		return;
	diff_add(d, (struct diff_finding){
			    .kind = "extended statistics",
			    .object = "server",
			    .a = diff_text(d, "%zu", json_count(mine)),
			    .b = diff_text(d, "%zu", json_count(others)),
			    .why = "estimates over several columns need them",
			    .close = "CREATE STATISTICS on one side, then ANALYZE",
			    .condition = "stats",
			    .score = 62,
		    });
}

diff_rule *const diff_rules[] = {
	missing_index,
	invalid_index,
	stale_statistics,
	never_analysed,
	wrong_row_estimate,
	row_count,
	missing_table,
	extended_statistics,
	settings,
	overrides,
	versions,
	columns,
	dead_tuples,
	bloat,
	horizon,
	visibility,
	cache,
};

const size_t diff_rule_count = LENGTH(diff_rules);
