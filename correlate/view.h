/*
 * view.h - one route laid out for window questions: running sums over ticks.
 *
 * Four sums by tick of arrival: requests, weight, slow requests, seconds lost. The
 * weight of a request is 0 up to the baseline's p99 and ln(latency / p99) above,
 * so that eight sessions stalled for a second show beside two thousand requests
 * with their usual tail. A window [from, to) is then a difference: a shifted
 * schedule costs one look-up per occurrence. view_hide() takes time out, to test
 * what is left when another condition's windows are gone. Time in a gap of the series
 * counts for nothing. On a route whose fast requests were never told n is time, in the
 * requests that would make the slow ones of quiet time one in a hundred (baseline.h).
 */
#ifndef REPROD_CORRELATE_VIEW_H
#define REPROD_CORRELATE_VIEW_H

#include "correlate/baseline.h"

struct view_loud {
	double weight, exceed, slow, lost_s;
};

struct view {
	const struct series *series;
	const struct series_route *route;
	struct baseline base;
	struct bucket_list buckets;
	int64_t first_tick;
	size_t ticks;
	double *n; /* ticks + 1 running sums */
	/* Only one tick in dozens has a request above the baseline: sums over those, and
	 * how many of them come before each tick (ticks + 1). */
	uint32_t *loud_before;
	struct view_loud *loud; /* loud_before[ticks] + 1 running sums */
	double *observed; /* ticks outside gaps; NULL: all */
	bool is_copy; /* buckets, baseline and observed are another's */
	/* Quiet time: what a request weighs when nothing is wrong. */
	double quiet_weight; /* mean */
	double quiet_square; /* mean of the square */
};

struct view_sum {
	double n, weight, exceed, slow, lost_s;
};

bool view_init(struct view *v, const struct series *s, const struct series_route *r,
	int64_t bucket_ns) MUST_USE;
void view_free(struct view *v);
/* Takes the baseline again without the loud spans, and the sums with it. */
bool view_refit(struct view *v, const struct span *loud, size_t count) MUST_USE;
/* Sums over [from, to), clipped to the capture. */
struct view_sum view_sum(const struct view *v, struct span span);
/* The running sums of what is loud up to a tick, counted from first_tick. */
static inline const struct view_loud *view_loud_before(const struct view *v, size_t tick)
{
	return &v->loud[v->loud_before[tick]];
}

/* The share of [from, to) that was observed: inside the capture and in no gap. */
double view_observed(const struct view *v, struct span span);
/* Sets the quiet figures from the time outside the spans. */
void view_learn_quiet(struct view *v, const struct span *loud, size_t count);
/* A copy of the sums without the requests in the spans (sorted, apart); from must
 * outlive it. */
bool view_hide(
	struct view *to, const struct view *from, const struct span *hidden, size_t count) MUST_USE;

/* Sorts and joins spans that touch; returns how many remain. */
size_t span_join(struct span *spans, size_t count, int64_t gap_ticks);
/* Ticks in both of two joined lists. */
int64_t span_common(const struct span *a, size_t na, const struct span *b, size_t nb);
int64_t span_total(const struct span *spans, size_t count);

#endif
