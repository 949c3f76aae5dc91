#include "capture/show.h"

#include <stdlib.h>

#include "capture/outfile.h"
#include "core/base/file.h"
#include "capture/show_policy.h"
#include "capture/summary.h"

struct show_args {
	int64_t routes;
	const char *sort, *output;
	bool is_policy;
};

static const struct cli_option options[] = {
	{ "routes", 'n', CLI_INT, offsetof(struct show_args, routes), "N",
		"show so many routes, the busiest first; 0 for all (default 20)" },
	{ "sort", 0, CLI_TEXT, offsetof(struct show_args, sort), "KEY",
		"routes by requests (default), busy, errors, p50, p99, max, rows, bytes or route" },
	{ "output", 'o', CLI_TEXT, offsetof(struct show_args, output), "FILE",
		"write here instead of standard output" },
	{ "policy", 0, CLI_FLAG, offsetof(struct show_args, is_policy), NULL,
		"what became of each column, header, key and path instead" },
	{ 0 },
};

static void defaults(void *args)
{
	((struct show_args *)args)->routes = 20;
}

/* ---- order of routes */

static double at(const struct json *route, const char *path)
{
	return json_number(json_path(route, path), -1);
}

static double by_requests(const struct json *r)
{
	return at(r, "requests");
}

static double by_busy(const struct json *r)
{
	return at(r, "requests") * at(r, "latency_ms.mean");
}

static double by_errors(const struct json *r)
{
	return at(r, "errors");
}

static double by_p50(const struct json *r)
{
	return at(r, "latency_ms.p50");
}

static double by_p99(const struct json *r)
{
	return at(r, "latency_ms.p99");
}

static double by_max(const struct json *r)
{
	return at(r, "latency_ms.max");
}

static double by_rows(const struct json *r)
{
	return at(r, "rows");
}

static double by_bytes(const struct json *r)
{
	return at(r, "bytes_in") + at(r, "bytes_out");
}

static double by_name(const struct json *r)
{
	(void)r;
	return 0; /* equal weights are put in order by their texts */
}

static const struct {
	const char *name;
	double (*weight)(const struct json *route);
} orders[] = {
	{ "requests", by_requests },
	{ "busy", by_busy },
	{ "errors", by_errors },
	{ "p50", by_p50 },
	{ "p99", by_p99 },
	{ "max", by_max },
	{ "rows", by_rows },
	{ "bytes", by_bytes },
	{ "route", by_name },
};

struct place {
	const struct json *route;
	double weight;
};

static int heavier_first(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return strcmp(json_text(json_get(x->route, "route"), ""),
		json_text(json_get(y->route, "route"), ""));
}

static bool check_sort(const char *key, struct err *e)
{
	for (size_t i = 0; i < LENGTH(orders); i++)
		if (!key || strcmp(orders[i].name, key) == 0)
			return true;
	err_set(e, ERR_USAGE, "routes cannot be sorted by '%s'", key);
	return err_hint(e, "--sort requests, busy, errors, p50, p99, max, rows, bytes or route");
}

/* The list as it is comes by requests already. */
static void sort_routes(struct json *summary, const char *key)
{
	const struct json *routes = json_get(summary, "routes");
	size_t n = json_count(routes), which = 0;
	struct place *places = key ? calloc(n + 1, sizeof(*places)) : NULL;
	struct json *sorted;

	if (!places)
		return;
	while (strcmp(orders[which].name, key) != 0)
		which++;
	for (size_t i = 0; i < n; i++)
		places[i] = (struct place){ json_at(routes, i),
			orders[which].weight(json_at(routes, i)) };
	qsort(places, n, sizeof(*places), heavier_first);
	sorted = json_array();
	for (size_t i = 0; i < n; i++)
		json_append(sorted, json_copy(places[i].route));
	free(places);
	json_set(summary, "routes", sorted);
}

/* ---- the command */

static bool print(const struct show_args *a, const char *path, struct run *run, struct err *e)
{
	struct rcap *r = rcap_open(path, e);
	struct json *summary = NULL;
	bool ok = r != NULL;

	if (ok && a->is_policy) {
		show_policy(rcap_head(r), run->is_json, run->out);
	} else if (ok) {
		summary = capture_summary(r, run, e);
		ok = summary != NULL;
	}
	sort_routes(summary, summary ? a->sort : NULL);
	if (summary && run->is_json)
		json_print(summary, run->out);
	else if (summary)
		capture_summary_print(summary, path, (size_t)a->routes, run->out);
	json_free(summary);
	rcap_close(r);
	return ok;
}

static enum outcome show(struct run *run, void *args, struct cli_operands ops, struct err *e)
{
	const struct show_args *a = args;
	struct outfile file;

	if (ops.count != 1 || a->routes < 0) {
		err_set(e, ERR_USAGE,
			ops.count != 1 ? "capture show reads one file"
				       : "--routes cannot be negative");
		return OUTCOME_FAILED;
	}
	if (!check_sort(a->sort, e) || !file_is_apart(a->output, ops.items, ops.count, e) ||
		!outfile_open(&file, run, a->output, e))
		return OUTCOME_FAILED;
	bool ok = print(a, ops.items[0], run, e);
	return outfile_close(&file, ok, e) ? OUTCOME_YES : OUTCOME_FAILED;
}

const struct cli_command capture_show_command = {
	.name = "show",
	.summary = "what a capture holds: when, how much, what was lost, latency by route",
	.usage = "capture show [--policy] [--sort KEY] [--json] FILE.rcap",
	.notes = "Latencies are service times. The interval of p99 is the order statistics' at\n"
		 "95 %; a p99 of fewer than 100 requests is not shown. In flight is averaged over\n"
		 "slices of 1 ms (wider in long captures), its maximum is exact.",
	.options = options,
	.args_size = sizeof(struct show_args),
	.defaults = defaults,
	.main = show,
};
