/*
 * lift.h - how many times more frequent slow requests are in windows than around them.
 *
 * "Around" is within two hours of a window, outside all windows, and inside what was
 * seen. lift = (k1 + 1/2) / (n1 + 1) over (k0 + 1/2) / (n0 + 1), so that no slow
 * request outside is a large number and not infinity; its interval resamples the
 * occurrences.
 */
#ifndef REPROD_CORRELATE_LIFT_H
#define REPROD_CORRELATE_LIFT_H

#include "correlate/view.h"

#define LIFT_AROUND_NS (7200 * NS_PER_S)

struct lift {
	double n1, k1, n0, k0; /* requests and slow ones inside, and around */
	double lost1_s, lost0_s; /* latency above the baseline */
	double taken_ticks; /* by the windows */
	double lift;
};

/* The windows that take marks (all of them when it is NULL); seen clips what is around. */
bool lift_compare(struct lift *ret, const struct view *v, const struct span *windows,
	const bool *take, size_t count, struct span seen) MUST_USE;
/* 95 %, by 999 resamples of the marked windows; NAN below three of them. */
bool lift_interval(double *ret_low, double *ret_high, const struct view *v, const struct lift *l,
	const struct span *windows, const bool *take, size_t count, uint64_t seed) MUST_USE;

#endif
