#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "recipes/commands.h"
#include "recipes/experiment.h"
#include "recipes/result.h"

struct run_args {
	const char *target, *test_target, *expect, *junit, *output, *log;
	bool is_ablating, wants_all_arms, is_dry, is_resuming, may_run_commands, is_recording;
	int64_t max_time_ns, repeat, seed;
	struct cli_list conditions;
};

static const struct cli_option options[] = {
	{ "target", 0, CLI_TEXT, offsetof(struct run_args, target), "DSN|DIR",
		"the snapshot: a lab's folder or a database" },
	{ "test-target", 0, CLI_TEXT, offsetof(struct run_args, test_target), "DSN|DIR",
		"the test database, what `data` is compared with" },
	{ "ablate", 0, CLI_FLAG, offsetof(struct run_args, is_ablating), NULL,
		"leave each condition out and try each alone" },
	{ "all-arms", 0, CLI_FLAG, offsetof(struct run_args, wants_all_arms), NULL,
		"with --ablate: run also the arms whose answer follows from others" },
	{ "expect", 0, CLI_TEXT, offsetof(struct run_args, expect), "VERDICT",
		"reproduced or gone: exit 0 when it is so, 1 when not" },
	{ "condition", 0, CLI_LIST, offsetof(struct run_args, conditions), "ID",
		"test only these of the recipe's conditions" },
	{ "repeat", 0, CLI_INT, offsetof(struct run_args, repeat), "N",
		"runs of each arm (1; unsure arms get up to 3 more)" },
	{ "max-time", 0, CLI_DURATION, offsetof(struct run_args, max_time_ns), "D",
		"start no run that would end later" },
	{ "seed", 0, CLI_INT, offsetof(struct run_args, seed), "N",
		"of the order of runs and the resampling (1)" },
	{ "dry-run", 0, CLI_FLAG, offsetof(struct run_args, is_dry), NULL,
		"say what would be run and how long it takes" },
	{ "resume", 0, CLI_FLAG, offsetof(struct run_args, is_resuming), NULL,
		"use the runs of an interrupted experiment" },
	{ "record", 0, CLI_FLAG, offsetof(struct run_args, is_recording), NULL,
		"add the verdict to the recipe's results" },
	{ "junit", 0, CLI_TEXT, offsetof(struct run_args, junit), "FILE", "a JUnit report for CI" },
	{ "job-log", 0, CLI_TEXT, offsetof(struct run_args, log), "FILE", "what the jobs printed" },
	{ "allow-commands", 0, CLI_FLAG, offsetof(struct run_args, may_run_commands), NULL,
		"run .sh jobs where they cannot be confined" },
	{ "output", 'o', CLI_TEXT, offsetof(struct run_args, output), "FILE",
		"the result as JSON" },
	{ 0 },
};

static bool check_usage(
	const struct run_args *a, struct cli_operands ops, const struct run *r, struct err *e)
{
	if (ops.count != 1)
		return err_set(e, ERR_USAGE, "one recipe is needed");
	if (!a->target && !a->is_dry)
		return err_set(e, ERR_USAGE, "--target DSN or DIR is needed");
	if (a->expect && strcmp(a->expect, "reproduced") != 0 && strcmp(a->expect, "gone") != 0)
		return err_set(
			e, ERR_USAGE, "--expect is 'reproduced' or 'gone', not '%s'", a->expect);
	if (a->repeat < 0 || a->repeat > 100)
		return err_set(e, ERR_USAGE, "--repeat must be 1 to 100");
	return (!a->output || file_may_write(a->output, r->is_forced, e)) &&
	       (!a->junit || file_may_write(a->junit, r->is_forced, e));
}

static bool load_faultless(struct recipe *recipe, const char *path, struct err *e)
{
	struct recipe_faults faults;

	if (!recipe_load(recipe, path, e))
		return false;
	recipe_check(recipe, &faults);
	if (faults.count == 0)
		return true;
	err_set(e, ERR_INPUT, "%.360s", faults.items[0].what);
	err_hint(e, "reprod recipe check %.300s names all %zu faults", path,
		faults.count + faults.more);
	return err_in(e, "%s: %s", path, faults.items[0].pointer);
}

static void print_plan(const struct experiment *x, const struct run *r)
{
	size_t cells = experiment_cells(x);
	double cell_s = (double)experiment_cell_ns(x) / 1e9;
	struct json *j;

	if (r->is_json) {
		j = json_object();
		json_set_int(j, "cells", (int64_t)cells);
		json_set_number(j, "cell_s", cell_s);
		json_set_number(j, "minutes", cell_s * (double)cells / 60);
		json_print(j, r->out);
		json_free(j);
		return;
	}
	fprintf(r->out, "%zu runs of about %.0f s: %.1f minutes (unsure arms: up to 3 more each)\n",
		cells, cell_s, cell_s * (double)cells / 60);
	for (size_t i = 0; i < x->ablate.conditions; i++)
		fprintf(r->out, "  condition   %s\n", experiment_condition(x, i));
	for (size_t i = 0; i < x->untested_count; i++)
		fprintf(r->out, "  not tested  %s: %s\n", x->untested[i].id, x->untested[i].reason);
}

static bool record(const struct recipe *recipe, const struct json *result, struct err *e)
{
	struct json *results = json_get(recipe->document, "results");

	if (json_type(results) != JSON_LIST) {
		results = json_array();
		json_set(recipe->document, "results", results);
	}
	json_append(results, result_summary(result));
	return json_save(recipe->document, recipe->path, true, e);
}

static bool give_out(const struct experiment *x, const struct run_args *a,
	const struct json *result, const struct run *r, struct err *e)
{
	struct buf xml = { 0 };
	bool ok = true;

	if (r->is_json)
		json_print(result, r->out);
	else
		result_print(x, result, r->out);
	if (a->output)
		ok = json_save(result, a->output, r->is_forced, e);
	if (ok && a->junit) {
		result_junit(result, x->recipe->title, a->expect, &xml);
		ok = file_write(a->junit, buf_slice(&xml), r->is_forced, e);
		buf_free(&xml);
	}
	if (ok && (fflush(r->out) != 0 || ferror(r->out)))
		ok = err_os(e, ERR_ENV, errno, "could not write the answer");
	return ok && (!a->is_recording || record(x->recipe, result, e));
}

static enum outcome answer(enum verdict v, const char *expect)
{
	if (v == VERDICT_UNSURE)
		return OUTCOME_UNSURE;
	if (expect && strcmp(expect, "gone") == 0)
		return v == VERDICT_NOT ? OUTCOME_YES : OUTCOME_NO;
	return v == VERDICT_REPRODUCED ? OUTCOME_YES : OUTCOME_NO;
}

static enum outcome run_experiment(struct experiment *x, const struct run_args *a,
	const struct recipe *recipe, const struct experiment_options *o, const struct run *r,
	struct err *e)
{
	struct json *result;
	enum outcome outcome = OUTCOME_FAILED;

	if (!experiment_prepare(x, recipe, o, r, e))
		return OUTCOME_FAILED;
	if (a->is_dry) {
		print_plan(x, r);
		return OUTCOME_YES;
	}
	if (!experiment_run_all(x, r, e))
		return OUTCOME_FAILED;
	result = result_json(x, r, e);
	if (result && give_out(x, a, result, r, e)) {
		outcome = answer(x->verdict, a->expect);
		/* Only now can nothing be lost any more. */
		if (!x->ran_out_of_time)
			unlink(o->runs_path);
	} else if (!e->hint[0]) {
		err_hint(e, "the runs are kept in '%.3000s': --resume --force answers from them",
			o->runs_path);
	}
	json_free(result);
	return outcome;
}

static enum outcome run_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	const struct run_args *a = args;
	struct experiment *x = calloc(1, sizeof(*x));
	struct recipe *recipe = calloc(1, sizeof(*recipe));
	enum outcome outcome = OUTCOME_FAILED;
	char runs[4096];

	if (!x || !recipe) {
		err_set(e, ERR_ENV, "memory ran out");
	} else if (check_usage(a, ops, r, e) && load_faultless(recipe, ops.items[0], e)) {
		struct experiment_options o = { .target = a->target,
			.test_target = a->test_target,
			.is_ablating = a->is_ablating,
			.wants_all_arms = a->wants_all_arms,
			.may_run_commands = a->may_run_commands,
			.is_resuming = a->is_resuming,
			.max_time_ns = a->max_time_ns,
			.repeat = a->repeat,
			.runs_path = runs,
			.log_path = a->log,
			.only = &a->conditions };

		r->seed = a->seed ? (uint64_t)a->seed : 1;
		snprintf(runs, sizeof(runs), "%.4000s.runs", a->output ? a->output : recipe->path);
		outcome = run_experiment(x, a, recipe, &o, r, e);
	}
	if (x)
		experiment_free(x);
	if (recipe)
		recipe_free(recipe);
	free(x);
	free(recipe);
	return outcome;
}

const struct cli_command recipe_run_command = {
	.name = "run",
	.summary = "drive a recipe's traffic against a target and judge what comes back",
	.usage =
		"recipe run R.json --target DSN|DIR [--test-target DSN|DIR] [--ablate] [--expect VERDICT]",
	.notes =
		"Exit code 0: reproduced. 1: not reproduced. 6: unsure. With --expect gone, 0 and 1 change places.\n"
		"Without --ablate: the reference arm, everything on, and, with --test-target, all but the data.",
	.options = options,
	.args_size = sizeof(struct run_args),
	.main = run_main,
};
