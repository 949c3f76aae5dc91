/*
 * condition.h - what may line up: dated causes gathered under one id, with windows.
 *
 * Events of one "kind:name" and crontab lines of one job are one condition. Each
 * occurrence gets a window: start to end plus min(60 s, a tenth of the period)
 * when the end is logged, else min(10 min, a tenth of the period) from the start;
 * a condition that happened once gets a margin by its kind, at most a tenth of the
 * capture. When a job has both a schedule and logged runs, the runs are used where
 * their log reaches, and the schedule elsewhere. At most CONDITION_TIMES_MAX occurrences each.
 */
#ifndef REPROD_CORRELATE_CONDITION_H
#define REPROD_CORRELATE_CONDITION_H

#include "core/model/event.h"
#include "correlate/reach.h"

#define CONDITIONS_MAX 2000
#define CONDITION_TIMES_MAX 200000

struct occurrence {
	int64_t start_ns, end_ns; /* without has_end: of the span it starts in */
	int64_t until_ns; /* end of the window */
	bool has_end;
	double dose; /* NAN when none */
};

struct condition {
	const char *id; /* "job:refresh" */
	const char *kind, *name;
	const char *dialect; /* "event", "cron" */
	struct occurrence *items; /* by start */
	size_t count, cap;
	size_t scheduled, confirmed;
	int64_t period_ns; /* median gap; 0 below two occurrences */
	bool is_regular; /* gaps within 10 % of the median */
	bool is_weak; /* its times are near the event's, not its own */
	int64_t from_ns, to_ns; /* its reach: outside nothing is known (reach.h) */
	uint64_t refused; /* occurrences beyond the cap */
};

struct condition_list {
	struct condition *items; /* in order of first appearance */
	size_t count, cap;
	uint64_t refused; /* times a condition beyond the cap was asked for */
	struct arena arena;
};

void condition_list_init(struct condition_list *list);
void condition_list_free(struct condition_list *list);
/* event.source is an index of reaches. */
bool condition_add_events(struct condition_list *list, const struct event_list *events,
	const struct reach_list *reaches, struct err *e) MUST_USE;
/* Finds or adds by id; NULL at the cap. */
struct condition *condition_get(
	struct condition_list *list, const char *kind, const char *name, const char *dialect);
bool condition_add_time(struct condition *c, int64_t start_ns, int64_t end_ns, bool has_end);
/* Sorts, finds the period, sets the windows. */
void condition_list_finish(struct condition_list *list, int64_t first_ns, int64_t last_ns);

#endif
