#include "correlate/group.h"

#include <math.h>
#include <stdlib.h>

#include "correlate/family.h"
#include "correlate/verdict.h"

static const double alike = 0.7;

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

bool group_test_rest(struct lineup *ret, const struct analysis *a, const struct finding *f,
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
	if (spans && view_hide(&hidden, full, spans, span_join(spans, used, 0))) {
		struct lineup_question q = { &hidden, full, f->condition,
			family_seed(a, f->condition->id, f->route) ^ 0x2e57,
			fmin(VERDICT_STRONG,
				VERDICT_LEVEL * (double)(count + 1) / (double)a->finding_count) };

		ok = lineup_test(ret, &q);
	}
	view_free(&hidden);
	free(spans);
	return ok;
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

	if (f->route == best->route && f->p <= VERDICT_LEVEL &&
		group_test_rest(&l, a, best, others, 1))
		result = l.p > VERDICT_LEVEL &&
			 (double)f->whole.hit >= alike * (double)best->whole.hit &&
			 hit_rate(&f->whole) >= alike * hit_rate(&best->whole);
	lineup_free(&l);
	return result;
}

const struct finding *group_of(const struct analysis *a, const struct finding *f,
	const struct finding *const *accepted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (windows_alike(f, accepted[i]) || (f->has_rest && f->rest.p > VERDICT_LEVEL &&
							     is_inseparable(a, f, accepted[i])))
			return accepted[i];
	return NULL;
}
