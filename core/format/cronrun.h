/*
 * cronrun.h - when a cron daemon runs a line: fields to instants.
 *
 * cron_run() follows the main loop that Vixie's cron has had since 3.0 (cronie 1.7.2 and
 * Debian's 3.0pl1 cron.c: virtualTime, timejump): when the clock skips less than three
 * hours, lines without a star in minute or hour run at once for the minutes missed, and
 * in the hours repeated they do not run again; lines with a star follow the clock. Runs
 * missed together count once. cron_run_zoned() is for a line with a zone of its own
 * (cronie's CRON_TZ, pg_cron's cron.timezone): each minute is compared as it comes.
 *
 * Instants are UTC seconds. end_s is later than start_s when the start is only known to
 * lie between them ("6~15", RANDOM_DELAY). Bounded by last_s and by emit's answer.
 */
#ifndef REPROD_CRONRUN_H
#define REPROD_CRONRUN_H

#include "core/format/cronfield.h"
#include "core/format/zone.h"

struct cron_span {
	int64_t first_s, last_s;
	int delay_min; /* a start may be this much later: RANDOM_DELAY - 1 */
	bool (*emit)(void *data, int64_t start_s, int64_t end_s); /* false ends it */
	void *data;
};

void cron_run(const struct cron_fields *f, const struct zone *host, const struct cron_span *span);
/* host is the daemon's own zone, in whose repeated hour cronie loses lines without a star
 * that have a zone; NULL when there is none. */
void cron_run_zoned(const struct cron_fields *f, const struct zone *zone, const struct zone *host,
	const struct cron_span *span);

#endif
