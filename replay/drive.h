/*
 * drive.h - the loop of one run: sessions, their connections, and the clock.
 *
 * One thread, one epoll set, one timer heap. Every session is a lane with a
 * connection of its own; a lane is told its turn when something happened to its
 * connection, when its timer rang, or when the plan gave it items. Times are
 * nanoseconds since the run's start; before it they are negative.
 */
#ifndef REPROD_REPLAY_DRIVE_H
#define REPROD_REPLAY_DRIVE_H

#include "replay/driver_pg.h"
#include "replay/heap.h"
#include "replay/measure.h"
#include "replay/plan.h"

struct flight {
	struct plan_item *item;
	int64_t due_ns;
};

struct lane {
	struct timer timer; /* first: a timer is its lane */
	struct plan_lane *plan;
	struct driver_pg driver;
	struct cells cells;
	struct flight *flights; /* sent together, answered in order */
	size_t flight_count, flight_at, flight_room;
	int64_t sent_ns; /* of the flights */
	int64_t free_ns; /* since when the connection waits for work */
	int64_t replied_ns; /* the last answer */
	int64_t opened_ns; /* connection attempt began */
	int64_t retry_ns; /* no new attempt before */
	uint32_t attempts; /* failed in a row */
	const struct plan_item *prepared_for; /* early prepare was tried */
	bool has_previous; /* replied_ns is of this run */
	bool has_connected;
	bool has_cancelled;
	bool is_unit_lost; /* the rest of its transaction cannot be sent */
	bool is_preparing;
};

struct drive {
	const struct run *run;
	const struct replay_options *o;
	struct plan *plan;
	struct measure *measure;
	struct canceller *canceller;
	struct statement scratch;
	struct heap heap;
	struct lane **lanes;
	size_t lane_count, lane_room;
	int epoll_fd, timer_fd;
	struct clock clock; /* zeroed: the real one, whatever a test did to the run's */
	int64_t start_ns; /* monotonic */
	int64_t now_ns;
	int64_t armed_ns; /* when the timer rings */
	int64_t timeout_ns;
	size_t connecting, busy;
	bool has_started;
	bool is_ending; /* no new transactions */
	bool is_stopping; /* leave at once */
	bool is_plan_done;
	struct mark mark; /* every connection must have it */
	struct err fatal;
	struct err last_failure; /* of a connection, for messages */
};

bool drive_open(struct drive *d, struct err *e) MUST_USE;
/* Connects the sessions that were open before the start, then runs. The result is
 * filled whatever happened; false only when the run could not be made. */
bool drive_run(struct drive *d, struct err *e) MUST_USE;
void drive_close(struct drive *d);
/* Reads the clock. */
void drive_tell_time(struct drive *d);

#endif
