/*
 * tested.h - which routes are tested: those with spikes first, most time lost first.
 *
 * Every route of 100 requests and more is looked at once for spikes; then the ones
 * worth keeping are laid out again, within a cap of ticks over all of them.
 */
#ifndef REPROD_CORRELATE_TESTED_H
#define REPROD_CORRELATE_TESTED_H

#include "correlate/rank.h"

#define TESTED_ROUTES_MAX 200

/* Fills routes, spiking_count, unestimable, untested; false: out of memory. */
bool tested_open(struct analysis *a, const struct series_route *named) MUST_USE;
void tested_close(struct tested_route *t);

#endif
