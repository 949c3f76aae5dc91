/*
 * family.h - one condition or metric against the routes tested: Simes' p.
 *
 * Routes with spikes are one family; the others are only asked when that one says
 * nothing. Where there are both, p costs 1.25 times in the first and 5 times in the
 * second, as either may speak. When Simes' p is small but not small enough for the number
 * of conditions, the best route is shifted more often: up to a million times, so that
 * one affected route among 200 can line up.
 */
#ifndef REPROD_CORRELATE_FAMILY_H
#define REPROD_CORRELATE_FAMILY_H

#include "correlate/rank.h"

/* Sets p, route, whole, null and is_lone. */
bool family_test(struct finding *f, const struct analysis *a) MUST_USE;
/* Sets p, route, lag and by_metric. */
bool family_test_metric(struct finding *f, const struct analysis *a) MUST_USE;
/* The metric outside the spikes marked as explained, on the finding's route. */
bool family_retest_metric(struct finding *f, const struct analysis *a) MUST_USE;
/* Seeds follow names, not places: adding a condition moves no other's numbers. */
uint64_t family_seed(const struct analysis *a, const char *id, size_t route);

#endif
