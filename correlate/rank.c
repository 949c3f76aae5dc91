#include "correlate/rank.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"

/* Ticks held over all tested routes; 40 bytes each. */
enum { TICKS_MAX = 2500000, ROUTES_MAX = 200, OTHERS_MAX = 20, HITS_MIN = 3 };

static const double level = 0.05, lift_min = 1.5, visible_lift = 3, material = 0.05, alike = 0.7,
		    strong_p = 0.001;

const char *verdict_text(enum verdict v)
{
	static const char *const texts[] = { "lines up", "suggestive", "no evidence",
		"cannot tell" };

	return texts[v];
}

static int64_t round_bucket(int64_t ns)
{
	static const int steps_s[] = { 1, 2, 5, 10, 15, 30, 60 };
	int64_t best = NS_PER_S;

	for (size_t i = 0; i < LENGTH(steps_s); i++)
		if (steps_s[i] * NS_PER_S <= ns)
			best = steps_s[i] * NS_PER_S;
	return best;
}

int64_t analysis_bucket(
	const struct series *s, const struct condition_list *conditions, bool is_from_packets)
{
	int64_t most = (is_from_packets ? 10 : 60) * NS_PER_S;
	int64_t bucket = (s->last_ns - s->first_ns) / 60;

	bucket = bucket > most ? most : bucket;
	for (size_t i = 0; i < conditions->count; i++) {
		int64_t period = conditions->items[i].period_ns;

		if (period && period / 8 < bucket)
			bucket = period / 8;
	}
	/* Finer than the ticks there is nothing to see. */
	bucket = round_bucket(bucket);
	while (bucket < s->tick_ns)
		bucket *= 2;
	return bucket;
}

/* ---- routes */

/* Spans of the spikes that end, joined. NULL when out of memory. */
static struct span *loud_spans(const struct spike_list *spikes, size_t *ret_count)
{
	struct span *loud = calloc(spikes->count + 1, sizeof(*loud));
	size_t count = 0;

	for (size_t i = 0; loud && i < spikes->count; i++)
		if (spikes->items[i].kind != SPIKE_LEVEL_SHIFT)
			loud[count++] = spikes->items[i].span;
	*ret_count = span_join(loud, count, 0);
	return loud;
}

/* Spikes once found are kept out of the baseline, and then looked for again. */
static bool find_spikes(struct tested_route *t)
{
	size_t count;
	struct span *loud;

	if (!spike_find(&t->spikes, &t->view))
		return false;
	loud = loud_spans(&t->spikes, &count);
	if (loud && count) {
		view_refit(&t->view, loud, count);
		spike_list_free(&t->spikes);
		if (!spike_find(&t->spikes, &t->view)) {
			free(loud);
			return false;
		}
	}
	free(loud);
	return loud != NULL;
}

static bool open_route(
	struct tested_route *t, const struct analysis *a, const struct series_route *r)
{
	*t = (struct tested_route){ 0 };
	if (!view_init(&t->view, a->series, r, a->bucket_ns))
		return false;
	if (!find_spikes(t)) {
		spike_list_free(&t->spikes);
		view_free(&t->view);
		return false;
	}
	for (size_t i = 0; i < t->spikes.count; i++)
		t->lost_s += t->spikes.items[i].lost_s;
	return true;
}

static void close_route(struct tested_route *t)
{
	view_free(&t->view);
	spike_list_free(&t->spikes);
	free(t->explained);
	*t = (struct tested_route){ 0 };
}

struct choice {
	size_t index;
	double lost_s;
	bool has_spikes;
	uint64_t requests;
};

static int by_worth(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->has_spikes != y->has_spikes)
		return x->has_spikes ? -1 : 1;
	if (x->has_spikes && x->lost_s != y->lost_s)
		return x->lost_s > y->lost_s ? -1 : 1;
	if (x->requests != y->requests)
		return x->requests > y->requests ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Every route is looked at once for spikes; which are kept is decided afterwards. */
static size_t look(struct analysis *a, const struct series_route *named, struct choice *choices)
{
	size_t count = 0;

	for (size_t i = 0; i < a->series->route_count; i++) {
		const struct series_route *r = a->series->routes[i];
		struct tested_route t;

		if (named && r != named)
			continue;
		if (r->requests < QUANTILE_P99_MIN) {
			a->unestimable++;
			if (!named)
				continue;
		}
		if (!open_route(&t, a, r)) {
			a->untested++;
			continue;
		}
		choices[count++] = (struct choice){ i, t.lost_s, t.spikes.count > 0, r->requests };
		close_route(&t);
	}
	qsort(choices, count, sizeof(*choices), by_worth);
	return count;
}

static bool learn_quiet(struct tested_route *t)
{
	size_t count;
	struct span *loud = loud_spans(&t->spikes, &count);

	t->explained = calloc(t->spikes.count + 1, sizeof(*t->explained));
	if (loud)
		view_learn_quiet(&t->view, loud, count);
	free(loud);
	return loud && t->explained;
}

static bool open_routes(struct analysis *a, const struct series_route *named)
{
	struct choice *choices = calloc(a->series->route_count + 1, sizeof(*choices));
	size_t ticks = 0, others = 0, count;

	if (!choices)
		return false;
	count = look(a, named, choices);
	a->routes = calloc(count + 1, sizeof(*a->routes));
	for (size_t i = 0; a->routes && i < count; i++) {
		struct tested_route *t = &a->routes[a->route_count];

		others += !choices[i].has_spikes;
		if ((a->route_count >= 4 && ticks > TICKS_MAX) || a->route_count == ROUTES_MAX ||
			others > OTHERS_MAX) {
			a->untested += count - i;
			break;
		}
		if (!open_route(t, a, a->series->routes[choices[i].index]))
			break;
		a->route_count++;
		a->spiking_count += t->spikes.count > 0;
		ticks += t->view.ticks;
		if (!learn_quiet(t)) {
			free(choices);
			return false;
		}
	}
	free(choices);
	return a->routes != NULL;
}

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
	double p[ROUTES_MAX];
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
				 (l.p < f->whole.p && !(l.p <= level && f->whole.p <= level));
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
	if (first > level && !test_family(f, a, a->spiking_count, a->route_count, &second))
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

	while (strong < a->finding_count && a->findings[strong].p <= strong_p)
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
	return !f->is_lone && f->q <= level && l->lift >= lift_min && l->hit >= HITS_MIN &&
	       !f->lag.is_before && (material_share(a, l) >= material || f->p <= strong_p);
}

static bool is_suggestive(const struct analysis *a, const struct finding *f, const struct lineup *l)
{
	return f->p <= level && l->lift >= lift_min &&
	       l->hit >= (l->evaluable < HITS_MIN ? 1 : 2) && !f->lag.is_before &&
	       material_share(a, l) >= material;
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

static void say(struct finding *f, enum verdict v, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void say(struct finding *f, enum verdict v, const char *fmt, ...)
{
	va_list ap;

	f->verdict = v;
	va_start(ap, fmt);
	vsnprintf(f->reason, sizeof(f->reason), fmt, ap);
	va_end(ap);
}

/* What is told when the test was no success: could it have been one? */
static void say_nothing(struct finding *f, const struct lineup *l)
{
	double smallest = f->whole.smallest_lift;

	if (f->has_rest && !isnan(f->rest.smallest_lift) && !(smallest < f->rest.smallest_lift))
		smallest = f->rest.smallest_lift;
	f->whole.smallest_lift = smallest;
	if (!l->evaluable)
		say(f, VERDICT_CANNOT_TELL, "%s",
			l->inside ? "no requests in its windows"
				  : "no occurrence inside the capture");
	else if (l->evaluable < HITS_MIN)
		say(f, VERDICT_CANNOT_TELL,
			"only %zu of its occurrences can be judged, three are needed",
			l->evaluable);
	else if (l->share > 0.7)
		say(f, VERDICT_CANNOT_TELL, "its windows take %.0f %% of the capture",
			100 * l->share);
	else if (isnan(smallest))
		say(f, VERDICT_CANNOT_TELL, "too little data to see any effect in its windows");
	else if (smallest > visible_lift)
		say(f, VERDICT_CANNOT_TELL,
			"%zu of %zu occurrences hit, luck alone hits %.1f; a lift below %.1f could not have been seen",
			l->hit, l->evaluable, l->hit_by_luck, smallest);
	else
		say(f, VERDICT_NO_EVIDENCE,
			"%zu of %zu occurrences hit, luck alone hits %.1f; a lift of %.1f would have been seen",
			l->hit, l->evaluable, l->hit_by_luck, smallest);
}

static void judge(struct finding *f, const struct analysis *a)
{
	const struct lineup *l = f->has_rest ? &f->rest : &f->whole;

	if (lines_up(a, f, l))
		say(f, VERDICT_LINES_UP, "%zu of %zu occurrences hit, luck alone hits %.1f", l->hit,
			l->evaluable, l->hit_by_luck);
	else if (is_suggestive(a, f, l))
		say(f, VERDICT_SUGGESTIVE, "%zu of %zu occurrences hit, luck alone hits %.1f%s",
			l->hit, l->evaluable, l->hit_by_luck,
			l->hit < HITS_MIN ? "; three hits are needed to line up" : "");
	else if (f->p <= level && f->lag.is_before)
		say(f, VERDICT_NO_EVIDENCE,
			"the slow time starts %.1f s before it: probably a reaction",
			-f->lag.lag_s);
	else if (f->p <= level && l->hit && material_share(a, l) < material)
		say(f, VERDICT_NO_EVIDENCE,
			"its windows hold %.1f %% of the time lost, too little to matter",
			100 * material_share(a, l));
	else
		say_nothing(f, l);
}

/* ---- what happened once */

static const struct spike *shift_in_window(const struct analysis *a, const struct finding *f,
	const struct occurrence *o, size_t *ret_route)
{
	(void)f;
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
		const struct spike *s = shift_in_window(a, f, o, &route);

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
		f->lag = (struct lag){ lag, lag, lag, (double)(s->end_ns - s->start_ns) / 1e9,
			false };
		f->whole.hits[i] = true;
		f->whole.hit = 1;
		f->whole.judged[i] = true;
		f->whole.evaluable = f->whole.evaluable ? f->whole.evaluable : 1;
		f->whole.lift = s->slow / fmax(1, (double)s->n) / 0.01;
		say(f, VERDICT_SUGGESTIVE,
			"one occurrence, coincidence not excluded: the level rose %.1f s after it and stayed",
			lag);
		return true;
	}
	return false;
}

static void judge_lone(struct finding *f, const struct analysis *a)
{
	const struct lineup *l = &f->whole;

	if (judge_shift(f, a))
		return;
	if (!l->evaluable)
		say_nothing(f, l);
	else if (l->hit && l->lift >= lift_min && f->p <= 2 * level &&
		 material_share(a, l) >= material)
		say(f, VERDICT_SUGGESTIVE,
			"one occurrence, coincidence not excluded: slow time in its window");
	else if (l->hit)
		say(f, VERDICT_CANNOT_TELL,
			"one occurrence, and slow time falls in such a window in %.0f %% of its places",
			100 * f->p);
	else
		say(f, VERDICT_NO_EVIDENCE, "one occurrence, without slow time in its window");
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

	if (f->route == best->route && f->p <= level && test_rest(&l, a, best, others, 1))
		result = l.p > level && (double)f->whole.hit >= alike * (double)best->whole.hit &&
			 hit_rate(&f->whole) >= alike * hit_rate(&best->whole);
	lineup_free(&l);
	return result;
}

static const struct finding *same_group(const struct analysis *a, const struct finding *f,
	const struct finding *const *accepted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (windows_alike(f, accepted[i]) ||
			(f->has_rest && f->rest.p > level && is_inseparable(a, f, accepted[i])))
			return accepted[i];
	return NULL;
}

static void join_group(struct finding *f, const struct finding *with)
{
	f->group = with->group;
	f->has_rest = false;
	lineup_free(&f->rest);
	say(f, with->verdict, "cannot be told apart from %s by timing", with->condition->id);
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
	f->p = whole_p <= level ? fmax(whole_p, f->rest.p) : fmin(whole_p, 2 * f->rest.p);
	f->q = fmin(1, fmax(f->q, f->p * (double)a->finding_count / (double)(count + 1)));
	if (whole_p <= level && f->rest.p > level) {
		say_nothing(f, &f->rest);
		say(f,
			f->verdict == VERDICT_CANNOT_TELL && f->rest.evaluable < HITS_MIN
				? VERDICT_CANNOT_TELL
				: VERDICT_NO_EVIDENCE,
			"its hits are shared with %s; outside that one's windows %zu of %zu occurrences hit, luck alone hits %.1f",
			accepted[0]->condition->id, f->rest.hit, f->rest.evaluable,
			f->rest.hit_by_luck);
		return;
	}
	judge(f, a);
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
			say(f, VERDICT_CANNOT_TELL, "no route has the requests that a p99 needs");
			continue;
		}
		ok = measure_lag(f, a);
		if (!ok)
			break;
		if (f->is_lone) {
			judge_lone(f, a);
			continue;
		}
		if (count && f->whole.evaluable) {
			ok = add_rest(f, a, accepted, count);
			if (ok)
				judge_shared(f, a, accepted, count);
		} else {
			judge(f, a);
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
	if (open_routes(a, named) && test_all(a, run) && rank(a))
		return true;
	return err_set(e, ERR_ENV, "out of memory");
}

void analysis_free(struct analysis *a)
{
	for (size_t i = 0; i < a->route_count; i++)
		close_route(&a->routes[i]);
	for (size_t i = 0; i < a->finding_count; i++) {
		lineup_free(&a->findings[i].whole);
		lineup_free(&a->findings[i].rest);
	}
	free(a->routes);
	free(a->findings);
	*a = (struct analysis){ 0 };
}
