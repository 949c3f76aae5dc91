#include "correlate/lineup.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"
#include "core/base/rng.h"

enum { EXTREME_ENOUGH = 20, SHIFTS_MIN = 1999, SHIFTS_MAX = 50000, KEPT = 999, DRAWS = 999 };

static const double score_cap = 10, hit_score = 3, work_max = 1.2e7;
static const int64_t around_ns = 7200 * NS_PER_S;

/* What turns a window's sums into a score. */
struct scale {
	double mean, variance; /* per request */
	double dispersion; /* of windows of this length */
};

struct trial {
	int64_t low; /* first start of the window's range */
	uint64_t places;
	int64_t length;
};

static double score_of(const struct scale *s, struct view_sum sum)
{
	if (sum.n <= 0)
		return 0;
	double sd = sqrt(s->variance * s->dispersion * sum.n);
	double z = (sum.weight - sum.n * s->mean) / sd;

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

static struct span window_of(const struct view *v, const struct occurrence *o)
{
	const struct series *s = v->series;
	int64_t tick = series_tick(s, o->start_ns);
	double base_ms = v->base.count ? baseline_at(&v->base, tick)->p99_ms : 0;
	int64_t slack = (int64_t)(base_ms * 1e6 / (double)s->tick_ns) + 1;

	return (struct span){ tick - slack, series_tick(s, o->until_ns) + 1 };
}

/* At least half of a window must lie in the capture. */
static bool is_inside(const struct series *s, const struct occurrence *o)
{
	int64_t middle = o->start_ns + (o->until_ns - o->start_ns) / 2;

	return o->start_ns >= s->first_ns && middle <= s->last_ns;
}

static bool take(struct lineup *l, size_t count)
{
	size_t room = count ? count : 1;

	*l = (struct lineup){ .p = 1,
		.lift = NAN,
		.lift_low = NAN,
		.lift_high = NAN,
		.p_phase = NAN,
		.smallest_lift = NAN };
	l->hits = calloc(room, sizeof(*l->hits));
	l->judged = calloc(room, sizeof(*l->judged));
	l->spans = calloc(room, sizeof(*l->spans));
	return l->hits && l->judged && l->spans;
}

void lineup_free(struct lineup *l)
{
	free(l->hits);
	free(l->judged);
	free(l->spans);
	*l = (struct lineup){ 0 };
}

static void place_windows(
	struct lineup *l, const struct view *v, const struct view *full, const struct condition *c)
{
	for (size_t i = 0; i < c->count; i++) {
		l->spans[i] = window_of(full, &c->items[i]);
		if (!is_inside(v->series, &c->items[i]))
			continue;
		double n = view_sum(v, l->spans[i]).n, all = view_sum(full, l->spans[i]).n;

		l->inside++;
		l->judged[i] = n > 0 && n >= all / 2;
		l->evaluable += l->judged[i];
	}
}

static int64_t half_range(const struct view *v, const struct condition *c)
{
	int64_t ns = c->period_ns / 2;

	/* Schedules of a day or more keep their time of day. */
	if (c->period_ns >= 20 * 3600 * NS_PER_S || ns > 6 * around_ns)
		ns = around_ns;
	int64_t ticks = ns / v->series->tick_ns;
	return ticks > 0 ? ticks : 1;
}

static size_t make_trials(struct trial *trials, const struct lineup *l, const struct view *v,
	const struct condition *c)
{
	int64_t half = half_range(v, c), end = v->first_tick + (int64_t)v->ticks;
	size_t used = 0;

	for (size_t i = 0; i < c->count; i++) {
		if (!l->judged[i])
			continue;
		struct span w = l->spans[i];
		int64_t length = w.to_tick - w.from_tick;
		int64_t low = w.from_tick - half, high = w.from_tick + half;

		/* A cycle cut by an end of the capture keeps its length inside it. */
		if (low < v->first_tick) {
			high += v->first_tick - low;
			low = v->first_tick;
		}
		if (high > end - length) {
			low -= high - (end - length);
			high = end - length;
		}
		low = low < v->first_tick ? v->first_tick : low;
		high = high < low + 1 ? low + 1 : high;
		trials[used++] = (struct trial){ low, (uint64_t)(high - low), length };
	}
	return used;
}

static double shifted_score(const struct trial *trials, size_t count, const struct view *v,
	const struct scale *scale, struct rng *rng, double *hits)
{
	double total = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t from = trials[i].low + (int64_t)rng_below(rng, trials[i].places);
		struct view_sum sum = view_sum(v, (struct span){ from, from + trials[i].length });
		double z = score_of(scale, sum);

		total += z;
		*hits += z >= hit_score && sum.slow >= 0.5;
	}
	return total;
}

/* The smallest lift whose added weight would have passed the 5 % mark four times in
 * five. */
static double smallest_lift(const struct lineup *l, const struct view *v, const struct condition *c,
	const struct scale *scale, double critical)
{
	double need = critical - l->luck_mean + 0.84 * l->luck_sd;

	for (double lift = 1.1; lift < 2000; lift *= 1.1) {
		double got = 0;

		for (size_t i = 0; i < c->count; i++) {
			double n = l->judged[i] ? view_sum(v, l->spans[i]).n : 0;

			if (n > 0)
				got += fmin(score_cap,
					(lift - 1) * n * scale->mean /
						sqrt(scale->variance * scale->dispersion * n));
		}
		if (got >= need)
			return lift;
	}
	return NAN;
}

static void shift_test(struct lineup *l, const struct view *v, const struct condition *c,
	const struct scale *scale, const struct trial *trials, size_t count, uint64_t seed)
{
	double kept[KEPT], sum = 0, square = 0, hits = 0;
	size_t kept_count = 0;
	uint64_t extreme = 0;
	double most = work_max / (double)count;
	uint64_t limit = most < SHIFTS_MIN   ? SHIFTS_MIN
			 : most > SHIFTS_MAX ? SHIFTS_MAX
					     : (uint64_t)most;
	struct rng rng;

	rng_seed(&rng, seed);
	while (l->shifts < limit && (extreme < EXTREME_ENOUGH || l->shifts < KEPT)) {
		double s = shifted_score(trials, count, v, scale, &rng, &hits);

		l->shifts++;
		extreme += s >= l->score - 1e-9;
		sum += s;
		square += s * s;
		if (kept_count < KEPT)
			kept[kept_count++] = s;
	}
	double n = (double)l->shifts;
	l->p = (1 + (double)extreme) / (1 + n);
	l->hit_by_luck = hits / n;
	l->luck_mean = sum / n;
	l->luck_sd = sqrt(fmax(0, square / n - l->luck_mean * l->luck_mean));
	quantile_sort(kept, kept_count);
	l->smallest_lift = smallest_lift(l, v, c, scale, quantile_of(kept, kept_count, 0.95));
}

static double count_of(const struct view *v, struct view_sum s)
{
	/* Slow requests, or any above the baseline where hardly one is slow. */
	return v->slow[v->ticks] >= 8 ? s.slow : s.exceed;
}

static double lift_of(double k1, double n1, double k0, double n0)
{
	return (k1 + 0.5) / (n1 + 1) / ((k0 + 0.5) / (n0 + 1));
}

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void lift_interval(
	struct lineup *l, const struct view *v, const struct condition *c, uint64_t seed)
{
	size_t *index = calloc(c->count + 1, sizeof(*index)), used = 0;
	double draws[DRAWS];
	struct rng rng;

	for (size_t i = 0; index && i < c->count; i++)
		if (l->judged[i])
			index[used++] = i;
	rng_seed(&rng, seed ^ 0x11f7);
	/* A long history is resampled by its first 2,000: the interval is for display. */
	used = used < 2000 ? used : 2000;
	for (size_t d = 0; d < DRAWS && used >= 3; d++) {
		double n = 0, k = 0;

		for (size_t i = 0; i < used; i++) {
			struct view_sum s = view_sum(v, l->spans[index[rng_below(&rng, used)]]);

			n += s.n;
			k += count_of(v, s);
		}
		draws[d] = lift_of(k, n, l->k0, l->n0);
	}
	if (used >= 3) {
		qsort(draws, DRAWS, sizeof(*draws), by_number);
		l->lift_low = draws[DRAWS * 25 / 1000];
		l->lift_high = draws[DRAWS * 975 / 1000];
	}
	free(index);
}

/* Inside against outside, but within two hours of a window. */
static bool compare(struct lineup *l, const struct view *v, const struct condition *c)
{
	struct span *near = calloc(c->count + 1, sizeof(*near));
	int64_t reach = around_ns / v->series->tick_ns;
	double lost1 = 0, lost0 = 0, taken = 0;
	size_t count = 0;

	if (!near)
		return false;
	for (size_t i = 0; i < c->count; i++) {
		if (!l->judged[i])
			continue;
		struct view_sum s = view_sum(v, l->spans[i]);

		l->n1 += s.n;
		l->k1 += count_of(v, s);
		lost1 += s.lost_s;
		taken += (double)(l->spans[i].to_tick - l->spans[i].from_tick);
		near[count++] =
			(struct span){ l->spans[i].from_tick - reach, l->spans[i].to_tick + reach };
	}
	count = span_join(near, count, 0);
	for (size_t i = 0; i < count; i++) {
		struct view_sum s = view_sum(v, near[i]);

		l->n0 += s.n;
		l->k0 += count_of(v, s);
		lost0 += s.lost_s;
	}
	free(near);
	l->n0 = fmax(0, l->n0 - l->n1);
	l->k0 = fmax(0, l->k0 - l->k1);
	lost0 = fmax(0, lost0 - lost1);
	l->lift = lift_of(l->k1, l->n1, l->k0, l->n0);
	l->lost_s = fmax(0, lost1 - l->n1 * (lost0 / fmax(1, l->n0)));
	l->share = taken / (double)v->ticks;
	return true;
}

static struct scale scale_of(const struct view *v, const struct lineup *l, size_t count)
{
	struct scale scale = { v->quiet_weight,
		fmax(1e-6, v->quiet_square - v->quiet_weight * v->quiet_weight), 1 };
	int64_t length = 0, used = 0;

	for (size_t i = 0; i < count; i++)
		if (l->judged[i]) {
			length += l->spans[i].to_tick - l->spans[i].from_tick;
			used++;
		}
	if (used && length)
		scale.dispersion = dispersion_of(v, length / used, scale.variance);
	return scale;
}

static void score_windows(struct lineup *l, const struct view *v, const struct condition *c,
	const struct scale *scale)
{
	for (size_t i = 0; i < c->count; i++) {
		if (!l->judged[i])
			continue;
		struct view_sum s = view_sum(v, l->spans[i]);
		double z = score_of(scale, s);

		l->score += z;
		l->hits[i] = z >= hit_score && s.slow >= 0.5;
		l->hit += l->hits[i];
	}
}

bool lineup_test(struct lineup *l, const struct view *v, const struct view *full,
	const struct condition *c, uint64_t seed)
{
	struct trial *trials = calloc(c->count + 1, sizeof(*trials));
	bool ok = take(l, c->count) && trials;

	if (ok)
		place_windows(l, v, full, c);
	if (ok && l->evaluable) {
		struct scale scale = scale_of(v, l, c->count);
		size_t count;

		ok = compare(l, v, c);
		score_windows(l, v, c, &scale);
		count = make_trials(trials, l, v, c);
		shift_test(l, v, c, &scale, trials, count, seed);
		lift_interval(l, v, c, seed);
		if (c->is_regular && c->period_ns)
			l->p_phase =
				fmin(1, l->share * (double)v->ticks / (double)l->evaluable *
						(double)v->series->tick_ns / (double)c->period_ns);
	}
	free(trials);
	return ok;
}

bool lineup_test_lone(struct lineup *l, const struct view *v, const struct condition *c)
{
	bool ok = take(l, c->count);

	if (!ok)
		return false;
	place_windows(l, v, v, c);
	if (!l->evaluable || !compare(l, v, c))
		return l->evaluable == 0;
	struct scale scale = scale_of(v, l, c->count);
	score_windows(l, v, c, &scale);
	size_t at = 0;
	while (!l->judged[at])
		at++;
	int64_t length = l->spans[at].to_tick - l->spans[at].from_tick;
	int64_t step =
		length / 4 > (int64_t)v->ticks / 20000 ? length / 4 : (int64_t)v->ticks / 20000;
	uint64_t places = 0, extreme = 0;
	for (int64_t from = 0; from + length <= (int64_t)v->ticks; from += step > 0 ? step : 1) {
		struct span span = { v->first_tick + from, v->first_tick + from + length };

		places++;
		extreme += score_of(&scale, view_sum(v, span)) >= l->score - 1e-9;
	}
	/* Places a quarter of a window apart are not four independent ones. */
	double apart = fmax(1, (double)v->ticks / (double)(length > 0 ? length : 1));
	l->shifts = places;
	l->p = fmin(1, fmax((1 + (double)extreme) / (1 + (double)places), 1 / (1 + apart)));
	return true;
}
