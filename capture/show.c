#include "capture/show.h"

#include "capture/show_policy.h"
#include "capture/summary.h"

struct show_args {
	int64_t routes;
	bool is_policy;
};

static const struct cli_option options[] = {
	{ "routes", 'n', CLI_INT, offsetof(struct show_args, routes), "N",
		"show so many routes, the busiest first; 0 for all (default 20)" },
	{ "policy", 0, CLI_FLAG, offsetof(struct show_args, is_policy), NULL,
		"what became of each column, header, key and path instead" },
	{ 0 },
};

static void defaults(void *args)
{
	((struct show_args *)args)->routes = 20;
}

static enum outcome show(struct run *run, void *args, struct cli_operands ops, struct err *e)
{
	const struct show_args *a = args;

	if (ops.count != 1) {
		err_set(e, ERR_USAGE, "capture show reads one file");
		return OUTCOME_FAILED;
	}
	if (a->routes < 0) {
		err_set(e, ERR_USAGE, "--routes cannot be negative");
		return OUTCOME_FAILED;
	}
	struct rcap *r = rcap_open(ops.items[0], e);
	if (!r)
		return OUTCOME_FAILED;
	if (a->is_policy) {
		show_policy(rcap_head(r), run->is_json, run->out);
		rcap_close(r);
		return OUTCOME_YES;
	}
	struct json *summary = capture_summary(r, run, e);
	if (summary && run->is_json)
		json_print(summary, run->out);
	else if (summary)
		capture_summary_print(summary, ops.items[0], (size_t)a->routes, run->out);
	enum outcome outcome = summary ? OUTCOME_YES : OUTCOME_FAILED;
	json_free(summary);
	rcap_close(r);
	return outcome;
}

const struct cli_command capture_show_command = {
	.name = "show",
	.summary = "what a capture holds: when, how much, what was lost, latency by route",
	.usage = "capture show [--policy] [--json] FILE.rcap",
	.notes = "Latencies are service times. The interval of p99 is the order statistics' at\n"
		 "95 %; a p99 of fewer than 100 requests is not shown. In flight is averaged over\n"
		 "slices of 1 ms (wider in long captures), its maximum is exact.",
	.options = options,
	.args_size = sizeof(struct show_args),
	.defaults = defaults,
	.main = show,
};
