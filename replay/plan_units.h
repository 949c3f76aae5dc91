/*
 * plan_units.h - whole transactions by the time they started: the order of a
 * serial run.
 */
#ifndef REPROD_REPLAY_PLAN_UNITS_H
#define REPROD_REPLAY_PLAN_UNITS_H

#include "replay/plan.h"

struct plan_unit {
	int64_t offset_ns;
	uint64_t session, seq;
	struct plan_item *head, *tail;
};

/* A binary heap; valid when zeroed. */
struct plan_units {
	struct plan_unit *items;
	size_t count, room;
};

/* False when out of memory; then the items stay the caller's. */
bool plan_units_put(struct plan_units *u, struct plan_item *head, struct plan_item *tail) MUST_USE;
/* The earliest; false when empty. */
bool plan_units_take(struct plan_units *u, struct plan_unit *ret);
void plan_units_free(struct plan_units *u);

#endif
