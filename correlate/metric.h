/*
 * metric.h - numbers sampled over time that may go with the slow time.
 *
 * A point holds from its time until the next one, at most METRIC_STALE times the usual
 * gap: then it is unknown. Names and points live until metric_list_free(), and a
 * struct metric stays where it is. Beyond METRICS_MAX and METRIC_POINTS_MAX they are
 * counted in refused. metric_test.c says what the test compares with.
 */
#ifndef REPROD_CORRELATE_METRIC_H
#define REPROD_CORRELATE_METRIC_H

#include "core/base/arena.h"
#include "core/base/table.h"
#include "correlate/spike.h"

#define METRICS_MAX 2000
#define METRIC_POINTS_MAX 2000000 /* over all metrics */
#define METRIC_STALE 3

struct metric_point {
	int64_t t_ns;
	double value;
};

struct metric {
	const char *id; /* "metric:n_dead_tup.orders"; "traffic" for the requests themselves */
	const char *unit; /* "1/s", "bytes", or NULL */
	struct metric_point *points; /* by time after metric_list_finish() */
	size_t count, cap;
	int64_t gap_ns; /* the usual one between points */
	int64_t from_ns, to_ns; /* its reach */
};

struct metric_list {
	struct metric *items; /* in order of first appearance */
	size_t count, points;
	uint64_t refused; /* metrics or points beyond a cap, and values that are no number */
	uint64_t repeated; /* points of a time that had one: the largest is kept */
	struct arena arena;
	struct table by_name;
};

void metric_list_init(struct metric_list *list);
void metric_list_free(struct metric_list *list);
/* Finds or adds "metric:NAME"; NULL at the cap (counted). */
struct metric *metric_get(struct metric_list *list, const char *name, const char *unit);
bool metric_add(struct metric_list *list, struct metric *m, int64_t t_ns, double value);
/* Of a counter that only grows but for resets: adds its rate per second since the
 * point before; a fall is a reset and gives no point. */
bool metric_add_counter(struct metric_list *list, struct metric *m, int64_t t_ns, double value,
	struct metric_point *before);
/* The same for a whole file in any order: points[from...] of m are values of a counter
 * and become rates. What follows a hole of more than METRIC_STALE usual gaps gives no
 * point: when it was counted is not known. */
void metric_make_rates(struct metric_list *list, struct metric *m, size_t from);
/* Sorts, drops repeated times, sets gap and reach. */
void metric_list_finish(struct metric_list *list);

struct metric_result {
	bool is_evaluable; /* values inside and outside spikes, and enough buckets */
	size_t used, in_spikes; /* cells with a value; of these in a spike */
	size_t episodes; /* spikes with values; under three is anecdotal */
	double p; /* two-sided */
	uint64_t shifts; /* places it was compared with */
	double effect; /* rank-biserial correlation, -1 to 1; above 0: higher in spikes */
	double smallest_effect; /* what would have been seen with power 0.8; NAN: none */
	double lag_s; /* positive: the metric moves first; negative: it follows, a reaction */
	double lag_max_s; /* lags up to this were tried: 10 min, less in short captures */
	double inside, outside; /* medians of the values, at that lag */
	bool is_deseasoned; /* daily (and from two weeks on weekly) harmonics were removed */
};

/* The route's requests a second as a metric "traffic", by bucket; free with
 * metric_free(). False: out of memory. */
bool metric_of_traffic(struct metric *ret, const struct view *v) MUST_USE;
void metric_free(struct metric *m);
/* False: out of memory. Level shifts are no spikes here. */
bool metric_test(struct metric_result *ret, const struct view *v, const struct spike_list *spikes,
	const struct metric *m, uint64_t seed) MUST_USE;

#endif
