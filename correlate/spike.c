#include "correlate/spike.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"
#include "correlate/trial.h"

static const int64_t longest_ns = 1800 * NS_PER_S;

const char *spike_kind_text(enum spike_kind kind)
{
	static const char *const texts[] = { "spike", "stall", "unfinished", "level shift" };

	return texts[kind];
}

static void measure(struct spike *k, const struct view *v)
{
	struct bucket b = { 0 };
	struct view_sum sum = view_sum(v, k->span);

	bucket_measure(&b, v->series, v->route, k->span.from_tick, k->span.to_tick);
	k->n = b.n;
	k->p50_ms = b.p50_ms;
	k->p99_ms = b.p99_ms;
	k->max_ms = b.max_ms;
	k->slow = (uint64_t)(sum.slow + 0.5);
	k->lost_s = sum.lost_s;
	k->start_ns = series_tick_ns(v->series, k->span.from_tick);
	k->end_ns = series_tick_ns(v->series, k->span.to_tick);
	k->baseline_ms = baseline_at(&v->base, k->span.from_tick)->p99_ms;
}

/* Only what was seen to be over is: requests came afterwards, before anything hid them,
 * and not mostly slow ones. */
static bool has_gone_away(const struct spike *k, const struct view *v)
{
	int64_t end = v->first_tick + (int64_t)v->ticks,
		width = v->buckets.width_ns / v->series->tick_ns;
	struct span next = { k->span.to_tick, k->span.to_tick + (width > 0 ? width : 1) };
	struct view_sum after;

	if (next.from_tick >= end - 1 ||
		view_observed(v, (struct span){ next.from_tick, next.from_tick + 1 }) <= 0)
		return false;
	for (;; next.to_tick += 4 * (next.to_tick - next.from_tick)) {
		after = view_sum(v, next);
		if (after.n >= TRIAL_SLOW_MIN)
			return after.slow * 2 < after.n;
		if (next.to_tick >= end)
			return v->base.is_floored;
	}
}

static enum spike_kind kind_of(
	const struct spike *k, const struct view *v, const struct slow_list *slow)
{
	if (!has_gone_away(k, v))
		return SPIKE_UNFINISHED;
	if (k->end_ns - k->start_ns > longest_ns)
		return SPIKE_LEVEL_SHIFT;
	size_t first = slow_at(slow, k->span.from_tick), end = slow_at(slow, k->span.to_tick);
	double all = first < end ? slow_chain(slow, first, end).area : 0;

	return slow_overlap(slow, first, end, TRIAL_SLOW_MIN, 0.8 * all) ? SPIKE_STALL
									 : SPIKE_SPIKE;
}

/* The level shift itself is told against the level before it. */
static void add_shift(struct spike *k, const struct view *v)
{
	const struct baseline_segment *before =
		baseline_before(&v->base, v->base.segments[1].from_tick);
	int64_t from = v->base.segments[1].from_tick;
	size_t first = bucket_cell_at(v->route, from);

	*k = (struct spike){ .kind = SPIKE_LEVEL_SHIFT,
		.span = { from, v->first_tick + (int64_t)v->ticks } };
	measure(k, v);
	k->start_ns = v->base.shift_ns;
	k->end_ns = v->series->last_ns;
	k->baseline_ms = before->p99_ms;
	k->slow = 0;
	k->lost_s = 0;
	for (size_t i = first; i < v->route->count; i++) {
		before = baseline_before(&v->base, series_cell_tick(v->route->cells[i]));
		double us = series_bin_us(series_cell_bin(v->route->cells[i]));

		if (series_cell_bin(v->route->cells[i]) <= before->bin)
			continue;
		k->lost_s +=
			(us / 1e6 - before->limit_ms / 1e3) * series_cell_count(v->route->cells[i]);
		k->slow += series_cell_bin(v->route->cells[i]) > before->slow_bin
				   ? series_cell_count(v->route->cells[i])
				   : 0;
	}
}

static int by_start(const void *a, const void *b)
{
	const struct spike *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->kind < y->kind) - (x->kind > y->kind);
}

/* What slow arrivals spread over is a little less than what made them slow: on each side
 * one more of their gaps is missing, at most a bucket. */
static double missing_ticks(
	const struct spike *k, const struct view *v, const struct slow_list *slow)
{
	size_t first = slow_at(slow, k->span.from_tick), end = slow_at(slow, k->span.to_tick);
	double bucket = (double)v->buckets.width_ns / (double)v->series->tick_ns;

	if (end < first + 2 || k->slow < 2)
		return 0;
	double spread = (double)(slow->items[end - 1].from - slow->items[first].from);
	return 2 * fmin(bucket, spread / ((double)k->slow - 1));
}

/* Where a bucket holds few requests some episodes cannot be seen, but all their requests
 * are counted: the share of slow ones, by what it is within the spikes. */
static double share_by_requests(const struct spike_list *list, const struct view *v, int64_t until)
{
	struct view_sum all = view_sum(v, (struct span){ v->first_tick, until });
	double n = 0, slow = 0;

	for (size_t i = 0; i < list->count && !v->base.is_floored; i++) {
		/* A span that begins and ends with a slow one has that one for free. */
		n += (double)list->items[i].n - 1;
		slow += (double)list->items[i].slow - 1;
	}
	if (n <= 0 || slow / n < 2 * list->quiet_rate || all.n <= 0 ||
		all.n > QUANTILE_P99_MIN * (double)v->buckets.count)
		return 0;
	return (all.slow / all.n - list->quiet_rate) / (slow / n - list->quiet_rate);
}

/* Each instant once: a level shift may hold spikes of its own. */
static void set_duty(struct spike_list *list, const struct view *v, const struct slow_list *slow)
{
	struct span all = { v->first_tick, v->first_tick + (int64_t)v->ticks };
	double held = 0, seen = view_observed(v, all) * (double)v->ticks;
	int64_t until = v->base.has_shift ? v->base.segments[1].from_tick : all.to_tick;

	for (size_t i = 0; i < list->count; i++) {
		struct span span = list->items[i].span;

		span.to_tick = span.to_tick < until ? span.to_tick : until;
		if (span.to_tick > span.from_tick)
			held += view_observed(v, span) *
				((double)(span.to_tick - span.from_tick) +
					missing_ticks(&list->items[i], v, slow));
	}
	double asked = (double)(until - all.from_tick);
	double share = share_by_requests(list, v, until);

	held = fmax(held, share * view_observed(v, (struct span){ all.from_tick, until }) * asked);
	if (until < all.to_tick)
		held += view_observed(v, (struct span){ until, all.to_tick }) *
			(double)(all.to_tick - until);
	list->duty = seen > 0 ? fmin(1, held / seen) : 0;
}

static bool is_exact(const struct series_top *top, const struct slow *s, const struct view *v)
{
	return series_tick(v->series, top->start_ns) == s->from &&
	       series_bin(top->latency_us) == s->bin;
}

static struct anecdote anecdote_of(const struct slow *s, const struct view *v)
{
	const struct series_route *r = v->route;
	struct anecdote a = { series_tick_ns(v->series, s->from), series_bin_us(s->bin) / 1e3,
		false };

	for (size_t i = 0; i < r->top_count; i++)
		if (is_exact(&r->top[i], s, v)) {
			a.start_ns = r->top[i].start_ns;
			a.ms = (double)r->top[i].latency_us / 1e3;
		}
	for (size_t i = 0; i < r->pending_count; i++)
		a.is_pending |= is_exact(&r->pending[i], s, v);
	return a;
}

static int by_anecdote_ms(const void *a, const void *b)
{
	const struct anecdote *x = a, *y = b;

	if (x->ms != y->ms)
		return x->ms > y->ms ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int by_anecdote_start(const void *a, const void *b)
{
	const struct anecdote *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return by_anecdote_ms(a, b);
}

static bool list_anecdotes(
	struct spike_list *list, const struct view *v, const struct slow_list *slow)
{
	struct anecdote *all = calloc(slow->count + 1, sizeof(*all));
	size_t at = 0, count = 0;

	for (size_t i = 0; all && i < slow->count; i++) {
		int64_t tick = slow->items[i].from;

		while (at < list->count && list->items[at].span.to_tick <= tick)
			at++;
		if (at < list->count && list->items[at].span.from_tick <= tick)
			continue;
		list->anecdotes += slow->items[i].count;
		all[count++] = anecdote_of(&slow->items[i], v);
	}
	if (!all)
		return false;
	qsort(all, count, sizeof(*all), by_anecdote_ms);
	list->anecdote_count = count < ANECDOTES_MAX ? count : ANECDOTES_MAX;
	qsort(all, list->anecdote_count, sizeof(*all), by_anecdote_start);
	list->anecdote = all;
	return true;
}

static bool keep(struct spike_list *list, const struct view *v, const struct slow_list *slow,
	struct span *spans, size_t count)
{
	int64_t gap = v->buckets.width_ns / v->series->tick_ns;
	count = span_join(spans, count, gap);
	list->items = calloc(count + 1, sizeof(*list->items));
	if (!list->items)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct spike k = { .span = spans[i] };

		if (list->count == SPIKES_MAX) {
			list->refused += count - i;
			break;
		}
		measure(&k, v);
		k.kind = kind_of(&k, v, slow);
		list->items[list->count++] = k;
	}
	set_duty(list, v, slow);
	if (v->base.has_shift)
		add_shift(&list->items[list->count++], v);
	qsort(list->items, list->count, sizeof(*list->items), by_start);
	return true;
}

bool spike_find(struct spike_list *list, const struct view *v)
{
	struct slow_list slow = { 0 };
	struct trial_spans found = { 0 };
	bool ok = false;

	*list = (struct spike_list){ 0 };
	if (!v->base.count)
		return true;
	if (slow_collect(&slow, v) && trial_find(&found, v, &slow)) {
		list->one_connection = found.one_connection;
		list->quiet_rate = found.rate;
		ok = keep(list, v, &slow, found.items, found.count) &&
		     list_anecdotes(list, v, &slow);
	}
	slow_free(&slow);
	trial_spans_free(&found);
	if (!ok)
		spike_list_free(list);
	return ok;
}

void spike_list_free(struct spike_list *list)
{
	free(list->items);
	free(list->anecdote);
	*list = (struct spike_list){ 0 };
}
