#include "correlate/rank.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"
#include "correlate/tested.h"
#include "correlate/verdict.h"

static const double alike = 0.7;

/* ---- one condition */

/* Seeds follow names, not places: adding a condition moves no other's numbers. */
static uint64_t seed_of(const struct analysis *a, const struct condition *c, size_t route)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ a->seed;

	for (const char *p = c->id; *p; p++)
		h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
	return h ^ a->routes[route].view.route->fingerprint;
}

static double deviations(const struct lineup *l)
{
	return (l->score - l->luck_mean) / fmax(1e-6, l->luck_sd);
}

/* Simes 1986. */
static double simes(double *p, size_t n)
{
	double best = 1;

	quantile_sort(p, n);
	for (size_t i = 0; i < n; i++)
		best = fmin(best, p[i] * (double)n / (double)(i + 1));
	return best;
}

static size_t times_inside(const struct analysis *a, const struct condition *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		n += c->items[i].until_ns >= a->series->first_ns &&
		     c->items[i].start_ns <= a->series->last_ns;
	return n;
}

static bool test_route(
	struct lineup *l, const struct analysis *a, const struct finding *f, size_t route)
{
	const struct view *v = &a->routes[route].view;

	if (f->is_lone)
		return lineup_test_lone(l, v, f->condition);
	return lineup_test(l, v, v, f->condition, seed_of(a, f->condition, route));
}

/* Simes over one family of routes; keeps the figures of the best route. */
static bool test_family(
	struct finding *f, const struct analysis *a, size_t from, size_t to, double *ret_p)
{
	double p[TESTED_ROUTES_MAX];
	size_t n = 0;

	*ret_p = 1;
	for (size_t i = from; i < to; i++) {
		struct lineup l;

		if (!test_route(&l, a, f, i)) {
			lineup_free(&l);
			return false;
		}
		p[n++] = l.p;
		bool is_better = !f->whole.hits ||
				 (l.p < f->whole.p &&
					 !(l.p <= VERDICT_LEVEL && f->whole.p <= VERDICT_LEVEL));
		if (is_better) {
			lineup_free(&f->whole);
			f->whole = l;
			f->route = i;
		} else {
			lineup_free(&l);
		}
	}
	if (n)
		*ret_p = simes(p, n);
	return true;
}

static bool test_whole(struct finding *f, const struct analysis *a)
{
	double first = 1, second = 1;

	f->whole = (struct lineup){ .p = 1,
		.lift = NAN,
		.lift_low = NAN,
		.lift_high = NAN,
		.p_phase = NAN,
		.smallest_lift = NAN };
	f->lag = (struct lag){ NAN, NAN, NAN, NAN, false };
	f->is_lone = times_inside(a, f->condition) == 1;
	f->null = f->is_lone ? "all places of its window in the capture"
			     : "every cycle shifted by itself";
	if (!test_family(f, a, 0, a->spiking_count, &first))
		return false;
	if (first > VERDICT_LEVEL && !test_family(f, a, a->spiking_count, a->route_count, &second))
		return false;
	f->p = fmin(first, 2 * second);
	return true;
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

	if (!l->evaluable)
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

/* Windows with the measured effect behind them: what goes when it is taken out. */
static size_t effect_spans(const struct analysis *a, const struct finding *f, struct span *spans)
{
	size_t n = 0;
	int64_t tick_ns = a->series->tick_ns;

	for (size_t i = 0; i < f->condition->count; i++) {
		struct span s = f->whole.spans[i];

		if (f->lag.duration_s > 0) {
			int64_t end = f->condition->items[i].start_ns +
				      (int64_t)((f->lag.lag_s + f->lag.duration_s) * 1e9);
			int64_t tick = series_tick(a->series, end) + NS_PER_S / 20 / tick_ns + 1;

			s.to_tick = tick > s.to_tick ? tick : s.to_tick;
		}
		spans[n++] = s;
	}
	return span_join(spans, n, 0);
}

static bool windows_alike(const struct finding *x, const struct finding *y)
{
	struct span *a = calloc(x->condition->count + 1, sizeof(*a));
	struct span *b = calloc(y->condition->count + 1, sizeof(*b));
	bool result = false;

	if (a && b && x->whole.spans && y->whole.spans) {
		memcpy(a, x->whole.spans, x->condition->count * sizeof(*a));
		memcpy(b, y->whole.spans, y->condition->count * sizeof(*b));
		size_t na = span_join(a, x->condition->count, 0);
		size_t nb = span_join(b, y->condition->count, 0);
		double common = (double)span_common(a, na, b, nb);
		double all = (double)(span_total(a, na) + span_total(b, nb)) - common;

		result = all > 0 && common / all >= alike;
	}
	free(a);
	free(b);
	return result;
}

/* f outside the effect of the others. */
static bool test_rest(struct lineup *ret, const struct analysis *a, const struct finding *f,
	const struct finding *const *others, size_t count)
{
	const struct view *full = &a->routes[f->route].view;
	struct view hidden = { 0 };
	struct span *spans;
	size_t room = 1, used = 0;
	bool ok = false;

	for (size_t i = 0; i < count; i++)
		room += others[i]->condition->count;
	spans = calloc(room, sizeof(*spans));
	for (size_t i = 0; spans && i < count; i++)
		used += effect_spans(a, others[i], spans + used);
	if (spans && view_hide(&hidden, full, spans, span_join(spans, used, 0)))
		ok = lineup_test(ret, &hidden, full, f->condition,
			seed_of(a, f->condition, f->route) ^ 0x2e57);
	view_free(&hidden);
	free(spans);
	return ok;
}

static bool measure_lag(struct finding *f, const struct analysis *a)
{
	f->lag = (struct lag){ NAN, NAN, NAN, NAN, false };
	return lag_measure(&f->lag, &a->routes[f->route].view, f->condition, &f->whole,
		seed_of(a, f->condition, f->route));
}

/* ---- ranking */

static bool add_rest(struct finding *f, const struct analysis *a,
	const struct finding *const *accepted, size_t count)
{
	struct lineup rest = { 0 };

	if (!test_rest(&rest, a, f, accepted, count)) {
		lineup_free(&rest);
		return false;
	}
	f->rest = rest;
	f->has_rest = true;
	return true;
}

static double hit_rate(const struct lineup *l)
{
	return l->evaluable ? (double)l->hit / (double)l->evaluable : 0;
}

/* Neither shows anything without the other: timing cannot separate them. */
static bool is_inseparable(
	const struct analysis *a, const struct finding *f, const struct finding *best)
{
	struct lineup l = { 0 };
	const struct finding *others[] = { f };
	bool result = false;

	if (f->route == best->route && f->p <= VERDICT_LEVEL && test_rest(&l, a, best, others, 1))
		result = l.p > VERDICT_LEVEL &&
			 (double)f->whole.hit >= alike * (double)best->whole.hit &&
			 hit_rate(&f->whole) >= alike * hit_rate(&best->whole);
	lineup_free(&l);
	return result;
}

static const struct finding *same_group(const struct analysis *a, const struct finding *f,
	const struct finding *const *accepted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (windows_alike(f, accepted[i]) || (f->has_rest && f->rest.p > VERDICT_LEVEL &&
							     is_inseparable(a, f, accepted[i])))
			return accepted[i];
	return NULL;
}

static void join_group(struct finding *f, const struct finding *with)
{
	f->group = with->group;
	f->has_rest = false;
	lineup_free(&f->rest);
	verdict_say(
		f, with->verdict, "cannot be told apart from %s by timing", with->condition->id);
}

static void judge_shared(struct finding *f, const struct analysis *a,
	const struct finding *const *accepted, size_t count)
{
	double whole_p = f->p;
	const struct finding *with = same_group(a, f, accepted, count);

	if (with) {
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

static bool overlaps(const struct finding *f, struct span s)
{
	for (size_t k = 0; k < f->condition->count; k++)
		if (s.from_tick < f->whole.spans[k].to_tick &&
			s.to_tick > f->whole.spans[k].from_tick)
			return true;
	return false;
}

static bool starts_in(const struct finding *f, struct span s)
{
	for (size_t k = 0; k < f->condition->count; k++)
		if (s.from_tick >= f->whole.spans[k].from_tick &&
			s.from_tick < f->whole.spans[k].to_tick)
			return true;
	return false;
}

/* What a condition that lines up covers is explained, on whichever route. */
static void explain(struct analysis *a, const struct finding *f)
{
	for (size_t r = 0; r < a->spiking_count; r++) {
		struct tested_route *t = &a->routes[r];

		for (size_t i = 0; i < t->spikes.count; i++) {
			const struct spike *s = &t->spikes.items[i];
			bool is_shift = s->kind == SPIKE_LEVEL_SHIFT;

			t->explained[i] |= is_shift ? starts_in(f, s->span) : overlaps(f, s->span);
		}
	}
}

static void set_coverage(struct finding *f, struct analysis *a)
{
	const struct tested_route *t = &a->routes[f->route];
	size_t inside = 0;

	if (!f->whole.spans)
		return;
	if (f->verdict <= VERDICT_SUGGESTIVE)
		explain(a, f);
	for (size_t i = 0; i < t->spikes.count; i++)
		inside += starts_in(f, t->spikes.items[i].span);
	f->coverage = t->spikes.count ? (double)inside / (double)t->spikes.count : 0;
	f->coverage_time = t->lost_s > 0 ? fmin(1, f->whole.lost_s / t->lost_s) : 0;
}

static int by_rank(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->verdict != y->verdict)
		return x->verdict < y->verdict ? -1 : 1;
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

static bool rank(struct analysis *a)
{
	const struct finding **accepted = calloc(a->finding_count + 1, sizeof(*accepted));
	size_t count = 0;
	bool ok = accepted != NULL;

	qsort(a->findings, a->finding_count, sizeof(*a->findings), by_p);
	set_q(a->findings, a->finding_count);
	order_by_fit(a);
	for (size_t i = 0; ok && i < a->finding_count; i++) {
		struct finding *f = &a->findings[i];

		f->group = i + 1;
		if (!a->route_count) {
			verdict_say(f, VERDICT_CANNOT_TELL,
				"no route has the requests that a p99 needs");
			continue;
		}
		ok = measure_lag(f, a);
		if (!ok)
			break;
		if (f->is_lone) {
			verdict_judge_lone(f, a);
			continue;
		}
		if (count && f->whole.evaluable) {
			ok = add_rest(f, a, accepted, count);
			if (ok)
				judge_shared(f, a, accepted, count);
		} else {
			verdict_judge(f, a);
		}
		if (ok && f->verdict == VERDICT_LINES_UP && f->group == i + 1)
			accepted[count++] = f;
	}
	for (size_t i = 0; ok && a->route_count && i < a->finding_count; i++)
		set_coverage(&a->findings[i], a);
	free(accepted);
	if (a->finding_count)
		qsort(a->findings, a->finding_count, sizeof(*a->findings), by_rank);
	number_groups(a);
	return ok;
}

static bool test_all(struct analysis *a, const struct run *run)
{
	struct run_progress progress = {
		.verb = "testing", .unit = "conditions", .total = (double)a->conditions->count
	};
	bool ok = true;

	a->findings = calloc(a->conditions->count + 1, sizeof(*a->findings));
	if (!a->findings)
		return false;
	for (size_t i = 0; ok && i < a->conditions->count && !run_stopped(run); i++) {
		a->findings[i].condition = &a->conditions->items[i];
		ok = test_whole(&a->findings[i], a);
		a->finding_count++;
		run_progress_at(run, &progress, (double)(i + 1));
	}
	run_progress_end(run, &progress);
	return ok;
}

bool analysis_make(struct analysis *a, const struct series *s,
	const struct condition_list *conditions, const struct series_route *named,
	int64_t bucket_ns, const struct run *run, struct err *e)
{
	*a = (struct analysis){
		.series = s, .conditions = conditions, .bucket_ns = bucket_ns, .seed = run->seed
	};
	if (tested_open(a, named) && test_all(a, run) && rank(a))
		return true;
	return err_set(e, ERR_ENV, "out of memory");
}

void analysis_free(struct analysis *a)
{
	for (size_t i = 0; i < a->route_count; i++)
		tested_close(&a->routes[i]);
	for (size_t i = 0; i < a->finding_count; i++) {
		lineup_free(&a->findings[i].whole);
		lineup_free(&a->findings[i].rest);
	}
	free(a->routes);
	free(a->findings);
	*a = (struct analysis){ 0 };
}
