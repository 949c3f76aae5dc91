/*
 * baseline.h - what is normal for a route: its quiet p99, and where the level moved.
 *
 * The quantile comes from the quieter 70 % of the buckets and is then taken again
 * without the buckets that exceed it more than chance allows, so that a slowdown
 * holding up to 30 % of the time does not hide itself. A lasting step up of the
 * level splits the capture into two segments with a baseline each (shift.h).
 */
#ifndef REPROD_CORRELATE_BASELINE_H
#define REPROD_CORRELATE_BASELINE_H

#include "correlate/bucket.h"

struct baseline_segment {
	int64_t from_tick; /* up to the next segment */
	uint32_t bin, slow_bin; /* a request exceeds when its bin is above */
	double p99_ms; /* NAN below 100 requests: nothing can be said */
	double slow_ms; /* max(2 x p99, p99 + 5 ms): a slow request is above */
	uint64_t n;
};

struct baseline {
	struct baseline_segment segments[2];
	size_t count; /* 0: not estimable */
	bool has_shift; /* the second segment is a level shift up */
	int64_t shift_ns;
	double shift_ratio, shift_quantile; /* p90 rose 17 times */
};

/* Marks buckets as flagged. */
void baseline_fit(struct baseline *base, const struct series *s, const struct series_route *r,
	struct bucket_list *buckets);
/* Takes the quantiles again without the buckets that overlap the (joined) loud ticks;
 * keeps what it had when less than half of a segment would be left. */
void baseline_refit(struct baseline *base, const struct series *s, const struct series_route *r,
	struct bucket_list *buckets, const struct span *loud, size_t count);
const struct baseline_segment *baseline_at(const struct baseline *base, int64_t tick);

#endif
