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
		pieces[i].to_ns = i + 1 == count
					  ? whole.to_ns
					  : whole.from_ns + (int64_t)(length * (double)(i + 1));
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

/* ---- who holds which instant */

struct stay {
	int64_t from_ns, to_ns; /* in flight, cut to the span */
	double ms;
	double weight_s;
};

struct leaving {
	int64_t at_ns;
	size_t stay;
};

static int by_leaving(const void *a, const void *b)
{
	const struct leaving *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->stay < y->stay ? -1 : x->stay > y->stay;
}

/*
 * Shares the instants from from_ns on among stays (sorted by start). While k are in
 * flight each gets dt / k: with S(t) = the integral of dt / k, a stay's share is
 * S(end) - S(start), so one sweep over starts and ends is enough.
 */
static void share_instants(struct stay *stays, struct leaving *ends, size_t count, int64_t from_ns)
{
	size_t in = 0, out = 0;
	int64_t at_ns = from_ns;
	double shared_s = 0;

	if (count == 0)
		return;
	for (size_t i = 0; i < count; i++)
		ends[i] = (struct leaving){ stays[i].to_ns, i };
	qsort(ends, count, sizeof(ends[0]), by_leaving);
	while (out < count) {
		bool is_start = in < count && stays[in].from_ns <= ends[out].at_ns;
		int64_t next_ns = is_start ? stays[in].from_ns : ends[out].at_ns;
		double dt_s = (double)(next_ns - at_ns) / (double)NS_PER_S;

		if (dt_s > 0 && in > out)
			shared_s += dt_s / (double)(in - out);
		if (is_start) {
			stays[in].weight_s -= shared_s;
			/* Nothing was in flight: the gap is this one's. */
			if (in == out && dt_s > 0)
				stays[in].weight_s += dt_s;
			in++;
		} else {
			stays[ends[out++].stay].weight_s += shared_s;
		}
		if (next_ns > at_ns)
			at_ns = next_ns;
	}
}

struct room {
	struct stay *stays;
	struct leaving *ends;
	size_t count, size;
};

static bool room_add(struct room *m, struct stay s, struct err *e)
{
	if (m->count == m->size) {
		size_t size = m->size ? m->size * 2 : 1024;
		struct stay *stays = realloc(m->stays, size * sizeof(*stays));
		struct leaving *ends = realloc(m->ends, size * sizeof(*ends));

		m->stays = stays ? stays : m->stays;
		m->ends = ends ? ends : m->ends;
		if (!stays || !ends)
			return err_set(e, ERR_ENV, "could not get memory for %zu requests", size);
		m->size = size;
	}
	m->stays[m->count++] = s;
	return true;
}

static bool room_give(
	struct room *m, struct judge_set *set, uint32_t block, int64_t from_ns, struct err *e)
{
	share_instants(m->stays, m->ends, m->count, from_ns);
	for (size_t i = 0; i < m->count; i++) {
		if (!judge_set_add(set, block, m->stays[i].ms, m->stays[i].weight_s, e))
			return false;
	}
	m->count = 0;
	return true;
}

static void room_free(struct room *m)
{
	free(m->stays);
	free(m->ends);
}

static bool open_blocks(struct judge_set *set, size_t count, struct err *e)
{
	judge_set_run(set);
	for (size_t i = 0; i < count; i++) {
		if (!judge_set_block(set, e))
			return false;
	}
	return true;
}

/* The longest request decides how far back a span must look. */
static int64_t longest(const struct inside_request *requests, size_t count)
{
	int64_t most = SHORTEST_NS;

	for (size_t i = 0; i < count; i++) {
		if (end_of(&requests[i]) - requests[i].start_ns > most)
			most = end_of(&requests[i]) - requests[i].start_ns;
	}
	return most;
}

static size_t first_starting_at(const struct inside_request *requests, size_t count, int64_t t)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (requests[mid].start_ns >= t)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

bool inside_collect(struct judge_set *set, const struct inside_request *requests, size_t count,
	const struct span *spans, size_t span_count, struct err *e)
{
	int64_t look_back_ns = longest(requests, count);
	uint32_t base = set->block_count;
	struct room m = { 0 };
	bool ok = open_blocks(set, span_count, e);

	for (size_t k = 0; ok && k < span_count; k++) {
		size_t i = first_starting_at(requests, count, spans[k].from_ns - look_back_ns);

		for (; ok && i < count && requests[i].start_ns < spans[k].to_ns; i++) {
			const struct inside_request *q = &requests[i];
			struct stay s = { q->start_ns, end_of(q), ms_of(q), 0 };

			if (s.to_ns <= spans[k].from_ns)
				continue;
			if (s.from_ns < spans[k].from_ns)
				s.from_ns = spans[k].from_ns;
			if (s.to_ns > spans[k].to_ns)
				s.to_ns = spans[k].to_ns;
			set->censored += q->is_censored;
			ok = room_add(&m, s, e);
		}
		ok = ok && room_give(&m, set, base + (uint32_t)k, spans[k].from_ns, e);
	}
	room_free(&m);
	return ok;
}

static bool touches(
	const struct span *spans, size_t count, int64_t guard_ns, const struct inside_request *q)
{
	size_t k = first_ending_after(spans, count, q->start_ns - guard_ns);

	return k < count && spans[k].from_ns < end_of(q);
}

/* An occurrence within a piece parts it: the instants in between are nobody's. */
static bool collect_piece(struct judge_set *set, uint32_t block, struct room *m,
	const struct inside_request *requests, size_t count, const struct span *occurrences,
	size_t occurrence_count, int64_t guard_ns, struct span piece, struct err *e)
{
	int64_t from_ns = piece.from_ns;
	size_t k = first_ending_after(occurrences, occurrence_count, piece.from_ns - guard_ns);

	for (size_t i = first_starting_at(requests, count, piece.from_ns);
		i < count && requests[i].start_ns < piece.to_ns; i++) {
		const struct inside_request *q = &requests[i];

		for (; k < occurrence_count && occurrences[k].to_ns + guard_ns <= q->start_ns;
			k++) {
			if (!room_give(m, set, block, from_ns, e))
				return false;
			from_ns = occurrences[k].to_ns + guard_ns;
		}
		if (touches(occurrences, occurrence_count, guard_ns, q))
			continue;
		set->censored += q->is_censored;
		if (!room_add(m, (struct stay){ q->start_ns, end_of(q), ms_of(q), 0 }, e))
			return false;
	}
	return room_give(m, set, block, from_ns, e);
}

bool outside_collect(struct judge_set *set, const struct inside_request *requests, size_t count,
	const struct span *occurrences, size_t occurrence_count, int64_t guard_ns,
	const struct span *around, size_t around_count, struct err *e)
{
	uint32_t base = set->block_count;
	struct room m = { 0 };
	bool ok = open_blocks(set, around_count, e);

	for (size_t k = 0; ok && k < around_count; k++)
		ok = collect_piece(set, base + (uint32_t)k, &m, requests, count, occurrences,
			occurrence_count, guard_ns, around[k], e);
	room_free(&m);
	return ok;
}
