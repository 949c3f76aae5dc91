#include "correlate/shuffle.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"

enum { EXTREME_ENOUGH = 20, SHIFTS_USUAL = 1999, SHIFTS_MAX = 1000000, KEPT = 999, REDRAWS = 8 };

static const double score_cap = 10, hit_score = 3, work_max = 5e7, observed_min = 0.5;

bool shuffle_is_observed(const struct view *v, struct span span)
{
	return !v->observed || view_observed(v, span) >= observed_min;
}

/* ---- scores */

static double score_of(const struct shuffle *s, double n, double weight)
{
	if (n <= 0)
		return 0;
	double sd = sqrt(s->variance * s->dispersion * n);
	double z = (weight - n * s->mean) / sd;

	return z > score_cap ? score_cap : z < -hit_score ? -hit_score : z;
}

/* Variance of quiet blocks of the window's length over what independence gives. */
static double dispersion_of(const struct view *v, int64_t length, double variance)
{
	double cap = hit_score * hit_score, sum = 0;
	size_t used = 0;

	for (int64_t from = 0; from + length <= (int64_t)v->ticks && used < 20000; from += length) {
		int64_t at = v->first_tick + from;
		struct view_sum s = view_sum(v, (struct span){ at, at + length });

		if (s.n < 1)
			continue;
		double excess = s.weight - s.n * v->quiet_weight;
		double z2 = excess * excess / (variance * s.n);
		/* Loud blocks are what is looked for: they count as the cap. */
		sum += z2 < cap ? z2 : cap;
		used++;
	}
	return used >= 8 && sum / (double)used > 1 ? sum / (double)used : 1;
}

static void set_scale(struct shuffle *s, const struct lineup *l, const struct condition *c)
{
	const struct view *v = s->view;
	int64_t length = 0, used = 0;

	s->mean = v->quiet_weight;
	s->variance = fmax(1e-6, v->quiet_square - v->quiet_weight * v->quiet_weight);
	s->dispersion = 1;
	for (size_t i = 0; i < c->count; i++)
		if (l->judged[i]) {
			length += l->spans[i].to_tick - l->spans[i].from_tick;
			used++;
		}
	if (used && length)
		s->dispersion = dispersion_of(v, length / used, s->variance);
}

/* ---- where a window may fall */

static int64_t half_range(const struct view *v, const struct condition *c)
{
	int64_t ns = c->period_ns / 2;

	/* Schedules of a day or more keep their time of day. */
	if (c->period_ns >= 20 * 3600 * NS_PER_S || ns > 6 * LIFT_AROUND_NS)
		ns = LIFT_AROUND_NS;
	int64_t ticks = ns / v->series->tick_ns;
	return ticks > 0 ? ticks : 1;
}

/* A cycle cut by an end of what was seen keeps its length inside it. */
static struct place place_of(struct span w, struct span seen, int64_t half)
{
	int64_t length = w.to_tick - w.from_tick;
	int64_t low = w.from_tick - half, high = w.from_tick + half;

	if (low < seen.from_tick) {
		high += seen.from_tick - low;
		low = seen.from_tick;
	}
	if (high > seen.to_tick - length) {
		low -= high - (seen.to_tick - length);
		high = seen.to_tick - length;
	}
	low = low < seen.from_tick ? seen.from_tick : low;
	high = high < low + 1 ? low + 1 : high;
	return (struct place){ low, (uint64_t)(high - low), length, 0 };
}

bool shuffle_init(struct shuffle *s, const struct view *v, const struct view *full,
	const struct condition *c, const struct lineup *l)
{
	int64_t half = half_range(full, c);
	size_t placed = 0;
	struct rng rng;

	*s = (struct shuffle){ .view = v, .full = full, .has_holes = v != full || full->observed };
	s->trials = calloc(c->count + 1, sizeof(*s->trials));
	if (!s->trials)
		return false;
	for (size_t i = 0; i < c->count; i++)
		placed += l->placed[i];
	s->placed = placed;
	rng_seed(&rng, placed);
	for (size_t i = 0; i < c->count; i++) {
		if (!l->placed[i] || (placed > SHUFFLE_WINDOWS_MAX &&
					     rng_below(&rng, placed) >= SHUFFLE_WINDOWS_MAX))
			continue;
		s->trials[s->count] = place_of(l->spans[i], l->seen, half);
		s->trials[s->count++].occurrence = i;
	}
	set_scale(s, l, c);
	return true;
}

void shuffle_free(struct shuffle *s)
{
	free(s->trials);
	*s = (struct shuffle){ 0 };
}

void shuffle_score(const struct shuffle *s, struct lineup *l, const struct condition *c)
{
	for (size_t i = 0; i < c->count; i++) {
		struct view_sum sum = view_sum(s->view, l->spans[i]);

		if (!l->judged[i])
			continue;
		l->hits[i] = score_of(s, sum.n, sum.weight) >= hit_score && sum.slow >= 0.5;
		l->hit += l->hits[i];
	}
	for (size_t i = 0; i < s->count; i++) {
		struct view_sum sum = view_sum(s->view, l->spans[s->trials[i].occurrence]);

		l->score += score_of(s, sum.n, sum.weight);
	}
}

/* ---- shifts */

static bool is_judgeable(const struct shuffle *s, struct span span)
{
	double n = view_sum(s->view, span).n, all = view_sum(s->full, span).n;

	return n >= all / 2 && shuffle_is_observed(s->full, span);
}

static struct span drawn(const struct shuffle *s, const struct place *t, struct rng *rng)
{
	struct span span;
	int left = s->has_holes ? REDRAWS : 1;

	do {
		span.from_tick = t->low + (int64_t)rng_below(rng, t->places);
		span.to_tick = span.from_tick + t->length;
	} while (--left > 0 && !is_judgeable(s, span));
	return span;
}

/* Trials lie inside the view: no clipping, and slow requests only where it matters. */
static double shifted_score(const struct shuffle *s, struct rng *rng, double *hits)
{
	const struct view *v = s->view;
	double total = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct span span = drawn(s, &s->trials[i], rng);
		int64_t from = span.from_tick - v->first_tick, to = span.to_tick - v->first_tick;

		to = to > (int64_t)v->ticks ? (int64_t)v->ticks : to;
		const struct view_loud *a = view_loud_before(v, (size_t)from);
		const struct view_loud *b = view_loud_before(v, (size_t)to);
		double z = score_of(s, v->n[to] - v->n[from], b->weight - a->weight);

		total += z;
		*hits += z >= hit_score && b->slow - a->slow >= 0.5;
	}
	return total;
}

/* Enough to see twice the finest p that is asked for, within the price of the work. */
static uint64_t shift_limit(size_t count, double finest)
{
	double most = fmin(fmin(work_max / (double)(count ? count : 1), SHIFTS_MAX),
		fmax(SHIFTS_USUAL, 2 / fmax(1e-7, finest)));

	return most < SHIFTS_USUAL ? SHIFTS_USUAL : (uint64_t)most;
}

void shuffle_run(struct shuffle *s, struct lineup *l, uint64_t seed, double finest)
{
	double kept[KEPT], sum = 0, square = 0, hits = 0;
	uint64_t extreme = 0, limit = shift_limit(s->count, finest);
	size_t kept_count = 0;
	struct rng rng;

	rng_seed(&rng, seed);
	l->shifts = 0;
	while (l->shifts < limit && (extreme < EXTREME_ENOUGH || l->shifts < KEPT)) {
		double score = shifted_score(s, &rng, &hits);

		l->shifts++;
		extreme += score >= l->score - 1e-9;
		sum += score;
		square += score * score;
		if (kept_count < KEPT)
			kept[kept_count++] = score;
	}
	double n = (double)l->shifts;
	double sampled = (double)s->count / fmax(1, (double)s->placed);
	l->p = (1 + (double)extreme) / (1 + n);
	l->hit_by_luck = hits / n / fmin(1, fmax(sampled, 1e-9));
	l->luck_mean = sum / n;
	l->luck_sd = sqrt(fmax(0, square / n - l->luck_mean * l->luck_mean));
	quantile_sort(kept, kept_count);
	s->critical = quantile_of(kept, kept_count, 0.95);
}

void shuffle_run_everywhere(const struct shuffle *s, struct lineup *l, struct span window)
{
	int64_t length = window.to_tick - window.from_tick;
	int64_t ticks = l->seen.to_tick - l->seen.from_tick;
	int64_t step = length / 4 > ticks / 20000 ? length / 4 : ticks / 20000;
	uint64_t places = 0, extreme = 0;

	for (int64_t from = 0; from + length <= ticks; from += step > 0 ? step : 1) {
		int64_t at = l->seen.from_tick + from;
		struct span span = { at, at + length };
		struct view_sum sum = view_sum(s->view, span);

		if (!shuffle_is_observed(s->full, span))
			continue;
		places++;
		extreme += score_of(s, sum.n, sum.weight) >= l->score - 1e-9;
	}
	/* Places a quarter of a window apart are not four independent ones. */
	double apart = fmax(1, (double)ticks / (double)(length > 0 ? length : 1));
	l->shifts = places;
	l->p = fmin(1, fmax((1 + (double)extreme) / (1 + (double)places), 1 / (1 + apart)));
}

double shuffle_smallest_lift(const struct shuffle *s, const struct lineup *l)
{
	double need = s->critical - l->luck_mean + 0.84 * l->luck_sd;

	for (double lift = 1.1; lift < 2000; lift *= 1.1) {
		double got = 0;

		for (size_t i = 0; i < s->count; i++) {
			double n = view_sum(s->view, l->spans[s->trials[i].occurrence]).n;

			if (n > 0)
				got += fmin(
					score_cap, (lift - 1) * n * s->mean /
							   sqrt(s->variance * s->dispersion * n));
		}
		if (got >= need)
			return lift;
	}
	return NAN;
}
