/*
 * level.h - a number that goes up and down, and for how long it stood where.
 *
 * Time may run either way, but only one way for a level. Exact: the time at each level
 * is kept in nanoseconds (levels above 2047 within 0.1 %).
 */
#ifndef REPROD_LEVEL_H
#define REPROD_LEVEL_H

#include "core/base/hist.h"

struct level {
	uint32_t now, max;
	int64_t since_ns;
	bool has_begun;
	struct hist held_ns; /* value: the level; count: nanoseconds */
};

/* False only when memory ran out. Going below zero stays at zero. */
bool level_change(struct level *l, int64_t at_ns, int by) MUST_USE;
/* At the end of a stretch of span_ns: the time not yet accounted for was at zero. */
bool level_finish(struct level *l, int64_t at_ns, int64_t span_ns) MUST_USE;
/* Weighted by time, after level_finish(); NAN without any. */
double level_mean(const struct level *l);
double level_quantile(const struct level *l, double q);
void level_free(struct level *l);

#endif
