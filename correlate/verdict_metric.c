#include <math.h>

#include "correlate/verdict.h"

enum { EPISODES_MIN = 3 };

static const double effect_min = 0.1, visible_effect = 0.5;

/* It moves after the slow time, by more than its points and the buckets can blur. */
static bool is_reaction(const struct finding *f, const struct analysis *a)
{
	int64_t blur = f->metric->gap_ns > a->bucket_ns ? f->metric->gap_ns : a->bucket_ns;

	return f->by_metric.lag_s * 1e9 < -1.5 * (double)blur;
}

static void say_nothing(struct finding *f)
{
	const struct metric_result *r = &f->by_metric;

	if (!r->is_evaluable)
		verdict_say(f, VERDICT_CANNOT_TELL,
			"too few values inside and outside of slow time to compare");
	else if (isnan(r->smallest_effect) || r->smallest_effect > visible_effect)
		verdict_say(f, VERDICT_CANNOT_TELL,
			"effect %.2f; one below %.2f could not have been seen", r->effect,
			isnan(r->smallest_effect) ? 1 : r->smallest_effect);
	else
		verdict_say(f, VERDICT_NO_EVIDENCE, "effect %.2f; one of %.2f would have been seen",
			r->effect, r->smallest_effect);
}

static void say_values(struct finding *f, enum verdict v, const char *then)
{
	const struct metric_result *r = &f->by_metric;
	const char *unit = f->metric->unit ? f->metric->unit : "";

	verdict_say(f, v, "%.3g%s%s in slow time, %.3g outside (effect %.2f)%s", r->inside,
		*unit ? " " : "", unit, r->outside, r->effect, then);
}

void verdict_judge_metric(struct finding *f, const struct analysis *a, bool is_shared)
{
	const struct metric_result *r = &f->by_metric;
	bool is_traffic = f->metric == &a->traffic;

	if (!r->is_evaluable || f->p > VERDICT_LEVEL || fabs(r->effect) < effect_min)
		say_nothing(f);
	else if (is_traffic && r->effect < 0)
		say_values(f, VERDICT_NO_EVIDENCE, ": fewer came, probably since clients waited");
	else if (is_reaction(f, a))
		verdict_say(f, VERDICT_NO_EVIDENCE,
			"it moves %.0f s after the slow time starts: probably a reaction",
			-r->lag_s);
	else if (is_shared)
		say_values(f, VERDICT_NO_EVIDENCE,
			"; nothing of it outside the slow time that the above explain");
	else if (f->q <= VERDICT_LEVEL && r->episodes >= EPISODES_MIN)
		say_values(f, VERDICT_LINES_UP, "");
	else
		say_values(f, VERDICT_SUGGESTIVE,
			r->episodes < EPISODES_MIN ? "; three spikes are needed to line up" : "");
}
