/*
 * diff_facts.h - what the rules of a diff read from two profiles, and the rules.
 *
 * A rule looks at the whole, adds what it found with diff_add(), and scores it by what
 * it may cost: first what makes the planner blind (missing index, statistics that do
 * not know the rows), then volume, settings, versions, shape, bloat, cache. Noise of
 * ANALYZE at the default target, measured over repeats: frequencies +-0.005,
 * n_distinct +-2 %, correlation +-0.01; nothing smaller is told.
 */
#ifndef REPROD_DIFF_FACTS_H
#define REPROD_DIFF_FACTS_H

#include "snapshot/diff.h"

double diff_number(const struct json *row, const char *key, double fallback);
/* A list of one side's sections: "indexes.indexes". */
const struct json *diff_list(const struct diff *d, int side, const char *dotted);
double diff_at_most(double v, double most);
/* Rows of a table on one side: what the server counts live, or what ANALYZE left. */
double diff_rows_of(const struct diff_table *t, int side);

/* diff_statistics.c */
diff_rule diff_stale_statistics, diff_never_analysed, diff_wrong_row_estimate,
	diff_extended_statistics;
/* diff_schema.c */
diff_rule diff_missing_table, diff_missing_index, diff_invalid_index;
/* diff_server.c */
diff_rule diff_settings, diff_overrides, diff_versions;
/* diff_volume.c */
diff_rule diff_row_count, diff_columns, diff_cache;
/* diff_bloat.c */
diff_rule diff_dead_tuples, diff_bloat, diff_horizon, diff_visibility;

#endif
