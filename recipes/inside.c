#include "recipes/inside.h"

#include <stdlib.h>

/* Clocks have a grain: a request that began and ended in one microsecond was there. */
#define SHORTEST_NS 1000

static int by_from(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return x->to_ns < y->to_ns ? -1 : x->to_ns > y->to_ns;
}

size_t spans_join(struct span *spans, size_t count)
{
	size_t n = 0;

	if (count > 1)
		qsort(spans, count, sizeof(spans[0]), by_from);
	for (size_t i = 0; i < count; i++) {
		if (n > 0 && spans[i].from_ns <= spans[n - 1].to_ns) {
			if (spans[i].to_ns > spans[n - 1].to_ns)
				spans[n - 1].to_ns = spans[i].to_ns;
		} else {
			spans[n++] = spans[i];
		}
	}
	return n;
}

void span_slice(struct span whole, struct span *pieces, size_t count)
{
	double length = (double)(whole.to_ns - whole.from_ns) / (double)count;

	for (size_t i = 0; i < count; i++) {
		pieces[i].from_ns = whole.from_ns + (int64_t)(length * (double)i);
		pieces[i].to_ns = i + 1 == count ? whole.to_ns :
						   whole.from_ns + (int64_t)(length * (double)(i + 1));
	}
}

/* Index of the first span that ends after t (count when none does). */
static size_t first_ending_after(const struct span *spans, size_t count, int64_t t)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (spans[mid].to_ns > t)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static int64_t end_of(const struct inside_request *q)
{
	return q->end_ns - q->start_ns < SHORTEST_NS ? q->start_ns + SHORTEST_NS : q->end_ns;
}

static double ms_of(const struct inside_request *q)
{
	return (double)(end_of(q) - q->start_ns) / (double)NS_PER_MS;
}

bool inside_collect(struct judge_set *set, const struct inside_request *requests, size_t count,
	const struct span *spans, size_t span_count, struct err *e)
{
	uint32_t base = set->block_count;

	judge_set_run(set);
	for (size_t i = 0; i < span_count; i++) {
		if (!judge_set_block(set, e))
			return false;
	}
	for (size_t i = 0; i < count; i++) {
		const struct inside_request *q = &requests[i];
		size_t k = first_ending_after(spans, span_count, q->start_ns);

		for (; k < span_count && spans[k].from_ns < end_of(q); k++) {
			int64_t from = q->start_ns > spans[k].from_ns ? q->start_ns : spans[k].from_ns;
			int64_t to = end_of(q) < spans[k].to_ns ? end_of(q) : spans[k].to_ns;

			set->censored += q->is_censored;
			if (!judge_set_add(set, base + (uint32_t)k, ms_of(q),
				    (double)(to - from) / (double)NS_PER_S, e))
				return false;
		}
	}
	return true;
}

static bool touches(const struct span *spans, size_t count, int64_t guard_ns,
	const struct inside_request *q)
{
	size_t k = first_ending_after(spans, count, q->start_ns - guard_ns);

	return k < count && spans[k].from_ns < end_of(q);
}

bool outside_collect(struct judge_set *set, const struct inside_request *requests, size_t count,
	const struct span *spans, size_t span_count, int64_t guard_ns, const struct span *around,
	size_t around_count, struct err *e)
{
	uint32_t base = set->block_count;

	judge_set_run(set);
	for (size_t i = 0; i < around_count; i++) {
		if (!judge_set_block(set, e))
			return false;
	}
	for (size_t i = 0; i < count; i++) {
		const struct inside_request *q = &requests[i];
		size_t k = first_ending_after(around, around_count, q->start_ns);

		if (k == around_count || around[k].from_ns > q->start_ns ||
			touches(spans, span_count, guard_ns, q))
			continue;
		set->censored += q->is_censored;
		if (!judge_set_add(set, base + (uint32_t)k, ms_of(q),
			    ms_of(q) / 1000.0, e))
			return false;
	}
	return true;
}
