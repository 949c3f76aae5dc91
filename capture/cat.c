#include "capture/cat.h"

#include <errno.h>
#include <inttypes.h>

#include "capture/cat_line.h"
#include "capture/outfile.h"
#include "core/base/file.h"
#include "core/model/rcap.h"

struct cat_args {
	const char *route, *output;
	int64_t session;
	int64_t limit;
	bool has_values;
};

static const struct cli_option options[] = {
	{ "route", 0, CLI_TEXT, offsetof(struct cat_args, route), "TEXT",
		"only requests whose route has this in its text" },
	{ "session", 0, CLI_INT, offsetof(struct cat_args, session), "N", "only this session" },
	{ "limit", 'n', CLI_INT, offsetof(struct cat_args, limit), "N", "end after so many lines" },
	{ "values", 0, CLI_FLAG, offsetof(struct cat_args, has_values), NULL,
		"with each statement's template, scrubbed values and edges" },
	{ "output", 'o', CLI_TEXT, offsetof(struct cat_args, output), "FILE",
		"write here instead of standard output" },
	{ 0 },
};

static bool is_wanted(const struct cat_args *a, const struct rcap *r, const struct rcap_item *item)
{
	uint64_t session = item->kind == RCAP_SESSION ? item->session.id : item->request.session;

	if (a->session && session != (uint64_t)a->session)
		return false;
	if (!a->route)
		return true;
	if (item->kind == RCAP_SESSION)
		return false;
	struct slice text = rcap_route(r, item->request.route)->text;
	return memmem(text.p, text.n, a->route, strlen(a->route)) != NULL;
}

/* A reader that went away (head) is the usual end of a look, not a failure. */
static bool put(struct run *run, const struct buf *line, bool *ret_is_closed, struct err *e)
{
	if (fwrite(buf_text(line), 1, line->n, run->out) == line->n)
		return true;
	*ret_is_closed = errno == EPIPE;
	return *ret_is_closed || err_os(e, ERR_ENV, errno, "could not write to standard output");
}

static bool copy(struct run *run, const struct cat_args *a, struct rcap *r, struct err *e)
{
	struct rcap_item item;
	struct buf line = { 0 };
	bool ok = true, is_closed = false;
	int64_t printed = 0;
	enum step step = STEP_ITEM;

	while (ok && !is_closed && !run_stopped(run) && (!a->limit || printed < a->limit) &&
		(step = rcap_next(r, &item, e)) == STEP_ITEM) {
		if (!is_wanted(a, r, &item))
			continue;
		buf_reset(&line);
		if (item.kind == RCAP_SESSION)
			cat_session_line(&item.session, &line);
		else
			cat_request_line(r, &item.request, a->has_values, &line);
		ok = put(run, &line, &is_closed, e);
		printed++;
	}
	buf_free(&line);
	if (ok && !is_closed && fflush(run->out) != 0 && errno != EPIPE)
		ok = err_os(e, ERR_ENV, errno, "could not write to standard output");
	return ok && step != STEP_FAIL;
}

static bool cat_file(struct run *run, const struct cat_args *a, const char *path, struct err *e)
{
	struct rcap *r = rcap_open(path, e);
	bool ok = r && copy(run, a, r, e);

	if (ok && rcap_is_torn(r))
		run_note(run,
			"%s: not complete (%" PRIu64 " bytes at the end are no whole block, "
			"%" PRIu64 " damaged blocks left out)",
			path, rcap_torn_bytes(r), rcap_damaged_blocks(r));
	rcap_close(r);
	if (ok && run_stopped(run))
		ok = err_set(e, ERR_INTERRUPTED, "interrupted");
	return ok;
}

static enum outcome cat(struct run *run, void *args, struct cli_operands ops, struct err *e)
{
	const struct cat_args *a = args;
	struct outfile file;

	if (ops.count != 1 || a->limit < 0 || a->session < 0) {
		err_set(e, ERR_USAGE,
			ops.count != 1 ? "capture cat reads one file"
				       : "--limit and --session cannot be negative");
		return OUTCOME_FAILED;
	}
	if (!file_is_apart(a->output, ops.items, ops.count, e) ||
		!outfile_open(&file, run, a->output, e))
		return OUTCOME_FAILED;
	bool ok = cat_file(run, a, ops.items[0], e);
	return outfile_close(&file, ok, e) ? OUTCOME_YES : OUTCOME_FAILED;
}

const struct cli_command capture_cat_command = {
	.name = "cat",
	.summary = "each session and request of a capture as a JSON line",
	.usage = "capture cat [--route TEXT] [--session N] [--values] FILE.rcap",
	.notes = "Requests come in the order in which they ended, sessions when they open and\n"
		 "again when they close. Everything is scrubbed. docs/formats/rcap.md names the\n"
		 "fields.",
	.options = options,
	.args_size = sizeof(struct cat_args),
	.main = cat,
};
