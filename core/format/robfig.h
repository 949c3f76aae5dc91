/*
 * robfig.h - the schedules of Go's robfig/cron v3, which Kubernetes runs CronJobs by.
 *
 * ParseStandard()'s five fields ("?" is a star, a star with a step is none, so that both
 * day fields are then joined by "or"), @words, "@every 1h30m", and a zone in front
 * ("CRON_TZ=Europe/Oslo 0 3 * * *"). robfig_next() searches as SpecSchedule.Next() of
 * v3.0.1 does with Go's time package: what the clock skips is skipped with its hour,
 * what it repeats runs twice when minute by minute it matches.
 */
#ifndef REPROD_ROBFIG_H
#define REPROD_ROBFIG_H

#include "core/base/arena.h"
#include "core/format/cronfield.h"
#include "core/format/zone.h"

struct robfig {
	struct cron_fields fields;
	int64_t every_s; /* @every: whole seconds, at least one; else 0 */
	const char *zone; /* "TZ=" in front, or NULL */
};

bool robfig_parse(
	struct slice text, struct arena *arena, struct robfig *ret, struct err *e) MUST_USE;
/* The first time after after_s; false when there is none within five years. */
bool robfig_next(const struct robfig *r, const struct zone *zone, int64_t after_s, int64_t *ret_s);

#endif
