/* Reading files: packets of several merged by time, or logs. */
#include <sys/stat.h>
#include <unistd.h>

#include "capture/job.h"
#include "capture/optioncheck.h"
#include "capture/sniff.h"
#include "capture/log/source_access.h"
#include "capture/log/source_gor.h"
#include "capture/log/source_pglog.h"
#include "core/base/file.h"

struct input {
	struct source *source;
	struct source_packet packet; /* the next one, borrowed from the source */
	bool has_packet;
};

struct inputs {
	struct input items[CLI_LIST_MAX];
	size_t count;
	bool was_cut;
};

/* What the host that wrote a pcapng file lost. */
static void add_drops(struct job *j, struct source *s)
{
	struct source_drops d = { 0 };
	struct ledger *l = pipeline_ledger(j->pipeline);

	if (s->kind->drops)
		s->kind->drops(s, &d);
	l->lost[LOST_KERNEL] += d.kernel;
	l->lost[LOST_INTERFACE] += d.interface;
}

static bool pull(struct job *j, struct inputs *in, struct input *i, struct err *e)
{
	enum step step = source_next(i->source, &i->packet, e);

	i->has_packet = step == STEP_ITEM;
	if (step == STEP_FAIL)
		return false;
	if (step == STEP_END)
		add_drops(j, i->source);
	if (step == STEP_END && i->source->was_cut) {
		in->was_cut = true;
		pipeline_ledger(j->pipeline)->lost[LOST_CUT_INPUT]++;
		run_note(j->run, "%s; what came before it is kept", i->source->note);
	}
	return true;
}

/* Files of one capture (rotated, or of several interfaces) come in any order. */
static struct input *earliest(struct inputs *in)
{
	struct input *best = NULL;

	for (size_t i = 0; i < in->count; i++)
		if (in->items[i].has_packet &&
			(!best || in->items[i].packet.time_ns < best->packet.time_ns))
			best = &in->items[i];
	return best;
}

static bool read_packets(struct job *j, struct inputs *in, struct err *e)
{
	struct run_progress progress = { .verb = "reading", .unit = "packets" };
	struct input *i;
	uint64_t n = 0;

	for (size_t k = 0; k < in->count; k++)
		if (!pull(j, in, &in->items[k], e))
			return false;
	while ((i = in->count == 1 && in->items[0].has_packet ? &in->items[0] : earliest(in))) {
		if (!pipeline_packet(j->pipeline, &i->packet, e) || !pull(j, in, i, e))
			return false;
		if ((++n & 0xfff) == 0) {
			run_progress_at(j->run, &progress, (double)n);
			if (run_stopped(j->run))
				break;
		}
	}
	run_progress_end(j->run, &progress);
	return true;
}

/* Lines that are no key are counted, as in a key log that grows. */
static void take_secrets(void *data, struct slice log)
{
	struct job *j = data;
	struct err unused = { 0 };
	const char *end = log.p + log.n;

	if (!j->tls_keys) {
		j->tls_keys = tls_keys_of((struct slice){ 0 }, &unused);
		if (!j->tls_keys)
			return;
		pipeline_use_keys(j->pipeline, j->tls_keys);
	}
	for (const char *p = log.p, *stop; p < end; p = stop + 1) {
		stop = memchr(p, '\n', (size_t)(end - p));
		if (!stop)
			stop = end;
		(void)!tls_keys_add(j->tls_keys, (struct slice){ p, (size_t)(stop - p) }, &unused);
		(void)!tls_keys_add(j->tls_keys, SLICE("\n"), &unused);
	}
}

static bool open_inputs(struct job *j, struct inputs *in, struct cli_operands ops, struct err *e)
{
	for (size_t i = 0; i < ops.count; i++) {
		struct source *s = source_pcap_open(ops.items[i], e);

		if (!s)
			return false;
		s->on_secrets = take_secrets;
		s->secrets_data = j;
		in->items[in->count++].source = s;
		job_add_source(j, "pcap", s->name);
	}
	return true;
}

static bool packets(struct job *j, struct cli_operands ops, bool *ret_is_whole, struct err *e)
{
	struct inputs in = { 0 };
	bool ok = open_inputs(j, &in, ops, e) && job_start(j, e) && read_packets(j, &in, e);

	for (size_t i = 0; i < in.count; i++)
		source_close(in.items[i].source);
	*ret_is_whole = !in.was_cut;
	return ok;
}

static bool pglogs(struct job *j, struct cli_operands ops, bool *ret_is_whole, struct err *e)
{
	const struct capture_args *a = j->args;
	struct source_pglog_options o = { .zone = a->zone,
		.prefix = a->log_prefix,
		.format = a->format,
		.parameter_max_bytes = (uint32_t)a->log_parameter_max,
		.run = j->run };
	struct request_sink sink = pipeline_sink(j->pipeline);
	struct source_pglog *s = source_pglog_new(&o, &sink, e);
	bool ok = s && source_pglog_read_all(s, ops.items, ops.count, e) &&
		  source_pglog_finish(s, j->facts.lines, j->facts.log_requests, e);

	j->facts.fineness_ns = NS_PER_MS;
	*ret_is_whole = s && !source_pglog_is_damaged(s);
	source_pglog_free(s);
	return ok;
}

static bool access_logs(struct job *j, struct cli_operands ops, bool *ret_is_whole, struct err *e)
{
	const struct capture_args *a = j->args;
	struct source_access_options o = {
		.format = { .preset = a->format, .spec = a->log_format, .fields = a->fields },
		.zone = a->zone,
		.run = j->run
	};
	struct request_sink sink = pipeline_sink(j->pipeline);
	struct source_access *s = source_access_new(&o, &sink, e);
	bool ok = s && source_access_read(s, ops.items, ops.count, e) &&
		  source_access_finish(s, j->facts.lines, j->facts.log_requests, e);

	if (s) {
		j->facts.fineness_ns = source_access_fineness_ns(s);
		*ret_is_whole = !source_access_is_damaged(s);
	}
	source_access_free(s);
	return ok;
}

static bool gor_files(struct job *j, struct cli_operands ops, bool *ret_is_whole, struct err *e)
{
	struct request_sink sink = pipeline_sink(j->pipeline);
	struct source_gor *s = source_gor_new(j->run, &sink, e);
	bool ok = s != NULL;

	j->facts.fineness_ns = 1;
	for (size_t i = 0; ok && i < ops.count; i++)
		ok = source_gor_read(s, ops.items[i], e);
	ok = ok && source_gor_finish(s, j->facts.lines, j->facts.log_requests, e);
	*ret_is_whole = s && !source_gor_is_damaged(s);
	source_gor_free(s);
	return ok;
}

struct reader {
	const char *kind; /* in the head */
	bool (*read)(struct job *j, struct cli_operands ops, bool *ret_is_whole, struct err *e);
};

static const struct reader readers[] = {
	[INPUT_PGLOG] = { "pglog", pglogs },
	[INPUT_ACCESS] = { "access log", access_logs },
	[INPUT_GOR] = { "gor", gor_files },
};

static bool logs(struct job *j, const struct reader *reader, struct cli_operands ops,
	bool *ret_is_whole, struct err *e)
{
	j->facts.clock_kind = "log";
	if (!job_start(j, e))
		return false;
	for (size_t i = 0; i < ops.count; i++)
		job_add_source(j, reader->kind, ops.items[i]);
	j->facts.lines = json_object();
	j->facts.log_requests = json_object();
	return reader->read(j, ops, ret_is_whole, e);
}

static bool is_packets_by_magic(const char *path)
{
	struct err unused = { 0 };
	enum input_kind kind;
	const char *name;
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       sniff_input(path, NULL, &kind, &name, &unused) && kind == INPUT_PCAP;
}

static bool sniff_all(
	const struct job *j, struct cli_operands ops, enum input_kind *ret_kind, struct err *e)
{
	enum input_kind kind;
	const char *name;
	bool is_described = j->args->log_format || j->args->fields;

	if (ops.count > CLI_LIST_MAX) {
		err_set(e, ERR_USAGE, "at most %d inputs", CLI_LIST_MAX);
		return err_hint(e,
			"capture them in parts, then reprod capture merge A.rcap B.rcap -o ALL.rcap");
	}
	/* A format string says what its files are; a pipe with a name could not be looked into
	 * twice. */
	*ret_kind = INPUT_ACCESS;
	for (size_t i = 0; i < ops.count; i++) {
		if (is_described && !is_packets_by_magic(ops.items[i]))
			continue;
		if (!sniff_input(ops.items[i], j->args->format, &kind, &name, e))
			return false;
		run_detail(j->run, "%s: %s", ops.items[i], name);
		if (i && kind != *ret_kind)
			return err_set(e, ERR_USAGE,
				"'%s' (%s) and '%s' are of different kinds: one capture is of packets or "
				"of logs",
				ops.items[i], name, ops.items[0]);
		*ret_kind = kind;
	}
	return true;
}

static bool is_packets_empty(const struct job *j, struct err *e)
{
	return !j->facts.lines && !job_judge_emptiness(j, ERR_INPUT, e);
}

/* An output that would hold nothing is taken away again; what --force was to replace
 * is still there. */
static void discard_output(struct job *j, struct err *e)
{
	if (j->draft[0] && unlink(j->draft) == 0 && e->kind == ERR_ENV)
		err_hint(e, "'%s' is as it was", j->output);
	if (j->is_created && (!j->pipeline || !pipeline_requests(j->pipeline)))
		unlink(j->output);
}

enum outcome job_files(struct job *j, struct cli_operands ops, struct err *e)
{
	enum input_kind kind = INPUT_PCAP;
	bool is_whole = true, has_some = false, ok;

	if (!sniff_all(j, ops, &kind, e) || !optioncheck_files(j->args, kind, e) ||
		!job_load_secrets(j, e) || !file_is_apart(j->output, ops.items, ops.count, e) ||
		!job_create_output(j, e))
		return OUTCOME_FAILED;
	ok = kind == INPUT_PCAP ? packets(j, ops, &is_whole, e)
				: logs(j, &readers[kind], ops, &is_whole, e);
	if (!ok || run_stopped(j->run))
		is_whole = false;
	/* A failure in the middle leaves what came before it. */
	if (ok || (j->pipeline && j->writer && pipeline_requests(j->pipeline))) {
		struct err at_end = { 0 };

		has_some = job_finish(j, is_whole, &at_end) && pipeline_requests(j->pipeline);
		if (at_end.kind && ok) {
			*e = at_end;
			ok = false;
		}
	}
	if (ok && is_packets_empty(j, e))
		ok = false;
	if ((ok || has_some) && !job_place_output(j, e))
		ok = false;
	if (!ok)
		discard_output(j, e);
	if (ok && run_stopped(j->run)) {
		err_set(e, ERR_INTERRUPTED, "interrupted");
		err_hint(e, "what was read is in %s", j->output);
		return OUTCOME_FAILED;
	}
	return ok ? OUTCOME_YES : OUTCOME_FAILED;
}
