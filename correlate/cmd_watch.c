#include "correlate/cmd_watch.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "correlate/watch.h"

struct watch_args {
	const char *output, *keep;
	int64_t every_ns, for_ns, timeout_ns;
};

#define AT(field) offsetof(struct watch_args, field)

static const struct cli_option options[] = {
	{ "output", 'o', CLI_TEXT, AT(output), "DIR|F.rstat",
		"folder of files of an hour each (made), or one file" },
	{ "every", 'e', CLI_DURATION, AT(every_ns), "TIME", "between rounds (10s)" },
	{ "keep", 'k', CLI_TEXT, AT(keep), "TIME|SIZE",
		"what a folder may hold: 14d or 2G; the oldest files go (14d)" },
	{ "for", 0, CLI_DURATION, AT(for_ns), "TIME", "end after this long" },
	{ "timeout", 't', CLI_DURATION, AT(timeout_ns), "TIME",
		"the longest a query may run (1s)" },
	{ 0 },
};

static void defaults(void *data)
{
	struct watch_args *args = data;

	args->every_ns = 10 * NS_PER_S;
	args->timeout_ns = NS_PER_S;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n >= k && strcmp(text + n - k, end) == 0;
}

/* "14d" or "2G": a duration has a unit of time, a size one of K, M, G, T. */
static bool read_keep(const char *text, struct watch_options *o, struct err *e)
{
	static const char letters[] = "KMGT";
	size_t n = strlen(text);
	char *end;
	double number = strtod(text, &end);
	const char *letter = *end ? strchr(letters, *end) : NULL;

	if (letter && n && end > text && !end[1] && number > 0 && number < 1e6) {
		o->keep_bytes =
			(int64_t)(number * (double)(INT64_C(1) << 10 * (letter - letters + 1)));
		if (o->keep_bytes >= 1 << 20)
			return true;
		return err_set(e, ERR_USAGE, "--keep is at least 1M");
	}
	if (!letter && n && (text[n - 1] < '0' || text[n - 1] > '9') &&
		clock_parse_duration(slice_of(text), &o->keep_ns)) {
		if (o->keep_ns >= 60 * NS_PER_S)
			return true;
		return err_set(e, ERR_USAGE, "--keep is at least 1m");
	}
	err_set(e, ERR_USAGE, "option '--keep' needs a time or a size, not '%s'", text);
	return err_hint(e, "--keep 14d, or --keep 2G");
}

static bool read_options(const struct watch_args *args, struct watch_options *o, struct err *e)
{
	if (!args->output) {
		err_set(e, ERR_USAGE, "no output given");
		return err_hint(e, "reprod correlate watch DSN -o DIR");
	}
	o->output = args->output;
	o->is_folder = !ends_with(o->output, ".rstat");
	o->every_ns = args->every_ns;
	o->for_ns = args->for_ns;
	o->timeout_ns = args->timeout_ns;
	if (o->every_ns < NS_PER_S)
		return err_set(e, ERR_USAGE, "--every is at least 1s");
	if (o->timeout_ns < 10 * NS_PER_MS || o->timeout_ns > 60 * NS_PER_S)
		return err_set(e, ERR_USAGE, "--timeout is between 10ms and 60s");
	if (o->is_folder)
		return read_keep(args->keep ? args->keep : "14d", o, e);
	if (args->keep) {
		err_set(e, ERR_USAGE, "--keep needs a folder: a single file only grows");
		return err_hint(e, "-o DIR --keep %s", args->keep);
	}
	return file_may_write(o->output, o->run->is_forced, e);
}

static double each_ms(int64_t ns, uint64_t rounds)
{
	return rounds ? (double)ns / 1e6 / (double)rounds : 0;
}

static struct json *result_json(const struct watch_options *o, const struct watch_result *r)
{
	struct json *doc = json_object(), *cost = json_object();

	json_set_text(doc, "output", o->output);
	json_set_int(doc, "rounds", (int64_t)r->rounds);
	json_set_int(doc, "rounds_with_server", (int64_t)r->with_server);
	json_set_int(doc, "gaps", (int64_t)r->gaps);
	json_set_int(doc, "files", (int64_t)r->files);
	json_set_int(doc, "files_dropped", (int64_t)r->dropped);
	json_set_int(doc, "bytes", (int64_t)r->bytes);
	json_set_int(doc, "server_version", r->version);
	json_set_bool(doc, "has_host", r->is_local);
	if (r->rounds) {
		json_set_time(doc, "start", r->first_ns);
		json_set_time(doc, "end", r->last_ns);
	}
	json_set_number(cost, "cpu_ms", each_ms(r->cpu_ns, r->rounds));
	json_set_number(cost, "server_ms", each_ms(r->cost.server_ns, r->rounds));
	json_set_number(cost, "server_cpu_ms", each_ms(r->cost.server_cpu_ns, r->rounds));
	json_set(doc, "cost_of_a_round", cost);
	json_set_int(doc, "sections_skipped", (int64_t)r->cost.skipped);
	json_set_int(doc, "timeouts", (int64_t)r->cost.failed);
	return doc;
}

static void print_result(
	const struct watch_options *o, const struct watch_result *r, const struct run *run)
{
	char length[CLOCK_TEXT_MAX];

	if (run->is_json) {
		struct json *doc CLEANUP(json_cleanup) = result_json(o, r);

		json_print(doc, run->out);
		return;
	}
	fprintf(run->out,
		"%" PRIu64 " rounds over %s in %" PRIu64 " bytes of '%s': server %d%s, %" PRIu64
		" gaps, %" PRIu64 " sections left out\n"
		"a round took %.2f ms of our CPU, %.2f ms of waiting for the server (%.2f ms of its CPU)\n",
		r->rounds, clock_duration_text(r->last_ns - r->first_ns, length), r->bytes,
		o->output, r->version / 10000, r->is_local ? " and its host" : "", r->gaps,
		r->cost.skipped, each_ms(r->cpu_ns, r->rounds),
		each_ms(r->cost.server_ns, r->rounds), each_ms(r->cost.server_cpu_ns, r->rounds));
}

static enum outcome watch_main(struct run *r, void *data, struct cli_operands ops, struct err *e)
{
	struct watch_options o = { .run = r, .dsn = ops.count ? ops.items[0] : "" };
	struct watch_result result;

	if (ops.count > 1) {
		err_set(e, ERR_USAGE, "one server at a time: '%s' is too much", ops.items[1]);
		return OUTCOME_FAILED;
	}
	if (!read_options(data, &o, e))
		return OUTCOME_FAILED;
	/* A limit of the file's size is a full disk, not a death. */
	signal(SIGXFSZ, SIG_IGN);
	bool ok = watch_record(&o, &result, e);
	if (result.rounds)
		print_result(&o, &result, r);
	if (ok && run_stopped(r)) {
		err_set(e, ERR_INTERRUPTED, "interrupted; what was recorded is kept");
		return OUTCOME_FAILED;
	}
	return ok ? OUTCOME_YES : OUTCOME_FAILED;
}

const struct cli_command correlate_watch_command = {
	.name = "watch",
	.summary = "record Postgres statistics and the host's pressure over weeks",
	.usage = "correlate watch [DSN] -o DIR|F.rstat [--every 10s] [--keep 14d|2G] [--for TIME]",
	.notes =
		"Read it back with 'reprod correlate INPUT --stats DIR'. Recorded are counters and\n"
		"gauges of tables, indexes, statements (by query id), locks, waits, checkpoints, WAL,\n"
		"replication and I/O, and, of a server on this machine, pressure stalls, processors,\n"
		"memory and disks. No query texts, addresses, user names or values of settings.\n"
		"The role needs pg_monitor to see others' waits. Connect to the server, not to a pooler.\n"
		"Ends at SIGINT or SIGTERM (exit code 130: what was recorded is kept and readable).",
	.options = options,
	.args_size = sizeof(struct watch_args),
	.defaults = defaults,
	.main = watch_main,
};
