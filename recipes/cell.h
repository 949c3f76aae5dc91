/*
 * cell.h - one run of one arm: reset, switch, read back, drive, read back.
 *
 * The caller owns sites and recipe. A run that drifted, was not delivered, or whose
 * job failed is left behind as invalid, with the reason; *e is for what must end
 * the experiment.
 */
#ifndef REPROD_CELL_H
#define REPROD_CELL_H

#include "core/base/run.h"
#include "core/model/recipe.h"
#include "recipes/inside.h"
#include "recipes/site.h"

#define CELL_SPANS_MAX RECIPE_WINDOWS_MAX

/* What an arm replays: windows, and where they lie on the run's timeline. */
struct cell_plan {
	size_t windows[RECIPE_WINDOWS_MAX]; /* indexes into the recipe's */
	size_t window_count;
	struct span inside[CELL_SPANS_MAX]; /* one per occurrence or slice */
	size_t inside_count;
	struct span quiet[CELL_SPANS_MAX];
	size_t quiet_count;
	int64_t length_ns;
};

/* Arms other than the reference need no quiet windows. */
void cell_plan(struct cell_plan *p, const struct recipe *recipe, bool wants_quiet);

struct cell_spec {
	const struct recipe *recipe;
	const char *capture; /* resolved */
	const struct cell_plan *plan;
	struct site *site;
	const bool *is_on; /* per condition of the recipe */
	const bool *is_tested; /* the others are left as they are: on, jobs off */
	bool is_all_on; /* then the outcome must resemble production's */
	bool may_run_commands; /* --allow-commands */
	const char *log_path; /* of jobs, or NULL */
	/* Readings of conditions known from earlier runs of the same state, "" at first;
	 * [condition][is_on]. */
	char (*known)[2][128];
};

struct cell {
	bool is_valid;
	/* When the condition behind the occurrences really ran, by its offsets; NULL: off. */
	struct span *job_runs;
	size_t job_run_count;
	char reason[240];
	struct inside_request *requests; /* of the judged route, on the run's timeline */
	size_t count;
	uint64_t planned, sent, failed, skipped, censored;
	uint64_t jobs_started, jobs_delayed;
	double cpu_share; /* of all cores, by the target; NAN: not seen */
	double lateness_p99_ms;
	int64_t took_ns; /* reset included */
};

/* Where the slowdown has to be looked for in this run, into ret[CELL_SPANS_MAX]: the
 * plan's spans; but where the condition behind the occurrences was on, from its own
 * starts to its own ends plus lag (at least a quarter of the plan's span), so that a
 * faster or slower lab is not judged by the time in which nothing was held. An
 * occurrence that was never started is left out. */
size_t cell_inside(const struct cell *c, const struct cell_plan *plan, const struct recipe *recipe,
	struct span *ret);

bool cell_run(
	struct cell *c, const struct cell_spec *spec, const struct run *r, struct err *e) MUST_USE;
void cell_free(struct cell *c);

#endif
