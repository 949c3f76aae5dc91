#include "capture/cmd_merge.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "capture/merge.h"
#include "core/base/file.h"

struct merge_args {
	const char *output;
	struct cli_list skews;
};

static const struct cli_option options[] = {
	{ "output", 'o', CLI_TEXT, offsetof(struct merge_args, output), "FILE",
		"the merged capture (- is standard output)" },
	{ "skew", 0, CLI_LIST, offsetof(struct merge_args, skews), "FILE=MS",
		"the clock of FILE is ahead of the first file's by so many milliseconds" },
	{ 0 },
};

/* "b.rcap=-12.5"; the name may hold a '='. */
static bool give_skew(struct merge *m, const char *text, struct err *e)
{
	const char *sign = strrchr(text, '=');
	char *end = NULL;
	double ms = sign ? strtod(sign + 1, &end) : NAN;

	if (!sign || end == sign + 1 || *end || !isfinite(ms) || fabs(ms) > 1e12) {
		err_set(e, ERR_USAGE, "'%s' is not FILE=MS", text);
		return err_hint(e, "--skew b.rcap=250 when its clock is 250 ms ahead");
	}
	struct slice name = { text, (size_t)(sign - text) };
	for (size_t i = 0; i < m->count; i++) {
		struct merge_input *in = &m->inputs[i];

		if (!slice_same(name, slice_of(in->path)))
			continue;
		if (i == 0)
			return err_set(e, ERR_USAGE,
				"'%s' is the first file: its clock is the one that counts",
				in->path);
		in->is_given = true;
		in->given_ns = (int64_t)llround(ms * 1e6);
		return true;
	}
	err_set(e, ERR_USAGE, "--skew names '%.*s', which is none of the inputs", (int)name.n,
		name.p);
	return err_hint(e, "spell the file as among the inputs");
}

static bool read_args(
	struct merge *m, const struct merge_args *a, struct cli_operands ops, struct err *e)
{
	if (ops.count < 2 || ops.count > MERGE_FILES_MAX) {
		err_set(e, ERR_USAGE, "capture merge takes 2 to %d captures, not %zu",
			MERGE_FILES_MAX, ops.count);
		return err_hint(e, "reprod capture merge A.rcap B.rcap -o OUT.rcap");
	}
	if (!a->output) {
		err_set(e, ERR_USAGE, "-o OUT is missing");
		return err_hint(e, "name the file with -o, or -o - for standard output");
	}
	m->count = ops.count;
	for (size_t i = 0; i < ops.count; i++)
		m->inputs[i].path = ops.items[i];
	for (size_t i = 0; i < a->skews.count; i++)
		if (!give_skew(m, a->skews.items[i], e))
			return false;
	if (strcmp(a->output, "-") == 0)
		return !m->run->is_json ||
		       err_set(e, ERR_USAGE, "--json and -o - cannot go together");
	return file_is_apart(a->output, ops.items, ops.count, e) &&
	       file_may_write(a->output, m->run->is_forced, e);
}

static void print_file(const struct merge_input *in, FILE *to)
{
	double ms = (double)in->skew_ns / 1e6;

	fprintf(to, "  %s: %" PRIu64 " requests", in->path, rcap_totals(in->rcap).requests);
	if (in->how == MERGE_REFERENCE)
		fputs("; its clock is the one that counts", to);
	else if (in->how == MERGE_ASSUMED)
		fputs("; nothing in common with the others, clock taken as right", to);
	else
		fprintf(to, "; clock %.3f ms %s", fabs(ms), ms < 0 ? "behind" : "ahead");
	if (in->how == MERGE_GIVEN)
		fputs(" as given", to);
	if (in->how == MERGE_BY_CONTENT)
		fprintf(to, " by %zu of %zu matches, spread %.3f ms", in->found.agreeing,
			in->found.matches, (double)in->found.spread_ns / 1e6);
	if (in->dropped_sessions || in->dropped_requests)
		fprintf(to, "; %" PRIu64 " sessions with %" PRIu64 " requests that another has too",
			in->dropped_sessions, in->dropped_requests);
	fputc('\n', to);
}

static void print(const struct merge *m, const char *path, FILE *to)
{
	fprintf(to, "%s: %" PRIu64 " requests in %" PRIu64 " sessions\n", path, m->requests,
		m->sessions);
	for (size_t i = 0; i < m->count; i++)
		print_file(&m->inputs[i], to);
}

static void tell(const struct merge *m, const char *path)
{
	if (m->run->is_json) {
		struct json *doc = merge_report(m);

		json_print(doc, m->run->out);
		json_free(doc);
	} else if (strcmp(path, "-") != 0) {
		print(m, path, m->run->out);
	}
}

static enum outcome merge_main(struct run *run, void *args, struct cli_operands ops, struct err *e)
{
	const struct merge_args *a = args;
	struct merge *m = calloc(1, sizeof(*m));

	if (!m) {
		err_set(e, ERR_ENV, "out of memory");
		return OUTCOME_FAILED;
	}
	m->run = run;
	bool ok = read_args(m, a, ops, e) && merge_open(m, e) && merge_align(m, e) &&
		  merge_write(m, a->output, e);
	if (ok)
		tell(m, a->output);
	merge_free(m);
	free(m);
	return ok ? OUTCOME_YES : OUTCOME_FAILED;
}

const struct cli_command capture_merge_command = {
	.name = "merge",
	.summary = "several captures as one, on the clock of the first",
	.usage = "capture merge A.rcap B.rcap... -o OUT.rcap [--skew FILE=MS]",
	.notes = "Captures of one server from several places, or of several servers, all scrubbed\n"
		 "under the same key and policy. How far a clock is off is told by requests that\n"
		 "two captures have in common (--skew overrules it); without any it is taken as\n"
		 "right, which is said. A session captured twice is kept once. In flight at\n"
		 "arrival stays what each capture said of its own server.",
	.options = options,
	.args_size = sizeof(struct merge_args),
	.main = merge_main,
};
