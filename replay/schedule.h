/*
 * schedule.h - when a request is due, as pure functions.
 *
 * The run's timeline starts at 0; windows of the capture lie on it end to end,
 * divided by the speed. Outside a transaction a request is due where it stood in
 * the capture. Inside one it is due its captured think time after the previous
 * reply of this run: were it due where it stood, it would inherit the time that
 * production's server took, locks would be held for the captured waits, and a job
 * left out of the run would still look guilty.
 */
#ifndef REPROD_REPLAY_SCHEDULE_H
#define REPROD_REPLAY_SCHEDULE_H

#include "core/base/base.h"
#include "replay/replay.h"

struct schedule {
	const struct replay_window *windows; /* in order, not overlapping; at least one */
	size_t window_count;
	double speed; /* above 0 */
	bool is_closed; /* think time everywhere */
};

/* Length of one pass over all windows on the run's timeline. */
int64_t schedule_length(const struct schedule *s);
/* Where an instant of the capture lies; between windows it is the seam, before the
 * first 0, after the last the end. ret_is_inside: a window (from <= t < to) holds it. */
int64_t schedule_at(const struct schedule *s, int64_t capture_ns, bool *ret_is_inside);

struct schedule_turn {
	int64_t offset_ns; /* schedule_at() of its captured start, plus earlier passes */
	int64_t think_ns; /* captured; below 0: unknown */
	bool is_chained; /* inside a transaction */
	bool has_previous; /* the session had a reply before, in this run */
	int64_t previous_end_ns; /* that reply */
};

/* The due time; never before the previous reply only where the rule says so: an
 * absolute due time may lie before it, the wait is then the session's queue. */
int64_t schedule_due(const struct schedule *s, const struct schedule_turn *t);

struct schedule_lag {
	int64_t queue_ns; /* due, but the session was still waiting for an answer */
	int64_t lateness_ns; /* due and free, but not sent: ours */
};

struct schedule_lag schedule_lag(int64_t due_ns, int64_t free_ns, int64_t sent_ns);

#endif
