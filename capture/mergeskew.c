#include "capture/mergeskew.h"

#include <stdlib.h>

enum { SAME_CLIENT_MIN = 3, ANY_CLIENT_MIN = 20 };

struct match {
	int64_t offset_ns, at_ns;
};

static int by_offset(const void *a, const void *b)
{
	const struct match *x = a, *y = b;

	return (x->offset_ns > y->offset_ns) - (x->offset_ns < y->offset_ns);
}

static int by_time(const void *a, const void *b)
{
	const struct match *x = a, *y = b;

	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static size_t collect(const struct mergemarks *reference, const struct mergemarks *other,
	bool same_client, struct match *to)
{
	uint64_t sample = reference->sample | other->sample;
	size_t n = 0;

	for (size_t i = 0; i < reference->room; i++) {
		const struct mergemark *a = &reference->marks[i], *b;

		if (!a->content || a->is_repeated || a->content & sample)
			continue;
		b = mergemarks_find(other, a->content);
		if (!b || (same_client && (!a->client || a->client != b->client)))
			continue;
		to[n++] =
			(struct match){ ((b->start_ns - a->start_ns) + (b->end_ns - a->end_ns)) / 2,
				a->start_ns };
	}
	return n;
}

/* The most matches within the width; returns how many, *ret_first the first. */
static size_t densest(const struct match *m, size_t n, size_t *ret_first)
{
	size_t best = 0;

	for (size_t first = 0, end = 0; first < n; first++) {
		while (end < n && m[end].offset_ns - m[first].offset_ns <= MERGESKEW_WIDTH_NS)
			end++;
		if (end - first > best) {
			best = end - first;
			*ret_first = first;
		}
	}
	return best;
}

static int64_t median(struct match *m, size_t n)
{
	qsort(m, n, sizeof(*m), by_offset);
	return n ? m[(n - 1) / 2].offset_ns : 0;
}

static void judge(struct match *m, size_t n, bool same_client, struct mergeskew *ret)
{
	size_t first = 0;

	qsort(m, n, sizeof(*m), by_offset);
	size_t agreeing = densest(m, n, &first);
	struct match *in = m + first;
	*ret = (struct mergeskew){ .matches = n, .agreeing = agreeing };
	ret->is_sure = same_client ? agreeing >= SAME_CLIENT_MIN && agreeing * 2 >= n
				   : agreeing >= ANY_CLIENT_MIN && agreeing * 5 >= n * 4;
	if (!agreeing)
		return;
	ret->skew_ns = in[(agreeing - 1) / 2].offset_ns;
	ret->spread_ns =
		in[agreeing * 9 / 10 - (agreeing >= 10)].offset_ns - in[agreeing / 10].offset_ns;
	size_t half = agreeing / 2;
	qsort(in, agreeing, sizeof(*in), by_time);
	if (half >= SAME_CLIENT_MIN)
		ret->drift_ns = median(in + half, agreeing - half) - median(in, half);
}

bool mergeskew_between(
	const struct mergemarks *reference, const struct mergemarks *other, struct mergeskew *ret)
{
	struct match *matches = calloc(reference->count + 1, sizeof(*matches));

	if (!matches)
		return false;
	judge(matches, collect(reference, other, true, matches), true, ret);
	if (!ret->is_sure)
		judge(matches, collect(reference, other, false, matches), false, ret);
	free(matches);
	return true;
}
