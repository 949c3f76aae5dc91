#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/probe.h"
#include "capture/selftest_traffic.h"
#include "core/base/file.h"
#include "core/base/proc.h"
#include "core/base/quantile.h"
#include "core/model/rcap.h"

enum {
	WINDOWS = 6, /* of each kind */
	WINDOW_MS = 300,
	MEM_MB = 32,
	PIPE_BYTES = 4096,
};

/* The stall is judged against the same capture with an output that takes everything, so
 * that what capturing at full speed costs is in both. Slower beyond chance by more than a
 * twentieth, or by a fifth at all, is not held; a reader that holds up the traffic would
 * stop it. */
static const double least_high = 0.95, least_ratio = 0.8;

enum kind { ALONE, HEALTHY, STALLED, KINDS };

static const char *const kind_names[KINDS] = { "without", "healthy", "stalled" };

struct drop_test {
	struct run *run;
	char dir[64], fifo[96], healthy[96], kept[96], log[96];
	struct traffic traffic;
	struct proc capture;
	int pipe; /* our end, from which nobody reads */
	double rate[KINDS][WINDOWS], p99_ms[KINDS][WINDOWS];
	int64_t mem_max_bytes;
	uint64_t dropped, captured;
	bool is_whole;
};

/* ---- measuring */

static bool measure(struct drop_test *t, enum kind kind, struct err *e)
{
	for (int i = 0; i < WINDOWS; i++) {
		struct traffic_window w;
		bool ok = traffic_run(&t->traffic, WINDOW_MS * NS_PER_MS, &w, e);

		t->rate[kind][i] = w.span_ns ? (double)w.requests * 1e9 / (double)w.span_ns : 0;
		t->p99_ms[kind][i] = (double)hist_quantile(&w.latency_us, 0.99) / 1000;
		hist_free(&w.latency_us);
		if (!ok)
			return false;
	}
	return true;
}

static double median(const double values[WINDOWS])
{
	double sorted[WINDOWS];

	memcpy(sorted, values, sizeof sorted);
	quantile_sort(sorted, WINDOWS);
	return quantile_of(sorted, WINDOWS, 0.5);
}

static void read_memory(struct drop_test *t)
{
	char path[64];
	CLEANUP(buf_free) struct buf text = { 0 };
	struct err ignored = { 0 };
	const char *at;

	snprintf(path, sizeof path, "/proc/%d/status", (int)t->capture.pid);
	if (file_read(path, 1 << 16, &text, &ignored) && (at = strstr(buf_text(&text), "VmHWM:")))
		t->mem_max_bytes = strtoll(at + 6, NULL, 10) * 1024;
}

/* ---- the capture */

static bool make_places(struct drop_test *t, struct err *e)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(t->dir, sizeof t->dir, "%.40s/reprod-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(t->dir))
		return err_os(e, ERR_ENV, errno, "could not make a folder in '%s'", t->dir);
	snprintf(t->fifo, sizeof t->fifo, "%s/stalled", t->dir);
	snprintf(t->healthy, sizeof t->healthy, "%s/healthy.rcap", t->dir);
	snprintf(t->kept, sizeof t->kept, "%s/kept.rcap", t->dir);
	snprintf(t->log, sizeof t->log, "%s/log", t->dir);
	if (mkfifo(t->fifo, 0600) != 0)
		return err_os(e, ERR_ENV, errno, "could not make a pipe in '%s'", t->dir);
	t->pipe = open(t->fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (t->pipe < 0)
		return err_os(e, ERR_ENV, errno, "could not open a pipe");
	fcntl(t->pipe, F_SETPIPE_SZ, PIPE_BYTES);
	return true;
}

static bool has_begun(const struct drop_test *t)
{
	struct stat st;

	return stat(t->healthy, &st) == 0 && st.st_size > 0;
}

static bool has_bytes(const struct drop_test *t)
{
	struct pollfd p = { .fd = t->pipe, .events = POLLIN };

	return poll(&p, 1, 20) == 1 && p.revents & POLLIN;
}

/* The first thing that it writes is the file's header: then its sockets are open. */
static bool start_capture(struct drop_test *t, enum kind kind, struct err *e)
{
	char port[8], mem[16];
	const char *argv[] = { t->run->self, "capture", "-i", "lo", "--port", port, "--for", "10m",
		"--budget", mem, "--force", "-q", "-o", kind == STALLED ? t->fifo : t->healthy,
		NULL };
	struct proc_spec spec = { .argv = argv, .out_path = t->log };
	int64_t gives_up_ns = clock_real_mono_ns() + 10 * NS_PER_S;

	snprintf(port, sizeof port, "%u", t->traffic.port);
	snprintf(mem, sizeof mem, "mem=%dM", MEM_MB);
	if (!proc_open(&t->capture, &spec, e))
		return false;
	while (!(kind == STALLED ? has_bytes(t) : has_begun(t)) &&
		clock_real_mono_ns() < gives_up_ns) {
		struct timespec a_moment = { .tv_nsec = 5 * NS_PER_MS };

		nanosleep(&a_moment, NULL);
		proc_poll(&t->capture);
		if (!t->capture.has_ended)
			continue;
		CLEANUP(buf_free) struct buf text = { 0 };
		struct err ignored = { 0 };

		if (file_read(t->log, 4096, &text, &ignored) && text.n)
			fwrite(text.p, 1, text.n, t->run->log);
		err_set(e, ERR_ENV, "the capture did not start");
		return err_hint(e, "it needs root, or CAP_NET_RAW on this program");
	}
	return true;
}

/* Reading starts again, and what comes is kept; the capture is asked to end. */
static bool release(struct drop_test *t, struct err *e)
{
	int out = open(t->kept, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int64_t gives_up_ns = clock_real_mono_ns() + 20 * NS_PER_S;
	char bytes[65536];

	if (out < 0)
		return err_os(e, ERR_ENV, errno, "could not create '%s'", t->kept);
	kill(t->capture.pid, SIGTERM);
	while (clock_real_mono_ns() < gives_up_ns) {
		ssize_t n = has_bytes(t) ? read(t->pipe, bytes, sizeof bytes) : 0;

		if (n > 0 && write(out, bytes, (size_t)n) != n)
			break;
		proc_poll(&t->capture);
		if (n <= 0 && t->capture.has_ended)
			break;
	}
	close(out);
	return t->capture.has_ended || err_set(e, ERR_ENV, "the capture did not end");
}

static bool read_capture(struct drop_test *t, struct err *e)
{
	struct rcap *r = rcap_open(t->kept, e);

	if (!r)
		return false;
	t->is_whole = rcap_is_finished(r) && !rcap_damaged_blocks(r);
	t->captured = rcap_totals(r).requests;
	t->dropped = (uint64_t)json_int(json_path(rcap_head(r), "cost.drops.kernel"), 0);
	rcap_close(r);
	return true;
}

/* ---- the answer */

/* Of the rates, stalled over healthy; window by window. */
static struct probe_effect ratio_of(const struct drop_test *t)
{
	double healthy[WINDOWS], stalled[WINDOWS];
	struct probe_effect r;

	for (int i = 0; i < WINDOWS; i++) {
		healthy[i] = log(t->rate[HEALTHY][i]);
		stalled[i] = log(t->rate[STALLED][i]);
	}
	r = probe_compare(healthy, stalled, WINDOWS);
	return (struct probe_effect){ r.pairs, exp(r.mean), exp(r.low), exp(r.high),
		exp(-r.smallest) };
}

static bool judge(const struct drop_test *t)
{
	struct probe_effect r = ratio_of(t);

	return r.mean >= least_ratio && r.high >= least_high && t->dropped && t->is_whole &&
	       t->mem_max_bytes <= (int64_t)MEM_MB << 20;
}

static void print_json(const struct drop_test *t, bool is_held)
{
	CLEANUP(json_cleanup) struct json *doc = json_object();

	struct probe_effect r = ratio_of(t);
	struct json *ratio = json_object();

	for (int kind = 0; kind < KINDS; kind++) {
		struct json *j = json_object();

		json_set_number(j, "rate_per_s", median(t->rate[kind]));
		json_set_number(j, "p99_ms", median(t->p99_ms[kind]));
		json_set(doc, kind_names[kind], j);
	}
	json_set_number(ratio, "mean", r.mean);
	json_set_number(ratio, "low", r.low);
	json_set_number(ratio, "high", r.high);
	json_set_number(ratio, "smallest", r.smallest);
	json_set(doc, "stalled_over_healthy", ratio);
	json_set_int(doc, "dropped_packets", (int64_t)t->dropped);
	json_set_int(doc, "captured_requests", (int64_t)t->captured);
	json_set_int(doc, "memory_max_bytes", t->mem_max_bytes);
	json_set_int(doc, "memory_cap_bytes", (int64_t)MEM_MB << 20);
	json_set_bool(doc, "file_whole", t->is_whole);
	json_set_bool(doc, "ok", is_held);
	json_print(doc, t->run->out);
}

static void print_text(const struct drop_test *t, bool is_held)
{
	FILE *to = t->run->out;
	struct probe_effect r = ratio_of(t);

	fprintf(to, "                      requests/s     p99 ms   (medians of %d windows)\n",
		WINDOWS);
	for (int kind = 0; kind < KINDS; kind++)
		fprintf(to, "  %-8s capture  %12.0f %10.3f\n", kind_names[kind],
			median(t->rate[kind]), median(t->p99_ms[kind]));
	fprintf(to,
		"  stalled over healthy: %.2f [%.2f, %.2f] of the rate; a loss to %.2f would have shown\n",
		r.mean, r.low, r.high, r.smallest);
	fprintf(to,
		"  %" PRIu64 " packets dropped and counted, %" PRIu64
		" requests captured, file %s, memory at most %.1f of %d MB\n",
		t->dropped, t->captured, t->is_whole ? "whole" : "not whole",
		(double)t->mem_max_bytes / (1 << 20), MEM_MB);
	fprintf(to, "%s\n",
		is_held ? "held: a capture whose output stalls drops packets, it holds up nobody"
			: "NOT held");
}

static bool run_test(struct drop_test *t, struct err *e)
{
	if (!traffic_open(&t->traffic, e) || !make_places(t, e) || !measure(t, ALONE, e) ||
		!start_capture(t, HEALTHY, e) || !measure(t, HEALTHY, e))
		return false;
	proc_close(&t->capture, 5000);
	if (!start_capture(t, STALLED, e) || !measure(t, STALLED, e))
		return false;
	read_memory(t);
	return release(t, e) && read_capture(t, e);
}

static enum outcome drop_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	struct drop_test t = { .run = r, .pipe = -1 };
	struct err ignored = { 0 };
	bool ok, is_held;

	(void)args;
	if (ops.count) {
		err_set(e, ERR_USAGE, "'selftest drop' takes no operands");
		return OUTCOME_FAILED;
	}
	ok = run_test(&t, e);
	is_held = ok && judge(&t);
	proc_close(&t.capture, 1000);
	traffic_close(&t.traffic);
	if (t.pipe >= 0)
		close(t.pipe);
	if (t.kept[0])
		(void)!file_remove_tree(t.dir, &ignored);
	if (!ok)
		return OUTCOME_FAILED;
	if (r->is_json)
		print_json(&t, is_held);
	else
		print_text(&t, is_held);
	return is_held ? OUTCOME_YES : OUTCOME_NO;
}

static const struct cli_command drop_command = {
	.name = "drop",
	.summary = "a capture whose output stalls drops packets and holds up nobody",
	.usage = "selftest drop [--json]",
	.notes =
		"Traffic over loopback: alone, beside a capture, and beside one that writes into a\n"
		"pipe which nobody reads. Exit 0: the stall did not slow the traffic down, the drops\n"
		"were counted, memory stayed at its cap and the file is whole. Takes about seven\n"
		"seconds; needs root, or CAP_NET_RAW on this program.",
	.main = drop_main,
};

static const struct cli_command *const subs[] = { &drop_command, NULL };

const struct cli_command selftest_command = {
	.name = "selftest",
	.summary = "test the tool's promises on this host",
	.usage = "selftest drop",
	.subs = subs,
};
