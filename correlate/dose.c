#include "correlate/dose.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"
#include "core/base/rng.h"

enum { SHIFTS = 9999, EXTREME_ENOUGH = 50, SLOPES_MAX = 200000 };

struct pair {
	double dose, effect;
	double dose_rank, effect_rank; /* centred */
};

static bool has_doses(const struct condition *c, const struct lineup *l)
{
	for (size_t i = 0; i < c->count; i++)
		if (l->judged[i] && !isnan(c->items[i].dose))
			return true;
	return false;
}

static double dose_of(const struct occurrence *o, bool is_duration)
{
	if (!is_duration)
		return o->dose;
	return o->has_end ? (double)(o->end_ns - o->start_ns) / 1e9 : NAN;
}

/* Evenly spread when there are more than DOSE_MAX. */
static size_t gather(struct pair *pairs, const struct view *v, const struct condition *c,
	const struct lineup *l, bool is_duration)
{
	double quiet = l->around.n0 > 0 ? l->around.lost0_s / l->around.n0 : 0;
	size_t used = 0, seen = 0, step = l->evaluable / DOSE_MAX + 1;

	for (size_t i = 0; i < c->count; i++) {
		double dose = dose_of(&c->items[i], is_duration);

		if (!l->judged[i] || isnan(dose) || seen++ % step)
			continue;
		struct view_sum s = view_sum(v, l->spans[i]);

		pairs[used++] = (struct pair){ dose, s.lost_s - s.n * quiet, 0, 0 };
	}
	return used;
}

static int by_dose(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->dose != y->dose)
		return x->dose < y->dose ? -1 : 1;
	return (x->effect > y->effect) - (x->effect < y->effect);
}

static int by_effect(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->effect != y->effect)
		return x->effect < y->effect ? -1 : 1;
	return (x->dose > y->dose) - (x->dose < y->dose);
}

/* Ties share their mean rank. Ranks are centred: their sum is zero. */
static void set_ranks(struct pair *pairs, size_t n, bool is_dose)
{
	qsort(pairs, n, sizeof(*pairs), is_dose ? by_dose : by_effect);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n; to++)
			if (is_dose ? pairs[to].dose != pairs[from].dose
				    : pairs[to].effect != pairs[from].effect)
				break;
		double rank = (double)(from + to - 1) / 2 - (double)(n - 1) / 2;

		for (size_t i = from; i < to; i++)
			*(is_dose ? &pairs[i].dose_rank : &pairs[i].effect_rank) = rank;
	}
}

static double spearman(const struct pair *pairs, size_t n)
{
	double xy = 0, xx = 0, yy = 0;

	for (size_t i = 0; i < n; i++) {
		xy += pairs[i].dose_rank * pairs[i].effect_rank;
		xx += pairs[i].dose_rank * pairs[i].dose_rank;
		yy += pairs[i].effect_rank * pairs[i].effect_rank;
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

static double permuted_p(const struct pair *pairs, size_t n, uint64_t seed)
{
	double ranks[DOSE_MAX], real = 0;
	uint64_t done = 0, extreme = 0;
	struct rng rng;

	for (size_t i = 0; i < n; i++) {
		ranks[i] = pairs[i].dose_rank;
		real += pairs[i].dose_rank * pairs[i].effect_rank;
	}
	rng_seed(&rng, seed ^ 0xd05e);
	while (done < SHIFTS && extreme < EXTREME_ENOUGH) {
		double sum = 0;

		for (size_t i = n; i-- > 0;) {
			size_t k = rng_below(&rng, i + 1);
			double kept = ranks[k];

			ranks[k] = ranks[i];
			ranks[i] = kept;
			sum += kept * pairs[i].effect_rank;
		}
		done++;
		extreme += sum >= real - 1e-9;
	}
	return (1 + (double)extreme) / (1 + (double)done);
}

/* Median of the slopes between pairs, sorted by dose; every so many when they are many. */
static bool theil_sen(double *ret, const struct pair *pairs, size_t n)
{
	size_t all = n * (n - 1) / 2, step = all / SLOPES_MAX + 1, at = 0, used = 0;
	double *slopes = malloc((all / step + 1) * sizeof(*slopes));

	if (!slopes)
		return false;
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			if (at++ % step == 0 && pairs[k].dose > pairs[i].dose)
				slopes[used++] = (pairs[k].effect - pairs[i].effect) /
						 (pairs[k].dose - pairs[i].dose);
	quantile_sort(slopes, used);
	*ret = quantile_of(slopes, used, 0.5);
	free(slopes);
	return true;
}

static void set_terciles(struct dose *d, const struct pair *pairs, size_t n)
{
	for (size_t t = 0; t < 3; t++) {
		size_t from = n * t / 3, to = n * (t + 1) / 3;

		d->tercile_dose[t] = pairs[from + (to - from) / 2].dose;
		d->tercile_lost_s[t] = 0;
		for (size_t i = from; i < to; i++)
			d->tercile_lost_s[t] += pairs[i].effect / (double)(to - from);
	}
}

bool dose_measure(struct dose *ret, const struct view *v, const struct condition *c,
	const struct lineup *l, uint64_t seed)
{
	struct pair *pairs = calloc(DOSE_MAX + 1, sizeof(*pairs));
	bool ok = pairs != NULL;

	*ret = (struct dose){ .rho = NAN, .p = NAN, .slope_s = NAN };
	if (ok && l->evaluable >= DOSE_MIN) {
		ret->is_duration = !has_doses(c, l);
		ret->n = gather(pairs, v, c, l, ret->is_duration);
		set_ranks(pairs, ret->n, false);
		set_ranks(pairs, ret->n, true);
		ret->rho = spearman(pairs, ret->n);
		ret->is_evaluable = ret->n >= DOSE_MIN && !isnan(ret->rho);
	}
	if (ok && ret->is_evaluable) {
		ret->p = permuted_p(pairs, ret->n, seed);
		ok = theil_sen(&ret->slope_s, pairs, ret->n);
		set_terciles(ret, pairs, ret->n);
	}
	free(pairs);
	return ok;
}
