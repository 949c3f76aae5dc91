/* The command `reprod replay`: options in, one run, a table or the document out. */
#include <stdlib.h>

#include "core/base/cli.h"
#include "core/base/file.h"
#include "core/base/quantile.h"
#include "replay/replay.h"

#define WINDOWS_MAX CLI_LIST_MAX

struct replay_args {
	const char *target, *route, *out;
	double speed;
	int64_t loop_ns, timeout_ns, sessions;
	bool is_serial, is_closed, may_be_superuser;
	struct cli_list windows;
};

static void defaults(void *args)
{
	struct replay_args *a = args;

	a->speed = 1;
	a->timeout_ns = 60 * NS_PER_S;
}

static bool parse_window(const char *text, struct replay_window *ret, struct err *e)
{
	const char *dots = strstr(text, "..");

	if (dots && clock_parse((struct slice){ text, (size_t)(dots - text) }, &ret->from_ns) &&
		clock_parse(slice_of(dots + 2), &ret->to_ns))
		return true;
	err_set(e, ERR_USAGE, "'%s' is not a window", text);
	return err_hint(e, "write FROM..TO, each RFC 3339 with zone or epoch seconds: "
			   "2026-11-30T12:00:00Z..2026-11-30T12:05:00Z");
}

static void print_route(const struct run *r, const struct replay_route *route)
{
	char p99[32] = "-";

	if (quantile_is_estimable(route->service_us.total, 0.99))
		snprintf(p99, sizeof(p99), "%s%.2f", route->censored ? ">=" : "",
			(double)hist_quantile(&route->service_us, 0.99) / 1e3);
	fprintf(r->out, "%9llu %7llu %10.2f %10s %10.2f  %.60s\n", (unsigned long long)route->sent,
		(unsigned long long)route->failed,
		(double)hist_quantile(&route->service_us, 0.5) / 1e3, p99,
		route->service_us.total ? (double)route->service_us.max / 1e3 : 0, route->text);
}

static void print_result(const struct run *r, const struct replay_result *result)
{
	uint64_t skipped = 0;

	fprintf(r->out, "%9s %7s %10s %10s %10s  %s\n", "sent", "errors", "p50 ms", "p99 ms",
		"max ms", "route");
	for (size_t i = 0; i < result->route_count; i++)
		print_route(r, &result->routes[i]);
	for (size_t i = 0; i < result->skip_count; i++)
		skipped += result->skipped[i].count;
	fprintf(r->out,
		"planned %llu = sent %llu + skipped %llu + failed %llu; %u of %u sessions; %.1f s\n",
		(unsigned long long)result->planned, (unsigned long long)result->sent,
		(unsigned long long)skipped, (unsigned long long)result->failed, result->sessions,
		result->sessions_planned, (double)result->duration_ns / 1e9);
	for (size_t i = 0; i < result->skip_count; i++)
		fprintf(r->out, "  skipped %llu: %s\n",
			(unsigned long long)result->skipped[i].count, result->skipped[i].reason);
	if (result->left_out)
		fprintf(r->out, "  left out %llu of transactions begun before what was asked for\n",
			(unsigned long long)result->left_out);
	if (result->censored)
		fprintf(r->out, "  unanswered %llu, counted at their age\n",
			(unsigned long long)result->censored);
	if (result->was_capped)
		fprintf(r->out,
			"  the plan did not fit in memory and was read on during the run\n");
	fprintf(r->out,
		"own lateness p99 %.2f ms; in flight %.2f (captured %.2f); delivery %s%s%s\n",
		(double)hist_quantile(&result->lateness_us, 0.99) / 1e3, result->in_flight_mean,
		result->captured_in_flight_mean, result->is_delivered ? "ok" : "below the bar: ",
		result->is_delivered ? "" : result->delivery_reason,
		json_count(result->divergence) ? "; answers differ from the capture, see --json"
					       : "");
}

static bool write_out(const struct run *r, const struct replay_args *a,
	const struct replay_result *result, struct err *e)
{
	struct json *j = replay_json(result);
	bool ok = !a->out || json_save(j, a->out, r->is_forced, e);

	if (ok && r->is_json)
		json_print(j, r->out);
	else if (ok)
		print_result(r, result);
	json_free(j);
	return ok;
}

static bool check_usage(
	const struct run *r, const struct replay_args *a, struct cli_operands ops, struct err *e)
{
	if (ops.count != 1)
		return err_set(e, ERR_USAGE, "one capture is needed, %zu were given", ops.count);
	if (!a->target) {
		err_set(e, ERR_USAGE, "no target");
		return err_hint(e, "--target DSN names a database made by 'reprod snapshot build'");
	}
	if (file_is_dir(a->target)) {
		err_set(e, ERR_USAGE, "'%s' is a folder; replay drives a running server",
			a->target);
		return err_hint(e,
			"start the lab and give its DSN, or use 'reprod recipe run' with the folder");
	}
	if (!(a->speed > 0))
		return err_set(e, ERR_USAGE, "--speed must be above 0");
	if (a->sessions < 0 || a->loop_ns < 0 || a->timeout_ns <= 0)
		return err_set(e, ERR_USAGE, "--sessions, --loop and --timeout cannot be negative");
	return a->out ? file_may_write(a->out, r->is_forced, e) : true;
}

static enum outcome replay_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	struct replay_args *a = args;
	struct replay_window windows[WINDOWS_MAX];
	struct replay_result result;

	if (!check_usage(r, a, ops, e))
		return OUTCOME_FAILED;
	for (size_t i = 0; i < a->windows.count; i++)
		if (!parse_window(a->windows.items[i], &windows[i], e))
			return OUTCOME_FAILED;
	struct replay_options o = {
		.capture_path = ops.items[0],
		.dsn = a->target,
		.windows = windows,
		.window_count = a->windows.count,
		.speed = a->speed,
		.is_serial = a->is_serial,
		.is_closed = a->is_closed,
		.loop_until_ns = a->loop_ns,
		.route = a->route,
		.request_timeout_ns = a->timeout_ns,
		.max_sessions = (size_t)a->sessions,
		.may_be_superuser = a->may_be_superuser,
	};
	bool ok = replay_run(r, &o, &result, e);
	if (ok)
		ok = write_out(r, a, &result, e);
	if (ok && result.is_interrupted)
		ok = err_set(e, ERR_INTERRUPTED, "interrupted; the result is of the part that ran");
	replay_result_free(&result);
	return ok ? OUTCOME_YES : OUTCOME_FAILED;
}

static const struct cli_option options[] = {
	{ "target", 't', CLI_TEXT, offsetof(struct replay_args, target), "DSN",
		"the marked database that the traffic goes to" },
	{ "route", 0, CLI_TEXT, offsetof(struct replay_args, route), "ROUTE",
		"only this route (a fragment of its text, or its fingerprint) and its transactions" },
	{ "speed", 0, CLI_NUMBER, offsetof(struct replay_args, speed), "X",
		"divide due times by X (1); think time inside transactions stays" },
	{ "closed", 0, CLI_FLAG, offsetof(struct replay_args, is_closed), NULL,
		"closed loop: next request its think time after the answer" },
	{ "serial", 0, CLI_FLAG, offsetof(struct replay_args, is_serial), NULL,
		"one connection, captured order by transaction, no think time" },
	{ "window", 0, CLI_LIST, offsetof(struct replay_args, windows), "FROM..TO",
		"only this part of the capture; may be given several times, laid end to end" },
	{ "loop", 0, CLI_DURATION, offsetof(struct replay_args, loop_ns), "D",
		"start over until this much time has passed" },
	{ "timeout", 0, CLI_DURATION, offsetof(struct replay_args, timeout_ns), "D",
		"give a request up after this time and count it at its age (60s)" },
	{ "sessions", 0, CLI_INT, offsetof(struct replay_args, sessions), "N",
		"only the first N sessions" },
	{ "allow-superuser", 0, CLI_FLAG, offsetof(struct replay_args, may_be_superuser), NULL,
		"let the target's role be a superuser" },
	{ "output", 'o', CLI_TEXT, offsetof(struct replay_args, out), "FILE",
		"write the result document here" },
	{ 0 },
};

const struct cli_command replay_command = {
	.name = "replay",
	.summary = "one run of a capture against a marked database",
	.usage =
		"replay CAPTURE --target DSN [--window FROM..TO]... [--route R] [--json] [-o FILE]",
	.options = options,
	.args_size = sizeof(struct replay_args),
	.defaults = defaults,
	.main = replay_main,
};
