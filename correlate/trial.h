/*
 * trial.h - which stretches of time have more slow requests than chance explains.
 *
 * Grids of one bucket's width, half a bucket apart, are tested; where a bucket holds
 * fewer than a hundred requests so are grids 3, 10 and 30 times as wide (an eighth of
 * the capture at most). The null is a beta-binomial of the slow share of quiet trials
 * and of how that clumps (tail.h); false discoveries are held to 1 % over a route
 * (Benjamini and Hochberg 1995). A trial counts when also its p99 is above the slow
 * limit at 99 % (one-sided), or four slow requests are in flight at one instant, and
 * when its slow requests did not all come over one connection.
 */
#ifndef REPROD_CORRELATE_TRIAL_H
#define REPROD_CORRELATE_TRIAL_H

#include "correlate/slow.h"

#define TRIAL_SLOW_MIN 4 /* fewer are an anecdote */

struct trial_spans {
	struct span *items; /* of the slow time in what passed; not joined */
	size_t count, cap;
	uint64_t one_connection; /* trials that passed but for that */
	double rate, clump; /* of quiet trials one bucket wide */
};

bool trial_find(
	struct trial_spans *found, const struct view *v, const struct slow_list *slow) MUST_USE;
void trial_spans_free(struct trial_spans *found);

#endif
