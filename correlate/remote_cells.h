/*
 * remote_cells.h - histograms that a database made of its rows.
 *
 * The server groups rows by time bucket, route and the bin of series_bin(); each group
 * comes as seven texts (k, route, bin, n, errors, largest us, first t): start of the bucket
 * = k x width since 1970. A group of one is then exactly the request it was; of others
 * the largest is exact, the rest within their bin. What is no request (no time, no latency)
 * comes as a group with a null and is counted.
 */
#ifndef REPROD_CORRELATE_REMOTE_CELLS_H
#define REPROD_CORRELATE_REMOTE_CELLS_H

#include "correlate/remote.h"

#define REMOTE_CELL_FIELDS 7
#define REMOTE_WIDTH_NS (10 * NS_PER_S)
#define REMOTE_LATENCY_MAX_MS "1e12"

struct remote_cells {
	struct series *series;
	int64_t width_ns;
	struct remote_counts *counts;
};

/* NULL is null. False only for a field that is no number where one must be. */
bool remote_cells_add(struct remote_cells *c, const char *const fields[REMOTE_CELL_FIELDS],
	struct err *e) MUST_USE;
/* Notes what was left out; false (with *e) when there was no request at all. */
bool remote_cells_finish(const struct remote_cells *c, struct err *e) MUST_USE;

#endif
