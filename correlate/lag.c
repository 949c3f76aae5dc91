#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"
#include "core/base/rng.h"
#include "correlate/lag.h"

enum { BINS = 400, ROWS_MAX = 400, DRAWS = 399 };

static const int64_t lead_max_ns = 1800 * NS_PER_S, tail_max_ns = 3600 * NS_PER_S;

struct epoch {
	double *rows; /* count x BINS: seconds lost by time around each occurrence */
	size_t count;
	int64_t lead_ticks, width_ticks;
};

/* The bin after which the superposed weight rises: the lowest point of the sum of
 * deviations from the mean (Page 1954, in its retrospective form). */
static size_t onset(const double *sum)
{
	double mean = 0, run = 0, lowest = 0;
	size_t at = 0;

	for (size_t i = 0; i < BINS; i++)
		mean += sum[i] / BINS;
	for (size_t i = 0; i < BINS; i++) {
		run += sum[i] - mean;
		if (run < lowest - 1e-12) {
			lowest = run;
			at = i + 1;
		}
	}
	return at < BINS ? at : BINS - 1;
}

/* No occurrence speaks louder than the average one: a monster run has one voice. */
static void even_out(struct epoch *e)
{
	double mean = 0;

	for (size_t i = 0; i < e->count * BINS; i++)
		mean += e->rows[i] / (double)e->count;
	for (size_t i = 0; i < e->count; i++) {
		double *row = e->rows + BINS * i, sum = 0;

		for (size_t k = 0; k < BINS; k++)
			sum += row[k];
		for (size_t k = 0; k < BINS && sum > mean; k++)
			row[k] *= mean / sum;
	}
}

static bool superpose(
	struct epoch *e, const struct view *v, const struct condition *c, const struct lineup *l)
{
	int64_t tick_ns = v->series->tick_ns;
	int64_t half = c->period_ns ? c->period_ns / 2 : (int64_t)v->ticks * tick_ns / 4;
	int64_t lead = half < lead_max_ns ? half : lead_max_ns;
	int64_t tail = half < tail_max_ns ? half : tail_max_ns;
	size_t used = 0;

	e->width_ticks = (lead + tail) / tick_ns / BINS + 1;
	e->lead_ticks = (int64_t)(BINS * ((double)lead / (double)(lead + tail))) * e->width_ticks;
	for (size_t i = 0; i < c->count; i++)
		used += l->judged[i];
	size_t step = used / ROWS_MAX + 1;
	e->rows = calloc(used / step + 1, BINS * sizeof(*e->rows));
	if (!e->rows)
		return false;
	used = 0;
	for (size_t i = 0; i < c->count; i++) {
		if (!l->judged[i] || used++ % step)
			continue;
		double *row = e->rows + BINS * e->count++;
		int64_t from = series_tick(v->series, c->items[i].start_ns) - e->lead_ticks;

		for (size_t k = 0; k < BINS; k++, from += e->width_ticks)
			row[k] = view_sum(v, (struct span){ from, from + e->width_ticks }).lost_s;
	}
	even_out(e);
	return true;
}

static double draw_lag(const struct epoch *e, double tick_s, struct rng *rng)
{
	double sum[BINS] = { 0 };

	for (size_t i = 0; i < e->count; i++) {
		const double *row = e->rows + BINS * (rng ? rng_below(rng, e->count) : i);

		for (size_t k = 0; k < BINS; k++)
			sum[k] += row[k];
	}
	return ((double)onset(sum) * (double)e->width_ticks - (double)e->lead_ticks) * tick_s;
}

/* How far apart slow requests may be and still be one spell: five times the usual gap
 * between arrivals (one gap in 150 is longer), within a twentieth of a bucket and one. */
static int64_t join_gap_ns(const struct view *v)
{
	double seen_ns = (double)v->ticks * (double)v->series->tick_ns;
	double gap_ns = 5 * seen_ns / fmax(1, v->n[v->ticks]);
	double width_ns = (double)v->buckets.width_ns;

	return (int64_t)fmin(width_ns, fmax(width_ns / 20, gap_ns));
}

/* The end of the heaviest chain of slow requests, each in flight when the next one
 * arrives or just before, that start in a window; 0 when there is none. */
static int64_t chain_end_ns(const struct view *v, struct span window)
{
	const struct series_route *r = v->route;
	int64_t join_ns = join_gap_ns(v), end_ns = 0, best_ns = 0;
	double weight = 0, best = 0;

	for (size_t k = bucket_cell_at(r, window.from_tick);
		k < r->count && series_cell_tick(r->cells[k]) < window.to_tick; k++) {
		int64_t tick = series_cell_tick(r->cells[k]);
		uint32_t bin = series_cell_bin(r->cells[k]);
		int64_t from_ns = series_tick_ns(v->series, tick);
		int64_t to_ns = from_ns + (int64_t)(series_bin_us(bin) * 1e3);

		if (bin <= baseline_at(&v->base, tick)->slow_bin)
			continue;
		if (from_ns > end_ns + join_ns)
			weight = 0;
		weight += (double)(to_ns - from_ns) * series_cell_count(r->cells[k]);
		if (to_ns > end_ns)
			end_ns = to_ns;
		if (weight > best) {
			best = weight;
			best_ns = end_ns;
		}
	}
	return best_ns;
}

/* From the onset to the end of what became slow in a hit window. */
static double duration(
	const struct view *v, const struct condition *c, const struct lineup *l, double lag_s)
{
	double *all = calloc(l->hit + 1, sizeof(*all)), result = NAN;
	size_t used = 0;

	for (size_t i = 0; all && i < c->count; i++) {
		int64_t end_ns = l->hits[i] ? chain_end_ns(v, l->spans[i]) : 0;

		if (end_ns)
			all[used++] = (double)(end_ns - c->items[i].start_ns) / 1e9 - lag_s;
	}
	if (used) {
		quantile_sort(all, used);
		result = fmax(0, quantile_of(all, used, 0.5));
	}
	free(all);
	return result;
}

bool lag_measure(struct lag *ret, const struct view *v, const struct condition *c,
	const struct lineup *l, uint64_t seed)
{
	struct epoch e = { 0 };
	double draws[DRAWS], tick_s = (double)v->series->tick_ns / 1e9;
	struct rng rng;

	*ret = (struct lag){ NAN, NAN, NAN, NAN, false };
	if (!l->hit)
		return true;
	if (!superpose(&e, v, c, l))
		return false;
	double lag = draw_lag(&e, tick_s, NULL);
	rng_seed(&rng, seed ^ 0x1a9);
	for (size_t i = 0; i < DRAWS; i++)
		draws[i] = draw_lag(&e, tick_s, &rng);
	quantile_sort(draws, DRAWS);
	ret->low_s = draws[DRAWS * 25 / 1000];
	ret->high_s = draws[DRAWS * 975 / 1000];
	/* What was on its way when it began has arrived up to one baseline before. */
	double slack = v->base.segments[0].limit_ms / 1e3 + 2 * tick_s * (double)e.width_ticks;
	ret->is_before = ret->high_s < -slack;
	ret->lag_s = lag < 0 && lag >= -slack ? 0 : lag;
	if (ret->low_s > ret->lag_s)
		ret->low_s = ret->lag_s;
	/* Where within its bin the onset lies is not known. */
	ret->high_s = fmax(ret->high_s, ret->lag_s) + tick_s * (double)e.width_ticks;
	ret->duration_s = duration(v, c, l, ret->lag_s);
	free(e.rows);
	return true;
}
