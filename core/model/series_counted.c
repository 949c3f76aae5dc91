#include <stdlib.h>

#include "core/model/series_private.h"

static const int64_t widest_ns = 86400 * NS_PER_S;
static const uint64_t counted_max = UINT64_C(1) << 30;

static size_t edge_at(const struct series_route *r, uint32_t bin)
{
	size_t low = 0, high = r->edge_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->edges[middle].bin < bin)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* At most one for each bin: two ranges with the same middle become their hull. */
static bool keep_edge(struct series_route *r, struct series_edge edge)
{
	size_t at = edge_at(r, edge.bin);

	if (at < r->edge_count && r->edges[at].bin == edge.bin) {
		struct series_edge *old = &r->edges[at];

		old->low_us = edge.low_us < old->low_us ? edge.low_us : old->low_us;
		old->high_us = edge.high_us > old->high_us ? edge.high_us : old->high_us;
		return true;
	}
	if (r->edge_count == r->edge_cap) {
		size_t cap = r->edge_cap ? r->edge_cap * 2 : 16;
		struct series_edge *grown = realloc(r->edges, cap * sizeof(*grown));

		if (!grown)
			return false;
		r->edges = grown;
		r->edge_cap = cap;
	}
	memmove(r->edges + at + 1, r->edges + at, (r->edge_count - at) * sizeof(*r->edges));
	r->edges[at] = edge;
	r->edge_count++;
	return true;
}

static uint32_t first_bin(int64_t low_us, int64_t high_us)
{
	return series_bin(low_us < high_us ? low_us + 1 : high_us);
}

static uint32_t middle_bin(int64_t low_us, int64_t high_us)
{
	uint32_t low = first_bin(low_us, high_us);

	return high_us == INT64_MAX ? low : (low + series_bin(high_us)) / 2;
}

static bool put_cells(
	struct series *s, struct series_route *r, int64_t at_ns, uint32_t bin, uint64_t n)
{
	while (n) {
		uint32_t part = n < SERIES_COUNT_MAX ? (uint32_t)n : SERIES_COUNT_MAX;

		if (!series_cells_room(s, r))
			return false;
		/* Room may have made ticks wider. */
		r->cells[r->count++] = series_cell_make(series_tick(s, at_ns), bin, part);
		n -= part;
	}
	return true;
}

static bool is_good(int64_t width_ns, int64_t low_us, int64_t high_us, uint64_t n)
{
	return width_ns >= 0 && width_ns <= widest_ns && low_us >= 0 && low_us <= high_us &&
	       low_us < INT64_MAX && n <= counted_max;
}

bool series_add_counted(struct series *s, struct series_route *r, int64_t start_ns,
	int64_t width_ns, int64_t low_us, int64_t high_us, uint64_t n)
{
	if (!n)
		return true;
	if (!is_good(width_ns, low_us, high_us, n) ||
		!series_place(s, start_ns, width_ns ? width_ns - 1 : 0)) {
		s->refused += n;
		return false;
	}
	if (width_ns > s->tick_ns)
		series_cells_widen(s, width_ns);
	uint32_t bin = middle_bin(low_us, high_us);
	bool is_wide = high_us == INT64_MAX || first_bin(low_us, high_us) != series_bin(high_us);
	if ((is_wide && !keep_edge(r, (struct series_edge){ bin, low_us, high_us })) ||
		!put_cells(s, r, start_ns + width_ns / 2, bin, n)) {
		s->refused += n;
		return false;
	}
	int64_t us = (int64_t)series_bin_us(bin);
	r->max_us = us > r->max_us ? us : r->max_us;
	r->requests += n;
	r->has_unknown_session = true;
	s->requests += n;
	return true;
}

void series_edges(
	const struct series_route *r, uint32_t bin, int64_t *ret_low_us, int64_t *ret_high_us)
{
	size_t at = edge_at(r, bin);
	int64_t us = (int64_t)(series_bin_us(bin) + 0.5);

	*ret_low_us = *ret_high_us = us;
	if (at < r->edge_count && r->edges[at].bin == bin) {
		*ret_low_us = r->edges[at].low_us;
		*ret_high_us = r->edges[at].high_us;
	}
}
