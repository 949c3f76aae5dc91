#include "correlate/baseline.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"
#include "correlate/shift.h"

enum { ROUNDS = 5 };

static const double quiet_share = 0.7, flag_p = 1e-3, tail = 0.01;

const struct baseline_segment *baseline_at(const struct baseline *base, int64_t tick)
{
	const struct baseline_segment *segment = &base->segments[0];

	if (base->count == 2 && tick >= base->segments[1].from_tick)
		segment = &base->segments[1];
	return segment;
}

struct ranked {
	double value;
	size_t index;
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static uint64_t pool(const struct series_route *r, const struct bucket_list *buckets, size_t from,
	size_t to, uint64_t bins[SERIES_BINS])
{
	uint64_t n = 0;

	memset(bins, 0, SERIES_BINS * sizeof(*bins));
	for (size_t i = from; i < to; i++) {
		const struct bucket *b = &buckets->items[i];

		for (size_t c = b->first_cell; c < b->end_cell && !b->is_flagged; c++) {
			bins[series_cell_bin(r->cells[c])] += series_cell_count(r->cells[c]);
			n += series_cell_count(r->cells[c]);
		}
	}
	return n;
}

static uint64_t above(const struct series_route *r, const struct bucket *b, uint32_t bin)
{
	uint64_t k = 0;

	for (size_t c = b->first_cell; c < b->end_cell; c++)
		if (series_cell_bin(r->cells[c]) > bin)
			k += series_cell_count(r->cells[c]);
	return k;
}

/* Flags all but the quieter 70 % of the buckets that have requests. */
static void flag_louder(struct bucket_list *buckets, size_t from, size_t to, struct ranked *work)
{
	size_t used = 0;

	for (size_t i = from; i < to; i++) {
		buckets->items[i].is_flagged = false;
		if (buckets->items[i].n)
			work[used++] = (struct ranked){ buckets->items[i].p90_ms, i };
	}
	if (used < 4)
		return;
	qsort(work, used, sizeof(*work), by_value);
	for (size_t i = (size_t)ceil(quiet_share * (double)used); i < used; i++)
		buckets->items[work[i].index].is_flagged = true;
}

/* Pearson dispersion of the exceedance counts, from the quieter 70 %: what is looked
 * for must not raise its own bar. */
static double dispersion(const struct ranked *work, size_t used)
{
	size_t cut = used / 20;
	double sum = 0;

	if (used < 10)
		return 1;
	size_t end = (size_t)(quiet_share * (double)used);
	for (size_t i = cut; i < end; i++)
		sum += work[i].value * work[i].value;
	return fmax(1, sum / (double)(end - cut));
}

/* Quasi-binomial: counts divided by the dispersion, at most 30 % of the buckets. */
static bool flag_exceeding(const struct series_route *r, struct bucket_list *buckets, size_t from,
	size_t to, uint32_t bin, struct ranked *work)
{
	size_t used = 0, flagged = 0;
	bool has_changed = false;

	for (size_t i = from; i < to; i++) {
		const struct bucket *b = &buckets->items[i];
		double mean = (double)b->n * tail;

		if (b->n)
			work[used++] = (struct ranked){
				((double)above(r, b, bin) - mean) / sqrt(mean * (1 - tail)), i
			};
	}
	qsort(work, used, sizeof(*work), by_value);
	double phi = dispersion(work, used);
	for (size_t at = used; at-- > 0;) {
		struct bucket *b = &buckets->items[work[at].index];
		double k = (double)above(r, b, bin) / phi;
		bool is_over = (double)(flagged + 1) <= (1 - quiet_share) * (double)used + 1 &&
			       k >= 1 &&
			       1 - quantile_binomial_cdf((uint64_t)ceil((double)b->n / phi), tail,
					   (int64_t)floor(k) - 1) <
				       flag_p;

		flagged += is_over;
		has_changed |= b->is_flagged != is_over;
		b->is_flagged = is_over;
	}
	return has_changed;
}

static void set_limits(struct baseline_segment *segment)
{
	double us = series_bin_us(segment->bin);

	segment->slow_bin = series_bin((int64_t)fmax(2 * us, us + 5000));
	segment->p99_ms = segment->n < QUANTILE_P99_MIN ? NAN : us / 1e3;
	segment->slow_ms = series_bin_us(segment->slow_bin) / 1e3;
}

static void fit_segment(struct baseline_segment *segment, const struct series_route *r,
	struct bucket_list *buckets, size_t from, size_t to, struct ranked *work)
{
	uint64_t bins[SERIES_BINS];

	flag_louder(buckets, from, to, work);
	for (int round = 0; round < ROUNDS; round++) {
		segment->n = pool(r, buckets, from, to, bins);
		segment->bin = bucket_pool_quantile(bins, segment->n, 1 - tail);
		if (!flag_exceeding(r, buckets, from, to, segment->bin, work))
			break;
	}
	segment->n = pool(r, buckets, from, to, bins);
	segment->bin = bucket_pool_quantile(bins, segment->n, 1 - tail);
	set_limits(segment);
}

static size_t bucket_of(const struct bucket_list *buckets, int64_t wall_ns)
{
	int64_t i = (wall_ns - buckets->items[0].start_ns) / buckets->width_ns;

	return i < 0 ? 0 : (size_t)i >= buckets->count ? buckets->count - 1 : (size_t)i;
}

static void split_at(struct baseline *base, const struct series *s, const struct series_route *r,
	struct bucket_list *buckets, const struct shift *shift, struct ranked *work)
{
	struct baseline_segment *segments = base->segments;

	base->shift_ns = series_tick_ns(s, shift->tick);
	base->shift_ratio = shift->ratio;
	base->shift_quantile = shift->quantile;
	segments[1].from_tick = shift->tick;
	size_t border = bucket_of(buckets, base->shift_ns);
	/* The bucket in which it happened is half of each: it tells neither level. */
	fit_segment(&segments[0], r, buckets, 0, border ? border : 1, work);
	fit_segment(&segments[1], r, buckets, border + 1, buckets->count, work);
	base->count = 2;
	base->has_shift = true;
}

void baseline_fit(struct baseline *base, const struct series *s, const struct series_route *r,
	struct bucket_list *buckets)
{
	size_t n = buckets->count;
	struct ranked *work = calloc(n, sizeof(*work));
	struct shift shift;

	*base = (struct baseline){ .segments[0].from_tick = INT64_MIN };
	if (work && r->requests >= QUANTILE_P99_MIN) {
		bool has_shift = shift_find(&shift, r);

		if (has_shift)
			split_at(base, s, r, buckets, &shift, work);
		if (!has_shift || isnan(base->segments[0].p99_ms) ||
			isnan(base->segments[1].p99_ms)) {
			fit_segment(&base->segments[0], r, buckets, 0, n, work);
			base->has_shift = false;
			base->count = isnan(base->segments[0].p99_ms) ? 0 : 1;
		}
	}
	free(work);
}

static bool is_loud(const struct bucket *b, const struct series *s, int64_t width_ns,
	const struct span *loud, size_t count)
{
	int64_t from = series_tick(s, b->start_ns), to = series_tick(s, b->start_ns + width_ns);

	for (size_t i = 0; i < count; i++)
		if (loud[i].from_tick < to && loud[i].to_tick > from)
			return true;
	return false;
}

void baseline_refit(struct baseline *base, const struct series *s, const struct series_route *r,
	struct bucket_list *buckets, const struct span *loud, size_t count)
{
	uint64_t bins[SERIES_BINS];

	for (size_t i = 0; i < buckets->count; i++)
		buckets->items[i].is_flagged =
			is_loud(&buckets->items[i], s, buckets->width_ns, loud, count);
	for (size_t k = 0; k < base->count; k++) {
		struct baseline_segment *segment = &base->segments[k];
		bool has_next = k + 1 < base->count;
		size_t from = k ? bucket_of(buckets, base->shift_ns) + 1 : 0;
		size_t to = has_next ? bucket_of(buckets, base->shift_ns) : buckets->count;
		uint64_t n = pool(r, buckets, from, to, bins), all = 0;

		for (size_t i = from; i < to; i++)
			all += buckets->items[i].n;
		if (n < QUANTILE_P99_MIN || n * 2 < all)
			continue;
		segment->n = n;
		segment->bin = bucket_pool_quantile(bins, n, 1 - tail);
		set_limits(segment);
	}
}
