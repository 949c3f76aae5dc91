/*
 * shed.h - what a capture gives up, step by step, when it costs more than it may.
 *
 * First values and bodies, then whole sessions by a hash of their two ports inside
 * the kernel's filter (the same for both directions, so that a session is there or
 * not; what the filter cannot hash, as tunnels, fragments and tags that the card left
 * in, comes through and is left out by us with the same hash), at last everything but the packets that open and close connections. Time in
 * which something was shed is known with its level and share: usable, and said, not a
 * gap. Levels rise after two windows over the budget and sink after a calm stretch that
 * doubles each time it turned out too short. No clock of its own. One thread.
 */
#ifndef REPROD_SHED_H
#define REPROD_SHED_H

#include "capture/budget.h"
#include "core/base/buf.h"

enum shed_level {
	SHED_NONE,
	SHED_DETAIL,
	SHED_HALF, /* of the sessions are kept */
	SHED_QUARTER,
	SHED_EIGHTH,
	SHED_SIXTEENTH,
	SHED_HEADERS,
	SHED_LEVELS,
};

#define SHED_INTERVALS_MAX 256

struct shed_interval {
	int64_t start_ns, end_ns; /* UTC; end 0: still so */
	enum shed_level level;
	enum budget_state why;
};

struct shed {
	enum shed_level level;
	enum budget_state why;
	unsigned over, calm, calm_needed; /* windows in a row */
	unsigned held; /* windows at this level */
	bool was_lowered; /* it was reached from above */
	struct shed_interval intervals[SHED_INTERVALS_MAX];
	size_t count;
	uint64_t left_out; /* intervals beyond the cap: the last one listed covers them */
};

/* One window has ended at wall_ns. True when the level has changed. */
bool shed_step(struct shed *s, enum budget_state state, int64_t wall_ns);
/* Over the budget though nothing is left to give up. */
bool shed_is_exhausted(const struct shed *s);
/* 0 to 15, of both ports; sessions with a number below shed_kept() are kept. */
unsigned shed_hash(uint16_t a, uint16_t b);
unsigned shed_kept(enum shed_level level);
/* The filter of a level, around the one that was asked for. */
void shed_filter(enum shed_level level, const char *base, struct buf *to);
const char *shed_name(enum shed_level level);
/* {level, intervals[{start, end, level, kept, why}], intervals_left_out} */
struct json *shed_json(const struct shed *s);

#endif
