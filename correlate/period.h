/*
 * period.h - rhythms in the spikes that no condition was given for.
 *
 * For each usual period P of schedulers and each width w <= P/4 the onsets are
 * folded; c cycles out of n have an onset in the best phase window. The score is
 * log10 of the chance of that, paid for the phases and pairs tried: log10
 * P(Bin(n, w/P) >= c) + log10(P/w) + log10(pairs). One onset a cycle and fixed
 * widths keep multiples and divisors of the true period from winning.
 */
#ifndef REPROD_CORRELATE_PERIOD_H
#define REPROD_CORRELATE_PERIOD_H

#include "correlate/spike.h"

struct period {
	int64_t period_ns, phase_ns, width_ns; /* phase since 1970 UTC, modulo the period */
	double score; /* log10; accepted at -3 and below */
	size_t cycles, hit;
};

/* The best rhythm of a route's spikes; false when there is none at -3 or below. */
bool period_find(
	struct period *ret, const struct spike_list *spikes, int64_t first_ns, int64_t last_ns);

#endif
