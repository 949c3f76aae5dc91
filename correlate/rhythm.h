/*
 * rhythm.h - rhythms that need no log: what the hour, autovacuum and checkpoints do.
 *
 *   rhythm:hourly               at :00 of each hour, UTC
 *   rhythm:checkpoint_timeout   every 300 s, Postgres' default; phase from the spikes
 *   rhythm:autovacuum_naptime   every 60 s, likewise
 *
 * Only those with ten cycles to be judged by. When Postgres was started is not known, so
 * the phase of the last two is where the first half of the capture has most slow
 * requests, and their occurrences and reach are the second half: what was fitted is not
 * judged by the same requests. All are weak: a rhythm is no cause, and cron has it too.
 */
#ifndef REPROD_CORRELATE_RHYTHM_H
#define REPROD_CORRELATE_RHYTHM_H

#include "correlate/condition.h"
#include "correlate/view.h"

#define RHYTHMS 3
#define RHYTHM_CYCLES_MIN 10

/* Adds them and finishes the list, which must be the caller's own: they are for when no
 * condition that was given lines up. False: out of memory. */
bool rhythm_conditions(struct condition_list *list, const struct view *v) MUST_USE;

#endif
