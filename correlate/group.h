/*
 * group.h - which conditions timing cannot separate, and what one is without others.
 *
 * Two are alike when their windows (Jaccard) agree by 0.7, or when neither shows
 * anything outside the other's effect and both hit as often. The effect of a condition
 * is its windows, prolonged to the measured end of what became slow.
 */
#ifndef REPROD_CORRELATE_GROUP_H
#define REPROD_CORRELATE_GROUP_H

#include "correlate/rank.h"

/* f outside the effect of the others, on its route. */
bool group_test_rest(struct lineup *ret, const struct analysis *a, const struct finding *f,
	const struct finding *const *others, size_t count) MUST_USE;
/* The accepted one that f cannot be told apart from, or NULL. */
const struct finding *group_of(const struct analysis *a, const struct finding *f,
	const struct finding *const *accepted, size_t count);

#endif
