#include "correlate/quiet.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"
#include "correlate/tail.h"

enum { ROUNDS = 12 };

static const double start_share = 0.5, keep_share = 0.55, flag_p = 1e-3, tail = 0.01;

struct quiet_item {
	double value; /* ranked by */
	size_t index; /* of the bucket */
	double n, k; /* exposure, and requests above */
};

bool quiet_open(struct quiet *q, size_t buckets)
{
	*q = (struct quiet){ .items = calloc(buckets + 1, sizeof(*q->items)) };
	return q->items != NULL;
}

void quiet_free(struct quiet *q)
{
	free(q->items);
	*q = (struct quiet){ 0 };
}

static int by_value(const void *a, const void *b)
{
	const struct quiet_item *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static bool is_floored(const struct series_route *r)
{
	return r->floor_us > 0;
}

/* An empty bucket tells something only where fast requests were not told. */
static bool is_used(const struct series_route *r, const struct bucket *b)
{
	return b->state != BUCKET_GAP && (b->n || is_floored(r));
}

static double above(const struct series_route *r, const struct bucket *b, uint32_t bin)
{
	double k = 0;

	for (size_t c = b->first_cell; c < b->end_cell; c++)
		if (series_cell_bin(r->cells[c]) > bin)
			k += series_cell_count(r->cells[c]);
	return k;
}

static uint32_t limit_of(const struct series_route *r, const uint64_t *bins, uint64_t n)
{
	return n ? bucket_pool_quantile(bins, n, is_floored(r) ? 0.5 : 1 - tail) : 0;
}

uint32_t quiet_again(struct quiet *q, const struct series_route *r, struct bucket_list *buckets,
	size_t from, size_t to)
{
	uint64_t bins[SERIES_BINS] = { 0 };
	double used = 0, k = 0;

	q->n = 0;
	for (size_t i = from; i < to; i++) {
		const struct bucket *b = &buckets->items[i];

		if (b->is_flagged || !is_used(r, b))
			continue;
		used++;
		for (size_t c = b->first_cell; c < b->end_cell; c++)
			bins[series_cell_bin(r->cells[c])] += series_cell_count(r->cells[c]);
		for (size_t c = b->first_cell; c < b->end_cell; c++)
			q->n += series_cell_count(r->cells[c]);
	}
	uint32_t bin = limit_of(r, bins, q->n);
	for (uint32_t i = bin + 1; i < SERIES_BINS; i++)
		k += (double)bins[i];
	q->exposure = is_floored(r) ? (k + 0.5) / fmax(1, used) / tail : 0; /* per bucket */
	return bin;
}

/* Flags all but the quieter half of the buckets: by their p90, or by how many were told. */
static void flag_louder(struct quiet *q, const struct series_route *r, struct bucket_list *buckets,
	const struct season *season, const size_t range[2])
{
	size_t used = 0;

	for (size_t i = range[0]; i < range[1]; i++) {
		struct bucket *b = &buckets->items[i];
		double value = (double)b->n;

		b->is_flagged = false;
		if (!is_used(r, b))
			continue;
		if (!is_floored(r))
			value = b->p90_ms / season_at(season, b->first_tick);
		q->items[used++] = (struct quiet_item){ .value = value, .index = i };
	}
	if (used < 4)
		return;
	qsort(q->items, used, sizeof(*q->items), by_value);
	for (size_t i = (size_t)ceil(start_share * (double)used); i < used; i++)
		buckets->items[q->items[i].index].is_flagged = true;
}

/* How the counts clump, from the lower half of the residuals: what is looked for must
 * not raise its own bar. */
static double clumping(const struct quiet_item *items, size_t used)
{
	size_t cut = used / 20, end = used / 2;
	double sum = 0, n = 0;

	if (used < 10)
		return 0;
	for (size_t i = cut; i < end; i++) {
		sum += items[i].value * items[i].value;
		n += items[i].n;
	}
	double phi = sum / (double)(end - cut), mean = n / (double)(end - cut);
	return phi > 1 && mean > 1 ? fmin(0.5, (phi - 1) / (mean - 1)) : 0;
}

static size_t count_above(struct quiet *q, const struct series_route *r,
	const struct bucket_list *buckets, const size_t range[2], uint32_t bin)
{
	size_t used = 0;

	for (size_t i = range[0]; i < range[1]; i++) {
		const struct bucket *b = &buckets->items[i];
		double n = is_floored(r) ? q->exposure : (double)b->n;

		if (!is_used(r, b))
			continue;
		double k = above(r, b, bin), mean = n * tail;
		q->items[used++] =
			(struct quiet_item){ (k - mean) / sqrt(mean * (1 - tail)), i, n, k };
	}
	return used;
}

static bool exceeds(const struct quiet_item *item, const struct series_route *r, double clump)
{
	double mean = item->n * tail;

	if (item->k <= mean || item->k < 1)
		return false;
	return (is_floored(r) ? tail_of_rate(item->k, mean, clump / tail)
			      : tail_of_share(item->k, item->n, tail, clump)) < flag_p;
}

static bool has_flagged_neighbour(
	const struct bucket_list *buckets, const size_t range[2], size_t i)
{
	return (i > range[0] && buckets->items[i - 1].is_flagged) ||
	       (i + 1 < range[1] && buckets->items[i + 1].is_flagged);
}

/* Episodes begin and end within buckets: the half in them would be taken for quiet. */
static size_t flag_neighbours(struct quiet *q, size_t used, struct bucket_list *buckets,
	const size_t range[2], size_t room)
{
	size_t near = 0;

	for (size_t at = used; at-- > near && near < room;) {
		const struct quiet_item *item = &q->items[at];

		if (!buckets->items[item->index].is_flagged && item->k >= 1 &&
			item->k >= 3 * item->n * tail &&
			has_flagged_neighbour(buckets, range, item->index))
			q->items[near++].index = item->index;
	}
	for (size_t i = 0; i < near; i++)
		buckets->items[q->items[i].index].is_flagged = true;
	return near;
}

static void flag_exceeding(struct quiet *q, const struct series_route *r,
	struct bucket_list *buckets, const size_t range[2], uint32_t bin)
{
	size_t used = count_above(q, r, buckets, range, bin), flagged = 0;
	size_t most = (size_t)((1 - keep_share) * (double)used) + 1;

	qsort(q->items, used, sizeof(*q->items), by_value);
	double clump = clumping(q->items, used);
	for (size_t i = range[0]; i < range[1]; i++)
		buckets->items[i].is_flagged = false;
	for (size_t at = used; at-- > 0 && flagged < most;) {
		if (!exceeds(&q->items[at], r, clump))
			continue;
		buckets->items[q->items[at].index].is_flagged = true;
		flagged++;
	}
	flag_neighbours(q, used, buckets, range, most - flagged);
}

uint32_t quiet_find(struct quiet *q, const struct series_route *r, struct bucket_list *buckets,
	const struct season *season, size_t from, size_t to)
{
	const size_t range[2] = { from, to };
	uint32_t bin, last = UINT32_MAX;

	flag_louder(q, r, buckets, season, range);
	for (int round = 0; round < ROUNDS; round++) {
		bin = quiet_again(q, r, buckets, from, to);
		if (bin == last)
			break;
		last = bin;
		flag_exceeding(q, r, buckets, range, bin);
	}
	return quiet_again(q, r, buckets, from, to);
}
