#include "correlate/bucket.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"

enum { BUCKETS_MAX = 1000000 };

const char *bucket_state_text(enum bucket_state state)
{
	static const char *const texts[] = { "ok", "low", "empty", "gap" };

	return texts[state];
}

size_t bucket_cell_at(const struct series_route *r, int64_t tick)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (series_cell_tick(r->cells[middle]) < tick)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t bucket_pool_quantile(const uint64_t bins[SERIES_BINS], uint64_t n, double q)
{
	uint64_t rank = n ? quantile_rank(n, q) : 0, seen = 0;

	for (uint32_t i = 0; i < SERIES_BINS; i++) {
		seen += bins[i];
		if (rank && seen >= rank)
			return i;
	}
	return 0;
}

/* What a bucket needs to answer rank questions: its bins, and its exact largest. */
struct ranks {
	uint32_t bins[SERIES_BINS];
	uint32_t low, high;
	uint64_t n;
	double top_ms[SERIES_TOP]; /* descending */
	size_t top_count;
};

static uint32_t rank_bin(const struct ranks *r, uint64_t rank)
{
	uint64_t seen = 0;

	for (uint32_t i = r->low; i <= r->high; i++) {
		seen += r->bins[i];
		if (seen >= rank)
			return i;
	}
	return r->high;
}

static double rank_ms(const struct ranks *r, uint64_t rank)
{
	if (!rank)
		return NAN;
	if (r->n - rank < r->top_count)
		return r->top_ms[r->n - rank];
	return series_bin_us(rank_bin(r, rank)) / 1e3;
}

/* Where others counted in coarse buckets, what is known of the p99 is a range. */
static void widen(struct bucket *b, const struct ranks *ranks, const struct series_route *r,
	uint64_t low_rank, uint64_t high_rank)
{
	int64_t low, high, ignored;

	series_edges(r, rank_bin(ranks, quantile_rank(b->n, 0.99)), &low, &high);
	if (low == high)
		return;
	b->is_interval = true;
	b->p99_ms = b->p99_low_ms = b->p99_high_ms = NAN;
	if (low_rank) {
		series_edges(r, rank_bin(ranks, low_rank), &low, &ignored);
		b->p99_low_ms = (double)low / 1e3;
	}
	if (high_rank) {
		series_edges(r, rank_bin(ranks, high_rank), &ignored, &high);
		b->p99_high_ms = high == INT64_MAX ? NAN : (double)high / 1e3;
	}
}

static void gather(struct ranks *ranks, const struct series *s, const struct series_route *r,
	const struct bucket *b, int64_t from_tick, int64_t to_tick)
{
	for (size_t i = b->first_cell; i < b->end_cell; i++) {
		uint32_t bin = series_cell_bin(r->cells[i]);

		ranks->bins[bin] += series_cell_count(r->cells[i]);
		ranks->n += series_cell_count(r->cells[i]);
		ranks->low = bin < ranks->low ? bin : ranks->low;
		ranks->high = bin > ranks->high ? bin : ranks->high;
	}
	for (size_t i = 0; i < r->top_count && ranks->n; i++) {
		int64_t tick = series_tick(s, r->top[i].start_ns);

		if (tick >= from_tick && tick < to_tick)
			ranks->top_ms[ranks->top_count++] = (double)r->top[i].latency_us / 1e3;
	}
}

static void fill(struct bucket *b, const struct ranks *ranks, const struct series_route *r)
{
	uint64_t low, high;

	b->n = ranks->n;
	b->p50_ms = b->p90_ms = b->p99_ms = b->p99_low_ms = b->p99_high_ms = b->max_ms = NAN;
	b->state = b->n == 0 ? BUCKET_EMPTY : b->n < QUANTILE_P99_MIN ? BUCKET_LOW : BUCKET_OK;
	b->is_floored = r->floor_us > 0;
	b->is_interval = r->edge_count > 0;
	if (!b->n)
		return;
	b->max_ms = rank_ms(ranks, b->n);
	if (b->is_floored)
		return;
	b->p50_ms = rank_ms(ranks, quantile_rank(b->n, 0.5));
	b->p90_ms = rank_ms(ranks, quantile_rank(b->n, 0.9));
	if (b->n < QUANTILE_P99_MIN)
		return;
	b->p99_ms = rank_ms(ranks, quantile_rank(b->n, 0.99));
	quantile_interval(b->n, 0.99, 0.95, &low, &high);
	b->p99_low_ms = rank_ms(ranks, low);
	b->p99_high_ms = rank_ms(ranks, high);
	if (b->is_interval)
		widen(b, ranks, r, low, high);
}

void bucket_measure(struct bucket *b, const struct series *s, const struct series_route *r,
	int64_t from_tick, int64_t to_tick)
{
	struct ranks ranks = { .low = SERIES_BINS - 1 };

	b->first_tick = from_tick;
	b->first_cell = bucket_cell_at(r, from_tick);
	b->end_cell = bucket_cell_at(r, to_tick);
	gather(&ranks, s, r, b, from_tick, to_tick);
	fill(b, &ranks, r);
}

/* A tick belongs to the bucket its start is in: with ticks wider than a bucket's
 * remainder the border is off by part of a tick, never twice counted. */
static int64_t tick_at_or_after(const struct series *s, int64_t wall_ns)
{
	int64_t tick = series_tick(s, wall_ns);

	return series_tick_ns(s, tick) < wall_ns ? tick + 1 : tick;
}

bool bucket_list_make(struct bucket_list *list, const struct series *s,
	const struct series_route *r, int64_t width_ns)
{
	int64_t first = series_tick_ns(s, series_tick(s, s->first_ns)) - s->origin_ns;
	int64_t from = first / width_ns - (first % width_ns < 0);
	int64_t count = (s->last_ns - s->origin_ns) / width_ns - from + 1;

	*list = (struct bucket_list){ .width_ns = width_ns };
	if (count <= 0 || count > BUCKETS_MAX)
		return false;
	list->items = calloc((size_t)count, sizeof(*list->items));
	if (!list->items)
		return false;
	list->count = (size_t)count;
	for (size_t i = 0; i < list->count; i++) {
		struct bucket *b = &list->items[i];

		b->start_ns = s->origin_ns + (from + (int64_t)i) * width_ns;
		bucket_measure(b, s, r, tick_at_or_after(s, b->start_ns),
			tick_at_or_after(s, b->start_ns + width_ns));
		if (series_is_gap(s, b->start_ns, b->start_ns + width_ns))
			b->state = BUCKET_GAP;
	}
	return true;
}

void bucket_list_free(struct bucket_list *list)
{
	free(list->items);
	*list = (struct bucket_list){ 0 };
}
