#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/quantile.h"
#include "correlate/causes.h"
#include "correlate/cmd_watch.h"
#include "correlate/correlate.h"
#include "correlate/draft.h"
#include "correlate/input.h"
#include "correlate/remote.h"
#include "correlate/report.h"
#include "correlate/svg.h"

enum { DEFAULT_SEED = 1 };

struct correlate_args {
	struct cause_files causes;
	const char *route, *output, *svg, *draft;
	int64_t bucket_ns, floor_ns, seed;
};

/* Everything one execution owns. */
struct work {
	struct series series;
	struct causes causes;
	struct analysis analysis;
	struct input input;
	struct zone zone; /* of --zone */
	struct notes notes;
};

static void work_init(struct work *w, const struct run *r)
{
	*w = (struct work){ 0 };
	series_init(&w->series, 0);
	notes_init(&w->notes);
	causes_init(&w->causes, &w->notes, r);
	w->input.series = &w->series;
	w->input.program = "/proc/self/exe";
	w->input.notes = &w->notes;
}

static void work_free(struct work *w)
{
	analysis_free(&w->analysis);
	causes_free(&w->causes);
	zone_close(&w->zone);
	notes_free(&w->notes);
	series_free(&w->series);
}

/* Nothing is left to look at. */
static bool refuse_input(const struct input *in, const char *path, struct err *e)
{
	if (in->untimed) {
		err_set(e, ERR_INPUT, "the requests in '%s' have no latency (%llu of them)", path,
			(unsigned long long)in->untimed);
		return err_hint(e,
			"their log told only when they were: log durations ($request_time, %%D)");
	}
	if (in->gap) {
		err_set(e, ERR_INPUT, "packets are missing in all %llu requests of '%s'",
			(unsigned long long)in->gap, path);
		return err_hint(e, "capture whole packets: tcpdump -s0");
	}
	err_set(e, ERR_INPUT, "no request with an answer in '%s'", path);
	return err_hint(e, "was there traffic while it was captured?");
}

/* What inputs are called from here on: passwords in addresses are in no output. */
static void name_inputs(struct work *w, struct cli_operands ops)
{
	for (size_t i = 0; i < ops.count; i++)
		ops.items[i] = remote_name(&w->notes.texts, ops.items[i]);
}

static bool read_inputs(
	struct work *w, struct run *r, struct cli_operands ops, int64_t floor_ns, struct err *e)
{
	for (size_t i = 0; i < ops.count; i++)
		if (!input_read(&w->input, ops.items[i], r, e))
			return false;
	name_inputs(w, ops);
	if (floor_ns)
		input_set_floor(&w->input, floor_ns);
	input_notes(&w->input, &w->notes);
	if (series_finish(&w->series))
		return true;
	return refuse_input(&w->input, ops.items[0], e);
}

static const struct series_route *find_route(const struct series *s, const char *wanted)
{
	const struct series_route *best = NULL;
	char *end;
	uint64_t fingerprint = strtoull(wanted, &end, 16);
	bool is_hex = strlen(wanted) == 16 && *end == '\0';

	for (size_t i = 0; i < s->route_count; i++) {
		const struct series_route *r = s->routes[i];
		bool fits =
			(is_hex && r->fingerprint == fingerprint) || strcasestr(r->text.p, wanted);

		if (fits && (!best || r->requests > best->requests))
			best = r;
	}
	return best;
}

/* Yes: something lines up. Unsure: slow time that could not be told. No: neither. */
static enum outcome decide(const struct analysis *a, char *text, size_t size)
{
	const struct finding *best = a->finding_count ? &a->findings[0] : NULL;
	bool is_open = false;

	for (size_t i = 0; i < a->finding_count; i++)
		is_open |= !a->findings[i].metric && a->findings[i].verdict == VERDICT_CANNOT_TELL;
	/* The traffic is always tested, and built-in rhythms: they are no answer unless it
	 * lines up. */
	bool is_none_given = !a->conditions->count && !(a->metrics && a->metrics->count) &&
			     (!best || best->verdict != VERDICT_LINES_UP);
	if (!best || is_none_given) {
		snprintf(text, size, "%s",
			a->spiking_count
				? "spikes were found; no events were given to line them up with"
				: "no spikes; no events were given");
		return OUTCOME_YES;
	}
	if (best->verdict == VERDICT_LINES_UP && best->metric) {
		snprintf(text, size, "%.100s lines up: %.120s, p %.2g, q %.2g", best->condition->id,
			best->reason, best->p, best->q);
		return OUTCOME_YES;
	}
	if (best->verdict == VERDICT_LINES_UP) {
		snprintf(text, size, "%.200s lines up: lift %.3g, lag %.2f s, p %.2g, q %.2g",
			best->condition->id, best->whole.lift, best->lag.lag_s, best->p, best->q);
		return OUTCOME_YES;
	}
	if (best->verdict == VERDICT_SUGGESTIVE) {
		snprintf(text, size, "nothing lines up for sure; %.200s is suggestive",
			best->condition->id);
		return OUTCOME_UNSURE;
	}
	if (is_open && (a->spiking_count || !a->route_count)) {
		snprintf(text, size, "cannot tell: too little data for some of the conditions");
		return OUTCOME_UNSURE;
	}
	snprintf(text, size, "%s",
		a->spiking_count ? "nothing that was given lines up"
				 : "no spikes, and nothing lines up");
	return OUTCOME_NO;
}

static bool print(const struct report *report, const struct correlate_args *args,
	const struct run *r, struct err *e)
{
	struct json *doc CLEANUP(json_cleanup) = NULL;

	if (r->is_json || args->output)
		doc = report_json(report);
	if (args->output && !json_save(doc, args->output, r->is_forced, e))
		return false;
	if (args->svg && !svg_save(report, args->svg, r->is_forced, e))
		return false;
	if (args->draft && !draft_save(report, args->draft, r->is_forced, e))
		return false;
	if (r->is_json)
		json_print(doc, r->out);
	else
		report_print(report, r->out);
	return true;
}

/* What the data asks for, unless told; far from it spikes are diluted or starved. */
static int64_t bucket_of(struct work *w, const struct correlate_args *args)
{
	int64_t fit_ns = analysis_bucket(&w->series, &w->causes.conditions, w->input.has_packets);
	char told[CLOCK_TEXT_MAX], fit[CLOCK_TEXT_MAX];

	if (!args->bucket_ns)
		return fit_ns;
	if (w->series.requests < QUANTILE_P99_MIN)
		return args->bucket_ns;
	if (args->bucket_ns > 8 * fit_ns || 8 * args->bucket_ns < fit_ns)
		notes_add(&w->notes,
			"--bucket %s is far from the %s that this traffic and its conditions ask for: spikes may be missed",
			clock_duration_text(args->bucket_ns, told),
			clock_duration_text(fit_ns, fit));
	return args->bucket_ns;
}

static enum outcome correlate(struct work *w, struct run *r, const struct correlate_args *args,
	struct cli_operands ops, struct err *e)
{
	const struct series_route *named = NULL;
	char answer[300];

	const char *const outputs[] = { args->output, args->svg, args->draft };

	for (size_t i = 0; i < LENGTH(outputs); i++)
		if (outputs[i] && (!file_may_write(outputs[i], r->is_forced, e) ||
					  !file_is_apart(outputs[i], ops.items, ops.count, e)))
			return OUTCOME_FAILED;
	if (args->causes.zone) {
		if (!zone_open(&w->zone, args->causes.zone, e))
			return OUTCOME_FAILED;
		w->input.zone = &w->zone;
		w->input.zone_name = args->causes.zone;
	}
	if (!read_inputs(w, r, ops, args->floor_ns, e) ||
		!causes_read(&w->causes, &args->causes, w->series.first_ns, w->series.last_ns, e))
		return OUTCOME_FAILED;
	if (args->route && !(named = find_route(&w->series, args->route))) {
		err_set(e, ERR_USAGE, "no route contains '%.200s'", args->route);
		return OUTCOME_FAILED;
	}
	int64_t bucket_ns = bucket_of(w, args);
	if (!analysis_make(&w->analysis, &w->series, &w->causes.conditions, &w->causes.metrics,
		    named, bucket_ns, r, e))
		return OUTCOME_FAILED;
	if (run_stopped(r))
		notes_lack(&w->notes, "interrupted: not everything was read and tested");
	enum outcome outcome = decide(&w->analysis, answer, sizeof(answer));
	struct report report = { &w->analysis, &w->causes, &w->notes, ops.items, ops.count, named,
		answer };
	if (args->draft && !draft_check(&report, w->input.has_packets, e))
		return OUTCOME_FAILED;
	return print(&report, args, r, e) ? outcome : OUTCOME_FAILED;
}

static enum outcome correlate_main(
	struct run *r, void *data, struct cli_operands ops, struct err *e)
{
	const struct correlate_args *args = data;
	struct work w;

	if (!ops.count) {
		err_set(e, ERR_USAGE, "no input given");
		err_hint(e, "reprod correlate F.rcap --events jobs.jsonl");
		return OUTCOME_FAILED;
	}
	if (args->bucket_ns && args->bucket_ns < 100 * NS_PER_MS) {
		err_set(e, ERR_USAGE, "a bucket is at least 100 ms");
		return OUTCOME_FAILED;
	}
	work_init(&w, r);
	r->seed = (uint64_t)args->seed;
	w.input.header_file = args->causes.header_file;
	enum outcome outcome = correlate(&w, r, args, ops, e);
	bool was_stopped = run_stopped(r) && outcome != OUTCOME_FAILED;
	work_free(&w);
	if (was_stopped) {
		err_set(e, ERR_INTERRUPTED, "interrupted");
		return OUTCOME_FAILED;
	}
	return outcome;
}

static void correlate_defaults(void *data)
{
	struct correlate_args *args = data;

	args->seed = DEFAULT_SEED;
}

#define AT(field) offsetof(struct correlate_args, field)

static const struct cli_option options[] = {
	/* What else happened. */
	{ "events", 'e', CLI_LIST, AT(causes.events), "FILE",
		"what else happened: JSON, CSV, syslog, ... told by content, or FORMAT:FILE" },
	{ "schedule", 0, CLI_LIST, AT(causes.schedules), "FILE",
		"crontab, systemd timers, CronJobs, pg_cron or Quartz, told by content (or DIALECT:FILE)" },
	{ "crontab", 'c', CLI_LIST, AT(causes.crontabs), "FILE",
		"a crontab; each line becomes job:NAME" },
	{ "pglog", 0, CLI_LIST, AT(causes.pglogs), "FILE",
		"the server's log: checkpoints, autovacuum, lock waits, restarts" },
	{ "git", 0, CLI_LIST, AT(causes.git), "DIR", "tags and commits, as weak events" },
	{ "metric", 'm', CLI_LIST, AT(causes.metrics), "SOURCE",
		"numbers over time: CSV or JSON lines with t, name, value; prometheus:URL?query=..., prometheus:FILE" },
	{ "stats", 0, CLI_LIST, AT(causes.stats), "FILE|DIR",
		"what 'correlate watch' recorded: metrics, vacuums, checkpoints, restarts" },
	{ "zone", 'z', CLI_TEXT, AT(causes.zone), "NAME",

		"time zone of schedules that name none (UTC), and of times that have none" },
	{ "header-file", 'H', CLI_TEXT, AT(causes.header_file), "FILE",
		"lines 'Name: value' for the servers asked, such as a token" },
	/* How it is looked at. */
	{ "route", 'r', CLI_TEXT, AT(route), "TEXT",
		"test only this route: a fragment of its text, or its fingerprint" },
	{ "bucket", 'b', CLI_DURATION, AT(bucket_ns), "TIME",
		"width of the buckets (an eighth of the shortest regular period, 1 s to 60 s)" },
	{ "floor", 0, CLI_DURATION, AT(floor_ns), "TIME",
		"faster requests were not logged (log_min_duration_statement): no quantiles then" },
	{ "seed", 's', CLI_INT, AT(seed), "N", "of the shifts; same seed, same bytes (1)" },
	/* What is written. */
	{ "output", 'o', CLI_TEXT, AT(output), "FILE", "write the JSON document there as well" },
	{ "svg", 0, CLI_TEXT, AT(svg), "FILE",
		"write a picture: p99 with its interval, spikes, runs, metrics" },
	{ "draft", 0, CLI_TEXT, AT(draft), "FILE",
		"write the conditions as the beginnings of a recipe; needs one capture as input" },
	{ 0 },
};

static const struct cli_command *const subs[] = { &correlate_watch_command, NULL };

const struct cli_command correlate_command = {
	.name = "correlate",
	.summary = "line spikes up with what else happened",
	.usage = "correlate INPUT... [--events F.jsonl]... [--schedule F]... [options]",
	.notes =
		"INPUT is a capture (.rcap), a Postgres or access log, CSV or JSON lines with t, route,\n"
		"ms and status; '-' is stdin; or a server: sql:DSN?query=SELECT t, route, ms FROM ...\n"
		"(or table=),\n"
		"clickhouse:URL?query=..., prometheus:URL?query=NAME_bucket&from=-6h&route=LABEL;\n"
		"docs/formats/remote.md tells the rest. Verdicts: 'lines up', 'suggestive', 'no\n"
		"evidence' and 'cannot tell'; none of them is a cause: that takes an experiment\n"
		"('reprod recipe').\n"
		"Exit codes: 0 something lines up (or no events were given), 1 nothing does,\n"
		"6 suggestive only, or too little data to tell.",
	.options = options,
	.args_size = sizeof(struct correlate_args),
	.defaults = correlate_defaults,
	.main = correlate_main,
	.subs = subs,
};
