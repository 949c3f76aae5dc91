/*
 * schedule.h - a crontab file's lines as conditions over a range of time.
 *
 * Each line becomes one condition "job:NAME" (core/format/crontab.h); twins get
 * "#2". Schedules are expanded minute by minute as Vixie's cron runs them: in the
 * hour that a clock change skips, fixed times run at once after it; in the hour
 * it repeats they run once, lines with a star in minute or hour run in both. The
 * zone is CRON_TZ, else the one given, else UTC.
 */
#ifndef REPROD_CORRELATE_SCHEDULE_H
#define REPROD_CORRELATE_SCHEDULE_H

#include "correlate/condition.h"

struct schedule_report {
	size_t lines; /* schedules read */
	size_t bad;
	size_t unscheduled; /* @reboot and random ranges: no times of their own */
	bool is_utc_assumed;
	struct err first_bad;
};

bool schedule_load(struct condition_list *list, const char *path, const char *zone,
	int64_t first_ns, int64_t last_ns, struct schedule_report *ret, struct err *e) MUST_USE;

#endif
