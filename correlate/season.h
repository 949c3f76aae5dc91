/*
 * season.h - how a route's usual latency follows the hour and the day of the week.
 *
 * A smooth factor exp(f(t)), f by robust least squares on the logarithms of bucket
 * medians: three daily harmonics from two days on, two weekly ones from two weeks
 * on. The shortest is eight hours, so a job of twenty minutes cannot be learnt.
 * None is used where it explains little (F < 5) or swings by less than 1.15. Kept
 * as one number per slot of ten minutes; season_flatten() takes it out of a route.
 */
#ifndef REPROD_CORRELATE_SEASON_H
#define REPROD_CORRELATE_SEASON_H

#include "correlate/bucket.h"

struct season {
	double *factor; /* per slot; NULL: none */
	size_t count;
	int64_t first_tick, slot_ticks;
	double swing; /* largest over smallest; 0 without one */
	bool has_week;
};

/* By the buckets that are not flagged. step_ns: where the level moved, INT64_MAX when
 * it did not. False: out of memory. */
bool season_fit(struct season *ret, const struct series *s, const struct bucket_list *buckets,
	int64_t step_ns) MUST_USE;
void season_free(struct season *season);
size_t season_slot(const struct season *season, int64_t tick);
/* 1 without a season. */
double season_at(const struct season *season, int64_t tick);
/* The route's cells with the season divided out, in the same places; flat->cells is
 * the caller's to free. False: out of memory. */
bool season_flatten(const struct season *season, const struct series_route *r,
	struct series_route *flat) MUST_USE;

#endif
