/*
 * experiment.h - all runs of a recipe, and what they say together.
 *
 * The reference arm and all-on first; then, with is_ablating and only when all-on
 * reproduced, leave-one-out, none and only-one in random order, where an arm is passed
 * over when some arm with more conditions on did not reproduce; then more runs of
 * unsure arms while time and runs are left. Runs are kept in a side file as they
 * end, so that an interrupted experiment can be taken up again.
 */
#ifndef REPROD_EXPERIMENT_H
#define REPROD_EXPERIMENT_H

#include "core/base/run.h"
#include "core/model/recipe.h"
#include "recipes/ablate.h"
#include "recipes/cell.h"
#include "recipes/production.h"

#define EXPERIMENT_RUNS_MAX 256
#define EXPERIMENT_TRIES 3 /* an invalid run is repeated twice */

struct experiment_options {
	const char *target, *test_target; /* as given; test_target may be NULL */
	bool is_ablating;
	bool wants_all_arms; /* also those whose answer follows from others */
	bool may_run_commands;
	bool is_resuming;
	int64_t max_time_ns; /* 0: none */
	int64_t repeat; /* runs of each arm; unsure arms get up to 3 more */
	const char *runs_path; /* the side file */
	const char *log_path; /* of jobs, or NULL */
	const struct cli_list *only; /* conditions to test; empty: all of the recipe */
};

struct experiment_run {
	uint32_t on;
	int repeat; /* from 1 */
	struct cell cell;
};

struct experiment_untested {
	const char *id;
	const char *reason;
};

struct experiment {
	const struct recipe *recipe;
	const struct experiment_options *options;
	char capture[4096];
	struct production production;
	struct production_sets sets;
	struct interval ratio; /* s / b; NAN without quiet time */
	struct ablate ablate;
	size_t tested[ABLATE_CONDITIONS_MAX]; /* indexes of the recipe's conditions by bit */
	struct experiment_untested untested[RECIPE_CONDITIONS_MAX];
	size_t untested_count;
	struct cell_plan reference_plan, plan;
	struct experiment_run runs[EXPERIMENT_RUNS_MAX];
	size_t run_count;
	size_t resumed;
	struct judge_effect effects[ABLATE_ARMS_MAX]; /* by arm */
	struct judge_set quiet; /* of all valid reference runs */
	double cpu_share; /* of the reference runs, the highest; NAN: not seen */
	struct interval control; /* A/A: E of the reference against itself */
	char no_run[ABLATE_ARMS_MAX][300]; /* by arm: why none of its runs was valid */
	bool is_same_environment;
	struct site target, test;
	char known[RECIPE_CONDITIONS_MAX][2][128];
	char recipe_sha256[65];
	int64_t started_ns;
	bool ran_out_of_time;
	enum verdict verdict;
	const char *reason; /* or NULL */
};

/* What would be run, without touching a target. */
bool experiment_prepare(struct experiment *x, const struct recipe *recipe,
	const struct experiment_options *o, const struct run *r, struct err *e) MUST_USE;
/* The time of one cell, and how many there are: fewer where answers follow from others,
 * up to three more for each arm that is unsure. */
int64_t experiment_cell_ns(const struct experiment *x);
size_t experiment_cells(const struct experiment *x);
/* Leaves the runs in the side file: the caller removes it when the answer is saved. */
bool experiment_run_all(struct experiment *x, const struct run *r, struct err *e) MUST_USE;
void experiment_free(struct experiment *x);

/* The id of the condition of a bit. */
const char *experiment_condition(const struct experiment *x, size_t bit);
/* Requests inside in one run: one run, one block per occurrence. */
bool experiment_run_inside(const struct experiment *x, const struct experiment_run *run,
	struct judge_set *set, struct err *e) MUST_USE;
/* Requests inside in all valid runs of an arm, sealed; the caller frees it. */
bool experiment_arm_set(
	const struct experiment *x, uint32_t on, struct judge_set *ret, struct err *e) MUST_USE;

#endif
