/*
 * lag.h - how long after an occurrence the slow time begins, and how long it lasts.
 *
 * The latency lost is superposed over the occurrences (none louder than the mean
 * one); the onset is the lowest point of the running sum of deviations (Page 1954,
 * in retrospect), its 95 % interval from 399 resamples of the occurrences. Looked at
 * from 30 min before to 60 min after, at most half a period each.
 */
#ifndef REPROD_CORRELATE_LAG_H
#define REPROD_CORRELATE_LAG_H

#include "correlate/lineup.h"

struct lag {
	double lag_s, low_s, high_s; /* NAN when nothing was hit */
	double duration_s; /* from the onset to the end of what became slow */
	bool is_before; /* the slow time came first: a reaction rather than a reason */
};

bool lag_measure(struct lag *ret, const struct view *v, const struct condition *c,
	const struct lineup *l, uint64_t seed) MUST_USE;

#endif
