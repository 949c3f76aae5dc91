#include "snapshot/diff_facts.h"

double diff_number(const struct json *row, const char *key, double fallback)
{
	return json_number(json_get(row, key), fallback);
}

const struct json *diff_list(const struct diff *d, int side, const char *dotted)
{
	return json_path(json_get(d->profile[side], "sections"), dotted);
}

double diff_at_most(double v, double most)
{
	return v < most ? v : most;
}

double diff_rows_of(const struct diff_table *t, int side)
{
	double reltuples = diff_number(t->relation[side], "reltuples", -1);
	double live = diff_number(t->activity[side], "live", -1);

	return live > reltuples ? live : reltuples;
}

diff_rule *const diff_rules[] = {
	diff_missing_index,
	diff_invalid_index,
	diff_stale_statistics,
	diff_never_analysed,
	diff_wrong_row_estimate,
	diff_row_count,
	diff_missing_table,
	diff_extended_statistics,
	diff_settings,
	diff_overrides,
	diff_versions,
	diff_columns,
	diff_dead_tuples,
	diff_bloat,
	diff_horizon,
	diff_visibility,
	diff_cache,
};

const size_t diff_rule_count = LENGTH(diff_rules);
