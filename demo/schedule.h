/*
 * schedule.h - the jobs and one-off events of an incident, run at their times.
 *
 * schedule_poll() never waits: it starts what is due, reaps what ended and writes
 * a line for each to the event log. A job still running at its next time is not
 * started twice; that is counted in overlaps.
 */
#ifndef REPROD_SCHEDULE_H
#define REPROD_SCHEDULE_H

#include "core/base/err.h"
#include "core/base/proc.h"
#include "core/base/run.h"
#include "demo/incident.h"

struct schedule_item {
	const char *kind, *name, *file; /* file NULL: nothing to run, a date only */
	double every_s;
	int64_t next_ns; /* monotonic; 0: never again */
	int64_t started_wall_ns;
	struct proc proc;
	bool is_running;
};

struct schedule {
	struct schedule_item items[2 * INCIDENT_ITEMS_MAX + 1];
	size_t count;
	FILE *log; /* events.jsonl */
	char log_dir[1024]; /* the jobs' own output */
	const char *const *env; /* PG* of the database they work on */
	uint64_t runs, failures, overlaps;
	char first_failure[1024];
	uid_t uid;
	gid_t gid;
	bool has_user;
};

/* start_ns is the monotonic instant that the incident's times count from. */
bool schedule_open(struct schedule *s, const struct incident *in, int64_t start_ns,
	const char *events_path, const char *log_dir, const char *const *env,
	struct err *e) MUST_USE;
void schedule_poll(struct schedule *s, const struct run *r);
/* Waits for what still runs (up to grace_ns), then ends it. */
void schedule_close(struct schedule *s, const struct run *r, int64_t grace_ns);

#endif
