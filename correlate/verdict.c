#include "correlate/verdict.h"

#include <math.h>
#include <stdio.h>

static const double lift_min = 1.5, visible_lift = 3, material = 0.05;
static const int64_t burst_gap_ns = 10 * NS_PER_S;
static const double burst_share = 0.02; /* a fifth of a capture full of turns */

const char *verdict_text(enum verdict v)
{
	static const char *const texts[] = { "lines up", "suggestive", "no evidence",
		"cannot tell" };

	return texts[v];
}

static double material_share(const struct analysis *a, const struct lineup *l)
{
	double most = 0;

	/* The worst route's: a quiet one's own ripples are no share of the trouble. */
	for (size_t i = 0; i < a->spiking_count; i++)
		most = fmax(most, a->routes[i].lost_s);
	return most > 0 ? l->lost_s / most : 1;
}

static bool lines_up(const struct analysis *a, const struct finding *f, const struct lineup *l)
{
	return !f->is_lone && !f->condition->is_weak && f->q <= VERDICT_LEVEL &&
	       l->lift >= lift_min && l->hit >= VERDICT_HITS_MIN && !f->lag.is_before &&
	       (material_share(a, l) >= material || f->p <= VERDICT_STRONG);
}

static bool is_suggestive(const struct analysis *a, const struct finding *f, const struct lineup *l)
{
	return f->p <= VERDICT_LEVEL && l->lift >= lift_min &&
	       l->hit >= (l->evaluable < VERDICT_HITS_MIN ? 1 : 2) && !f->lag.is_before &&
	       material_share(a, l) >= material;
}

void verdict_say(struct finding *f, enum verdict v, const char *fmt, ...)
{
	va_list ap;

	f->verdict = v;
	va_start(ap, fmt);
	vsnprintf(f->reason, sizeof(f->reason), fmt, ap);
	va_end(ap);
}

/* Windows follow the usual gap: that short, and without a rhythm that goes on through
 * the capture, they hold nothing of what an occurrence does, and a shift by half a gap
 * moves nothing. */
static bool is_burst(const struct condition *c, const struct lineup *l)
{
	return c->period_ns > 0 && c->period_ns < burst_gap_ns &&
	       (!c->is_regular || l->share < burst_share);
}

/* What is told when the test was no success: could it have been one? */
void verdict_say_nothing(struct finding *f, const struct lineup *l)
{
	double smallest = f->whole.smallest_lift;
	const char *where = l == &f->rest ? "outside of what ranks above, " : "";

	if (f->has_rest && !isnan(f->rest.smallest_lift) && !(smallest < f->rest.smallest_lift))
		smallest = f->rest.smallest_lift;
	f->whole.smallest_lift = smallest;
	if (!l->evaluable)
		verdict_say(f, VERDICT_CANNOT_TELL, "%s",
			!l->inside                   ? "no occurrence inside the capture"
			: l->unobserved == l->inside ? "it falls in time that nobody watched"
						     : "no requests in its windows");
	else if (is_burst(f->condition, l))
		verdict_say(f, VERDICT_CANNOT_TELL,
			"its times come in bursts, %.2g s apart: too close to judge them one by one",
			(double)f->condition->period_ns / 1e9);
	else if (l->evaluable < VERDICT_HITS_MIN && isnan(smallest))
		verdict_say(f, VERDICT_CANNOT_TELL,
			"only %zu of its occurrences can be judged, three are needed",
			l->evaluable);
	else if (l->evaluable < VERDICT_HITS_MIN)
		verdict_say(f, VERDICT_CANNOT_TELL,
			"only %zu of its occurrences can be judged, three are needed; a lift below %.1f could not have been seen",
			l->evaluable, smallest);
	else if (l->share > 0.7)
		verdict_say(f, VERDICT_CANNOT_TELL, "its windows take %.0f %% of the capture",
			100 * l->share);
	else if (isnan(smallest))
		verdict_say(
			f, VERDICT_CANNOT_TELL, "too little data to see any effect in its windows");
	else if (smallest > visible_lift)
		verdict_say(f, VERDICT_CANNOT_TELL,
			"%s%zu of %zu occurrences hit, luck alone hits %.1f; a lift below %.1f could not have been seen",
			where, l->hit, l->evaluable, l->hit_by_luck, smallest);
	else
		verdict_say(f, VERDICT_NO_EVIDENCE,
			"%s%zu of %zu occurrences hit, luck alone hits %.1f; a lift of %.1f would have been seen",
			where, l->hit, l->evaluable, l->hit_by_luck, smallest);
}

void verdict_judge(struct finding *f, const struct analysis *a)
{
	const struct lineup *l = f->has_rest ? &f->rest : &f->whole;

	if (lines_up(a, f, l))
		verdict_say(f, VERDICT_LINES_UP, "%zu of %zu occurrences hit, luck alone hits %.1f",
			l->hit, l->evaluable, l->hit_by_luck);
	else if (is_suggestive(a, f, l))
		verdict_say(f, VERDICT_SUGGESTIVE,
			"%zu of %zu occurrences hit, luck alone hits %.1f%s", l->hit, l->evaluable,
			l->hit_by_luck,
			l->hit < VERDICT_HITS_MIN ? "; three hits are needed to line up"
			: f->condition->is_weak   ? "; its times are only near the event's"
						  : "");
	else if (f->p <= VERDICT_LEVEL && f->lag.is_before)
		verdict_say(f, VERDICT_NO_EVIDENCE,
			"the slow time starts %.1f s before it: probably a reaction",
			-f->lag.lag_s);
	else if (f->p <= VERDICT_LEVEL && l->hit && material_share(a, l) < material)
		verdict_say(f, VERDICT_NO_EVIDENCE,
			"its windows hold %.1f %% of the time lost, too little to matter",
			100 * material_share(a, l));
	else
		verdict_say_nothing(f, l);
}

/* ---- what happened once */

static const struct spike *shift_in_window(
	const struct analysis *a, const struct occurrence *o, size_t *ret_route)
{
	for (size_t i = 0; i < a->spiking_count; i++) {
		const struct tested_route *t = &a->routes[i];

		for (size_t k = 0; k < t->spikes.count; k++) {
			const struct spike *s = &t->spikes.items[k];
			/* The onset is known to about a quarter of a bucket. */
			bool is_after = s->start_ns >= o->start_ns - a->bucket_ns / 4;

			if (s->kind == SPIKE_LEVEL_SHIFT && is_after &&
				s->start_ns <= o->until_ns) {
				*ret_route = i;
				return s;
			}
		}
	}
	return NULL;
}

static bool judge_shift(struct finding *f, const struct analysis *a)
{
	double span_s = (double)(a->series->last_ns - a->series->first_ns) / 1e9;

	for (size_t i = 0; i < f->condition->count; i++) {
		const struct occurrence *o = &f->condition->items[i];
		size_t route;
		const struct spike *s = shift_in_window(a, o, &route);

		if (!s || o->start_ns < a->series->first_ns)
			continue;
		double lag = fmax(0, (double)(s->start_ns - o->start_ns) / 1e9);
		double window = (double)(o->until_ns - o->start_ns) / 1e9;
		struct lineup l;

		if (route != f->route &&
			lineup_test_lone(&l, &a->routes[route].view, f->condition)) {
			lineup_free(&f->whole);
			f->whole = l;
		}
		f->route = route;
		f->null = "the share of the capture in which it would have been as near";
		f->p = fmin(1, fmax((lag + (double)a->bucket_ns / 4e9) / span_s,
				       1 / (1 + span_s / window)));
		f->q = fmax(f->q, f->p);
		f->lag = (struct lag){ lag, lag, lag, (double)(s->end_ns - s->start_ns) / 1e9,
			false };
		f->whole.hits[i] = true;
		f->whole.hit = 1;
		f->whole.judged[i] = true;
		f->whole.evaluable = f->whole.evaluable ? f->whole.evaluable : 1;
		f->whole.lift = s->slow / fmax(1, (double)s->n) / 0.01;
		verdict_say(f, VERDICT_SUGGESTIVE,
			"one occurrence, coincidence not excluded: the level rose %.1f s after it and stayed",
			lag);
		return true;
	}
	return false;
}

void verdict_judge_lone(struct finding *f, const struct analysis *a)
{
	const struct lineup *l = &f->whole;

	if (judge_shift(f, a))
		return;
	if (!l->evaluable)
		verdict_say_nothing(f, l);
	else if (l->hit && l->lift >= lift_min && f->p <= 2 * VERDICT_LEVEL &&
		 material_share(a, l) >= material)
		verdict_say(f, VERDICT_SUGGESTIVE,
			"one occurrence, coincidence not excluded: slow time in its window");
	else if (l->hit)
		verdict_say(f, VERDICT_CANNOT_TELL,
			"one occurrence, and slow time falls in such a window in %.0f %% of its places",
			100 * f->p);
	else
		verdict_say(
			f, VERDICT_NO_EVIDENCE, "one occurrence, without slow time in its window");
}
