/*
 * lineup.h - does a condition's schedule fall on the slow time more than luck does?
 *
 * Requests count where they arrive; a window opens one baseline p99 before its
 * occurrence, since a request that was on its way belongs to it, while one that
 * was already slow does not: an effect never precedes its cause. The statistic is
 * the sum over occurrences of the weight in excess of quiet time, in standard
 * deviations and capped at 10, so that one monster cannot carry it. Its null
 * shifts every cycle by itself, within its period (daily schedules within 2 h);
 * p = (1 + as extreme) / (1 + shifts), with Besag and Clifford's (1991) early
 * stop, so that only small values cost much.
 */
#ifndef REPROD_CORRELATE_LINEUP_H
#define REPROD_CORRELATE_LINEUP_H

#include "correlate/condition.h"
#include "correlate/spike.h"

struct lineup {
	size_t inside; /* occurrences within the capture */
	size_t evaluable; /* with requests in their windows */
	size_t hit; /* 3 deviations and a slow request or more */
	double hit_by_luck; /* mean over shifts */
	bool *hits; /* per occurrence of the condition */
	bool *judged; /* evaluable, per occurrence */
	struct span *spans; /* windows by tick, per occurrence, with the slack in front */
	double n1, k1, n0, k0;
	double lift, lift_low, lift_high;
	double score, p, p_phase;
	double luck_mean, luck_sd;
	uint64_t shifts;
	double smallest_lift; /* seen with power 0.8; NAN: none */
	double lost_s; /* in excess, inside the windows */
	double share; /* of the capture's time that the windows take */
};

/* v may be hidden in part (view_hide); full is the whole, for what is evaluable. */
bool lineup_test(struct lineup *l, const struct view *v, const struct view *full,
	const struct condition *c, uint64_t seed) MUST_USE;
void lineup_free(struct lineup *l);

/* A window that happened once, against all its other places in the capture. Only
 * sets p, lift, hit and the sums. */
bool lineup_test_lone(struct lineup *l, const struct view *v, const struct condition *c) MUST_USE;

struct lag {
	double lag_s, low_s, high_s; /* NAN when nothing was hit */
	double duration_s; /* from the onset to the end of what became slow */
	bool is_before; /* the slow time came first: a reaction rather than a reason */
};

/* Onset by the running sum of the superposed occurrences; interval by bootstrap. */
bool lag_measure(struct lag *ret, const struct view *v, const struct condition *c,
	const struct lineup *l, uint64_t seed) MUST_USE;

#endif
