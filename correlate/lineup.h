/*
 * lineup.h - does a condition's schedule fall on the slow time more often than luck does?
 *
 * Requests count where they arrive; a window opens one baseline p99 before its
 * occurrence: a request on its way belongs to it, one already slow does not. The
 * statistic is the sum over occurrences of the weight in excess of quiet time, in
 * standard deviations, each capped at 10 so that one monster cannot carry it. The null
 * shifts every cycle by itself within its period (daily ones within 2 h); p = (1 + as
 * extreme) / (1 + shifts), stopped early (Besag and Clifford 1991) so that only small
 * values cost much. Only time inside the reach and outside gaps is evidence.
 */
#ifndef REPROD_CORRELATE_LINEUP_H
#define REPROD_CORRELATE_LINEUP_H

#include "correlate/condition.h"
#include "correlate/lift.h"
#include "correlate/spike.h"

struct lineup {
	struct span seen; /* the capture, within the condition's reach */
	size_t inside; /* occurrences within the capture */
	size_t unobserved; /* of them, in gaps or beyond the reach: no evidence */
	size_t evaluable; /* with requests in their windows */
	size_t hit; /* 3 deviations and a slow request or more */
	double hit_by_luck; /* mean over shifts */
	bool *hits; /* per occurrence of the condition */
	bool *placed; /* observed, per occurrence */
	bool *judged; /* evaluable, per occurrence */
	struct span *spans; /* windows by tick, per occurrence, with the slack in front */
	struct lift around;
	double lift, lift_low, lift_high;
	double score, p, p_phase;
	double luck_mean, luck_sd;
	uint64_t shifts;
	double smallest_lift; /* seen with power 0.8; NAN: none */
	double lost_s; /* in excess, inside the windows */
	double share; /* of the time seen that the windows take */
};

struct lineup_question {
	const struct view *view; /* may be hidden in part (view_hide) */
	const struct view *full; /* the whole, for what is evaluable */
	const struct condition *condition;
	uint64_t seed;
	double finest; /* the p that must be tellable: more shifts, at a bounded price */
};

bool lineup_test(struct lineup *l, const struct lineup_question *q) MUST_USE;
void lineup_free(struct lineup *l);
/* A lineup of which nothing is known. */
struct lineup lineup_none(void);

/* A window that happened once, against all its other places in the capture. Only
 * sets p, lift, hit and the sums. */
bool lineup_test_lone(struct lineup *l, const struct view *v, const struct condition *c) MUST_USE;

#endif
