#include <stdlib.h>

#include "core/model/series_private.h"

enum { PER_SESSION = 2, LOOK_BACK = 4 };

struct slow_item {
	uint32_t at_ms; /* from the slot's start */
	uint32_t session;
	uint32_t bin;
};

/* What was dropped is summed up, so that a question it could change is left open. */
struct series_slow {
	int32_t number; /* of the slot: times series.slow_ns from the origin */
	uint16_t dropped_bin; /* the slowest */
	uint16_t other_bin; /* the slowest dropped of other sessions than that one's */
	uint8_t count;
	bool has_dropped;
	uint32_t dropped_session;
	struct slow_item items[SERIES_SLOW_KEPT];
};

static void drop(struct series_slow *m, uint32_t session, uint32_t bin)
{
	bool is_same = !m->has_dropped || m->dropped_session == session;

	if (!is_same && bin <= m->dropped_bin) {
		m->other_bin = bin > m->other_bin ? (uint16_t)bin : m->other_bin;
		return;
	}
	if (!is_same)
		m->other_bin = m->dropped_bin;
	m->has_dropped = true;
	m->dropped_session = session;
	if (bin > m->dropped_bin)
		m->dropped_bin = (uint16_t)bin;
}

static size_t fastest_of(const struct series_slow *m, uint32_t session, size_t *ret_same)
{
	size_t fastest = 0, of_session = m->count;

	*ret_same = 0;
	for (size_t i = 0; i < m->count; i++) {
		if (m->items[i].bin < m->items[fastest].bin)
			fastest = i;
		if (m->items[i].session != session)
			continue;
		(*ret_same)++;
		if (of_session == m->count || m->items[i].bin < m->items[of_session].bin)
			of_session = i;
	}
	return *ret_same >= PER_SESSION ? of_session : fastest;
}

static void keep(struct series_slow *m, struct slow_item item)
{
	size_t same, out = fastest_of(m, item.session, &same);

	if (same < PER_SESSION && m->count < SERIES_SLOW_KEPT) {
		m->items[m->count++] = item;
		return;
	}
	if (item.bin > m->items[out].bin) {
		struct slow_item swap = m->items[out];

		m->items[out] = item;
		item = swap;
	}
	drop(m, item.session, item.bin);
}

static void join(struct series_slow *to, const struct series_slow *from, uint32_t later_ms)
{
	for (size_t i = 0; i < from->count; i++) {
		struct slow_item item = from->items[i];

		item.at_ms += later_ms;
		keep(to, item);
	}
	if (from->has_dropped)
		drop(to, from->dropped_session, from->dropped_bin);
	if (from->other_bin > to->other_bin)
		to->other_bin = from->other_bin;
}

static int by_number(const void *a, const void *b)
{
	const struct series_slow *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

void series_slow_finish(struct series_route *r)
{
	size_t kept = 0;

	if (r->slow_count)
		qsort(r->slow, r->slow_count, sizeof(*r->slow), by_number);
	for (size_t i = 0; i < r->slow_count; i++) {
		if (kept && r->slow[kept - 1].number == r->slow[i].number)
			join(&r->slow[kept - 1], &r->slow[i], 0);
		else
			r->slow[kept++] = r->slow[i];
	}
	r->slow_count = kept;
}

/* Slots twice as wide: two become one. */
static void widen(struct series *s)
{
	uint32_t half_ms = (uint32_t)(s->slow_ns / NS_PER_MS);

	s->slow_ns *= 2;
	s->slow_held = 0;
	for (size_t i = 0; i < s->route_count; i++) {
		struct series_route *r = s->routes[i];
		struct series_slow one;

		for (size_t k = 0; k < r->slow_count; k++) {
			bool is_second = r->slow[k].number & 1;

			one = (struct series_slow){ .number = r->slow[k].number >> 1 };
			join(&one, &r->slow[k], is_second ? half_ms : 0);
			r->slow[k] = one;
		}
		series_slow_finish(r);
		s->slow_held += r->slow_count;
	}
}

/* Arrivals are nearly in order; what is not found near the end gets a slot of its own,
 * joined with its equals later. */
static struct series_slow *find_slot(struct series_route *r, int32_t number)
{
	size_t low = r->slow_count > LOOK_BACK ? r->slow_count - LOOK_BACK : 0;

	for (size_t i = r->slow_count; i > low; i--)
		if (r->slow[i - 1].number == number)
			return &r->slow[i - 1];
	return NULL;
}

static struct series_slow *new_slot(struct series *s, struct series_route *r)
{
	if (s->slow_held >= SERIES_SLOW_MAX)
		return NULL;
	if (r->slow_count == r->slow_cap) {
		size_t cap = r->slow_cap ? r->slow_cap + r->slow_cap / 2 : 16;
		struct series_slow *grown = realloc(r->slow, cap * sizeof(*grown));

		if (!grown)
			return NULL;
		r->slow = grown;
		r->slow_cap = cap;
	}
	s->slow_held++;
	return &r->slow[r->slow_count++];
}

void series_slow_add(
	struct series *s, struct series_route *r, int64_t start_ns, uint32_t bin, uint32_t session)
{
	if (s->slow_held >= SERIES_SLOW_MAX && s->slow_ns < 30 * 86400 * NS_PER_S)
		widen(s);
	int64_t number = series_floor_div(start_ns - s->origin_ns, s->slow_ns);
	struct series_slow *m = find_slot(r, (int32_t)number);
	if (!m && (m = new_slot(s, r)))
		*m = (struct series_slow){ .number = (int32_t)number };
	if (!m) {
		r->has_unknown_session = true;
		return;
	}
	int64_t at_ns = start_ns - s->origin_ns - number * s->slow_ns;
	keep(m, (struct slow_item){ (uint32_t)(at_ns / NS_PER_MS), session, bin });
}

/* What one question has found so far. */
struct sessions {
	uint32_t found, dropped;
	bool has_found, has_two, has_dropped, is_mixed;
};

static void look(struct sessions *w, const struct series *s, const struct series_slow *m,
	int64_t from_tick, int64_t to_tick, uint32_t above_bin)
{
	for (size_t i = 0; i < m->count; i++) {
		int64_t tick = series_tick(
			s, s->origin_ns + m->number * s->slow_ns + m->items[i].at_ms * NS_PER_MS);

		if (tick < from_tick || tick >= to_tick || m->items[i].bin <= above_bin)
			continue;
		w->has_two |= w->has_found && w->found != m->items[i].session;
		w->found = m->items[i].session;
		w->has_found = true;
	}
	if (!m->has_dropped || m->dropped_bin <= above_bin)
		return;
	w->is_mixed |=
		m->other_bin > above_bin || (w->has_dropped && w->dropped != m->dropped_session);
	w->dropped = m->dropped_session;
	w->has_dropped = true;
}

static size_t first_slot(const struct series_route *r, int64_t number)
{
	size_t low = 0, high = r->slow_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->slow[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

unsigned series_sessions(const struct series *s, const struct series_route *r, int64_t from_tick,
	int64_t to_tick, uint32_t above_bin)
{
	int64_t from = series_floor_div(from_tick * s->tick_ns, s->slow_ns);
	int64_t to = series_floor_div(to_tick * s->tick_ns - 1, s->slow_ns);
	struct sessions w = { 0 };

	for (size_t i = first_slot(r, from); i < r->slow_count && r->slow[i].number <= to; i++)
		look(&w, s, &r->slow[i], from_tick, to_tick, above_bin);
	if (w.has_two)
		return 2;
	bool is_open =
		r->has_unknown_session || w.is_mixed || (w.has_dropped && w.dropped != w.found);
	return w.has_found && !is_open ? 1 : 0;
}
