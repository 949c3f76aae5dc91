/*
 * replay.h - the face of replay: one run of a capture against a marked target.
 *
 * The run is driven by one loop in the calling thread. Windows of the capture are
 * laid end to end, cut at transaction boundaries: a transaction belongs to the
 * window its first request started in. Times in results are nanoseconds since the
 * run's start on that timeline. A result is left behind also when the run was
 * interrupted (is_interrupted) or failed midway.
 */
#ifndef REPROD_REPLAY_H
#define REPROD_REPLAY_H

#include "core/base/err.h"
#include "core/base/hist.h"
#include "core/base/json.h"
#include "core/base/run.h"
#include "core/model/mark.h"

struct replay_window {
	int64_t from_ns, to_ns; /* capture time, UTC */
};

struct replay_options {
	const char *capture_path;
	const char *dsn;
	const struct replay_window *windows; /* laid end to end; none: the whole capture */
	size_t window_count;
	double speed; /* 0 means 1: due times are divided by it */
	bool is_serial; /* one connection, captured order, no think time */
	bool is_closed; /* next request as soon as the answer came, think time kept */
	int64_t loop_until_ns; /* traffic starts over until this much time has passed; 0: once */
	const char *route; /* only this route (fragment or fingerprint in hex), or NULL */
	/* Fingerprints of the conditions' own statements: captured sessions that sent
	 * nothing else are the conditions themselves, and are left out of the traffic. */
	const uint64_t *own_fingerprints;
	size_t own_count;
	uint64_t judged_fingerprint; /* samples are kept for this route; 0: for none */
	int64_t request_timeout_ns; /* unanswered after this: censored; 0: 60 s */
	size_t max_sessions; /* 0: all */
	bool may_be_superuser; /* else a superuser's DSN is refused */
	/* Called at least every 10 ms of the loop, with time since the run's start; may
	 * start and reap processes. Returns false to end the run early. */
	bool (*tick)(void *data, int64_t elapsed_ns);
	void *tick_data;
};

struct replay_sample {
	int64_t due_ns, sent_ns, end_ns; /* since the run's start */
	bool is_censored; /* unanswered: end_ns is when we stopped waiting */
	bool is_failed; /* ended with an error */
};

/* planned = sent + skipped + failed, always: sent has left us, whatever came of it;
 * failed could not leave because there was no connection (any more). */
#define REPLAY_SKIPS_MAX 16

struct replay_skip {
	const char *reason; /* static text: "external effect", "text unknown", ... */
	uint64_t count;
};

struct replay_route {
	uint32_t id;
	uint64_t fingerprint;
	char *text;
	/* failed: sent, and answered with an error or not at all. The captured ones are
	 * of the requests that were sent. */
	uint64_t sent, failed, rows, captured_requests, captured_rows, captured_errors;
	struct hist service_us, due_us;
	uint64_t censored; /* unanswered: in the histograms at their age */
	uint64_t rows_differ, errors_differ; /* from the capture */
	uint64_t rows_compared;
};

struct replay_result {
	struct replay_route *routes;
	size_t route_count;
	struct replay_sample *samples; /* of the judged route, by sent time */
	size_t sample_count;
	uint64_t samples_dropped; /* beyond two million */
	struct hist lateness_us; /* ours: due (and session free) to sent */
	struct hist queue_us; /* waiting in the session for the previous answer */
	uint64_t planned, sent, failed;
	struct replay_skip skipped[REPLAY_SKIPS_MAX];
	size_t skip_count;
	int64_t duration_ns;
	int64_t own_cpu_ns;
	double in_flight_mean, captured_in_flight_mean;
	uint32_t sessions, sessions_planned;
	bool is_delivered; /* fidelity: delivery above the bar */
	char delivery_reason[256];
	bool is_interrupted;
	struct mark mark;
	struct json *divergence; /* list */
	uint64_t prepares; /* Parse messages of their own, not in planned */
	uint64_t connects, connects_failed; /* to the target */
	uint64_t left_out; /* requests of transactions begun outside the windows */
	uint64_t own_requests; /* of sessions that were a condition's own */
	uint64_t keys_substituted;
	uint32_t passes; /* over the windows, finished */
	bool was_capped; /* the plan did not fit in memory and was read on during the run */
	bool is_serial;
	uint64_t censored;
	int64_t planned_ns; /* length of one pass */
};

/* True also when fidelity is below the bar; *e tells refusals and failures. */
bool replay_run(const struct run *r, const struct replay_options *o, struct replay_result *ret,
	struct err *e) MUST_USE;
/* The document of `replay --json`. */
struct json *replay_json(const struct replay_result *result);
void replay_result_free(struct replay_result *result);

struct cli_command;
extern const struct cli_command replay_command;

#endif
