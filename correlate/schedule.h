/*
 * schedule.h - files of schedules, in any dialect, as conditions over a range of time.
 *
 * A file is named "DIALECT:PATH" or is told by what is in it: crontabs, systemd timers,
 * Kubernetes CronJobs, pg_cron's table, Quartz expressions (docs/formats/schedules.md).
 * Each entry becomes one condition "job:NAME"; twins get "#2". An occurrence whose start
 * is only known to lie in a span (a random delay) has that span as start and end, without
 * has_end. What could not be read, has no times, or was assumed is said in the notes; the
 * reach is everywhere, as a schedule knows no beginning. Files up to 64 MiB.
 */
#ifndef REPROD_CORRELATE_SCHEDULE_H
#define REPROD_CORRELATE_SCHEDULE_H

#include "core/base/run.h"
#include "correlate/condition.h"
#include "correlate/notes.h"
#include "correlate/reach.h"

struct schedule_target {
	struct condition_list *list;
	struct reach_list *reaches;
	struct notes *notes;
	const char *zone; /* of whatever names none; NULL: UTC is assumed and said */
	int64_t first_ns, last_ns;
	const struct run *run; /* its stop ends an expansion; NULL: nothing does */
};

/* False when nothing of it could be read. dialect is "cron", ... or NULL: told by the name
 * or the contents. */
bool schedule_read(const struct schedule_target *to, const char *dialect, const char *file,
	struct err *e) MUST_USE;

#endif
