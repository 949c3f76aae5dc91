#include "correlate/period_fold.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"

/* From here on more onsets in busy hours would look like a schedule. */
static const int64_t local_from_ns = 6 * 3600 * NS_PER_S, near_ns = 2 * 3600 * NS_PER_S;

enum { CYCLES_MAX = 1 << 24 };

bool fold_init(struct fold *f, size_t points_max)
{
	*f = (struct fold){ .cap = points_max };
	f->points = calloc(2 * points_max + 1, sizeof(*f->points));
	return f->points != NULL;
}

void fold_free(struct fold *f)
{
	free(f->points);
	free(f->seen);
	*f = (struct fold){ 0 };
}

double fold_log_tail(size_t n, double p, size_t k)
{
	if (k == 0)
		return 0;
	double tail = 1 - quantile_binomial_cdf(n, p, (int64_t)k - 1);

	if (tail > 1e-9)
		return log10(tail);
	return (quantile_ln_choose((double)n, (double)k) + (double)k * log(p) +
		       (double)(n - k) * log1p(-p)) /
	       log(10);
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static int by_phase(const void *a, const void *b)
{
	const struct fold_point *x = a, *y = b;

	if (x->phase != y->phase)
		return x->phase < y->phase ? -1 : 1;
	return (x->cycle > y->cycle) - (x->cycle < y->cycle);
}

/* Lays the points twice: a window that wraps holds the next cycle's start. */
static bool lay(struct fold *f, const int64_t *at, size_t count, int64_t period)
{
	int64_t first = floor_div(at[0], period);
	size_t cycles = (size_t)(floor_div(at[count - 1], period) - first) + 2;

	if (cycles > CYCLES_MAX)
		return false;
	if (cycles > f->seen_cap) {
		uint32_t *grown = realloc(f->seen, cycles * sizeof(*grown));

		if (!grown)
			return false;
		f->seen = grown;
		f->seen_cap = cycles;
	}
	memset(f->seen, 0, cycles * sizeof(*f->seen));
	for (size_t i = 0; i < count; i++) {
		int64_t cycle = floor_div(at[i], period);

		f->points[i] = (struct fold_point){ at[i] - cycle * period, cycle - first + 1 };
	}
	qsort(f->points, count, sizeof(*f->points), by_phase);
	for (size_t i = 0; i < count; i++)
		f->points[count + i] =
			(struct fold_point){ f->points[i].phase + period, f->points[i].cycle - 1 };
	f->count = count;
	return true;
}

static size_t below(const struct fold *f, int64_t phase)
{
	size_t low = 0, high = f->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->points[middle].phase < phase)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How many are within near_ns of [phase, phase + width), around the period's end too. */
static size_t count_near(const struct fold *f, int64_t phase, int64_t period, int64_t width)
{
	int64_t low = phase - near_ns, high = phase + width + near_ns;
	size_t n = below(f, high) - below(f, low);

	n += low < 0 ? f->count - below(f, low + period) : 0;
	n += high > period ? below(f, high - period) : 0;
	return n;
}

/* Windows [phase + k period, + width) that begin at or before the end and end after the
 * start. */
static size_t count_cycles(const struct fold_times *t, int64_t phase, int64_t period, int64_t width)
{
	return (size_t)(floor_div(t->last - phase, period) -
			floor_div(t->first - width - phase, period));
}

static bool is_local(int64_t period, int64_t width)
{
	return period >= local_from_ns && width + 2 * near_ns < period;
}

static void judge(
	struct fold_best *b, const struct fold_times *t, int64_t period, int64_t width, size_t near)
{
	double mean = (double)t->count * (double)width / (double)(t->last - t->first + 1);

	b->cycles = count_cycles(t, b->phase, period, width);
	if (is_local(period, width))
		mean = (double)near / (double)b->cycles * (double)width /
		       (double)(width + 2 * near_ns);
	b->score = fold_log_tail(b->cycles, -expm1(-mean), b->hit);
}

struct fold_best fold_find(
	struct fold *f, const struct fold_times *t, int64_t period, int64_t width)
{
	struct fold_best best = { 0 };
	size_t to = 0, hit = 0;

	if (!t->count || t->count > f->cap || !lay(f, t->at, t->count, period))
		return best;
	for (size_t from = 0; from < t->count; from++) {
		for (; to < from + t->count && to < 2 * t->count &&
			f->points[to].phase < f->points[from].phase + width;
			to++)
			hit += f->seen[f->points[to].cycle]++ == 0;
		/* At one rate only a window that hits more can be better. */
		if (hit >= best.hit || is_local(period, width)) {
			struct fold_best now = { .phase = f->points[from].phase, .hit = hit };

			judge(&now, t, period, width, count_near(f, now.phase, period, width));
			if (best.hit == 0 || now.score < best.score)
				best = now;
		}
		hit -= --f->seen[f->points[from].cycle] == 0;
	}
	best.score += log10((double)period / (double)width);
	return best;
}

struct fold_best fold_test(const struct fold_times *t, int64_t period, int64_t width, int64_t phase)
{
	struct fold_best b = { .phase = phase };
	int64_t last = INT64_MIN;
	size_t near = 0;

	for (size_t i = 0; i < t->count; i++) {
		int64_t since = t->at[i] - phase, cycle = floor_div(since, period);
		int64_t into = since - cycle * period;

		near += into < width + near_ns || into >= period - near_ns;
		if (into < width && cycle != last) {
			b.hit++;
			last = cycle;
		}
	}
	judge(&b, t, period, width, near);
	return b;
}
