/*
 * layout.h - which pieces of the capture a cell replays, and where the slowdown is
 * in them.
 *
 * Pure: times in, windows out. A cell holds five occurrences, spread over the
 * capture, each within 2 to 4 s of traffic. While a lock is held, clients that wait
 * for it send nothing: traffic recorded then has a hole of the stall's own making,
 * and a replay of it would meet the job with no traffic at all. Such an occurrence
 * is cut in two, up to the requests that ran into the stall and on from where it
 * was over, so arrivals go on at production's rate and the stall must come from the
 * job.
 */
#ifndef REPROD_LAYOUT_H
#define REPROD_LAYOUT_H

#include "core/model/recipe.h"
#include "recipes/inside.h"

#define LAYOUT_OCCURRENCES 5

struct layout {
	struct recipe_window windows[4 * LAYOUT_OCCURRENCES];
	size_t count;
	double duration_s;
};

/* occurrences: inside spans of production, sorted. has_hole: arrivals stop in them. */
void layout_occurrences(struct layout *l, const struct span *occurrences, size_t count,
	struct span capture, bool has_hole);
/* A state that holds from its onset: quiet slices before (may be empty), then equal
 * slices after it. */
void layout_state(struct layout *l, struct span before, struct span after);
/* Where an instant of the capture lies on the cell's timeline; false when it is in
 * no window (an instant in a hole that was cut out lies at the cut). */
bool layout_place(const struct layout *l, int64_t instant_ns, double *ret_s);

#endif
