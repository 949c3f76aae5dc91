#include "capture/cmd_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/audit.h"
#include "capture/job.h"
#include "capture/meter.h"
#include "capture/privilege.h"
#include "capture/watch.h"
#include "core/base/file.h"

struct watch_args {
	struct capture_args capture; /* what both commands have */
	struct cli_list from, breaches;
	const char *schedule;
	int64_t keep_ns, ring_ns;
};

#define AT(field) offsetof(struct watch_args, field)

static const struct cli_option options[] = {
	{ "interface", 'i', CLI_LIST, AT(capture.interfaces), "IFACE",
		"watch this interface (several times: several)" },
	{ "from", 0, CLI_LIST, AT(from), "F.pcap",
		"read packets from files instead, one after the other" },
	{ "output", 'o', CLI_TEXT, AT(capture.output), "DIR", "folder of the files (made)" },
	{ "breach", 0, CLI_LIST, AT(breaches), "ROUTE:p99>50ms",
		"keep the minutes around when a quantile is over this (several times)" },
	{ "schedule", 0, CLI_TEXT, AT(schedule), "CRON",
		"keep the minutes around these times, UTC: '*/10 * * * *'" },
	{ "ring", 0, CLI_DURATION, AT(ring_ns), "TIME",
		"the latest minutes that are there in full (default 10m)" },
	{ "keep", 0, CLI_DURATION, AT(keep_ns), "TIME",
		"counts and incidents older than this go (default 7d)" },
	{ "for", 0, CLI_DURATION, AT(capture.for_ns), "TIME", "end after this long (default 7d)" },
	{ "budget", 0, CLI_TEXT, AT(capture.budget), "LIST",
		"cpu=2%,mem=64M,disk=1G; disk is for the whole folder" },
	{ "filter", 'f', CLI_TEXT, AT(capture.filter), "BPF", "tcpdump's filter syntax" },
	{ "port", 0, CLI_LIST, AT(capture.ports), "N", "servers' port" },
	{ "key", 0, CLI_TEXT, AT(capture.key), "FILE",
		"pseudonymise under this key (mode 0600); default a fresh one" },
	{ "policy", 0, CLI_TEXT, AT(capture.policy), "FILE", "what to keep and what to replace" },
	{ "ids", 0, CLI_TEXT, AT(capture.ids), "HOW",
		"'permute' replaces all numbers; default 'keep' up to 8 digits" },
	{ 0 },
};

static void defaults(void *args)
{
	struct watch_args *a = args;

	a->capture.for_ns = a->keep_ns = 7 * 24 * 3600 * NS_PER_S;
	a->ring_ns = 600 * NS_PER_S;
}

struct watching {
	struct job job;
	const struct watch_args *args;
	struct watch_rules rules;
	struct budget budget;
	struct watch *watch;
	struct meter meter;
	int folder;
	int64_t now_ns;
	bool was_cut;
};

/* ---- opening */

static bool read_rules(struct watching *w, struct err *e)
{
	const struct watch_args *a = w->args;

	for (size_t i = 0; i < a->breaches.count; i++)
		if (!watch_rules_add(&w->rules, a->breaches.items[i], e))
			return false;
	if (a->ring_ns < 10 * NS_PER_S)
		return err_set(e, ERR_USAGE, "--ring is at least 10s");
	if (a->capture.budget && !budget_parse(&w->budget, a->capture.budget, e))
		return false;
	return !a->schedule || watch_rules_schedule(&w->rules, a->schedule, e);
}

/* Ours, or the caller's: whoever we become must be able to make files in it. */
static bool open_folder(struct watching *w, bool *ret_is_new, struct err *e)
{
	const char *path = w->args->capture.output;

	*ret_is_new = mkdir(path, 0700) == 0;
	if (!*ret_is_new && errno != EEXIST)
		return err_os(e, ERR_ENV, errno, "could not make the folder '%s'", path);
	w->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->folder < 0)
		return err_os(e, ERR_ENV, errno, "could not open the folder '%s'", path);
	if (flock(w->folder, LOCK_EX | LOCK_NB) == 0)
		return true;
	err_set(e, ERR_ENV, "another watch keeps its files in '%s'", path);
	return err_hint(e, "each watch needs a folder of its own");
}

/* What would be written from now on nobody could open. */
static bool is_folder_there(const struct watching *w, struct err *e)
{
	struct stat st;

	if (w->folder < 0 || fstat(w->folder, &st) != 0 || st.st_nlink > 0)
		return true;
	return err_set(e, ERR_ENV, "the folder '%s' was removed, and all that was in it",
		w->args->capture.output);
}

static bool enter_folder(struct watching *w, struct err *e)
{
	if (fchdir(w->folder) != 0)
		return err_os(e, ERR_ENV, errno, "could not enter the folder '%s'",
			w->args->capture.output);
	if (access(".", W_OK) == 0)
		return true;
	err_os(e, ERR_ENV, errno, "could not write into the folder '%s'", w->args->capture.output);
	return err_hint(e, "let the watch make it, or give it to the user who runs it");
}

static bool open_live(struct watching *w, struct source **ret, struct err *e)
{
	struct job *j = &w->job;
	struct budget_limits limits = budget_limits(&w->budget, j->args->interfaces.count);
	struct source_live_options o = {
		.interfaces = j->args->interfaces.items,
		.interface_count = j->args->interfaces.count,
		.filter = j->args->filter,
		.ports = j->match.ports,
		.port_count = j->match.port_count,
		.ring_bytes = limits.ring_bytes,
		.self = j->run->self,
	};
	bool is_sudo = privilege_is_sudo(), is_new;

	j->match.held_max = limits.request_bytes;
	j->reorder_max = limits.reorder_bytes;
	j->dictionary_max = limits.dictionary_bytes;
	j->cache_max = limits.cache_bytes;
	*ret = source_live_open(&o, e);
	if (!*ret || !open_folder(w, &is_new, e) || (!is_sudo && !job_load_secrets(j, e)))
		return false;
	j->facts.audit = audit_begin(j->run, *ret);
	if (!privilege_drop(is_new ? w->folder : -1, e) || (is_sudo && !job_load_secrets(j, e)))
		return false;
	audit_tell(j->facts.audit, *ret, j->policy.digest, j->output);
	job_add_source(j, "live", (*ret)->name);
	return enter_folder(w, e);
}

static bool begin(struct watching *w, int64_t now_ns, struct err *e)
{
	struct job *j = &w->job;
	struct watch_options o = { .run = j->run,
		.rules = &w->rules,
		.ring_ns = w->args->ring_ns,
		.keep_ns = w->args->keep_ns,
		.disk_bytes = w->budget.disk_bytes,
		.dictionary_max = j->dictionary_max };

	o.pipeline = (struct pipeline_options){ .policy = &j->policy,
		.key = j->key,
		.match = j->match,
		.flow_held_max = j->reorder_max,
		.cache_max = j->cache_max,
		.facts = &j->facts };
	if (getrandom(&o.pipeline.hash_seed, sizeof o.pipeline.hash_seed, GRND_NONBLOCK) < 0)
		o.pipeline.hash_seed = 1;
	j->facts.policy = &j->policy;
	j->facts.key = j->key;
	j->facts.clock_kind = "packets";
	w->now_ns = now_ns;
	w->watch = watch_new(&o, now_ns, e);
	return w->watch != NULL;
}

/* ---- reading */

static bool feed(struct watching *w, const struct source_packet *p, struct err *e)
{
	if (!w->watch && !begin(w, p->time_ns, e))
		return false;
	if (p->time_ns > w->now_ns)
		w->now_ns = p->time_ns;
	return watch_tick(w->watch, w->now_ns, e) &&
	       pipeline_packet(watch_pipeline(w->watch), p, e);
}

static bool read_file(struct watching *w, struct source *s, struct err *e)
{
	struct source_packet packet;
	enum step step;
	uint64_t n = 0;

	while ((step = source_next(s, &packet, e)) == STEP_ITEM) {
		if (!feed(w, &packet, e))
			return false;
		if (++n % 4096 == 0 && run_stopped(w->job.run))
			return true;
	}
	w->was_cut |= s->was_cut;
	if (s->was_cut)
		run_note(w->job.run, "%s; what came before it is kept", s->note);
	return step == STEP_END;
}

static bool read_files(struct watching *w, struct err *e)
{
	struct source *sources[CLI_LIST_MAX] = { 0 };
	size_t n = w->args->from.count;
	bool is_new, ok = job_load_secrets(&w->job, e);

	/* All are opened before we go into the folder: their names are the caller's. */
	for (size_t i = 0; ok && i < n; i++) {
		sources[i] = source_pcap_open(w->args->from.items[i], e);
		ok = sources[i] != NULL;
		if (ok)
			job_add_source(&w->job, "pcap", sources[i]->name);
	}
	ok = ok && open_folder(w, &is_new, e) && enter_folder(w, e);
	for (size_t i = 0; ok && i < n && !run_stopped(w->job.run); i++)
		ok = read_file(w, sources[i], e);
	for (size_t i = 0; i < n; i++)
		source_close(sources[i]);
	return ok;
}

/* Idle, time goes on by the wall. */
static bool look(struct watching *w, bool is_idle, int64_t mono_ns, struct err *e)
{
	int64_t wall_ns = clock_wall_ns(&w->job.run->clock);

	if (is_idle && wall_ns > w->now_ns)
		w->now_ns = wall_ns;
	if (is_idle && (!watch_tick(w->watch, w->now_ns, e) ||
			       !pipeline_idle(watch_pipeline(w->watch), wall_ns, e)))
		return false;
	return is_folder_there(w, e) && meter_look(&w->meter, mono_ns, wall_ns, e) != STEP_FAIL;
}

static bool read_live(struct watching *w, struct source *s, struct err *e)
{
	const struct clock *clock = &w->job.run->clock;
	int64_t mono_ns = clock_mono_ns(clock), ends_ns = mono_ns + w->args->capture.for_ns;
	struct source_packet packet;
	uint32_t n = 0;

	if (!begin(w, clock_wall_ns(clock), e))
		return false;
	w->meter = (struct meter){ .budget = w->budget,
		.source = s,
		.pipeline = watch_pipeline(w->watch),
		.facts = &w->job.facts };
	w->meter.budget.disk_bytes = 0; /* of the folder: pruned, not an end */
	meter_start(&w->meter, mono_ns);
	while (!run_stopped(w->job.run) && mono_ns < ends_ns && !w->meter.ended) {
		enum step step = source_next(s, &packet, e);

		if (step == STEP_END)
			return true;
		if (step == STEP_FAIL || (step == STEP_ITEM && !feed(w, &packet, e)))
			return false;
		if (step == STEP_ITEM && ++n % 256)
			continue;
		mono_ns = clock_mono_ns(clock);
		if (!look(w, step == STEP_MORE, mono_ns, e))
			return false;
	}
	meter_note(&w->meter, mono_ns);
	return true;
}

/* ---- the end */

static void print_result(const struct watching *w)
{
	const struct run *r = w->job.run;
	uint64_t requests = w->watch ? pipeline_requests(watch_pipeline(w->watch)) : 0;
	uint64_t incidents = w->watch ? watch_incidents(w->watch) : 0;

	if (r->is_json) {
		CLEANUP(json_cleanup) struct json *doc = json_object();

		json_set_int(doc, "requests", (int64_t)requests);
		json_set_int(doc, "incidents", (int64_t)incidents);
		json_set_text(doc, "folder", w->args->capture.output);
		json_print(doc, r->out);
	} else if (!r->is_quiet) {
		fprintf(r->out, "watched  %" PRIu64 " requests, %" PRIu64 " incidents in %s\n",
			requests, incidents, w->args->capture.output);
	}
}

static bool run_watch(struct watching *w, struct err *e)
{
	struct source *live = NULL;
	bool ok = w->args->from.count ? read_files(w, e)
				      : open_live(w, &live, e) && read_live(w, live, e);

	/* After a failure too: what is there is made whole. */
	if (w->watch) {
		struct err at_end = { 0 };
		bool is_whole = watch_end(w->watch, w->now_ns, &at_end);

		if (ok && !is_whole)
			*e = at_end;
		/* Said first: it explains whatever else failed. */
		ok = is_folder_there(w, e) && ok && is_whole;
	}
	source_close(live);
	if (ok && !w->watch) {
		err_set(e, ERR_INPUT, "no packets");
		return err_hint(e, "is it the right file?");
	}
	return ok;
}

static bool check_usage(const struct watch_args *a, struct cli_operands ops, struct err *e)
{
	if (ops.count)
		return err_set(e, ERR_USAGE, "'%s': packets come from -i or --from", ops.items[0]);
	if (!a->capture.interfaces.count == !a->from.count) {
		err_set(e, ERR_USAGE, "one of -i IFACE and --from F.pcap is needed");
		return err_hint(e, "reprod capture watch -i eth0 -o watch --breach ':p99>200ms'");
	}
	return a->capture.output || err_set(e, ERR_USAGE, "-o DIR is needed");
}

static enum outcome watch_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	struct watching w = { .args = args, .folder = -1 };
	enum outcome outcome = OUTCOME_FAILED;
	bool ok;

	if (!check_usage(args, ops, e))
		return OUTCOME_FAILED;
	ok = job_init(&w.job, r, &w.args->capture, e) && read_rules(&w, e) && run_watch(&w, e);
	if (ok) {
		print_result(&w);
		outcome = w.meter.ended ? OUTCOME_NO : OUTCOME_YES;
	}
	if (ok && run_stopped(r)) {
		err_set(e, ERR_INTERRUPTED, "interrupted");
		err_hint(e, "what came until then is in %s", w.args->capture.output);
		outcome = OUTCOME_FAILED;
	}
	if (w.meter.ended)
		run_note(r, "the %s budget is used up: the watch ended early", w.meter.ended);
	watch_free(w.watch);
	watch_rules_free(&w.rules);
	if (w.folder >= 0)
		close(w.folder);
	job_free(&w.job);
	return outcome;
}

const struct cli_command capture_watch_command = {
	.name = "watch",
	.summary = "exact counts for weeks, and the minutes around a breach or a schedule in full",
	.usage = "capture watch -i IFACE -o DIR [--breach ROUTE:p99>50ms]... [--schedule CRON]\n"
		 "capture watch --from F.pcap... -o DIR [...]",
	.notes =
		"DIR gets counts-HOUR.rcap (counts and histograms by route, no requests), ring-TIME.rcap\n"
		"(the latest minutes in full) and incident-TIME.rcap (the ring before a breach and half\n"
		"of it after). A breach that goes on makes its incident longer. ^C ends it with 130 and\n"
		"its files whole, as it does a capture; the end of --for is 0.",
	.options = options,
	.args_size = sizeof(struct watch_args),
	.defaults = defaults,
	.main = watch_main,
};
