/*
 * shuffle.h - the null of a lineup: the same windows at other times.
 *
 * Every window is drawn anew within half a period of its place (daily and longer ones
 * within 2 h, to keep the time of day), kept inside what was seen, and drawn again when
 * it falls on time that nobody could judge. A shift costs O(occurrences): two look-ups
 * of running sums each. Past SHUFFLE_WINDOWS_MAX occurrences a seeded sample of them
 * is shifted and scored.
 */
#ifndef REPROD_CORRELATE_SHUFFLE_H
#define REPROD_CORRELATE_SHUFFLE_H

#include "core/base/rng.h"
#include "correlate/lineup.h"

#define SHUFFLE_WINDOWS_MAX 5000

struct place {
	int64_t low; /* first start of the window's range */
	uint64_t places;
	int64_t length;
	size_t occurrence;
};

struct shuffle {
	const struct view *view, *full;
	struct place *trials;
	size_t count, placed; /* placed: before any sampling */
	double mean, variance; /* weight of a quiet request */
	double dispersion; /* of quiet windows of this length, over independence */
	bool has_holes; /* hidden or unobserved time */
	double critical; /* the 95th of 100 shifted scores */
};

bool shuffle_init(struct shuffle *s, const struct view *v, const struct view *full,
	const struct condition *c, const struct lineup *l) MUST_USE;
void shuffle_free(struct shuffle *s);
/* Score and hits of the real windows. */
void shuffle_score(const struct shuffle *s, struct lineup *l, const struct condition *c);
/* p, shifts, and what luck does. */
void shuffle_run(struct shuffle *s, struct lineup *l, uint64_t seed, double finest);
/* One window against all its places. */
void shuffle_run_everywhere(const struct shuffle *s, struct lineup *l, struct span window);
/* The smallest lift whose added weight would have passed the 5 % mark four times in
 * five; NAN when none would. */
double shuffle_smallest_lift(const struct shuffle *s, const struct lineup *l);
/* At least half of the span was watched. */
bool shuffle_is_observed(const struct view *v, struct span span);

#endif
