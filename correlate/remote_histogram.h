/*
 * remote_histogram.h - counters of histogram buckets over time, turned into requests.
 *
 * A group is one histogram of one instance (labels without "le"). Fed with its buckets at
 * each step, it gives the series what was added since the step before, as counts in ranges of
 * latency. A bucket that fell is a restart: then what it holds came since. What was added over
 * a missing step, or while bounds changed, has no known time or range and is left out
 * (counted). Prometheus' "increase" is not used: it extrapolates.
 */
#ifndef REPROD_CORRELATE_REMOTE_HISTOGRAM_H
#define REPROD_CORRELATE_REMOTE_HISTOGRAM_H

#include "core/base/table.h"
#include "core/model/series.h"

#define REMOTE_GROUPS_MAX 50000
#define REMOTE_BUCKETS_MAX 1000

struct remote_bucket {
	double low, high; /* in the metric's unit; (low, high]; high may be infinite */
	double count; /* in this bucket alone */
	double rest; /* the fraction of a request that was not handed on yet */
};

struct remote_group {
	struct series_route *route;
	size_t number; /* in the order of their coming */
	struct remote_bucket *buckets; /* at last_ns, by low */
	size_t count;
	int64_t last_ns; /* INT64_MIN: none yet */
};

struct remote_histograms {
	struct series *series;
	double unit_us; /* microseconds of one unit */
	int64_t step_ns;
	double scale; /* 0: counts are totals since the start; else what was added in a step times this */
	struct table groups; /* key to struct remote_group */
	uint64_t requests, refused, resets, unplaced, changed; /* the latter: steps */
};

void remote_histograms_init(struct remote_histograms *h, struct series *s, int64_t step_ns);
void remote_histograms_free(struct remote_histograms *h);
/* Finds or adds; NULL at the cap, or out of memory. */
struct remote_group *remote_histograms_group(
	struct remote_histograms *h, struct slice key, struct slice route);
/* The group's buckets at t, sorted and apart; times must grow. False when out of memory. */
bool remote_histograms_feed(struct remote_histograms *h, struct remote_group *g, int64_t t_ns,
	const struct remote_bucket *buckets, size_t count) MUST_USE;

#endif
