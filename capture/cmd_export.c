#include "capture/cmd_export.h"

#include <stddef.h>
#include <stdio.h>

#include "capture/export.h"
#include "capture/outfile.h"
#include "core/base/file.h"

struct export_args {
	const char *format, *output, *base;
	int64_t routes, samples;
};

static const struct cli_option options[] = {
	{ "to", 0, CLI_TEXT, offsetof(struct export_args, format), "FORMAT",
		"csv, jsonl, gor, pgbench, k6, vegeta or wsesslog" },
	{ "output", 'o', CLI_TEXT, offsetof(struct export_args, output), "OUT",
		"the file (- is standard output); of pgbench a folder" },
	{ "base", 0, CLI_TEXT, offsetof(struct export_args, base), "URL",
		"k6, vegeta: the server to ask (default http://127.0.0.1:8080)" },
	{ "routes", 0, CLI_INT, offsetof(struct export_args, routes), "N",
		"pgbench: the N routes with the most requests (default 20)" },
	{ "samples", 0, CLI_INT, offsetof(struct export_args, samples), "N",
		"pgbench: statements for each route (default 16); k6: requests (default 1000)" },
	{ 0 },
};

static bool check(const struct export_args *a, struct cli_operands ops, struct err *e)
{
	if (ops.count != 1) {
		err_set(e, ERR_USAGE, "capture export takes one capture");
		return err_hint(
			e, "merge several first: reprod capture merge A.rcap B.rcap -o ALL.rcap");
	}
	if (!a->format || !export_find(a->format)) {
		err_set(e, ERR_USAGE, a->format ? "format '%s' is not known" : "%s",
			a->format ? a->format : "--to FORMAT is missing");
		return err_hint(e, "csv, jsonl, gor, pgbench, k6, vegeta or wsesslog");
	}
	if (!a->output) {
		err_set(e, ERR_USAGE, "-o OUT is missing");
		return err_hint(e, "name the file with -o, or -o - for standard output");
	}
	if (a->routes < 0 || a->routes > 1000 || a->samples < 0 || a->samples > 10000)
		return err_set(e, ERR_USAGE, "--routes is at most 1000, --samples 10000");
	return true;
}

static bool write_file(struct export *x, const struct export_format *f, struct err *e)
{
	struct outfile file;

	if (!outfile_open(&file, x->run, x->output, e))
		return false;
	x->to = x->run->out;
	return outfile_close(&file, export_write(x, f, e), e);
}

static enum outcome export_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	const struct export_args *a = args;

	if (!check(a, ops, e) || !file_is_apart(a->output, ops.items, ops.count, e))
		return OUTCOME_FAILED;
	const struct export_format *f = export_find(a->format);
	struct export x = { .run = r,
		.name = ops.items[0],
		.output = a->output,
		.base = a->base ? a->base : "http://127.0.0.1:8080",
		.routes = a->routes ? a->routes : 20,
		.samples = a->samples };
	x.rcap = rcap_open(ops.items[0], e);
	if (!x.rcap)
		return OUTCOME_FAILED;
	bool ok = f->is_folder ? export_write(&x, f, e) : write_file(&x, f, e);
	rcap_close(x.rcap);
	return ok ? OUTCOME_YES : OUTCOME_FAILED;
}

const struct cli_command capture_export_command = {
	.name = "export",
	.summary = "a capture for other tools: csv, jsonl, gor, pgbench, k6, vegeta, wsesslog",
	.usage = "capture export FILE.rcap --to FORMAT -o OUT",
	.notes = "What is written holds what the capture holds: pseudonyms where values were\n"
		 "replaced. docs/formats/exports.md says what each format leaves out; the note\n"
		 "at the end says how much of it was there.",
	.options = options,
	.args_size = sizeof(struct export_args),
	.main = export_main,
};
