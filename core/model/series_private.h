/* series_private.h - what the files of a series share; see series.h. */
#ifndef REPROD_SERIES_PRIVATE_H
#define REPROD_SERIES_PRIVATE_H

#include "core/model/series.h"

/* Room for one more cell, by merging, growing, and at the cap by wider ticks and
 * coarser bins of all routes. False: out of memory, or nothing left to widen. */
bool series_cells_room(struct series *s, struct series_route *r);
/* Sorts, and adds up cells of the same place. */
void series_cells_merge(struct series_route *r);
/* The next width, a multiple of this one. */
int64_t series_cells_wider(int64_t tick_ns);
/* A wider tick for all routes. */
void series_cells_widen(struct series *s, int64_t tick_ns);
struct series_cell series_cell_make(int64_t tick, uint32_t bin, uint32_t count);

/* A request of a known connection into its minute. */
void series_slow_add(
	struct series *s, struct series_route *r, int64_t start_ns, uint32_t bin, uint32_t session);
void series_slow_finish(struct series_route *r);

void series_gaps_finish(struct series *s);

/* Takes the origin from the first, and refuses what is absurdly far away. */
bool series_place(struct series *s, int64_t start_ns, int64_t latency_ns);

/* The bin that stands for this one. Bins that stand for a range of a histogram stay. */
static inline uint32_t series_cells_bin(
	const struct series *s, const struct series_route *r, uint32_t bin)
{
	return s->bin_step == 1 || r->edge_count
		       ? bin
		       : bin / s->bin_step * s->bin_step + s->bin_step / 2;
}

static inline int64_t series_floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

#endif
