#include "correlate/lift.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"
#include "core/base/rng.h"

enum { DRAWS = 999, RESAMPLED_MAX = 2000, COUNTABLE = 8 };

static double count_of(const struct view *v, struct view_sum s)
{
	/* Slow requests, or any above the baseline where hardly one is slow. */
	return view_loud_before(v, v->ticks)->slow >= COUNTABLE ? s.slow : s.exceed;
}

static double ratio(double k1, double n1, double k0, double n0)
{
	return (k1 + 0.5) / (n1 + 1) / ((k0 + 0.5) / (n0 + 1));
}

static struct span clip(struct span s, struct span to)
{
	s.from_tick = s.from_tick < to.from_tick ? to.from_tick : s.from_tick;
	s.to_tick = s.to_tick > to.to_tick ? to.to_tick : s.to_tick;
	return s;
}

/* What lies within two hours of the marked windows, windows included. */
static size_t surroundings(struct span *near, const struct view *v, const struct span *windows,
	const bool *take, size_t count, struct span seen)
{
	int64_t reach = LIFT_AROUND_NS / v->series->tick_ns;
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (!take || take[i])
			near[used++] = clip((struct span){ windows[i].from_tick - reach,
						    windows[i].to_tick + reach },
				seen);
	return span_join(near, used, 0);
}

bool lift_compare(struct lift *ret, const struct view *v, const struct span *windows,
	const bool *take, size_t count, struct span seen)
{
	struct span *near = calloc(count + 1, sizeof(*near));

	*ret = (struct lift){ 0 };
	if (!near)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (take && !take[i])
			continue;
		struct view_sum s = view_sum(v, windows[i]);

		ret->n1 += s.n;
		ret->k1 += count_of(v, s);
		ret->lost1_s += s.lost_s;
		ret->taken_ticks += (double)(windows[i].to_tick - windows[i].from_tick);
	}
	size_t apart = surroundings(near, v, windows, take, count, seen);
	for (size_t i = 0; i < apart; i++) {
		struct view_sum s = view_sum(v, near[i]);

		ret->n0 += s.n;
		ret->k0 += count_of(v, s);
		ret->lost0_s += s.lost_s;
	}
	free(near);
	ret->n0 = fmax(0, ret->n0 - ret->n1);
	ret->k0 = fmax(0, ret->k0 - ret->k1);
	ret->lost0_s = fmax(0, ret->lost0_s - ret->lost1_s);
	ret->lift = ratio(ret->k1, ret->n1, ret->k0, ret->n0);
	return true;
}

static double draw(const struct view *v, const struct lift *l, const struct span *windows,
	const size_t *index, size_t used, struct rng *rng)
{
	double n = 0, k = 0;

	for (size_t i = 0; i < used; i++) {
		struct view_sum s = view_sum(v, windows[index[rng_below(rng, used)]]);

		n += s.n;
		k += count_of(v, s);
	}
	return ratio(k, n, l->k0, l->n0);
}

bool lift_interval(double *ret_low, double *ret_high, const struct view *v, const struct lift *l,
	const struct span *windows, const bool *take, size_t count, uint64_t seed)
{
	size_t *index = calloc(count + 1, sizeof(*index)), used = 0;
	double draws[DRAWS];
	struct rng rng;

	*ret_low = *ret_high = NAN;
	if (!index)
		return false;
	/* A long history is resampled by its first 2,000: the interval is for display. */
	for (size_t i = 0; i < count && used < RESAMPLED_MAX; i++)
		if (!take || take[i])
			index[used++] = i;
	rng_seed(&rng, seed ^ 0x11f7);
	if (used >= 3) {
		for (size_t d = 0; d < DRAWS; d++)
			draws[d] = draw(v, l, windows, index, used, &rng);
		quantile_sort(draws, DRAWS);
		*ret_low = draws[DRAWS * 25 / 1000];
		*ret_high = draws[DRAWS * 975 / 1000];
	}
	free(index);
	return true;
}
