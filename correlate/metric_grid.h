/*
 * metric_grid.h - a metric laid on the cells of a route's buckets, by rank.
 *
 * A cell is one bucket, or several when there would be more than METRIC_CELLS_MAX. Its
 * value is the mean of the points in it, else the last one while that holds (metric.h);
 * cells without requests are unknown: nothing could have been slow there. Values lose
 * their daily harmonics (three, from two days on) and weekly ones (two, from two weeks
 * on) by least squares and are then ranked, to lie within -1 and 1 with mean 0.
 */
#ifndef REPROD_CORRELATE_METRIC_GRID_H
#define REPROD_CORRELATE_METRIC_GRID_H

#include "correlate/metric.h"

#define METRIC_CELLS_MAX 20000

struct metric_grid {
	size_t count;
	int64_t start_ns, width_ns;
	double *value; /* NAN: unknown */
	double *rank; /* NAN: unknown */
	struct span *slow; /* cells [from, to) in spikes, sorted and apart */
	size_t slow_count;
	size_t slow_cells;
	size_t known; /* cells with a value */
	bool is_constant; /* all known values are the same */
	bool is_deseasoned;
};

/* False: out of memory. */
bool metric_grid_make(struct metric_grid *g, const struct view *v, const struct spike_list *spikes,
	const struct metric *m) MUST_USE;
void metric_grid_free(struct metric_grid *g);

#endif
