/*
 * shift.h - a lasting step up in a route's latencies, by request.
 *
 * For six thresholds (quantiles of all requests) the split with the largest
 * binomial likelihood ratio of requests above it, before against after, is taken
 * (Hinkley 1970). It counts when twice its logarithm, divided by the dispersion
 * of the counts over blocks, is 30 or more; when the later share holds in most of
 * eight blocks up to the end (a periodic stall does not); and when p50, p90 or p99
 * rose 1.5 times. Its place is then that of the slow requests alone: a drift of
 * the median before or after is not the step.
 */
#ifndef REPROD_CORRELATE_SHIFT_H
#define REPROD_CORRELATE_SHIFT_H

#include "core/model/series.h"

struct shift {
	int64_t tick; /* of the first request that is above the threshold for good */
	double quantile, ratio; /* 0.9 rose 17 times */
	double score;
};

bool shift_find(struct shift *ret, const struct series_route *r);

#endif
