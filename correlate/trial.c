#include "correlate/trial.h"

#include <math.h>
#include <stdlib.h>

#include "correlate/tail.h"

enum { ROUNDS = 6, WIDE_BELOW = 100, FOLLOW = 5 };

static const double false_share = 0.01, flag_p = 1e-3, tail = 0.01, chi_most = 9;
static const int64_t widths[] = { 1, 3, 10, 30 }; /* in buckets */

struct trial {
	struct span span;
	size_t first, end; /* in the slow list */
	size_t width; /* index in widths */
	double n, slow, p;
	bool is_flagged, is_near; /* stands out; or shares time with one that does */
};

struct trial_list {
	struct trial *items;
	size_t count;
};

/* The slow share of quiet time, and how it clumps. */
struct null {
	double rate, clump;
	bool is_floored;
};

static double luck(const struct trial *t, const struct null *null)
{
	double mean = t->n * null->rate;

	if (t->slow <= mean)
		return 1;
	if (null->is_floored || t->slow > t->n)
		return tail_of_rate(t->slow, mean, null->clump);
	return tail_of_share(t->slow, t->n, null->rate, null->clump);
}

/* By definition of the baseline quiet time has at most 1 % above it. */
static double rate_of(const struct trial *trials, size_t count)
{
	double n = 0, slow = 0;

	for (size_t i = 0; i < count; i++)
		if (!trials[i].is_near) {
			n += trials[i].n;
			slow += trials[i].slow;
		}
	return fmin(tail, (slow + 0.5) / (n + 1));
}

/* Pearson's dispersion of what is not flagged, per request. Three deviations count as
 * three: what is looked for must not raise its own bar. */
static double clump_of(const struct trial *trials, size_t count, const struct null *null)
{
	double chi = 0, mean = 0, used = 0, spread = null->is_floored ? 1 : 1 - null->rate;

	for (size_t i = 0; i < count; i++) {
		double expected = trials[i].n * null->rate, d = trials[i].slow - expected;

		if (trials[i].is_near || expected <= 0)
			continue;
		chi += fmin(chi_most, d * d / (expected * spread));
		mean += null->is_floored ? expected : trials[i].n - 1;
		used++;
	}
	return used > 9 && mean > 0 ? fmin(0.5, fmax(0, chi / (used - 1) - 1) * used / mean) : 0;
}

static bool mark_near(struct trial *trials, size_t count)
{
	bool has_changed = false;

	for (size_t i = 0; i < count; i++) {
		bool is_near = trials[i].is_flagged || (i && trials[i - 1].is_flagged) ||
			       (i + 1 < count && trials[i + 1].is_flagged);

		has_changed |= is_near != trials[i].is_near;
		trials[i].is_near = is_near;
	}
	return has_changed;
}

/* Quiet is what does not stand out; what stands out depends on what is quiet. Nothing
 * returns to it: the edges of episodes would raise the bar for their middles. */
static struct null quiet_of(struct trial *trials, size_t count, bool is_floored)
{
	struct null null = { .is_floored = is_floored };

	null.rate = rate_of(trials, count);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < count; i++) {
			if (trials[i].slow >= 1 && luck(&trials[i], &null) < flag_p)
				trials[i].is_flagged = true;
		}
		if (!mark_near(trials, count) && round)
			break;
		null.rate = rate_of(trials, count);
		null.clump = clump_of(trials, count, &null);
	}
	return null;
}

static size_t make_grid(
	struct trial *trials, const struct view *v, const struct slow_list *slow, size_t width)
{
	int64_t width_ns = v->buckets.width_ns * widths[width], step = width_ns / 2;
	size_t count = 0, steps = (size_t)((int64_t)v->buckets.count * v->buckets.width_ns / step);

	for (size_t i = 0; i <= steps; i++) {
		int64_t start = v->buckets.items[0].start_ns + ((int64_t)i - 1) * step;
		struct span span = { series_tick(v->series, start),
			series_tick(v->series, start + width_ns) };
		struct view_sum sum = view_sum(v, span);

		if (sum.n > 0)
			trials[count++] = (struct trial){ .span = span,
				.first = slow_at(slow, span.from_tick),
				.end = slow_at(slow, span.to_tick),
				.width = width,
				.n = sum.n,
				.slow = sum.slow,
				.p = 1 };
	}
	return count;
}

static bool is_width_used(const struct view *v, size_t width)
{
	double per_bucket = v->n[v->ticks] / (double)v->buckets.count;

	return width == 0 || (per_bucket * (double)widths[width - 1] < WIDE_BELOW &&
				     widths[width] * 8 <= (int64_t)v->buckets.count);
}

static bool make_trials(struct trial_list *list, struct trial_spans *found, const struct view *v,
	const struct slow_list *slow)
{
	list->items = calloc(4 * v->buckets.count + 16, sizeof(*list->items));
	for (size_t w = 0; list->items && w < LENGTH(widths) && is_width_used(v, w); w++) {
		struct trial *grid = list->items + list->count;
		size_t count = make_grid(grid, v, slow, w);
		struct null null = quiet_of(grid, count, v->base.is_floored);

		if (w == 0) {
			found->rate = null.rate;
			found->clump = null.clump;
		}
		/* Fewer are never used, so they are not worth a test. */
		for (size_t i = 0; i < count; i++)
			if (grid[i].slow >= TRIAL_SLOW_MIN)
				grid[i].p = luck(&grid[i], &null);
		list->count += count;
	}
	return list->items != NULL;
}

static bool is_material(const struct trial *t, const struct view *v, const struct slow_list *slow)
{
	double p = v->base.is_floored || t->slow > t->n ? tail_of_rate(t->slow, t->n * tail, 0)
							: tail_of_share(t->slow, t->n, tail, 0);

	return t->slow >= TRIAL_SLOW_MIN &&
	       (p <= 0.01 || slow_overlap(slow, t->first, t->end, TRIAL_SLOW_MIN, 0));
}

static bool is_one_connection(const struct trial *t, const struct view *v)
{
	return series_sessions(v->series, v->route, t->span.from_tick, t->span.to_tick,
		       baseline_at(&v->base, t->span.from_tick)->slow_bin) == 1;
}

static bool add_span(struct trial_spans *found, struct span span)
{
	if (found->count == found->cap) {
		size_t cap = found->cap ? found->cap * 2 : 64;
		struct span *grown = realloc(found->items, cap * sizeof(*grown));

		if (!grown)
			return false;
		found->items = grown;
		found->cap = cap;
	}
	found->items[found->count++] = span;
	return true;
}

/* From the first slow arrival to the last slow end; when four fifths of the time in
 * flight hangs together, that: a lone slow request before a stall is not its onset. */
static struct span narrow_span(const struct trial *t, const struct slow_list *slow)
{
	struct slow_chain whole = slow_chain(slow, t->first, t->end), part;

	for (size_t from = t->first; from < t->end; from = part.end) {
		part = slow_follow(slow, from, t->end, 0);
		if (part.n >= TRIAL_SLOW_MIN && part.area * 5 >= whole.area * 4)
			return part.span;
	}
	return whole.span;
}

/* In a wide trial, the pieces in which slow requests follow one another: it may hold two
 * episodes and the quiet between. */
static bool add_pieces(struct trial_spans *found, const struct trial *t, const struct view *v,
	const struct slow_list *slow)
{
	int64_t gap = v->buckets.width_ns / v->series->tick_ns;
	double apart = (double)(t->span.to_tick - t->span.from_tick) / fmax(1, t->n) * FOLLOW;
	struct slow_chain part;
	size_t before = found->count;

	gap = apart > (double)gap && !v->base.is_floored ? (int64_t)apart : gap;
	for (size_t from = t->first; from < t->end; from = part.end) {
		part = slow_follow(slow, from, t->end, gap);
		if (part.n >= TRIAL_SLOW_MIN && !add_span(found, part.span))
			return false;
	}
	return found->count > before || add_span(found, slow_chain(slow, t->first, t->end).span);
}

static int by_p(const void *a, const void *b)
{
	const struct trial *x = a, *y = b;

	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	if (x->width != y->width)
		return x->width < y->width ? -1 : 1;
	return (x->span.from_tick > y->span.from_tick) - (x->span.from_tick < y->span.from_tick);
}

static bool choose(struct trial_spans *found, struct trial_list *list, const struct view *v,
	const struct slow_list *slow)
{
	size_t passed = 0;

	qsort(list->items, list->count, sizeof(*list->items), by_p);
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].p <= false_share * (double)(i + 1) / (double)list->count)
			passed = i + 1;
	for (size_t i = 0; i < passed; i++) {
		const struct trial *t = &list->items[i];

		if (!is_material(t, v, slow))
			continue;
		if (is_one_connection(t, v))
			found->one_connection++;
		else if (!(t->width ? add_pieces(found, t, v, slow)
				    : add_span(found, narrow_span(t, slow))))
			return false;
	}
	return true;
}

bool trial_find(struct trial_spans *found, const struct view *v, const struct slow_list *slow)
{
	struct trial_list list = { 0 };

	*found = (struct trial_spans){ 0 };
	bool ok = make_trials(&list, found, v, slow) && choose(found, &list, v, slow);
	free(list.items);
	return ok;
}

void trial_spans_free(struct trial_spans *found)
{
	free(found->items);
	*found = (struct trial_spans){ 0 };
}
