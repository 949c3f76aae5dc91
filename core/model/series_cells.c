#include <stdlib.h>

#include "core/model/series_private.h"

enum { RUN = 32, CELLS_FIRST = 64, STEP_COARSEST = 4 };

static const int64_t tick_bias = INT64_C(1) << 31;
/* Each divides the next, so that widening loses no border, and a minute: buckets of whole
 * seconds begin with a tick wherever they can. */
static const int64_t widths_ms[] = { 10, 50, 100, 500, 1000, 5000, 10000, 30000, 60000 };
/* Wider ticks than this hide more than coarser bins do. */
static const int64_t tick_fine_ns = 500 * NS_PER_MS;
static const int64_t tick_widest_ns = 3600 * NS_PER_S;

int64_t series_cells_wider(int64_t tick_ns)
{
	for (size_t i = 0; i < LENGTH(widths_ms); i++) {
		int64_t width_ns = widths_ms[i] * NS_PER_MS;

		if (width_ns > tick_ns && width_ns % tick_ns == 0)
			return width_ns;
	}
	return tick_ns * 2;
}

struct series_cell series_cell_make(int64_t tick, uint32_t bin, uint32_t count)
{
	return (struct series_cell){ (uint64_t)(tick + tick_bias) << 32 | (uint64_t)bin << 20 |
				     count };
}

static uint64_t place_of(struct series_cell c)
{
	return c.word >> 20;
}

static void sort_run(struct series_cell *cells, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct series_cell c = cells[i];
		size_t at = i;

		for (; at && cells[at - 1].word > c.word; at--)
			cells[at] = cells[at - 1];
		cells[at] = c;
	}
}

static void merge_runs(struct series_cell *cells, size_t left, size_t n, struct series_cell *temp)
{
	size_t from = 0;

	/* What is in place stays: most inputs are nearly in order. */
	while (cells[from].word <= cells[left].word)
		from++;
	memcpy(temp, cells + from, (left - from) * sizeof(*temp));
	size_t a = 0, b = left, to = from, count = left - from;
	while (a < count && b < n)
		cells[to++] = temp[a].word <= cells[b].word ? temp[a++] : cells[b++];
	memcpy(cells + to, temp + a, (count - a) * sizeof(*temp));
}

static int by_word(const void *a, const void *b)
{
	uint64_t x = ((const struct series_cell *)a)->word,
		 y = ((const struct series_cell *)b)->word;

	return (x > y) - (x < y);
}

/* Requests come nearly by time: a merge sort that leaves alone what is in order. */
static void sort_cells(struct series_cell *cells, size_t n)
{
	struct series_cell *temp = NULL;

	for (size_t at = 0; at < n; at += RUN)
		sort_run(cells + at, n - at < RUN ? n - at : RUN);
	for (size_t width = RUN; width < n; width *= 2) {
		for (size_t at = 0; at + width < n; at += 2 * width) {
			size_t here = n - at < 2 * width ? n - at : 2 * width;

			if (cells[at + width - 1].word <= cells[at + width].word)
				continue;
			if (!temp && !(temp = malloc(n * sizeof(*temp)))) {
				qsort(cells, n, sizeof(*cells), by_word);
				return;
			}
			merge_runs(cells + at, width, here, temp);
		}
	}
	free(temp);
}

/* A cell holds at most SERIES_COUNT_MAX; what is more starts another of the same place. */
void series_cells_merge(struct series_route *r)
{
	size_t kept = 0;

	sort_cells(r->cells, r->count);
	for (size_t i = 0; i < r->count; i++) {
		struct series_cell c = r->cells[i];
		uint32_t count = series_cell_count(c);

		if (kept && place_of(r->cells[kept - 1]) == place_of(c)) {
			uint32_t room = SERIES_COUNT_MAX - series_cell_count(r->cells[kept - 1]);
			uint32_t moved = count < room ? count : room;

			r->cells[kept - 1].word += moved;
			count -= moved;
		}
		if (count)
			r->cells[kept++].word = (c.word & ~(uint64_t)SERIES_COUNT_MAX) | count;
	}
	r->count = kept;
}

void series_cells_widen(struct series *s, int64_t tick_ns)
{
	int64_t old_ns = s->tick_ns;

	s->tick_ns = tick_ns;
	for (size_t i = 0; i < s->route_count; i++) {
		struct series_route *r = s->routes[i];

		for (size_t k = 0; k < r->count; k++) {
			struct series_cell c = r->cells[k];

			r->cells[k] = series_cell_make(
				series_floor_div(series_cell_tick(c) * old_ns, tick_ns),
				series_cell_bin(c), series_cell_count(c));
		}
		series_cells_merge(r);
	}
}

static void coarsen_bins(struct series *s)
{
	s->bin_step *= 2;
	for (size_t i = 0; i < s->route_count; i++) {
		struct series_route *r = s->routes[i];

		for (size_t k = 0; k < r->count; k++) {
			struct series_cell c = r->cells[k];

			r->cells[k] = series_cell_make(series_cell_tick(c),
				series_cells_bin(s, r, series_cell_bin(c)), series_cell_count(c));
		}
		series_cells_merge(r);
	}
}

static bool give_way(struct series *s)
{
	if (s->tick_ns >= tick_fine_ns && s->bin_step < STEP_COARSEST)
		coarsen_bins(s);
	else if (s->tick_ns <= tick_widest_ns)
		series_cells_widen(s, series_cells_wider(s->tick_ns));
	else
		return false;
	return true;
}

/* Small steps near the cap: room that nobody fills would cost resolution. */
static size_t grown_cap(const struct series *s, const struct series_route *r)
{
	if (r->cap < CELLS_FIRST)
		return CELLS_FIRST;
	return r->cap + (s->cells_held > s->cells_max / 4 ? r->cap / 8 : r->cap / 2);
}

bool series_cells_room(struct series *s, struct series_route *r)
{
	if (r->count < r->cap)
		return true;
	if (r->count)
		series_cells_merge(r);
	if (r->count < r->cap - r->cap / 4)
		return true;
	size_t cap = grown_cap(s, r);
	while (s->cells_held - r->cap + cap > s->cells_max && r->count * 2 > r->cap)
		if (!give_way(s))
			return false;
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
