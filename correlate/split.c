#include "correlate/split.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/rng.h"

enum { SHUFFLES = 9999, EXTREME_ENOUGH = 20 };

struct best {
	double score;
	size_t at; /* items below the split */
};

static int by_value(const void *a, const void *b)
{
	const struct split_item *x = a, *y = b;
	bool x_known = !isnan(x->value), y_known = !isnan(y->value);

	if (x_known != y_known)
		return x_known ? -1 : 1;
	if (x_known && x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Chi-square up to a factor that is the same for all splits of the same items. */
static struct best find(const struct split_item *items, const bool *hits, size_t n, double rate)
{
	struct best best = { 0, 0 };
	double below = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		size_t size = i + 1;

		below += hits[i];
		if (size < SPLIT_SIDE_MIN || n - size < SPLIT_SIDE_MIN ||
			items[i].value == items[i + 1].value)
			continue;
		double off = below - (double)size * rate;
		double score = off * off / ((double)size * (double)(n - size));

		if (score > best.score)
			best = (struct best){ score, size };
	}
	return best;
}

static double permuted_p(
	const struct split_item *items, size_t n, double rate, double score, uint64_t seed)
{
	bool hits[SPLIT_ITEMS_MAX];
	uint64_t done = 0, extreme = 0;
	struct rng rng;

	for (size_t i = 0; i < n; i++)
		hits[i] = items[i].is_hit;
	rng_seed(&rng, seed ^ 0x5e11);
	while (done < SHUFFLES && extreme < EXTREME_ENOUGH) {
		for (size_t i = n; i-- > 1;) {
			size_t k = rng_below(&rng, i + 1);
			bool kept = hits[k];

			hits[k] = hits[i];
			hits[i] = kept;
		}
		done++;
		extreme += find(items, hits, n, rate).score >= score - 1e-12;
	}
	return (1 + (double)extreme) / (1 + (double)done);
}

/* Place in time of each item, 0 to n - 1. */
static void rank_times(const struct split_item *items, size_t n, uint32_t *ranks)
{
	uint32_t orders[SPLIT_ITEMS_MAX];

	for (size_t i = 0; i < n; i++) {
		orders[i] = items[i].order;
		ranks[i] = 0;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			ranks[i] += orders[k] < orders[i];
}

static double turned_p(const struct split_item *items, size_t n, double rate, double score)
{
	bool in_time[SPLIT_ITEMS_MAX], hits[SPLIT_ITEMS_MAX];
	uint32_t ranks[SPLIT_ITEMS_MAX];
	size_t extreme = 0;

	rank_times(items, n, ranks);
	for (size_t i = 0; i < n; i++)
		in_time[ranks[i]] = items[i].is_hit;
	for (size_t by = 1; by < n; by++) {
		for (size_t i = 0; i < n; i++)
			hits[i] = in_time[(ranks[i] + by) % n];
		extreme += find(items, hits, n, rate).score >= score - 1e-12;
	}
	return (1 + (double)extreme) / (double)n;
}

static void fill(struct split *ret, const struct split_item *items, size_t n, struct best best)
{
	size_t below = 0, all = 0;

	for (size_t i = 0; i < n; i++) {
		all += items[i].is_hit;
		below += i < best.at && items[i].is_hit;
	}
	double low = items[best.at - 1].value, high = items[best.at].value;
	ret->threshold = low + (high - low) / 2;
	ret->is_above =
		(double)(all - below) / (double)(n - best.at) > (double)below / (double)best.at;
	ret->with = ret->is_above ? n - best.at : best.at;
	ret->without = n - ret->with;
	ret->hit_with = ret->is_above ? all - below : below;
	ret->hit_without = all - ret->hit_with;
}

bool split_test(struct split *ret, struct split_item *items, size_t count, uint64_t seed)
{
	bool hits[SPLIT_ITEMS_MAX];
	size_t n = 0, hit = 0;

	if (count > SPLIT_ITEMS_MAX)
		return false;
	qsort(items, count, sizeof(*items), by_value);
	while (n < count && !isnan(items[n].value)) {
		hits[n] = items[n].is_hit;
		hit += items[n++].is_hit;
	}
	if (hit < SPLIT_SIDE_MIN || n - hit < SPLIT_SIDE_MIN)
		return false;
	double rate = (double)hit / (double)n;
	struct best best = find(items, hits, n, rate);
	if (best.score <= 0)
		return false;
	*ret = (struct split){ 0 };
	fill(ret, items, n, best);
	ret->p = permuted_p(items, n, rate, best.score, seed);
	ret->p_turn = turned_p(items, n, rate, best.score);
	return true;
}
