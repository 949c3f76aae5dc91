#include "recipes/result.h"

#include <math.h>
#include <stdlib.h>

static struct json *names_of(const struct experiment *x, uint32_t on)
{
	struct json *list = json_array();

	for (size_t i = 0; i < x->ablate.conditions; i++) {
		if (on & (UINT32_C(1) << i))
			json_append_text(list, experiment_condition(x, i));
	}
	return list;
}

static const struct judge_effect *effect_of(const struct experiment *x, uint32_t on)
{
	const struct ablate_arm *arm = ablate_find(&x->ablate, on);

	return arm && arm->has_verdict ? &x->effects[arm - x->ablate.arms] : NULL;
}

static struct json *production_json(const struct experiment *x)
{
	double q = x->recipe->quantile, s = judge_set_quantile(&x->sets.inside, q);
	double b = judge_set_quantile(&x->sets.outside, q);
	const struct judge_effect *all = effect_of(x, ablate_all(&x->ablate));
	struct json *j = json_object();

	json_set_number(j, "baseline_p99_ms", b);
	json_set_number(j, "spike_p99_ms", s);
	json_set_number(j, "ratio", s / b);
	json_set_number(j, "ratio_low", all ? all->ratio.low : NAN);
	json_set_number(j, "ratio_high", all ? all->ratio.high : NAN);
	json_set_int(j, "occurrences", (int64_t)x->recipe->inside_count);
	json_set_int(j, "requests_inside", (int64_t)x->sets.inside.count);
	return j;
}

static void set_interval(struct json *j, struct interval e)
{
	json_set_number(j, "e", e.value);
	json_set_number(j, "low", e.low);
	json_set_number(j, "high", e.high);
}

static void set_effect(struct json *j, const struct judge_effect *f)
{
	set_interval(j, f ? f->e : (struct interval){ NAN, NAN, NAN });
}

/* What a reader would take for granted and could not be looked at. */
static struct json *notes_json(const struct experiment *x)
{
	struct json *list = json_array();

	if (isnan(x->cpu_share))
		json_append_text(
			list, "the target's processors, so not whether the lab was large enough");
	return list;
}

static struct json *lab_json(const struct experiment *x)
{
	const struct judge_effect *f = effect_of(x, ablate_all(&x->ablate));
	struct json *j = json_object();

	json_set_number(j, "baseline_p99_ms", f ? f->l0_ms : NAN);
	json_set_number(j, "spike_p99_ms", f ? f->arm_ms : NAN);
	json_set_number(j, "ratio", f ? f->arm_over_l0.value : NAN);
	json_set_number(j, "low", f ? f->arm_over_l0.low : NAN);
	json_set_number(j, "high", f ? f->arm_over_l0.high : NAN);
	json_set_number(j, "cpu_share", x->cpu_share);
	return j;
}

static struct json *arms_json(const struct experiment *x)
{
	struct json *list = json_array();

	for (size_t i = 0; i < x->ablate.count; i++) {
		const struct ablate_arm *arm = &x->ablate.arms[i];
		const struct ablate_arm *implied;
		struct json *j = json_object();
		int64_t valid = 0, n = 0;

		for (size_t k = 0; k < x->run_count; k++) {
			n += x->runs[k].on == arm->on;
			valid += x->runs[k].on == arm->on && x->runs[k].cell.is_valid;
		}
		json_set(j, "on", names_of(x, arm->on));
		json_set_bool(j, "reference", arm->on == x->ablate.reference);
		implied = arm->has_verdict ? NULL : ablate_implied(&x->ablate, arm->on);
		json_set_text(j, "verdict",
			arm->has_verdict || implied
				? verdict_name(arm->has_verdict ? arm->verdict : VERDICT_NOT)
				: "not run");
		json_set_text(j, "reason", arm->has_verdict ? x->effects[i].reason : NULL);
		json_set(j, "follows_from", implied ? names_of(x, implied->on) : json_array());
		json_set_number(j, "inside_ms", arm->has_verdict ? x->effects[i].arm_ms : NAN);
		set_effect(j, arm->has_verdict ? &x->effects[i] : NULL);
		json_set_int(j, "runs", n);
		json_set_int(j, "valid", valid);
		json_append(list, j);
	}
	return list;
}

static bool runs_json(const struct experiment *x, struct json *list, struct err *e)
{
	for (size_t i = 0; i < x->run_count; i++) {
		const struct experiment_run *run = &x->runs[i];
		const struct cell *c = &run->cell;
		struct judge_set set = { 0 };
		struct json *j = json_object();

		json_append(list, j);
		if (!experiment_run_inside(x, run, &set, e) || !judge_set_seal(&set, e)) {
			judge_set_free(&set);
			return false;
		}
		json_set(j, "on", names_of(x, run->on));
		json_set_int(j, "repeat", run->repeat);
		json_set_number(j, "p99_ms", judge_set_quantile(&set, x->recipe->quantile));
		json_set_int(j, "n", (int64_t)set.count);
		json_set_bool(j, "valid", c->is_valid);
		json_set_text(j, "reason", c->is_valid ? NULL : c->reason);
		json_set_int(j, "planned", (int64_t)c->planned);
		json_set_int(j, "sent", (int64_t)c->sent);
		json_set_int(j, "skipped", (int64_t)c->skipped);
		json_set_int(j, "failed", (int64_t)c->failed);
		json_set_int(j, "unanswered", (int64_t)c->censored);
		json_set_number(j, "lateness_p99_ms", c->lateness_p99_ms);
		json_set_number(j, "cpu_share", c->cpu_share);
		json_set_number(j, "took_s", (double)c->took_ns / 1e9);
		judge_set_free(&set);
	}
	return true;
}

/* What leaving a condition out takes away from the slowdown. */
static bool effects_json(
	const struct experiment *x, const struct run *r, struct json *list, struct err *e)
{
	uint32_t all = ablate_all(&x->ablate);
	struct judge_set full = { 0 };

	if (!experiment_arm_set(x, all, &full, e))
		return false;
	for (size_t i = 0; i < x->ablate.conditions; i++) {
		uint32_t without = ablate_effective(&x->ablate, all & ~(UINT32_C(1) << i));
		const struct judge_effect *f = effect_of(x, without);
		struct interval d = { NAN, NAN, NAN };
		struct judge_set set = { 0 };
		struct json *j;

		if (!f)
			continue;
		if (!experiment_arm_set(x, without, &set, e)) {
			judge_set_free(&full);
			return false;
		}
		d = judge_difference(&full, &set, x->recipe->quantile, r->seed + i);
		judge_set_free(&set);
		j = json_object();
		json_set_text(j, "condition", experiment_condition(x, i));
		json_set_number(j, "effect_ms", d.value);
		json_set_number(j, "low", d.low);
		json_set_number(j, "high", d.high);
		json_append(list, j);
	}
	judge_set_free(&full);
	return true;
}

static bool ablation_json(
	const struct experiment *x, const struct run *r, struct json *j, struct err *e)
{
	struct json *effects = json_array(), *minimal = json_array();
	uint32_t sets[ABLATE_ARMS_MAX];
	/* A verdict that is not "reproduced" names no necessary condition. */
	bool is_answered = x->verdict == VERDICT_REPRODUCED && x->options->is_ablating;
	size_t n = is_answered ? ablate_minimal(&x->ablate, sets, LENGTH(sets)) : 0;

	json_set(j, "effects", effects);
	json_set(j, "necessary", names_of(x, is_answered ? ablate_necessary(&x->ablate) : 0));
	json_set(j, "unknown", names_of(x, is_answered ? ablate_unknown(&x->ablate) : 0));
	json_set(j, "minimal", minimal);
	for (size_t i = 0; i < n; i++)
		json_append(minimal, names_of(x, sets[i]));
	return effects_json(x, r, effects, e);
}

static struct json *untested_json(const struct experiment *x)
{
	struct json *list = json_array();

	for (size_t i = 0; i < x->untested_count; i++) {
		struct json *j = json_object();

		json_set_text(j, "id", x->untested[i].id);
		json_set_text(j, "reason", x->untested[i].reason);
		json_append(list, j);
	}
	return list;
}

struct json *result_json(const struct experiment *x, const struct run *r, struct err *e)
{
	const struct judge_effect *f = effect_of(x, ablate_all(&x->ablate));
	struct json *j = json_object(), *effect = json_object(), *runs = json_array(),
		    *ablation = json_object(), *control = json_object();
	char fingerprint[24];

	snprintf(fingerprint, sizeof(fingerprint), "%016llx",
		(unsigned long long)x->recipe->fingerprint);
	json_set_text(j, "format", "reprod-result");
	json_set_int(j, "version", 1);
	json_set_text(j, "verdict", verdict_name(x->verdict));
	json_set_text(j, "reason", x->reason);
	json_set_text(j, "title", x->recipe->title);
	json_set_text(j, "route", x->production.route);
	json_set_text(j, "fingerprint", fingerprint);
	json_set(j, "production", production_json(x));
	set_interval(control, x->control);
	set_effect(effect, f);
	json_set_text(effect, "quantile", judge_quantile_name(x->recipe->quantile));
	json_set_number(effect, "l0_ms", f ? f->l0_ms : NAN);
	json_set(j, "effect", effect);
	json_set(j, "lab", lab_json(x));
	json_set(j, "arms", arms_json(x));
	json_set(j, "runs", runs);
	json_set(j, "ablation", ablation);
	json_set(j, "control", control);
	json_set(j, "notes", notes_json(x));
	json_set(j, "not_tested", untested_json(x));
	json_set(j, "left_out", json_copy(json_get(x->recipe->document, "left_out")));
	json_set_bool(j, "complete", !x->ran_out_of_time);
	json_set_int(j, "resumed_runs", (int64_t)x->resumed);
	json_set_int(j, "seed", (int64_t)r->seed);
	json_set_text(j, "recipe_sha256", x->recipe_sha256);
	json_set_time(j, "finished", clock_wall_ns(&r->clock));
	json_set_number(j, "minutes", (double)(clock_mono_ns(&r->clock) - x->started_ns) / 60e9);
	if (runs_json(x, runs, e) && ablation_json(x, r, ablation, e))
		return j;
	json_free(j);
	return NULL;
}

struct json *result_summary(const struct json *result)
{
	static const char *const kept[] = { "finished", "verdict", "reason", "production", "effect",
		"lab", "seed", "minutes" };
	struct json *j = json_object();

	for (size_t i = 0; i < LENGTH(kept); i++)
		json_set(j, kept[i], json_copy(json_get(result, kept[i])));
	json_set(j, "necessary", json_copy(json_path(result, "ablation.necessary")));
	json_set(j, "unknown", json_copy(json_path(result, "ablation.unknown")));
	json_set(j, "minimal", json_copy(json_path(result, "ablation.minimal")));
	return j;
}
