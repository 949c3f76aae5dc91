#include <math.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "core/model/recipe.h"
#include "recipes/commands.h"
#include "recipes/draft.h"

#define INPUT_BYTES_MAX (256u << 20)

struct draft_args {
	const char *correlation, *diff, *manifest, *route, *title, *output;
	struct cli_list jobs, conditions;
};

static const struct cli_option options[] = {
	{ "correlation", 0, CLI_TEXT, offsetof(struct draft_args, correlation), "FILE",
		"what correlate --json (or -o) found" },
	{ "diff", 0, CLI_TEXT, offsetof(struct draft_args, diff), "FILE",
		"what snapshot diff --json (or -o) found" },
	{ "job", 0, CLI_LIST, offsetof(struct draft_args, jobs), "NAME=FILE",
		"the command of a job: plain SQL (.sql) or a shell script (.sh)" },
	{ "condition", 0, CLI_LIST, offsetof(struct draft_args, conditions), "ID",
		"test exactly these conditions (may be given several times)" },
	{ "route", 0, CLI_TEXT, offsetof(struct draft_args, route), "TEXT",
		"judge the route with this in its text; default: the most affected one" },
	{ "snapshot", 0, CLI_TEXT, offsetof(struct draft_args, manifest), "FILE",
		"the snapshot's reprod.manifest.json, to be kept in the recipe" },
	{ "title", 0, CLI_TEXT, offsetof(struct draft_args, title), "TEXT", "one line for people" },
	{ "output", 'o', CLI_TEXT, offsetof(struct draft_args, output), "FILE",
		"the recipe to write" },
	{ 0 },
};

static double at(const struct json *j, const char *dotted)
{
	return json_number(json_path(j, dotted), NAN);
}

static void print_draft(const struct json *j, const char *path, const struct run *r)
{
	const struct json *x = json_get(j, "expectation"), *list = json_get(j, "conditions");

	fprintf(r->out, "%s\n  judged      %.160s\n", path, json_text(json_get(x, "route"), ""));
	fprintf(r->out, "  production  p%g ", 100 * at(x, "quantile"));
	if (isnan(at(x, "ratio")))
		fprintf(r->out, "%.4g ms, no quiet time to compare it with", at(x, "spike_ms"));
	else
		fprintf(r->out, "%.3g ms -> %.4g ms: x%.3g [%.3g, %.3g]", at(x, "baseline_ms"),
			at(x, "spike_ms"), at(x, "ratio"), at(x, "ratio_low"), at(x, "ratio_high"));
	fprintf(r->out, ", %zu spans of '%s'\n", json_count(json_get(x, "inside")),
		json_text(json_get(x, "occurrences_of"), json_text(json_get(x, "shape"), "")));
	fprintf(r->out, "  a cell      %.1f s of traffic in %zu windows%s\n",
		at(j, "cell.duration_s"), json_count(json_path(j, "cell.windows")),
		json_is_true(json_path(j, "cell.hole_cut_out"), false)
			? ", the stall's own hole cut out"
			: "");
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *c = json_at(list, i);
		const char *file = json_text(json_path(c, "on.file"), NULL);

		fprintf(r->out, "  condition   %s (%s)%s%s\n", json_text(json_get(c, "id"), ""),
			json_text(json_get(c, "source"), ""), file ? ": " : "", file ? file : "");
	}
}

static bool load_inputs(const struct draft_args *a, struct json *inputs[3], struct err *e)
{
	const char *paths[3] = { a->correlation, a->diff, a->manifest };

	for (size_t i = 0; i < 3; i++) {
		if (paths[i] && !(inputs[i] = json_load(paths[i], INPUT_BYTES_MAX, e)))
			return false;
	}
	if (inputs[0] && !json_get(inputs[0], "conditions")) {
		err_set(e, ERR_INPUT, "not an answer of correlate: no \"conditions\"");
		return err_in(e, "%s", paths[0]);
	}
	if (inputs[1] && !json_get(inputs[1], "differences")) {
		err_set(e, ERR_INPUT, "not an answer of snapshot diff: no \"differences\"");
		return err_in(e, "%s", paths[1]);
	}
	if (inputs[2] &&
		strcmp(json_text(json_get(inputs[2], "format"), ""), "reprod.manifest") != 0) {
		err_set(e, ERR_INPUT, "not a snapshot's reprod.manifest.json");
		return err_in(e, "%s", paths[2]);
	}
	return true;
}

static bool job_is_spelled(const struct cli_list *jobs, struct err *e)
{
	for (size_t i = 0; i < jobs->count; i++) {
		const char *equals = strchr(jobs->items[i], '=');

		if (!equals || equals == jobs->items[i] || !equals[1])
			return err_set(
				e, ERR_USAGE, "--job '%s': NAME=FILE is needed", jobs->items[i]);
		if (!file_exists(equals + 1) || file_is_dir(equals + 1))
			return err_set(e, ERR_INPUT, "--job '%s': there is no file '%s'",
				jobs->items[i], equals + 1);
	}
	return true;
}

static enum outcome draft_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	const struct draft_args *a = args;
	struct json *inputs[3] = { NULL }, *j = NULL;
	struct draft_options o;
	bool ok;

	if (ops.count != 1 || !a->output) {
		err_set(e, ERR_USAGE,
			ops.count != 1 ? "one capture is needed" : "-o FILE is needed");
		return OUTCOME_FAILED;
	}
	if (!job_is_spelled(&a->jobs, e) || !file_may_write(a->output, r->is_forced, e))
		return OUTCOME_FAILED;
	ok = load_inputs(a, inputs, e);
	o = (struct draft_options){ .capture = ops.items[0],
		.correlation = inputs[0],
		.diff = inputs[1],
		.manifest = inputs[2],
		.jobs = &a->jobs,
		.conditions = &a->conditions,
		.route = a->route,
		.title = a->title,
		.path = a->output };
	ok = ok && (j = draft_recipe(&o, r, e)) && json_save(j, a->output, r->is_forced, e);
	if (ok && r->is_json)
		json_print(j, r->out);
	else if (ok)
		print_draft(j, a->output, r);
	json_free(j);
	for (size_t i = 0; i < LENGTH(inputs); i++)
		json_free(inputs[i]);
	return ok ? OUTCOME_YES : OUTCOME_FAILED;
}

const struct cli_command recipe_draft_command = {
	.name = "draft",
	.summary = "write a first recipe from a capture and what was found about it",
	.usage =
		"recipe draft CAPTURE [--correlation F.json] [--diff F.json] [--job NAME=FILE]... -o R.json",
	.notes =
		"The production numbers, the quantile and the pieces of traffic that a run replays are\n"
		"fixed here, before any run. recipe check names what is still missing.",
	.options = options,
	.args_size = sizeof(struct draft_args),
	.main = draft_main,
};
