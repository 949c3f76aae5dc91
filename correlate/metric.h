/*
 * metric.h - numbers sampled over time that may go with the slow time.
 *
 * A point holds from its time until the next one, at most METRIC_STALE times the usual
 * gap: then it is unknown. The test (metric_test) is on the route's buckets: the metric
 * without its daily harmonics, by ranks, mean inside the spikes less mean outside,
 * against circular shifts; the largest over lags of -10 to +10 minutes is taken in the
 * null as well.
 */
#ifndef REPROD_CORRELATE_METRIC_H
#define REPROD_CORRELATE_METRIC_H

#include "core/base/arena.h"
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
	struct metric *items;
	size_t count, cap, points;
	uint64_t refused; /* metrics or points beyond a cap */
	struct arena arena;
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
void metric_list_finish(struct metric_list *list);

struct metric_result {
	bool is_evaluable; /* values inside and outside spikes, and enough buckets */
	size_t used, in_spikes; /* buckets */
	double p;
	uint64_t shifts;
	double effect; /* mean rank inside less outside, -1 to 1 */
	double smallest_effect; /* what would have been seen with power 0.8; NAN: none */
	double lag_s; /* positive: the metric moves first */
	double inside, outside; /* medians of the values */
};

/* The route's requests a second as a metric. */
bool metric_of_traffic(struct metric *ret, const struct view *v) MUST_USE;
bool metric_test(struct metric_result *ret, const struct view *v, const struct spike_list *spikes,
	const struct metric *m, uint64_t seed) MUST_USE;

#endif
