/*
 * slow.h - a route's slow requests, and which of them were in flight together.
 *
 * A slow request is above the slow limit of its time (baseline.h). One that was never
 * answered counts with its age. Requests alike in tick and bin are one entry.
 */
#ifndef REPROD_CORRELATE_SLOW_H
#define REPROD_CORRELATE_SLOW_H

#include "correlate/view.h"

struct slow {
	int64_t from, to; /* in flight, [from, to] ticks */
	uint32_t bin, count;
};

struct slow_list {
	struct slow *items; /* by arrival */
	size_t count, cap;
};

/* A run of slow requests. */
struct slow_chain {
	struct span span; /* first arrival to last end */
	size_t first, end; /* in the list */
	uint64_t n;
	double area; /* requests times ticks in flight */
};

bool slow_collect(struct slow_list *list, const struct view *v) MUST_USE;
void slow_free(struct slow_list *list);
/* The first that arrives at or after a tick. */
size_t slow_at(const struct slow_list *list, int64_t tick);
struct slow_chain slow_chain(const struct slow_list *list, size_t first, size_t end);
/* The chain from first on whose requests follow within gap ticks of an earlier one's end;
 * end bounds it. */
struct slow_chain slow_follow(
	const struct slow_list *list, size_t first, size_t end, int64_t gap_ticks);
/* Is there an instant at which slow requests of items[from, to) are in flight that
 * together reach this many, and this area? Looks back at 4,096 at most. */
bool slow_overlap(
	const struct slow_list *list, size_t from, size_t to, uint64_t wanted, double wanted_area);

#endif
