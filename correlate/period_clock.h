/*
 * period_clock.h - the clocks that a scheduler may go by, as far as they differ.
 *
 * Within a capture without a change of daylight saving time all clocks are one: only
 * the given zone, or UTC, is kept. Otherwise also those zones, one for each rule in use,
 * whose steps in the capture are not those of a clock before them. Zone files that are
 * missing are left out.
 */
#ifndef REPROD_CORRELATE_PERIOD_CLOCK_H
#define REPROD_CORRELATE_PERIOD_CLOCK_H

#include "core/format/zone.h"

#define PERIOD_CLOCKS_MAX 16

struct period_clock {
	const char *name; /* the caller's, or static */
	struct zone zone;
};

struct period_clocks {
	struct period_clock items[PERIOD_CLOCKS_MAX];
	size_t count; /* at least one */
};

/* given: tried first; NULL or one that is not known: UTC. False: out of memory. */
bool period_clocks_open(
	struct period_clocks *c, const char *given, int64_t first_ns, int64_t last_ns) MUST_USE;
void period_clocks_close(struct period_clocks *c);
/* What the clock shows, in nanoseconds since it showed the start of 1970. */
int64_t period_clock_local(const struct period_clock *c, int64_t wall_ns);

#endif
