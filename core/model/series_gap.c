#include <stdlib.h>

#include "core/model/series_private.h"

static int by_from(const void *a, const void *b)
{
	const struct series_gap *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* Joins those at most so far apart; returns how many lay apart at all. */
static size_t join_gaps(struct series *s, int64_t apart_ns)
{
	size_t kept = 0, joined = 0;

	if (s->gap_count)
		qsort(s->gaps, s->gap_count, sizeof(*s->gaps), by_from);
	for (size_t i = 0; i < s->gap_count; i++) {
		struct series_gap g = s->gaps[i], *last = kept ? &s->gaps[kept - 1] : NULL;

		if (!last || g.from_ns - last->to_ns > apart_ns) {
			s->gaps[kept++] = g;
			continue;
		}
		joined += g.from_ns > last->to_ns;
		if (g.to_ns > last->to_ns)
			last->to_ns = g.to_ns;
	}
	s->gap_count = kept;
	return joined;
}

static bool make_gap_room(struct series *s)
{
	if (s->gap_count < s->gap_cap)
		return true;
	join_gaps(s, 0);
	if (s->gap_count < s->gap_cap)
		return true;
	for (int64_t apart = NS_PER_MS; s->gap_count == SERIES_GAPS_MAX; apart *= 2)
		s->gaps_joined += join_gaps(s, apart);
	if (s->gap_count < s->gap_cap)
		return true;
	size_t cap = s->gap_cap ? s->gap_cap * 2 : 16;
	struct series_gap *grown = realloc(s->gaps, cap * sizeof(*grown));
	if (!grown)
		return false;
	s->gaps = grown;
	s->gap_cap = cap;
	return true;
}

bool series_add_gap(struct series *s, int64_t from_ns, int64_t to_ns)
{
	if (to_ns <= from_ns)
		return true;
	if (!make_gap_room(s))
		return false;
	s->gaps[s->gap_count++] = (struct series_gap){ from_ns, to_ns };
	return true;
}

void series_gaps_finish(struct series *s)
{
	join_gaps(s, 0);
}

bool series_is_gap(const struct series *s, int64_t from_ns, int64_t to_ns)
{
	size_t low = 0, high = s->gap_count;

	/* The first that ends after from. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->gaps[middle].to_ns <= from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->gap_count && s->gaps[low].from_ns < to_ns;
}
