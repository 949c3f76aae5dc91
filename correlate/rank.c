#include "correlate/rank.h"

#include <math.h>
#include <stdlib.h>

#include "correlate/cover.h"
#include "correlate/family.h"
#include "correlate/group.h"
#include "correlate/rank_rhythm.h"
#include "correlate/tested.h"
#include "correlate/verdict.h"

static double deviations(const struct lineup *l)
{
	return (l->score - l->luck_mean) / fmax(1e-6, l->luck_sd);
}

/* ---- among conditions */

static int by_p(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	double dx = deviations(&x->whole), dy = deviations(&y->whole);
	if (dx != dy)
		return dx > dy ? -1 : 1;
	return strcmp(x->condition->id, y->condition->id);
}

/* How well it alone accounts for the slow time: hits among its occurrences, share of
 * the time lost, and windows that are not simply everywhere. */
static double fit(const struct analysis *a, const struct finding *f)
{
	const struct lineup *l = &f->whole;
	double lost = a->route_count ? a->routes[f->route].lost_s : 0;

	if (!l->evaluable || f->metric)
		return 0;
	return (double)l->hit / (double)l->evaluable * (lost > 0 ? fmin(1, l->lost_s / lost) : 1) *
	       fmax(0, 1 - l->share);
}

/* Below a thousandth the p-value's noise orders nothing: the better fit goes first. */
static void order_by_fit(struct analysis *a)
{
	size_t strong = 0;

	while (strong < a->finding_count && a->findings[strong].p <= VERDICT_STRONG)
		strong++;
	for (size_t i = 1; i < strong; i++)
		for (size_t k = i;
			k && fit(a, &a->findings[k]) > fit(a, &a->findings[k - 1]) + 1e-9; k--) {
			struct finding kept = a->findings[k];

			a->findings[k] = a->findings[k - 1];
			a->findings[k - 1] = kept;
		}
}

/* Benjamini and Hochberg 1995; findings are sorted by p. */
static void set_q(struct finding *findings, size_t n)
{
	double least = 1;

	for (size_t i = n; i-- > 0;) {
		least = fmin(least, findings[i].p * (double)n / (double)(i + 1));
		findings[i].q = least;
	}
}

static bool measure_lag(struct finding *f, const struct analysis *a)
{
	f->lag = (struct lag){ NAN, NAN, NAN, NAN, false };
	return lag_measure(&f->lag, &a->routes[f->route].view, f->condition, &f->whole,
		family_seed(a, f->condition->id, f->route));
}

/* ---- ranking */

static bool add_rest(struct finding *f, const struct analysis *a,
	const struct finding *const *accepted, size_t count)
{
	struct lineup rest = { 0 };

	if (!group_test_rest(&rest, a, f, accepted, count)) {
		lineup_free(&rest);
		return false;
	}
	f->rest = rest;
	f->has_rest = true;
	return true;
}

static void join_group(struct finding *f, const struct finding *with)
{
	f->group = with->group;
	f->has_rest = false;
	lineup_free(&f->rest);
	verdict_say(f, f->condition->is_weak ? VERDICT_SUGGESTIVE : with->verdict,
		"cannot be told apart from %s by timing%s", with->condition->id,
		f->condition->is_weak ? "; its times are only near the event's" : "");
}

static void judge_shared(struct finding *f, const struct analysis *a,
	const struct finding *const *accepted, size_t count)
{
	double whole_p = f->p;
	const struct finding *with = group_of(a, f, accepted, count);

	/* Whose windows are alike need not have shown anything itself, or came after. */
	if (with && whole_p <= VERDICT_LEVEL && !f->lag.is_before) {
		join_group(f, with);
		return;
	}
	/* Second looks are paid for twice when only they found something. */
	f->p = whole_p <= VERDICT_LEVEL ? fmax(whole_p, f->rest.p) : fmin(whole_p, 2 * f->rest.p);
	f->q = fmin(1, fmax(f->q, f->p * (double)a->finding_count / (double)(count + 1)));
	if (whole_p <= VERDICT_LEVEL && f->rest.p > VERDICT_LEVEL) {
		verdict_say_nothing(f, &f->rest);
		verdict_say(f,
			f->verdict == VERDICT_CANNOT_TELL && f->rest.evaluable < VERDICT_HITS_MIN
				? VERDICT_CANNOT_TELL
				: VERDICT_NO_EVIDENCE,
			"its hits are shared with %s%s; outside those windows %zu of %zu occurrences hit, luck alone hits %.1f",
			accepted[0]->condition->id, count > 1 ? " and others" : "", f->rest.hit,
			f->rest.evaluable, f->rest.hit_by_luck);
		return;
	}
	verdict_judge(f, a);
}

static int by_rank(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->verdict != y->verdict)
		return x->verdict < y->verdict ? -1 : 1;
	/* A metric cannot be switched off: what can be goes first. */
	if (!x->metric != !y->metric)
		return x->metric ? 1 : -1;
	if (x->group != y->group && x->verdict <= VERDICT_SUGGESTIVE)
		return x->group < y->group ? -1 : 1;
	return by_p(a, b);
}

static void number_groups(struct analysis *a)
{
	size_t *map = calloc(a->finding_count + 2, sizeof(*map)), next = 0;

	for (size_t i = 0; map && i < a->finding_count; i++) {
		size_t *to = &map[a->findings[i].group];

		if (!*to)
			*to = ++next;
		a->findings[i].group = *to;
	}
	free(map);
}

/* What only makes sense of something that shows. */
static bool look_into(struct finding *f, const struct analysis *a)
{
	const struct view *v = &a->routes[f->route].view;
	uint64_t seed = family_seed(a, f->condition->id, f->route);
	struct context_question q = { v, f->condition, &f->whole, a->conditions, a->metrics, seed };

	return sham_measure(&f->sham, v, f->condition, &f->whole) &&
	       dose_measure(&f->dose, v, f->condition, &f->whole, seed) &&
	       context_measure(&f->contexts, &q);
}

/* accepted: what lined up before it. */
static bool judge(struct finding *f, const struct analysis *a,
	const struct finding *const *accepted, size_t count)
{
	if (!measure_lag(f, a))
		return false;
	if (f->is_lone) {
		verdict_judge_lone(f, a);
		return true;
	}
	if (count && f->whole.evaluable) {
		if (!add_rest(f, a, accepted, count))
			return false;
		judge_shared(f, a, accepted, count);
	} else {
		verdict_judge(f, a);
	}
	return f->verdict > VERDICT_SUGGESTIVE || look_into(f, a);
}

static bool judge_conditions(struct analysis *a, const struct finding **accepted)
{
	size_t count = 0;

	for (size_t i = 0; i < a->finding_count; i++) {
		struct finding *f = &a->findings[i];

		f->group = i + 1;
		if (f->metric)
			continue;
		if (!judge(f, a, accepted, count))
			return false;
		if (f->verdict == VERDICT_LINES_UP && f->group == i + 1)
			accepted[count++] = f;
		cover_measure(f, a);
	}
	return true;
}

static bool has_explained(const struct tested_route *t)
{
	for (size_t i = 0; i < t->spikes.count; i++)
		if (t->explained[i])
			return true;
	return false;
}

/* After the conditions: what those explain is no news of a metric's. */
static bool judge_metrics(struct analysis *a)
{
	for (size_t i = 0; i < a->finding_count; i++) {
		struct finding *f = &a->findings[i];
		bool is_shared = false;

		if (!f->metric)
			continue;
		if (f->p <= VERDICT_LEVEL && has_explained(&a->routes[f->route])) {
			if (!family_retest_metric(f, a))
				return false;
			is_shared = f->rest.p > VERDICT_LEVEL;
		}
		verdict_judge_metric(f, a, is_shared);
	}
	return true;
}

static bool rank(struct analysis *a)
{
	const struct finding **accepted = calloc(a->finding_count + 1, sizeof(*accepted));
	bool ok = accepted != NULL;

	qsort(a->findings, a->finding_count, sizeof(*a->findings), by_p);
	set_q(a->findings, a->finding_count);
	order_by_fit(a);
	if (a->route_count)
		ok = ok && judge_conditions(a, accepted) && judge_metrics(a) && rank_rhythms(a);
	for (size_t i = 0; !a->route_count && i < a->finding_count; i++) {
		a->findings[i].group = i + 1;
		verdict_say(&a->findings[i], VERDICT_CANNOT_TELL,
			"no route has the requests that a p99 needs");
	}
	free(accepted);
	if (a->finding_count)
		qsort(a->findings, a->finding_count, sizeof(*a->findings), by_rank);
	number_groups(a);
	return ok;
}

/* ---- all of it */

static void name_metric(struct condition *c, const struct metric *m, const char *kind)
{
	const char *colon = strchr(m->id, ':');

	*c = (struct condition){ .id = m->id,
		.kind = kind,
		.name = colon ? colon + 1 : m->id,
		.dialect = kind,
		.from_ns = m->from_ns,
		.to_ns = m->to_ns };
}

/* The conditions, then the metrics, then the traffic itself. */
static bool list_findings(struct analysis *a)
{
	size_t conditions = a->conditions->count, metrics = a->metrics ? a->metrics->count : 0;

	a->traffic = (struct metric){
		.id = "traffic", .unit = "1/s", .from_ns = INT64_MIN, .to_ns = INT64_MAX
	};
	a->findings = calloc(conditions + metrics + 1 + RHYTHMS, sizeof(*a->findings));
	a->synthetic = calloc(metrics + 1, sizeof(*a->synthetic));
	if (!a->findings || !a->synthetic)
		return false;
	for (size_t i = 0; i < conditions; i++)
		a->findings[i].condition = &a->conditions->items[i];
	for (size_t i = 0; i <= metrics; i++) {
		const struct metric *m = i < metrics ? &a->metrics->items[i] : &a->traffic;

		name_metric(&a->synthetic[i], m, i < metrics ? "metric" : "traffic");
		a->findings[conditions + i].condition = &a->synthetic[i];
		a->findings[conditions + i].metric = m;
	}
	return true;
}

static bool test_all(struct analysis *a, const struct run *run)
{
	size_t count = a->conditions->count + (a->metrics ? a->metrics->count : 0) + 1;
	struct run_progress progress = {
		.verb = "testing", .unit = "conditions", .total = (double)count
	};
	bool ok = list_findings(a);

	for (size_t i = 0; ok && i < count && !run_stopped(run); i++) {
		struct finding *f = &a->findings[i];

		ok = f->metric ? family_test_metric(f, a) : family_test(f, a);
		a->finding_count++;
		run_progress_at(run, &progress, (double)(i + 1));
	}
	run_progress_end(run, &progress);
	return ok;
}

bool analysis_make(struct analysis *a, const struct series *s,
	const struct condition_list *conditions, const struct metric_list *metrics,
	const struct series_route *named, int64_t bucket_ns, const struct run *run, struct err *e)
{
	*a = (struct analysis){ .series = s,
		.conditions = conditions,
		.metrics = metrics,
		.bucket_ns = bucket_ns,
		.seed = run->seed };
	condition_list_init(&a->rhythms);
	if (tested_open(a, named) && cover_init(a) && test_all(a, run) && rank(a))
		return true;
	return err_set(e, ERR_ENV, "out of memory");
}

void analysis_free(struct analysis *a)
{
	for (size_t i = 0; i < a->route_count; i++) {
		free(a->routes[i].covered);
		tested_close(&a->routes[i]);
	}
	for (size_t i = 0; i < a->finding_count; i++) {
		lineup_free(&a->findings[i].whole);
		lineup_free(&a->findings[i].rest);
	}
	free(a->routes);
	free(a->findings);
	free(a->synthetic);
	condition_list_free(&a->rhythms);
	*a = (struct analysis){ 0 };
}
