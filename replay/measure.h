/*
 * measure.h - what a run writes down of each request.
 *
 * Every planned request is told exactly once to one of measure_skip(),
 * measure_unsent() and measure_sent(); the latter again to measure_end() once it was
 * answered or given up. So planned = sent + skipped + failed holds at any instant.
 */
#ifndef REPROD_REPLAY_MEASURE_H
#define REPROD_REPLAY_MEASURE_H

#include "replay/driver_pg.h"
#include "replay/plan.h"
#include "replay/replay.h"

#define SAMPLES_MAX 2000000
#define DIVERGENCES_MAX 500

struct divergence {
	uint32_t route;
	char expected[6], got[6];
	uint64_t count;
};

struct measure {
	struct replay_result *result;
	const struct rcap *capture;
	uint32_t *place; /* route id to index + 1 in result->routes */
	size_t place_count, route_room, sample_room;
	uint64_t judged;
	bool has_judged;
	struct divergence divergences[DIVERGENCES_MAX];
	size_t divergence_count;
	uint64_t divergences_refused;
	uint64_t skipped[SKIP_COUNT];
	int64_t busy_ns, captured_busy_ns; /* sums of service times */
	bool is_out_of_memory;
};

enum measure_end {
	MEASURE_ANSWERED,
	MEASURE_CENSORED, /* given up, or the run ended */
	MEASURE_LOST, /* the connection broke */
};

struct measure_times {
	int64_t due_ns, free_ns, sent_ns, end_ns;
};

/* result is zeroed and the caller's; the capture must outlive the measure. */
bool measure_init(struct measure *m, struct replay_result *result, const struct rcap *capture,
	uint64_t judged, struct err *e) MUST_USE;
void measure_skip(struct measure *m, const struct plan_item *item, enum plan_skip skip);
void measure_unsent(struct measure *m, const struct plan_item *item);
void measure_sent(struct measure *m, const struct plan_item *item, const struct measure_times *t);
void measure_end(struct measure *m, const struct plan_item *item, const struct measure_times *t,
	enum measure_end how, const struct driver_answer *answer);
/* Sorts, adds up; the result is whole but for what the run itself knows. False when
 * memory ran out on the way. */
bool measure_finish(struct measure *m, struct err *e) MUST_USE;
void measure_free(struct measure *m);

#endif
