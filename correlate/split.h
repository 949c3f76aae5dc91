/*
 * split.h - the value that best separates hits from misses, and whether luck would.
 *
 * Every place between two values with three items or more on either side is tried.
 * The statistic is the chi-square of the two by two table; in the null, which items
 * hit is permuted (p) or turned in time as a whole (p_turn, floor 1 / n) and the best
 * place is sought anew, so that seeking is paid for.
 */
#ifndef REPROD_CORRELATE_SPLIT_H
#define REPROD_CORRELATE_SPLIT_H

#include "core/base/base.h"

#define SPLIT_SIDE_MIN 3
#define SPLIT_ITEMS_MAX 1000

struct split_item {
	double value; /* NAN: not known, left out */
	bool is_hit;
	uint32_t order; /* in time */
};

struct split {
	double threshold;
	bool is_above; /* the higher hit rate is above it */
	size_t with, hit_with, without, hit_without;
	double p, p_turn;
};

/* Sorts the items. False when there is nothing to split: fewer than three hits or
 * misses with known values, or one value. */
bool split_test(struct split *ret, struct split_item *items, size_t count, uint64_t seed);

#endif
