#include "recipes/experiment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/driver/target.h"
#include "recipes/runs.h"

#define RESET_GUESS_NS (3 * NS_PER_S / 2)
#define MORE_RUNS 3 /* of an unsure arm, on top */
#define ABA_SEED 0x9e3779b97f4a7c15u

const char *experiment_condition(const struct experiment *x, size_t bit)
{
	return x->recipe->conditions[x->tested[bit]].id;
}

/* ---- preparing */

static bool is_asked_for(const struct experiment_options *o, const char *id)
{
	if (!o->only || o->only->count == 0)
		return true;
	for (size_t i = 0; i < o->only->count; i++) {
		if (strcmp(o->only->items[i], id) == 0)
			return true;
	}
	return false;
}

static void leave_untested(struct experiment *x, const char *id, const char *reason)
{
	x->untested[x->untested_count++] = (struct experiment_untested){ id, reason };
}

static void choose_conditions(struct experiment *x)
{
	uint32_t reference = 0, in_snapshot = 0, data = 0;
	size_t n = 0;

	for (size_t i = 0; i < x->recipe->condition_count; i++) {
		const struct recipe_condition *c = &x->recipe->conditions[i];
		uint32_t bit = UINT32_C(1) << n;

		if (!is_asked_for(x->options, c->id)) {
			leave_untested(x, c->id, "left out by --condition");
			continue;
		}
		if (c->how == SWITCH_DATA && !x->options->test_target) {
			leave_untested(x, c->id, "no --test-target was given, so it was always on");
			continue;
		}
		if (c->how == SWITCH_DATA)
			data = bit;
		if (c->how == SWITCH_DATA || c->how == SWITCH_CONCURRENCY)
			reference |= bit;
		if (c->is_in_snapshot)
			in_snapshot |= bit;
		x->tested[n++] = i;
	}
	ablate_start(&x->ablate, n, reference, in_snapshot, data);
}

static struct span *spans_of(const struct recipe_span *from, size_t count)
{
	struct span *spans = calloc(count + 1, sizeof(*spans));

	for (size_t i = 0; spans && i < count; i++)
		spans[i] = (struct span){ from[i].from_ns, from[i].to_ns };
	return spans;
}

static bool load_production(struct experiment *x, const struct run *r, struct err *e)
{
	const struct recipe *recipe = x->recipe;
	struct span *inside = spans_of(recipe->inside, recipe->inside_count);
	struct span *slow = spans_of(recipe->slow, recipe->slow_count);
	struct span *quiet = spans_of(recipe->quiet, recipe->quiet_count);
	struct production_choice choice = { .fingerprint = recipe->fingerprint };
	struct production_spans spans = { .inside = inside,
		.inside_count = recipe->inside_count,
		.slow = slow,
		.slow_count = recipe->slow_count,
		.quiet = quiet,
		.quiet_count = recipe->quiet_count,
		.guard_ns = (int64_t)(recipe->guard_s * 1e9) };
	bool ok = (inside && slow && quiet) || err_set(e, ERR_ENV, "memory ran out");

	ok = ok && production_load(&x->production, x->capture, &choice, r, e) &&
	     production_divide(&x->production, &spans, &x->sets, e);
	free(inside);
	free(slow);
	free(quiet);
	return ok;
}

bool experiment_prepare(struct experiment *x, const struct recipe *recipe,
	const struct experiment_options *o, const struct run *r, struct err *e)
{
	*x = (struct experiment){
		.recipe = recipe, .options = o, .cpu_share = NAN, .control = { NAN, NAN, NAN }
	};
	x->started_ns = clock_mono_ns(&r->clock);
	if (!recipe_resolve(recipe, recipe->capture, x->capture))
		return err_set(e, ERR_INPUT, "the capture's path is too long");
	if (!file_sha256(recipe->path, x->recipe_sha256, e) || !load_production(x, r, e))
		return false;
	x->ratio = judge_ratio(&x->sets.inside, &x->sets.outside, recipe->quantile, r->seed);
	choose_conditions(x);
	if (x->ablate.conditions == 0)
		return err_set(e, ERR_INPUT, "%s: no condition is left to test", recipe->path);
	cell_plan(&x->reference_plan, recipe, true);
	cell_plan(&x->plan, recipe, false);
	return true;
}

int64_t experiment_cell_ns(const struct experiment *x)
{
	int64_t total = 0, n = 0;

	for (size_t i = 0; i < x->run_count; i++) {
		total += x->runs[i].cell.took_ns;
		n += x->runs[i].cell.took_ns > 0;
	}
	return n ? total / n : x->reference_plan.length_ns + RESET_GUESS_NS;
}

size_t experiment_cells(const struct experiment *x)
{
	struct ablate a = x->ablate;
	int64_t repeat = x->options->repeat > 0 ? x->options->repeat : 1;

	if (x->options->is_ablating)
		ablate_add_factors(&a);
	else if (a.data)
		ablate_add(&a, ablate_all(&a) & ~a.data);
	return a.count * (size_t)repeat;
}

/* ---- running */

static int runs_of(const struct experiment *x, uint32_t on, bool only_valid)
{
	int n = 0;

	for (size_t i = 0; i < x->run_count; i++)
		n += x->runs[i].on == on && (!only_valid || x->runs[i].cell.is_valid);
	return n;
}

static bool has_time(struct experiment *x, const struct run *r)
{
	int64_t spent_ns = clock_mono_ns(&r->clock) - x->started_ns;

	if (x->options->max_time_ns > 0 &&
		spent_ns + experiment_cell_ns(x) > x->options->max_time_ns)
		x->ran_out_of_time = true;
	return !x->ran_out_of_time;
}

static void describe_arm(const struct experiment *x, uint32_t on, struct buf *text)
{
	size_t n = 0;

	for (size_t i = 0; i < x->ablate.conditions; i++) {
		if (on & (UINT32_C(1) << i))
			buf_addf(text, "%s%s", n++ ? ", " : "", experiment_condition(x, i));
	}
	if (n == 0)
		buf_add_text(text, "nothing");
}

static void note_run(
	const struct experiment *x, const struct experiment_run *run, const struct run *r)
{
	struct buf text = { 0 };
	char took[CLOCK_TEXT_MAX];

	describe_arm(x, run->on, &text);
	run_note(r, "run %zu: %s on: %zu requests of the route, %s%s%s", x->run_count,
		buf_text(&text), run->cell.count, clock_duration_text(run->cell.took_ns, took),
		run->cell.is_valid ? "" : "; invalid: ", run->cell.reason);
	buf_free(&text);
}

static bool run_arm(struct experiment *x, uint32_t on, const struct run *r, struct err *e)
{
	bool is_on[RECIPE_CONDITIONS_MAX] = { false }, is_tested[RECIPE_CONDITIONS_MAX] = { false };
	struct experiment_run *run = &x->runs[x->run_count];
	bool is_test = x->ablate.data && !(on & x->ablate.data);
	struct cell_spec spec = { .recipe = x->recipe,
		.capture = x->capture,
		.plan = on == x->ablate.reference ? &x->reference_plan : &x->plan,
		.site = is_test ? &x->test : &x->target,
		.is_on = is_on,
		.is_tested = is_tested,
		.is_all_on = on == ablate_all(&x->ablate),
		.may_run_commands = x->options->may_run_commands,
		.log_path = x->options->log_path,
		.known = x->known };

	for (size_t i = 0; i < x->ablate.conditions; i++) {
		is_tested[x->tested[i]] = true;
		is_on[x->tested[i]] = on & (UINT32_C(1) << i);
	}
	*run = (struct experiment_run){ .on = on, .repeat = runs_of(x, on, true) + 1 };
	if (!cell_run(&run->cell, &spec, r, e))
		return false;
	x->run_count++;
	note_run(x, run, r);
	return runs_append(x, run, e);
}

/* Up to `wanted` valid runs; a run that did not count is repeated twice. */
static bool fill_arm(
	struct experiment *x, uint32_t on, int wanted, const struct run *r, struct err *e)
{
	int tries = EXPERIMENT_TRIES;

	while (runs_of(x, on, true) < wanted && tries-- > 0 && x->run_count < EXPERIMENT_RUNS_MAX &&
		has_time(x, r)) {
		if (!run_arm(x, on, r, e))
			return false;
		if (x->runs[x->run_count - 1].cell.is_valid)
			tries = EXPERIMENT_TRIES;
	}
	return true;
}

/* ---- judging */

bool experiment_run_inside(const struct experiment *x, const struct experiment_run *run,
	struct judge_set *set, struct err *e)
{
	const struct cell_plan *plan =
		run->on == x->ablate.reference ? &x->reference_plan : &x->plan;
	struct span spans[CELL_SPANS_MAX];

	return inside_collect(set, run->cell.requests, run->cell.count, spans,
		cell_inside(&run->cell, plan, x->recipe, spans), e);
}

bool experiment_arm_set(
	const struct experiment *x, uint32_t on, struct judge_set *ret, struct err *e)
{
	*ret = (struct judge_set){ 0 };
	for (size_t i = 0; i < x->run_count; i++) {
		const struct experiment_run *run = &x->runs[i];

		if (run->on == on && run->cell.is_valid && !experiment_run_inside(x, run, ret, e))
			return false;
	}
	return judge_set_seal(ret, e);
}

/* l0 comes from the reference arm's quiet time; a state that has none in its cell is
 * compared with the reference arm's own slices. */
static bool collect_quiet(struct experiment *x, struct err *e)
{
	const struct cell_plan *plan = &x->reference_plan;
	int64_t guard_ns = (int64_t)(x->recipe->guard_s * 1e9);

	judge_set_free(&x->quiet);
	x->cpu_share = NAN;
	for (size_t i = 0; i < x->run_count; i++) {
		const struct cell *c = &x->runs[i].cell;
		bool ok;

		if (x->runs[i].on != x->ablate.reference || !c->is_valid)
			continue;
		if (!isnan(c->cpu_share) && !(c->cpu_share <= x->cpu_share))
			x->cpu_share = c->cpu_share;
		ok = plan->quiet_count ? outside_collect(&x->quiet, c->requests, c->count,
						 plan->inside, plan->inside_count, guard_ns,
						 plan->quiet, plan->quiet_count, e)
				       : inside_collect(&x->quiet, c->requests, c->count,
						 plan->inside, plan->inside_count, e);
		if (!ok)
			return false;
	}
	return judge_set_seal(&x->quiet, e);
}

/* The first run's fault stands for its repeats. */
static void tell_why_none(struct experiment *x, size_t arm)
{
	char *text = x->no_run[arm];

	for (size_t i = x->run_count; i-- > 0;) {
		if (x->runs[i].on == x->ablate.arms[arm].on)
			snprintf(text, sizeof(x->no_run[arm]), "no run of it was valid: %s",
				x->runs[i].cell.reason);
	}
	x->effects[arm].reason = text;
}

static bool judge_all(struct experiment *x, const struct run *r, struct err *e)
{
	struct judge_terms reference = { .production_inside = &x->sets.inside,
		.production_outside = &x->sets.outside,
		.is_same_environment = x->is_same_environment,
		.reference_quiet = &x->quiet,
		.q = x->recipe->quantile,
		.seed = r->seed };

	if (!collect_quiet(x, e) || !judge_control(&reference, &x->control, e))
		return false;
	for (size_t i = 0; i < x->ablate.count; i++) {
		struct ablate_arm *arm = &x->ablate.arms[i];
		struct judge_set inside = { 0 };
		struct judge_terms terms = reference;

		arm->has_verdict = runs_of(x, arm->on, false) > 0;
		if (!arm->has_verdict)
			continue;
		if (!experiment_arm_set(x, arm->on, &inside, e)) {
			judge_set_free(&inside);
			return false;
		}
		terms.arm_inside = &inside;
		terms.seed += arm->on * ABA_SEED;
		x->effects[i] = judge_effect(&terms);
		if (runs_of(x, arm->on, true) == 0)
			tell_why_none(x, i);
		arm->verdict = x->effects[i].verdict;
		judge_set_free(&inside);
	}
	return true;
}

static void conclude(struct experiment *x)
{
	const struct ablate_arm *all = ablate_find(&x->ablate, ablate_all(&x->ablate));
	const struct ablate_arm *reference = ablate_find(&x->ablate, x->ablate.reference);
	const struct judge_effect *f = &x->effects[all - x->ablate.arms];
	const struct judge_effect *alone = &x->effects[reference - x->ablate.arms];

	x->verdict = VERDICT_UNSURE;
	x->reason = "not every arm that is needed could be run";
	if (!all->has_verdict || !reference->has_verdict)
		return;
	if (!isnan(x->cpu_share) && x->cpu_share >= JUDGE_CPU_MAX) {
		x->reason =
			"lab too small: in quiet time the target used 70 % of the processors or more";
		return;
	}
	if (reference->verdict == VERDICT_REPRODUCED && alone->e.value >= JUDGE_E_MIN) {
		x->verdict = VERDICT_REPRODUCED;
		x->reason = "in isolation: profile it directly";
		return;
	}
	x->verdict = f->verdict;
	x->reason = f->reason;
	if (f->verdict == VERDICT_UNSURE)
		return;
	/* What comes and goes with nothing switched says nothing about what was. */
	if (reference->verdict != VERDICT_NOT || judge_is_loud(x->control)) {
		x->verdict = VERDICT_UNSURE;
		x->reason = judge_is_loud(x->control)
				    ? "the lab is not quiet: the reference arm differs from itself"
			    : alone->reason && runs_of(x, reference->on, true) == 0
				    ? alone->reason
				    : "the quiet window is not quiet: the reference arm is unsure";
	}
}

/* ---- the plan of runs */

/* Leaving a condition out is always tried; other arms may follow from what is known. */
static bool fill_arms(struct experiment *x, size_t from, int wanted, bool may_follow,
	const struct run *r, struct err *e)
{
	for (size_t i = from; i < x->ablate.count; i++) {
		if (may_follow && !x->options->wants_all_arms &&
			ablate_implied(&x->ablate, x->ablate.arms[i].on))
			continue;
		if (!fill_arm(x, x->ablate.arms[i].on, wanted, r, e))
			return false;
	}
	return judge_all(x, r, e);
}

static bool can_narrow(const struct experiment *x, size_t arm)
{
	const struct ablate_arm *a = &x->ablate.arms[arm];

	bool is_open = a->verdict == VERDICT_UNSURE ||
		       (a->on == x->ablate.reference && judge_is_loud(x->control));

	return a->has_verdict && is_open && runs_of(x, a->on, true) > 0 &&
	       x->ratio.low >= JUDGE_RATIO_MIN;
}

/* One more run of each arm that is unsure only because its interval is wide, and of the
 * reference, whose l0 all share; again while that helps. */
static bool narrow(struct experiment *x, const struct run *r, struct err *e)
{
	int base = x->options->repeat > 0 ? (int)x->options->repeat : 1;

	for (int more = 1; more <= MORE_RUNS; more++) {
		bool is_any = false;

		for (size_t i = 0; i < x->ablate.count; i++)
			is_any |= can_narrow(x, i);
		if (!is_any || !has_time(x, r))
			return true;
		for (size_t i = 0; i < x->ablate.count; i++) {
			bool wanted =
				can_narrow(x, i) || x->ablate.arms[i].on == x->ablate.reference;

			if (wanted && !fill_arm(x, x->ablate.arms[i].on, base + more, r, e))
				return false;
		}
		if (!judge_all(x, r, e))
			return false;
	}
	return true;
}

static bool is_ablatable(struct experiment *x)
{
	conclude(x);
	return x->verdict == VERDICT_REPRODUCED && !x->reason;
}

static bool run_experiment(struct experiment *x, const struct run *r, struct err *e)
{
	int repeat = x->options->repeat > 0 ? (int)x->options->repeat : 1;

	if (!x->options->is_ablating && x->ablate.data)
		ablate_add(&x->ablate, ablate_all(&x->ablate) & ~x->ablate.data);
	ablate_shuffle(&x->ablate, 0, r->seed);
	if (!fill_arms(x, 0, repeat, false, r, e) || !narrow(x, r, e))
		return false;
	if (x->options->is_ablating && is_ablatable(x)) {
		size_t known = x->ablate.count;

		ablate_add_without(&x->ablate);
		ablate_shuffle(&x->ablate, known, r->seed + 1);
		if (!fill_arms(x, known, repeat, false, r, e) || !narrow(x, r, e))
			return false;
		known = x->ablate.count;
		ablate_add_factors(&x->ablate);
		ablate_shuffle(&x->ablate, known, r->seed + 2);
		if (!fill_arms(x, known, repeat, true, r, e) || !narrow(x, r, e))
			return false;
		if (ablate_add_necessary(&x->ablate) &&
			!fill_arms(x, x->ablate.count - 1, repeat, false, r, e))
			return false;
	}
	conclude(x);
	return true;
}

/* ---- targets */

/* A lab is on this machine; another database's machine is not known to us. */
static void compare_environments(struct experiment *x)
{
	const struct json *p = json_path(x->recipe->document, "environment.production");
	int64_t cores = json_int(json_get(p, "cores"), 0);
	double memory = json_number(json_get(p, "memory_bytes"), 0);
	double ours = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

	x->is_same_environment = x->target.is_dir && cores == sysconf(_SC_NPROCESSORS_ONLN) &&
				 memory > 0 && fabs(memory - ours) < 0.1 * ours;
}

static bool open_site(struct experiment *x, struct site *s, const char *given, const char *name,
	const struct run *r, struct err *e)
{
	if (!file_is_dir(given) && !target_is_not_source(given, x->production.head, e))
		return err_in(e, "%s", name);
	return site_open(s, given, name, x->production.head, r, e);
}

static bool refuse_early(const struct experiment *x, struct err *e)
{
	for (size_t i = 0; i < x->ablate.conditions; i++) {
		const struct recipe_condition *c = &x->recipe->conditions[x->tested[i]];
		struct confine confine = { .is_open = x->options->may_run_commands };
		size_t n = strlen(c->file);

		if (c->how != SWITCH_FILE || n < 3 || strcmp(c->file + n - 3, ".sh") != 0)
			continue;
		site_confine(&x->target, &confine);
		if (!recipe_resolve(x->recipe, c->file, confine.file) ||
			!confine_user(&confine, e) || !confine_check(&confine, e))
			return err_in(e, "condition '%s'", c->id);
	}
	return true;
}

/* Minutes of runs are not thrown away by a command line that forgot --resume. */
static bool check_kept(const struct experiment *x, const struct run *r, struct err *e)
{
	const char *path = x->options->runs_path;

	if (x->options->is_resuming || r->is_forced || !file_exists(path))
		return true;
	err_set(e, ERR_USAGE, "'%.3000s' holds the runs of an experiment that did not end", path);
	return err_hint(e, "--resume goes on with them, --force throws them away");
}

bool experiment_run_all(struct experiment *x, const struct run *r, struct err *e)
{
	bool ok = check_kept(x, r, e) &&
		  open_site(x, &x->target, x->options->target, "target", r, e) &&
		  (!x->ablate.data ||
			  open_site(x, &x->test, x->options->test_target, "test target", r, e)) &&
		  refuse_early(x, e);

	if (ok) {
		compare_environments(x);
		if (x->options->is_resuming)
			ok = runs_load(x, e);
		else if (unlink(x->options->runs_path) != 0 && errno != ENOENT)
			ok = err_os(
				e, ERR_ENV, errno, "could not remove '%s'", x->options->runs_path);
	}
	ok = ok && run_experiment(x, r, e);
	site_close(&x->target);
	site_close(&x->test);
	if (!ok && e->kind == ERR_INTERRUPTED && x->run_count > 0)
		err_hint(e, "%zu runs are kept in '%s': take it up again with --resume",
			x->run_count, x->options->runs_path);
	return ok;
}

void experiment_free(struct experiment *x)
{
	for (size_t i = 0; i < x->run_count; i++)
		cell_free(&x->runs[i].cell);
	production_free(&x->production);
	production_sets_free(&x->sets);
	judge_set_free(&x->quiet);
	*x = (struct experiment){ 0 };
}
