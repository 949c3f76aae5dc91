#include "correlate/shift.h"

#include <math.h>

#include "core/base/quantile.h"

enum { SIDE_MIN = 100, BLOCKS = 8, STEADY = 6 };

static const double score_min = 30, ratio_min = 1.5, rise_min_us = 200;

struct counts {
	double n, k; /* requests, and those above the threshold */
};

struct pool {
	uint64_t bins[SERIES_BINS];
	uint64_t n;
};

static void fill(struct pool *p, const struct series_route *r, size_t from, size_t to)
{
	*p = (struct pool){ 0 };
	for (size_t i = from; i < to; i++) {
		p->bins[series_cell_bin(r->cells[i])] += series_cell_count(r->cells[i]);
		p->n += series_cell_count(r->cells[i]);
	}
}

static uint32_t quantile_bin(const struct pool *p, double q)
{
	uint64_t rank = p->n ? quantile_rank(p->n, q) : 0, seen = 0;

	for (uint32_t i = 0; i < SERIES_BINS; i++) {
		seen += p->bins[i];
		if (rank && seen >= rank)
			return i;
	}
	return 0;
}

static double likelihood(struct counts c)
{
	double p = c.n > 0 ? c.k / c.n : 0;

	return p <= 0 || p >= 1 ? 0 : c.k * log(p) + (c.n - c.k) * log1p(-p);
}

static struct counts count(const struct series_route *r, size_t from, size_t to, uint32_t bin)
{
	struct counts c = { 0 };

	for (size_t i = from; i < to; i++) {
		c.n += series_cell_count(r->cells[i]);
		c.k += series_cell_bin(r->cells[i]) > bin ? series_cell_count(r->cells[i]) : 0;
	}
	return c;
}

struct split {
	size_t cell; /* first of the later side */
	uint32_t bin;
	double score; /* twice the log likelihood ratio */
	struct counts before, after;
};

/* The best upward split with enough requests on each side. */
static void scan(struct split *best, const struct series_route *r, uint32_t bin, double side)
{
	struct counts all = count(r, 0, r->count, bin), before = { 0 };
	double none = likelihood(all);

	for (size_t i = 0; i < r->count; i++) {
		struct counts after = { all.n - before.n, all.k - before.k };
		bool is_above = series_cell_bin(r->cells[i]) > bin;
		double times = series_cell_count(r->cells[i]);

		/* A step begins with a request above; only there can the best split be. */
		if (is_above && before.n >= side && after.n >= side &&
			after.k * before.n > before.k * after.n) {
			double score = 2 * (likelihood(before) + likelihood(after) - none);

			if (score > best->score)
				*best = (struct split){ i, bin, score, before, after };
		}
		before.n += times;
		before.k += is_above ? times : 0;
	}
}

struct blocks {
	struct counts items[BLOCKS];
};

/* Eight blocks of about as many requests each. */
static void cut(
	struct blocks *b, const struct series_route *r, size_t from, size_t to, uint32_t bin)
{
	double n = count(r, from, to, bin).n, seen = 0;

	*b = (struct blocks){ 0 };
	for (size_t i = from; i < to; i++) {
		size_t at = (size_t)(seen / n * BLOCKS);
		double times = series_cell_count(r->cells[i]);

		b->items[at].n += times;
		b->items[at].k += series_cell_bin(r->cells[i]) > bin ? times : 0;
		seen += times;
	}
}

static double chi_square(const struct blocks *b, struct counts all)
{
	double p = all.k / all.n, sum = 0;

	for (size_t i = 0; i < BLOCKS; i++) {
		double mean = b->items[i].n * p, variance = mean * (1 - p);

		sum += variance > 0 ? (b->items[i].k - mean) * (b->items[i].k - mean) / variance
				    : 0;
	}
	return sum;
}

/* Clumps count less: what stalls together is one event. */
static double dispersion(const struct series_route *r, const struct split *s)
{
	struct blocks before, after;

	cut(&before, r, 0, s->cell, s->bin);
	cut(&after, r, s->cell, r->count, s->bin);
	return fmax(1, (chi_square(&before, s->before) + chi_square(&after, s->after)) /
			       (2 * (BLOCKS - 1)));
}

/* In most blocks up to the end there is about as much above as over all of them, and
 * more than there was before. */
static bool has_stayed(const struct series_route *r, const struct split *s)
{
	double before = s->before.k / s->before.n;
	struct counts after = count(r, s->cell, r->count, s->bin);
	double share = after.k / after.n;
	struct blocks blocks;
	size_t high = 0;

	cut(&blocks, r, s->cell, r->count, s->bin);
	for (size_t i = 0; i < BLOCKS; i++) {
		const struct counts *b = &blocks.items[i];

		high += b->n > 0 && b->k / b->n >= before + 0.4 * (share - before) &&
			b->k / b->n > 1.5 * before;
	}
	/* Where the last block has enough to tell, it has not come back. */
	const struct counts *last = &blocks.items[BLOCKS - 1];
	return high >= STEADY &&
	       (last->n * share < 10 || last->k / last->n >= before + 0.25 * (share - before));
}

static bool set_ratio(struct shift *shift, const struct series_route *r, size_t cell)
{
	static const double quantiles[] = { 0.5, 0.9, 0.99 };
	struct pool before, after;

	fill(&before, r, 0, cell);
	fill(&after, r, cell, r->count);
	for (size_t i = 0; i < LENGTH(quantiles); i++) {
		double was = series_bin_us(quantile_bin(&before, quantiles[i]));
		double is = series_bin_us(quantile_bin(&after, quantiles[i]));

		if (is >= ratio_min * was && is - was >= rise_min_us &&
			is / fmax(1, was) > shift->ratio) {
			shift->ratio = is / fmax(1, was);
			shift->quantile = quantiles[i];
		}
	}
	return shift->ratio > 0;
}

/* Three times the p95 of the first requests, which are before any step. */
static uint32_t early_limit(const struct series_route *r, double side)
{
	struct pool early;
	size_t end = 0;

	for (double n = 0; end < r->count && n < side; end++)
		n += series_cell_count(r->cells[end]);
	fill(&early, r, 0, end);
	double us = series_bin_us(quantile_bin(&early, 0.95));
	return series_bin((int64_t)fmax(3 * us, us + 5000));
}

/* Places the step by the requests far above what was before: a drift of the median on
 * either side of it is not the step. */
static void refine(struct split *best, const struct series_route *r, double side)
{
	struct split split = { 0 };

	scan(&split, r, early_limit(r, side), side);
	if (split.score <= 0)
		return;
	split.score /= dispersion(r, &split);
	bool is_clear = split.score >= score_min && has_stayed(r, &split);
	/* Later than the other, they must not be so few that all requests tell it better. */
	if (is_clear && (split.cell < best->cell || split.score >= 0.3 * best->score))
		*best = split;
}

bool shift_find(struct shift *ret, const struct series_route *r)
{
	static const double thresholds[] = { 0.5, 0.75, 0.9, 0.95, 0.98, 0.99 };
	double side = fmax(SIDE_MIN, (double)r->requests / 10);
	struct split best = { 0 };
	double highest = 0, raw = 0; /* before the dispersion */
	struct pool all;

	*ret = (struct shift){ 0 };
	if ((double)r->requests < 2 * side)
		return false;
	fill(&all, r, 0, r->count);
	for (size_t i = 0; i < LENGTH(thresholds); i++) {
		struct split split = { 0 };

		scan(&split, r, quantile_bin(&all, thresholds[i]), side);
		if (split.score <= best.score)
			continue;
		highest = fmax(highest, split.score);
		double score = split.score;
		split.score /= dispersion(r, &split);
		if (split.score > best.score && has_stayed(r, &split)) {
			best = split;
			raw = score;
		}
	}
	/* When the clearest step came back, a faint one that did not is a piece of it. */
	if (best.score < score_min || raw < 0.3 * highest)
		return false;
	refine(&best, r, side);
	ret->score = best.score;
	ret->tick = series_cell_tick(r->cells[best.cell]);
	return set_ratio(ret, r, best.cell);
}
