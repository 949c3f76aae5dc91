#include "replay/fidelity.h"

#include <math.h>
#include <stdio.h>

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : NAN;
}

static uint64_t skipped_by_nature(const struct replay_result *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->skip_count; i++)
		if (strcmp(r->skipped[i].reason, "run ended") != 0)
			sum += r->skipped[i].count;
	return sum;
}

/* Of what could be sent at all. */
static double sent_share(const struct replay_result *r)
{
	return share(r->sent, r->planned - skipped_by_nature(r));
}

static double cpu_share(const struct replay_result *r)
{
	return r->duration_ns > 0 ? (double)r->own_cpu_ns / (double)r->duration_ns : 0;
}

static bool fail(struct replay_result *r, const char *text)
{
	snprintf(r->delivery_reason, sizeof(r->delivery_reason), "%s", text);
	return false;
}

static bool judge(struct replay_result *r)
{
	char text[sizeof(r->delivery_reason)];
	int64_t late_us = hist_quantile(&r->lateness_us, 0.99);

	if (r->is_interrupted)
		return fail(r, "the run was ended early");
	if (!r->sent)
		return fail(r, "nothing was sent");
	if (!(sent_share(r) >= FIDELITY_SENT_SHARE)) {
		snprintf(text, sizeof(text), "only %.1f %% of the plan was sent",
			100 * sent_share(r));
		return fail(r, text);
	}
	if (r->sessions < FIDELITY_SESSION_SHARE * r->sessions_planned) {
		snprintf(text, sizeof(text), "only %u of %u sessions could connect", r->sessions,
			r->sessions_planned);
		return fail(r, text);
	}
	/* The serial arm has no due times to be late for. */
	if (!r->is_serial && late_us > FIDELITY_LATENESS_US) {
		snprintf(text, sizeof(text), "requests went out late: p99 %.1f ms, at most %.1f ms",
			(double)late_us / 1e3, FIDELITY_LATENESS_US / 1e3);
		return fail(r, text);
	}
	if (cpu_share(r) > FIDELITY_CPU_SHARE) {
		snprintf(text, sizeof(text),
			"the replayer itself was short of CPU: %.0f %% of a core",
			100 * cpu_share(r));
		return fail(r, text);
	}
	return true;
}

void fidelity_judge_delivery(struct replay_result *r)
{
	r->delivery_reason[0] = '\0';
	r->is_delivered = judge(r);
}

static struct json *delivery_json(const struct replay_result *r)
{
	struct json *j = json_object();

	json_set_bool(j, "ok", r->is_delivered);
	json_set_text(j, "reason", r->delivery_reason[0] ? r->delivery_reason : NULL);
	json_set_number(j, "sent_share", sent_share(r));
	json_set_int(j, "sessions", r->sessions);
	json_set_int(j, "sessions_planned", r->sessions_planned);
	json_set_number(j, "lateness_p99_ms",
		r->lateness_us.total ? (double)hist_quantile(&r->lateness_us, 0.99) / 1e3 : NAN);
	json_set_number(j, "generator_cpu_share", cpu_share(r));
	json_set_number(j, "generator_cpu_us_per_request",
		r->sent ? (double)r->own_cpu_ns / 1e3 / (double)r->sent : NAN);
	return j;
}

static struct json *outcome_json(const struct replay_result *r)
{
	struct json *j = json_object();
	uint64_t compared = 0, rows_differ = 0, errors_differ = 0, captured_errors = 0, errors = 0;

	for (size_t i = 0; i < r->route_count; i++) {
		compared += r->routes[i].rows_compared;
		rows_differ += r->routes[i].rows_differ;
		errors_differ += r->routes[i].errors_differ;
		captured_errors += r->routes[i].captured_errors;
		errors += r->routes[i].failed;
	}
	double same = compared ? 1 - share(rows_differ, compared) : NAN;
	json_set_bool(j, "ok",
		!(same < FIDELITY_ROWS_SHARE) &&
			!(share(errors_differ, r->sent) > FIDELITY_ERROR_SHARE));
	json_set_number(j, "rows_same_share", same);
	json_set_int(j, "rows_compared", (int64_t)compared);
	json_set_int(j, "errors", (int64_t)errors);
	json_set_int(j, "captured_errors", (int64_t)captured_errors);
	json_set_int(j, "errors_differ", (int64_t)errors_differ);
	struct json *in_flight = json_object();
	json_set_number(in_flight, "replayed_mean", r->in_flight_mean);
	json_set_number(in_flight, "captured_mean", r->captured_in_flight_mean);
	json_set(j, "in_flight", in_flight);
	return j;
}

struct json *fidelity_json(const struct replay_result *r)
{
	struct json *j = json_object();

	json_set(j, "delivery", delivery_json(r));
	json_set(j, "outcome", outcome_json(r));
	return j;
}
