/*
 * period_fold.h - instants folded by a period: how many cycles share one phase window.
 *
 * By chance a cycle has an instant in a window of width w with 1 - exp(-r w), r the rate
 * of instants: over the capture, or for periods from six hours on that within two hours
 * of the window, as busy hours are no schedule. So the hits are Bin(cycles, that):
 * cycles without one count against a period, and divisors of the true one lose.
 */
#ifndef REPROD_CORRELATE_PERIOD_FOLD_H
#define REPROD_CORRELATE_PERIOD_FOLD_H

#include "core/base/base.h"

struct fold_point {
	int64_t phase, cycle;
};

struct fold {
	struct fold_point *points; /* by phase, then once more a period later */
	uint32_t *seen; /* onsets of each cycle in the window */
	size_t count, cap;
	size_t seen_cap;
};

/* What is folded: instants of one clock, sorted, within [first, last]. */
struct fold_times {
	const int64_t *at;
	size_t count;
	int64_t first, last;
};

struct fold_best {
	int64_t phase;
	size_t cycles; /* whose window is in the capture */
	size_t hit; /* those with an onset in [phase, phase + width) */
	double score; /* log10 of the chance of so many; fold_find() pays for the phases */
};

bool fold_init(struct fold *f, size_t points_max) MUST_USE;
void fold_free(struct fold *f);
/* The best window among those that start at an instant. Hits nothing when out of memory,
 * or when there are 16 million cycles. */
struct fold_best fold_find(
	struct fold *f, const struct fold_times *t, int64_t period, int64_t width);
/* One window that is given. */
struct fold_best fold_test(
	const struct fold_times *t, int64_t period, int64_t width, int64_t phase);
/* log10 P(Bin(n, p) >= k). */
double fold_log_tail(size_t n, double p, size_t k);

#endif
