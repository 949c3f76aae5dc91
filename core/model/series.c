#include <stdlib.h>

#include "core/base/clock.h"
#include "core/model/series_private.h"

enum { SUB_BITS = 6, SUB = 1 << SUB_BITS, PENDING_MAX = 4096 };

static const int64_t farthest_ns = 240 * 86400 * NS_PER_S;

uint32_t series_bin(int64_t latency_us)
{
	uint64_t v = latency_us < 0 ? 0 : (uint64_t)latency_us;

	if (v >= UINT64_C(1) << 42)
		v = (UINT64_C(1) << 42) - 1;
	if (v < SUB)
		return (uint32_t)v;
	int exponent = 63 - __builtin_clzll(v);
	return (uint32_t)((exponent - SUB_BITS + 1) * SUB) +
	       (uint32_t)((v >> (exponent - SUB_BITS)) & (SUB - 1));
}

double series_bin_us(uint32_t bin)
{
	if (bin < SUB)
		return bin;
	int exponent = (int)(bin / SUB) + SUB_BITS - 1;
	double width = (double)(UINT64_C(1) << (exponent - SUB_BITS));
	return (double)(UINT64_C(1) << exponent) + (bin % SUB) * width + (width - 1) / 2;
}

void series_init(struct series *s, size_t cells_max)
{
	*s = (struct series){ .tick_ns = SERIES_TICK_NS,
		.slow_ns = 60 * NS_PER_S,
		.bin_step = 1,
		.cells_max = cells_max ? cells_max : SERIES_CELLS_MAX };
	table_init(&s->by_text, SERIES_ROUTES_MAX);
}

/* FNV-1a: only an identity for texts that came without one. */
static uint64_t text_hash(struct slice text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < text.n; i++)
		h = (h ^ (unsigned char)text.p[i]) * UINT64_C(0x100000001b3);
	return h;
}

static struct series_route *new_route(struct slice text)
{
	struct series_route *r = calloc(1, sizeof(*r));
	char *copy = r ? malloc(text.n + 1) : NULL;

	if (!copy) {
		free(r);
		return NULL;
	}
	if (text.n)
		memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	r->text = (struct slice){ copy, text.n };
	return r;
}

static void free_route(struct series_route *r)
{
	free((char *)r->text.p);
	free(r->cells);
	free(r->pending);
	free(r->edges);
	free(r->slow);
	free(r);
}

static bool keep_route(struct series *s, struct series_route *r)
{
	if (s->route_count == s->route_cap) {
		size_t cap = s->route_cap ? s->route_cap * 2 : 64;
		struct series_route **grown =
			realloc(s->routes, cap * sizeof(struct series_route *));

		if (!grown)
			return false;
		s->routes = grown;
		s->route_cap = cap;
	}
	if (!table_put(&s->by_text, r->text, r))
		return false;
	s->routes[s->route_count++] = r;
	return true;
}

struct series_route *series_route(struct series *s, struct slice text, uint64_t fingerprint)
{
	struct series_route *r = table_get(&s->by_text, text);

	if (r || s->route_count == SERIES_ROUTES_MAX)
		return r;
	r = new_route(text);
	if (!r)
		return NULL;
	r->fingerprint = fingerprint ? fingerprint : text_hash(text);
	if (!keep_route(s, r)) {
		free_route(r);
		return NULL;
	}
	return r;
}

int64_t series_tick(const struct series *s, int64_t wall_ns)
{
	return series_floor_div(wall_ns - s->origin_ns, s->tick_ns);
}

int64_t series_tick_ns(const struct series *s, int64_t tick)
{
	return s->origin_ns + tick * s->tick_ns;
}

static void keep_top(struct series_route *r, int64_t start_ns, int64_t latency_us)
{
	size_t at = r->top_count;

	if (at == SERIES_TOP && latency_us <= r->top[at - 1].latency_us)
		return;
	if (at < SERIES_TOP)
		r->top_count++;
	else
		at--;
	for (; at && r->top[at - 1].latency_us < latency_us; at--)
		r->top[at] = r->top[at - 1];
	r->top[at] = (struct series_top){ start_ns, latency_us };
}

bool series_place(struct series *s, int64_t start_ns, int64_t latency_ns)
{
	if (start_ns > CLOCK_FAR_NS || start_ns < -CLOCK_FAR_NS) {
		s->refused++;
		return false;
	}
	if (!s->has_origin) {
		s->origin_ns = series_floor_div(start_ns, 60 * NS_PER_S) * 60 * NS_PER_S;
		s->has_origin = true;
		s->first_ns = start_ns;
		s->last_ns = start_ns;
	}
	int64_t away = start_ns - s->origin_ns;
	if (away > farthest_ns || away < -farthest_ns || latency_ns < 0 ||
		latency_ns > farthest_ns) {
		s->refused++;
		return false;
	}
	if (start_ns < s->first_ns)
		s->first_ns = start_ns;
	if (start_ns + latency_ns > s->last_ns)
		s->last_ns = start_ns + latency_ns;
	return true;
}

/* Many of one place in a row are one cell. */
static bool put_cell(struct series *s, struct series_route *r, int64_t start_ns, uint32_t bin)
{
	struct series_cell one =
		series_cell_make(series_tick(s, start_ns), series_cells_bin(s, r, bin), 1);
	struct series_cell *last = r->count ? &r->cells[r->count - 1] : NULL;

	if (last && last->word >> 20 == one.word >> 20 &&
		series_cell_count(*last) < SERIES_COUNT_MAX) {
		last->word++;
		return true;
	}
	if (r->count == r->cap) {
		if (!series_cells_room(s, r))
			return false;
		/* Ticks may be wider now. */
		one = series_cell_make(series_tick(s, start_ns), series_cells_bin(s, r, bin), 1);
	}
	r->cells[r->count++] = one;
	return true;
}

bool series_add_from(struct series *s, struct series_route *r, int64_t start_ns, int64_t latency_ns,
	bool is_error, uint32_t session)
{
	int64_t us = (latency_ns + 500) / 1000;
	uint32_t bin = series_bin(us);

	if (!series_place(s, start_ns, latency_ns))
		return false;
	if (!put_cell(s, r, start_ns, bin)) {
		s->refused++;
		return false;
	}
	r->requests++;
	r->errors += is_error;
	if (us > r->max_us)
		r->max_us = us;
	keep_top(r, start_ns, us);
	if (session)
		series_slow_add(s, r, start_ns, bin, session);
	else
		r->has_unknown_session = true;
	s->requests++;
	return true;
}

bool series_add(struct series *s, struct series_route *r, int64_t start_ns, int64_t latency_ns,
	bool is_error)
{
	return series_add_from(s, r, start_ns, latency_ns, is_error, 0);
}

void series_set_floor(struct series_route *r, int64_t floor_us)
{
	if (floor_us > r->floor_us)
		r->floor_us = floor_us;
}

bool series_add_unanswered(
	struct series *s, struct series_route *r, int64_t start_ns, int64_t age_ns)
{
	if (!series_place(s, start_ns, age_ns))
		return false;
	r->unanswered++;
	if (r->pending_count == r->pending_cap) {
		size_t cap = r->pending_cap ? r->pending_cap * 2 : 16;
		struct series_top *grown =
			cap > PENDING_MAX ? NULL : realloc(r->pending, cap * sizeof(*grown));

		if (!grown) {
			s->refused++;
			return false;
		}
		r->pending = grown;
		r->pending_cap = cap;
	}
	r->pending[r->pending_count++] =
		(struct series_top){ start_ns, (age_ns + 500) / NS_PER_US };
	return true;
}

bool series_finish(struct series *s)
{
	int64_t tick_ns = s->tick_ns;

	while ((s->last_ns - s->first_ns) / tick_ns >= SERIES_TICKS_MAX)
		tick_ns = series_cells_wider(tick_ns);
	if (tick_ns > s->tick_ns)
		series_cells_widen(s, tick_ns);
	for (size_t i = 0; i < s->route_count; i++) {
		series_cells_merge(s->routes[i]);
		series_slow_finish(s->routes[i]);
	}
	series_gaps_finish(s);
	return s->requests > 0;
}

void series_free(struct series *s)
{
	for (size_t i = 0; i < s->route_count; i++)
		free_route(s->routes[i]);
	free(s->routes);
	free(s->gaps);
	table_free(&s->by_text);
	*s = (struct series){ 0 };
}
