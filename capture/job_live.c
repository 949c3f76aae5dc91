/* Capturing live: open, drop privileges, read until the time is over. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "capture/audit.h"
#include "capture/job.h"
#include "capture/meter.h"
#include "capture/probe.h"
#include "core/base/rng.h"
#include "capture/privilege.h"
#include "capture/summary.h"

enum {
	DRAIN_MS = 150,
	ALARM_LATE_MS = 3000,
	PROBE_SETTLE_MS = 150,
	PROBE_WINDOW_MIN_MS = 100,
};

struct live {
	struct source *source;
	struct meter meter;
	size_t ring_bytes;
	timer_t alarm;
	bool has_alarm;
	int64_t ends_ns, said_ns; /* monotonic */
	uint64_t said_requests;
	bool has_said;
};

/* One line: once a second on a terminal, else every ten. */
static void say_status(struct job *j, struct live *l, int64_t mono_ns)
{
	const struct ledger *g = pipeline_ledger(j->pipeline);
	bool is_terminal = isatty(fileno(j->run->log));
	uint64_t requests = pipeline_requests(j->pipeline);
	enum shed_level level = l->meter.shed.level;
	char left[CLOCK_TEXT_MAX];

	if (j->run->is_quiet || mono_ns - l->said_ns < (is_terminal ? 1 : 10) * NS_PER_S)
		return;
	l->said_ns = mono_ns;
	meter_note(&l->meter, mono_ns);
	fprintf(j->run->log,
		"%s%" PRIu64 " packets, %" PRIu64 " requests, %" PRIu64 " dropped by the kernel; "
		"our CPU %.1f ms per 1,000 requests, %.1f %% of a core; at most %" PRId64
		" MB; %s%s%s",
		is_terminal ? "\r\033[K" : "", g->packets_seen, requests, g->lost[LOST_KERNEL],
		requests ? (double)gauge_cpu_ns(&l->meter.gauge) / 1e6 * 1000 / (double)requests
			 : 0.0,
		100 * l->meter.gauge.share, l->meter.gauge.mem_max_bytes >> 20,
		level ? "shedding " : "", level ? shed_name(level) : "", level ? "; " : "");
	fprintf(j->run->log, "%s left%s", clock_duration_text(l->ends_ns - mono_ns, left),
		is_terminal ? "" : "\n");
	fflush(j->run->log);
	l->has_said = is_terminal;
}

/* Packets from before the end may still be in a block that the kernel has not handed
 * over: blocks come at the latest 64 ms after their first packet. */
static bool drain(struct job *j, struct live *l, struct err *e)
{
	const struct clock *clock = &j->run->clock;
	int64_t ends_ns = clock_wall_ns(clock),
		gives_up_ns = clock_mono_ns(clock) + DRAIN_MS * NS_PER_MS;
	struct source_packet packet;

	while (clock_mono_ns(clock) < gives_up_ns) {
		enum step step = source_next(l->source, &packet, e);

		if (step == STEP_FAIL)
			return false;
		if (step == STEP_END || (step == STEP_ITEM && packet.time_ns > ends_ns))
			break;
		if (step == STEP_ITEM && !pipeline_packet(j->pipeline, &packet, e))
			return false;
	}
	return true;
}

/* ---- the probe */

static bool read_for(struct job *j, struct live *l, int64_t for_ns, struct err *e)
{
	const struct clock *clock = &j->run->clock;
	int64_t ends_ns = clock_mono_ns(clock) + for_ns;
	struct source_packet packet;
	uint32_t n = 0;

	for (;;) {
		enum step step = source_next(l->source, &packet, e);

		if (step == STEP_FAIL)
			return false;
		if (step == STEP_END || run_stopped(j->run))
			return true;
		if (step == STEP_ITEM && !pipeline_packet(j->pipeline, &packet, e))
			return false;
		if (step == STEP_ITEM && ++n % 256)
			continue;
		if (step == STEP_MORE && !pipeline_idle(j->pipeline, clock_wall_ns(clock), e))
			return false;
		if (clock_mono_ns(clock) >= ends_ns)
			return true;
	}
}

/* Filters are changed, and a part of a second passes, before the window opens. */
static bool probe_window(
	struct job *j, struct live *l, struct probe *p, size_t pair, bool is_on, struct err *e)
{
	CLEANUP(buf_free) struct buf filter = { 0 };
	enum shed_level level = is_on ? SHED_NONE : SHED_SIXTEENTH;
	struct probe_reading from, to;

	shed_filter(level, source_live_filter(l->source), &filter);
	if (!source_live_refilter(l->source, buf_text(&filter), e) ||
		!pipeline_shed(j->pipeline, level, e) ||
		!read_for(j, l, PROBE_SETTLE_MS * NS_PER_MS, e))
		return false;
	p->now = &p->windows[pair][is_on];
	probe_read(p, clock_mono_ns(&j->run->clock), &from);
	if (!read_for(j, l, j->args->probe_window_ns, e))
		return false;
	probe_read(p, clock_mono_ns(&j->run->clock), &to);
	probe_window_set(p->now, &from, &to);
	p->now = NULL;
	return true;
}

static void say_probe(struct job *j, const struct json *doc)
{
	run_note(j->run,
		"probe: capturing takes %.2f %% of a core itself, the host %+.2f %% more [%.2f, %.2f]; "
		"%.2f %% would have shown",
		100 * json_number(json_path(doc, "own_cpu_share.on"), 0),
		100 * json_number(json_path(doc, "host_cpu_share.delta"), 0),
		100 * json_number(json_path(doc, "host_cpu_share.low"), 0),
		100 * json_number(json_path(doc, "host_cpu_share.high"), 0),
		100 * json_number(json_path(doc, "host_cpu_share.smallest"), 0));
	if (json_type(json_path(doc, "host_cpu_us_per_request.low")) == JSON_NUMBER)
		run_note(j->run,
			"probe: the host's CPU for a request is %.1f us without and %+.1f us [%.1f, %.1f] with; "
			"%.1f us would have shown",
			json_number(json_path(doc, "host_cpu_us_per_request.off"), 0),
			json_number(json_path(doc, "host_cpu_us_per_request.delta"), 0),
			json_number(json_path(doc, "host_cpu_us_per_request.low"), 0),
			json_number(json_path(doc, "host_cpu_us_per_request.high"), 0),
			json_number(json_path(doc, "host_cpu_us_per_request.smallest"), 0));
	if (json_type(json_path(doc, "p99_change.low")) == JSON_NUMBER)
		run_note(j->run, "probe: p99 x%.2f [%.2f, %.2f]; x%.2f would have shown",
			json_number(json_path(doc, "p99_change.ratio"), 0),
			json_number(json_path(doc, "p99_change.low"), 0),
			json_number(json_path(doc, "p99_change.high"), 0),
			json_number(json_path(doc, "p99_change.smallest"), 0));
	else
		run_note(
			j->run, "probe: too few requests in a sixteenth of the sessions for a p99");
}

#define PROBE_WINDOW_MAX_NS (3600 * NS_PER_S)

static int64_t probe_pair_ns(const struct capture_args *a)
{
	return 2 * (a->probe_window_ns + PROBE_SETTLE_MS * NS_PER_MS);
}

/* Half of the time is the probe's at most, but for the fewest pairs that say anything. */
static size_t probe_pairs(const struct capture_args *a)
{
	int64_t n = a->for_ns / 2 / probe_pair_ns(a);

	return n < PROBE_PAIRS_MIN ? PROBE_PAIRS_MIN : n > PROBE_PAIRS ? PROBE_PAIRS : (size_t)n;
}

/* Pairs of windows with and without; over the budget the capture ends here. */
static bool run_probe(struct job *j, struct live *l, struct err *e)
{
	struct probe p = { .interfaces = j->args->interfaces.items,
		.interface_count = j->args->interfaces.count,
		.target_pid = (int)j->args->probe_pid,
		.pairs = probe_pairs(j->args) };
	struct rng rng;
	bool ok = true;

	rng_seed(&rng, j->run->seed);
	pipeline_tap(j->pipeline, probe_tap(&p));
	for (size_t i = 0; ok && i < p.pairs && !run_stopped(j->run); i++) {
		bool is_on_first = rng_below(&rng, 2);

		ok = probe_window(j, l, &p, i, is_on_first, e) &&
		     probe_window(j, l, &p, i, !is_on_first, e);
	}
	pipeline_tap(j->pipeline, (struct valve_tap){ 0 });
	if (ok && !run_stopped(j->run)) {
		j->facts.probe = probe_json(&p);
		say_probe(j, j->facts.probe);
		if (probe_is_over(&p, l->meter.budget.cpu_share))
			l->meter.ended = "cpu";
		json_set_bool(j->facts.probe, "detached", l->meter.ended != NULL);
		ok = source_live_refilter(
			     l->source, l->meter.ended ? NULL : source_live_filter(l->source), e) &&
		     pipeline_shed(j->pipeline, SHED_NONE, e);
	}
	probe_free(&p);
	return ok;
}

static bool capture_until(struct job *j, struct live *l, struct err *e)
{
	const struct clock *clock = &j->run->clock;
	struct source_packet packet;
	uint32_t n = 0;

	for (;;) {
		enum step step = source_next(l->source, &packet, e);
		int64_t mono_ns;

		if (step == STEP_FAIL)
			return false;
		if (step == STEP_END)
			return true;
		if (step == STEP_ITEM && !pipeline_packet(j->pipeline, &packet, e))
			return false;
		/* The clock is asked once in 256 packets. */
		if (step == STEP_ITEM && ++n % 256)
			continue;
		if (step == STEP_MORE && !pipeline_idle(j->pipeline, clock_wall_ns(clock), e))
			return false;
		mono_ns = clock_mono_ns(clock);
		if (run_stopped(j->run) || mono_ns >= l->ends_ns)
			return drain(j, l, e);
		step = meter_look(&l->meter, mono_ns, clock_wall_ns(clock), e);
		if (step != STEP_ITEM)
			return step == STEP_END;
		say_status(j, l, mono_ns);
	}
}

/* Root's output cannot be read again after root became nobody: a child forked before
 * that waits for a byte and prints the summary. It reads our own file alone. */
static bool fork_helper(struct job *j, struct err *e)
{
	int ends[2];
	pid_t pid;

	if (!j->run->is_json || geteuid() != 0)
		return true;
	if (pipe(ends) != 0)
		return err_os(e, ERR_ENV, errno, "could not make a pipe");
	fflush(j->run->out);
	pid = fork();
	if (pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return err_os(e, ERR_ENV, errno, "could not fork");
	}
	if (pid == 0) {
		struct err ours = { 0 };
		char go = 0;
		bool ok = false;
		struct rcap *r;
		struct json *doc;

		close(ends[1]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGINT, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
		if (read(ends[0], &go, 1) != 1)
			_exit(0);
		r = rcap_open(j->output, &ours);
		doc = r ? capture_summary(r, j->run, &ours) : NULL;
		if (doc) {
			json_print(doc, j->run->out);
			ok = fflush(j->run->out) == 0;
		} else {
			err_print(&ours, j->run->log);
		}
		_exit(ok ? 0 : 1);
	}
	close(ends[0]);
	j->summary_fd = ends[1];
	j->summary_pid = pid;
	return true;
}

static bool open_all(struct job *j, struct live *l, struct err *e)
{
	struct source_live_options o = {
		.interfaces = j->args->interfaces.items,
		.interface_count = j->args->interfaces.count,
		.filter = j->args->filter,
		.ports = j->match.ports,
		.port_count = j->match.port_count,
		.ring_bytes = l->ring_bytes,
		.self = j->run->self,
	};
	bool is_sudo = privilege_is_sudo();

	l->source = source_live_open(&o, e);
	if (!l->source || !job_create_output(j, e))
		return false;
	/* The key belongs to the user who called sudo, or to root itself. */
	if (!is_sudo && !job_load_secrets(j, e))
		return false;
	if (!is_sudo && !fork_helper(j, e))
		return false;
	j->facts.audit = audit_begin(j->run, l->source);
	if (!privilege_drop(j->output_fd, e) || (is_sudo && !job_load_secrets(j, e)))
		return false;
	audit_tell(j->facts.audit, l->source, j->policy.digest, j->output);
	job_add_source(j, "live", l->source->name);
	return job_start(j, e);
}

static bool finish(struct job *j, struct live *l, struct err *e)
{
	bool is_whole = !run_stopped(j->run) && !l->source->was_cut;

	meter_note(&l->meter, clock_mono_ns(&j->run->clock));
	j->facts.ended = l->meter.ended;
	if (l->has_said)
		fputc('\n', j->run->log);
	if (l->source->note[0])
		run_note(j->run, "%s", l->source->note);
	if (l->meter.ended)
		run_note(j->run, "the %s budget is used up: the capture ended early",
			l->meter.ended);
	return job_finish(j, is_whole, e);
}

static bool check_probe(const struct capture_args *a, struct err *e)
{
	char text[CLOCK_TEXT_MAX];
	int64_t least_ns;

	if (a->is_probing && a->probe_window_ns > PROBE_WINDOW_MAX_NS)
		return err_set(e, ERR_USAGE, "--probe-window is at most an hour");
	least_ns = PROBE_PAIRS_MIN * probe_pair_ns(a) * 5 / 4;
	if (!a->is_probing ||
		(a->for_ns >= least_ns && a->probe_window_ns >= PROBE_WINDOW_MIN_MS * NS_PER_MS))
		return true;
	if (a->probe_window_ns < PROBE_WINDOW_MIN_MS * NS_PER_MS)
		return err_set(
			e, ERR_USAGE, "--probe-window is at least %d ms", PROBE_WINDOW_MIN_MS);
	return err_set(e, ERR_USAGE, "--probe with such windows needs a --for of at least %s",
		clock_duration_text(least_ns, text));
}

static bool read_budget(struct job *j, struct live *l, struct err *e)
{
	struct budget_limits limits;

	if (j->args->budget && !budget_parse(&l->meter.budget, j->args->budget, e))
		return false;
	if (!check_probe(j->args, e))
		return false;
	if (j->args->probe_pid &&
		(j->args->probe_pid < 1 ||
			(kill((pid_t)j->args->probe_pid, 0) != 0 && errno == ESRCH))) {
		err_set(e, ERR_USAGE, "--probe-pid: there is no process %" PRId64,
			j->args->probe_pid);
		return err_hint(e, "pgrep -o postgres tells the server's");
	}
	limits = budget_limits(&l->meter.budget, j->args->interfaces.count);
	j->match.held_max = limits.request_bytes;
	j->reorder_max = limits.reorder_bytes;
	j->waiting_max = limits.waiting_bytes;
	j->dictionary_max = limits.dictionary_bytes;
	j->cache_max = limits.cache_bytes;
	l->ring_bytes = limits.ring_bytes;
	return true;
}

/* An output that takes nothing holds up our only thread; the kernel's ring then fills and
 * drops. So that --for is kept even then, the time's end is a signal too. */
static void begin(struct job *j, struct live *l)
{
	struct sigevent how = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM };
	int64_t at_ns = j->args->for_ns + ALARM_LATE_MS * NS_PER_MS;
	struct itimerspec when = { .it_value = { at_ns / NS_PER_S, at_ns % NS_PER_S } };

	l->meter.source = l->source;
	l->meter.pipeline = j->pipeline;
	l->meter.writer = j->writer;
	l->meter.facts = &j->facts;
	meter_start(&l->meter, l->said_ns);
	l->has_alarm = timer_create(CLOCK_MONOTONIC, &how, &l->alarm) == 0 &&
		       timer_settime(l->alarm, 0, &when, NULL) == 0;
}

enum outcome job_live(struct job *j, struct err *e)
{
	struct live l = { 0 };
	bool ok = read_budget(j, &l, e) && open_all(j, &l, e);

	if (ok) {
		l.said_ns = clock_mono_ns(&j->run->clock);
		l.ends_ns = l.said_ns + j->args->for_ns;
		begin(j, &l);
		ok = (!j->args->is_probing || run_probe(j, &l, e)) &&
		     (l.meter.ended || capture_until(j, &l, e));
	}
	if (j->writer && j->pipeline) {
		struct err at_end = { 0 };

		if (!finish(j, &l, &at_end) && ok) {
			*e = at_end;
			ok = false;
		}
	} else if (j->is_created) {
		unlink(j->output);
	}
	source_close(l.source);
	if (l.has_alarm)
		timer_delete(l.alarm);
	if (ok && run_stopped(j->run)) {
		err_set(e, ERR_INTERRUPTED, "interrupted");
		err_hint(e, "what came until then is in %s", j->output);
		return OUTCOME_FAILED;
	}
	if (!ok || !job_judge_emptiness(j, ERR_ENV, e))
		return OUTCOME_FAILED;
	/* The disk's end is an end like that of --for; the others mean that it cost too much. */
	return l.meter.ended && strcmp(l.meter.ended, "disk") != 0 ? OUTCOME_NO : OUTCOME_YES;
}
