#include "core/model/series.h"

#include <stdlib.h>

enum { SUB_BITS = 6, SUB = 1 << SUB_BITS, PENDING_MAX = 4096, COUNT_MAX = 0xffff };

static const int64_t tick_bias = INT64_C(1) << 31;

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

static struct series_cell make_cell(int64_t tick, uint32_t bin, uint32_t count)
{
	return (struct series_cell){ (uint64_t)(tick + tick_bias) << 32 | (uint64_t)bin << 16 |
				     count };
}

static int by_word(const void *a, const void *b)
{
	uint64_t x = ((const struct series_cell *)a)->word,
		 y = ((const struct series_cell *)b)->word;

	return (x > y) - (x < y);
}

/* A cell holds at most COUNT_MAX; what is more starts another cell of the same place. */
static void merge_cells(struct series_route *r)
{
	size_t kept = 0;

	if (!r->count)
		return;
	qsort(r->cells, r->count, sizeof(*r->cells), by_word);
	for (size_t i = 0; i < r->count; i++) {
		struct series_cell c = r->cells[i];
		uint32_t count = series_cell_count(c);

		if (kept && r->cells[kept - 1].word >> 16 == c.word >> 16) {
			uint32_t room = COUNT_MAX - series_cell_count(r->cells[kept - 1]);
			uint32_t moved = count < room ? count : room;

			r->cells[kept - 1].word += moved;
			count -= moved;
		}
		if (count)
			r->cells[kept++].word = (c.word & ~(uint64_t)COUNT_MAX) | count;
	}
	r->count = kept;
}

static void double_tick(struct series *s)
{
	s->tick_ns *= 2;
	for (size_t i = 0; i < s->route_count; i++) {
		struct series_route *r = s->routes[i];

		for (size_t k = 0; k < r->count; k++)
			r->cells[k] = make_cell(series_cell_tick(r->cells[k]) >> 1,
				series_cell_bin(r->cells[k]), series_cell_count(r->cells[k]));
		merge_cells(r);
	}
}

void series_init(struct series *s, size_t cells_max)
{
	*s = (struct series){ .tick_ns = SERIES_TICK_NS,
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

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

int64_t series_tick(const struct series *s, int64_t wall_ns)
{
	return floor_div(wall_ns - s->origin_ns, s->tick_ns);
}

int64_t series_tick_ns(const struct series *s, int64_t tick)
{
	return s->origin_ns + tick * s->tick_ns;
}

/* Merging first: only a route whose cells are really different grows. */
static bool make_room(struct series *s, struct series_route *r)
{
	if (r->count < r->cap)
		return true;
	merge_cells(r);
	if (r->count < r->cap - r->cap / 4)
		return true;
	size_t cap = r->cap ? r->cap * 2 : 256;
	while (s->cells_held - r->cap + cap > s->cells_max && r->count * 2 > r->cap) {
		if (s->tick_ns > 3600 * NS_PER_S)
			return false;
		double_tick(s);
	}
	if (r->count * 2 <= r->cap && r->count < r->cap)
		return true;
	struct series_cell *grown = realloc(r->cells, cap * sizeof(*grown));
	if (!grown)
		return false;
	s->cells_held += cap - r->cap;
	r->cells = grown;
	r->cap = cap;
	return true;
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

static bool place(struct series *s, int64_t start_ns, int64_t latency_ns)
{
	if (!s->has_origin) {
		s->origin_ns = floor_div(start_ns, 60 * NS_PER_S) * 60 * NS_PER_S;
		s->has_origin = true;
		s->first_ns = start_ns;
		s->last_ns = start_ns;
	}
	int64_t away = start_ns - s->origin_ns;
	if (away > 240 * 86400 * NS_PER_S || away < -240 * 86400 * NS_PER_S || latency_ns < 0 ||
		latency_ns > 240 * 86400 * NS_PER_S) {
		s->refused++;
		return false;
	}
	if (start_ns < s->first_ns)
		s->first_ns = start_ns;
	if (start_ns + latency_ns > s->last_ns)
		s->last_ns = start_ns + latency_ns;
	return true;
}

bool series_add(struct series *s, struct series_route *r, int64_t start_ns, int64_t latency_ns,
	bool is_error)
{
	if (!place(s, start_ns, latency_ns))
		return false;
	if (!make_room(s, r)) {
		s->refused++;
		return false;
	}
	int64_t us = (latency_ns + 500) / 1000;
	r->cells[r->count++] = make_cell(series_tick(s, start_ns), series_bin(us), 1);
	r->requests++;
	r->errors += is_error;
	if (us > r->max_us)
		r->max_us = us;
	keep_top(r, start_ns, us);
	s->requests++;
	return true;
}

bool series_add_unanswered(
	struct series *s, struct series_route *r, int64_t start_ns, int64_t age_ns)
{
	if (!place(s, start_ns, age_ns))
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
	for (size_t i = 0; i < s->route_count; i++)
		merge_cells(s->routes[i]);
	while ((s->last_ns - s->first_ns) / s->tick_ns >= SERIES_TICKS_MAX)
		double_tick(s);
	return s->requests > 0;
}

void series_free(struct series *s)
{
	for (size_t i = 0; i < s->route_count; i++)
		free_route(s->routes[i]);
	free(s->routes);
	table_free(&s->by_text);
	*s = (struct series){ 0 };
}
