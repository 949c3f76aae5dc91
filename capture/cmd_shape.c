#include "capture/cmd_shape.h"

#include "capture/outfile.h"
#include "core/base/file.h"
#include "capture/shape.h"

struct shape_args {
	const char *window, *route, *output;
	int64_t routes;
};

static const struct cli_option options[] = {
	{ "window", 0, CLI_TEXT, offsetof(struct shape_args, window), "FROM..TO",
		"only what begins within these times (RFC 3339 with zone, or epoch seconds)" },
	{ "route", 0, CLI_TEXT, offsetof(struct shape_args, route), "TEXT",
		"only requests whose route has this in its text" },
	{ "routes", 'n', CLI_INT, offsetof(struct shape_args, routes), "N",
		"show so many routes, the busiest first; 0 for all (default 10)" },
	{ "output", 'o', CLI_TEXT, offsetof(struct shape_args, output), "FILE",
		"write here instead of standard output" },
	{ 0 },
};

static void defaults(void *args)
{
	((struct shape_args *)args)->routes = 10;
}

static bool parse_window(const char *text, struct shape_options *o, struct err *e)
{
	const char *dots = strstr(text, "..");

	if (!dots || !clock_parse((struct slice){ text, (size_t)(dots - text) }, &o->from_ns) ||
		!clock_parse(slice_of(dots + 2), &o->to_ns)) {
		err_set(e, ERR_USAGE, "'%s' is not a window", text);
		return err_hint(e, "write FROM..TO, each RFC 3339 with zone or epoch seconds: "
				   "2026-11-30T12:00:00Z..2026-11-30T12:05:00Z");
	}
	if (o->from_ns >= o->to_ns) {
		err_set(e, ERR_USAGE, "the window '%s' ends before it starts", text);
		return err_hint(e, "a window is FROM..TO, the earlier time first");
	}
	return true;
}

static bool print(const struct shape_args *a, const struct shape_options *o, const char *path,
	struct run *run, struct err *e)
{
	struct rcap *r = rcap_open(path, e);
	struct json *doc = r ? capture_shape(r, o, run, e) : NULL;

	if (doc && run->is_json)
		json_print(doc, run->out);
	else if (doc)
		capture_shape_print(doc, path, (size_t)a->routes, run->out);
	bool ok = doc != NULL;
	json_free(doc);
	rcap_close(r);
	return ok;
}

static enum outcome shape(struct run *run, void *args, struct cli_operands ops, struct err *e)
{
	const struct shape_args *a = args;
	struct shape_options o = { .route = a->route };
	struct outfile file;

	if (ops.count != 1 || a->routes < 0) {
		err_set(e, ERR_USAGE,
			ops.count != 1 ? "capture shape reads one file"
				       : "--routes cannot be negative");
		return OUTCOME_FAILED;
	}
	if ((a->window && !parse_window(a->window, &o, e)) ||
		!file_is_apart(a->output, ops.items, ops.count, e) ||
		!outfile_open(&file, run, a->output, e))
		return OUTCOME_FAILED;
	bool ok = print(a, &o, ops.items[0], run, e);
	return outfile_close(&file, ok, e) ? OUTCOME_YES : OUTCOME_FAILED;
}

const struct cli_command capture_shape_command = {
	.name = "shape",
	.summary = "how the traffic comes: rate, bursts, concurrency, sessions, think times, mix",
	.usage = "capture shape [--window FROM..TO] [--route TEXT] [--json] FILE.rcap",
	.notes = "Dispersion is variance over mean of the arrivals in slices of one width: 1 when\n"
		 "they come independently of each other, more in bursts, less when paced. Latency\n"
		 "is service time, its intervals are the order statistics' at 95 %. With --route\n"
		 "sessions, think times and transactions are still those of all requests.\n"
		 "docs/formats/shape.md describes the JSON.",
	.options = options,
	.args_size = sizeof(struct shape_args),
	.defaults = defaults,
	.main = shape,
};
