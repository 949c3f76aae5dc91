#include "snapshot/diff_facts.h"

#include <math.h>
#include <string.h>

static bool believes_to_know_all(const struct json *column)
{
	const struct json *frequencies = json_get(column, "common_frequencies");
	double sum = diff_number(column, "null_frac", 0);

	for (size_t i = 0; i < json_count(frequencies); i++)
		sum += json_number(json_at(frequencies, i), 0);
	return json_count(frequencies) > 0 && sum > 0.9995 &&
	       diff_number(column, "histogram_bounds", 0) == 0;
}

/* A column whose common values are, to the planner, all values there are: a row with
 * a new one is estimated as a single row. */
static const char *closed_column(const struct diff *d, const char *table, double *ret_values)
{
	const struct json *columns = diff_list(d, 0, "columns.columns");
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
	double modified = diff_number(activity, "modified_since_analyze", 0);
	double grown =
		diff_number(activity, "live", 0) - diff_number(t->relation[side], "reltuples", 0);
	bool is_vacuumed_since = strcmp(later(activity, "last_vacuum", "last_autovacuum"),
					 later(activity, "last_analyze", "last_autoanalyze")) > 0;
	double inserted =
		is_vacuumed_since ? diff_number(activity, "inserted_since_vacuum", 0) : grown;

	return inserted < 0 ? 0 : diff_at_most(inserted, modified);
}

static double stale_share(const struct diff_table *t, int side)
{
	double inserted = inserted_since_analyze(t, side);
	double updated = diff_number(t->activity[side], "modified_since_analyze", 0) - inserted;
	double rows = diff_rows_of(t, side);

	/* An update rarely moves a distribution, a new row often does. */
	return rows > 0 ? (inserted + 0.1 * updated) / rows : 0;
}

void diff_stale_statistics(struct diff *d)
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
		diff_add(d, (struct diff_finding){
				    .kind = "stale statistics",
				    .object = t->name,
				    .a = diff_text(d, "%.1f %% of the rows changed since ANALYZE",
					    100 *
						    diff_number(t->activity[0],
							    "modified_since_analyze", 0) /
						    diff_rows_of(t, 0)),
				    .b = diff_text(d, "%.1f %%",
					    diff_rows_of(t, 1) > 0
						    ? 100 *
							      diff_number(t->activity[1],
								      "modified_since_analyze", 0) /
							      diff_rows_of(t, 1)
						    : 0),
				    .why = why,
				    .close = diff_text(d, "ANALYZE %s", t->name),
				    .condition = "stats",
				    .score = t->weight *
					     (60 + 25 * diff_at_most(share / 0.03, 1) +
						     (column ? 8 : 0)) *
					     diff_at_most(log10(diff_rows_of(t, 0) + 1) / 4, 1),
			    });
	}
}

static bool has_statistics(const struct diff *d, int side, const char *table)
{
	const struct json *columns = diff_list(d, side, "columns.columns");
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

void diff_never_analysed(struct diff *d)
{
	/* A role that may not read statistics sees none: that proves nothing. */
	if (strcmp(json_text(json_path(d->profile[0], "sections.columns.status"), ""), "ok") != 0)
		return;
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double pages = diff_number(t->relation[0], "pages", 0);

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
				.score = t->weight * (70 + 15 * diff_at_most(log10(pages) / 4, 1)),
			});
	}
}

/* The planner scales the row density at ANALYZE by today's pages; a table that lost
 * or gained rows per page since is misjudged by that ratio. */
void diff_wrong_row_estimate(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double relpages = diff_number(t->relation[0], "relpages", 0),
		       pages = diff_number(t->relation[0], "pages", 0);
		double reltuples = diff_number(t->relation[0], "reltuples", -1),
		       live = diff_number(t->activity[0], "live", -1);
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
				.score = t->weight * (60 + 10 * diff_at_most(log10(ratio), 2)),
			});
	}
}

void diff_extended_statistics(struct diff *d)
{
	const struct json *mine = diff_list(d, 0, "dependencies.extended_statistics");
	const struct json *others = diff_list(d, 1, "dependencies.extended_statistics");

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
