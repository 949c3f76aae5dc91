#include "correlate/context.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/rng.h"
#include "correlate/split.h"

static const double level = 0.05;

struct work {
	size_t index[CONTEXT_TIMES_MAX]; /* occurrences */
	struct split_item items[CONTEXT_TIMES_MAX];
	size_t count;
	struct context *all;
	size_t used;
};

static bool is_deploy(const struct condition *c)
{
	return strcmp(c->kind, "deploy") == 0 || strcmp(c->kind, "restart") == 0;
}

/* ---- values at an occurrence; NAN when not known */

/* Before it, so that its own effect on arrivals does not speak. */
static double traffic_at(const struct view *v, struct span window)
{
	int64_t length = 10 * NS_PER_S / v->series->tick_ns;

	if (length < window.to_tick - window.from_tick)
		length = window.to_tick - window.from_tick;
	struct span before = { window.from_tick - length, window.from_tick };

	if (before.from_tick < v->first_tick)
		return NAN;
	return view_sum(v, before).n / ((double)length * (double)v->series->tick_ns / 1e9);
}

/* Index of the first occurrence that starts after t. */
static size_t first_after(const struct condition *c, int64_t t_ns)
{
	size_t low = 0, high = c->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->items[middle].start_ns <= t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static double active_at(const struct condition *other, const struct occurrence *o)
{
	if (o->start_ns < other->from_ns || o->until_ns > other->to_ns)
		return NAN;
	size_t next = first_after(other, o->until_ns);

	/* Windows of one condition do not overlap: only the last one begun can. */
	return next && other->items[next - 1].until_ns >= o->start_ns;
}

static double since_deploy(const struct condition_list *list, const struct occurrence *o)
{
	double best = NAN;

	for (size_t i = 0; i < list->count; i++) {
		const struct condition *c = &list->items[i];
		size_t next = is_deploy(c) ? first_after(c, o->start_ns) : 0;

		if (next)
			best = fmin(
				best, (double)(o->start_ns - c->items[next - 1].start_ns) / 6e10);
	}
	return best;
}

static double metric_at(const struct metric *m, int64_t t_ns)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->points[middle].t_ns <= t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || t_ns - m->points[low - 1].t_ns > METRIC_STALE * m->gap_ns)
		return NAN;
	return m->points[low - 1].value;
}

/* ---- one context */

static struct context *begin(
	struct work *w, struct context_list *list, enum context_kind kind, const char *id)
{
	if (w->used == CONTEXTS_MAX) {
		list->untested++;
		return NULL;
	}
	w->all[w->used] = (struct context){ .kind = kind, .id = id };
	return &w->all[w->used];
}

static void end(struct work *w, const struct context_question *q, struct context *c)
{
	struct split split;

	if (!split_test(&split, w->items, w->count, q->seed))
		return;
	c->threshold = split.threshold;
	c->is_above = split.is_above;
	c->with = split.with;
	c->hit_with = split.hit_with;
	c->without = split.without;
	c->hit_without = split.hit_without;
	c->p = split.p;
	c->p_turn = split.p_turn;
	w->used++;
}

static void put(struct work *w, const struct context_question *q, size_t i, double value)
{
	w->items[i] =
		(struct split_item){ value, q->lineup->hits[w->index[i]], (uint32_t)w->index[i] };
}

static const struct occurrence *at(const struct work *w, const struct context_question *q, size_t i)
{
	return &q->condition->items[w->index[i]];
}

static void test_traffic(
	struct work *w, const struct context_question *q, struct context_list *list)
{
	struct context *c = begin(w, list, CONTEXT_TRAFFIC, "traffic");

	for (size_t i = 0; c && i < w->count; i++)
		put(w, q, i, traffic_at(q->view, q->lineup->spans[w->index[i]]));
	if (c)
		end(w, q, c);
}

static void test_deploys(
	struct work *w, const struct context_question *q, struct context_list *list)
{
	struct context *c = begin(w, list, CONTEXT_SINCE_DEPLOY, "since-deploy");

	for (size_t i = 0; c && i < w->count; i++)
		put(w, q, i, since_deploy(q->conditions, at(w, q, i)));
	if (c)
		end(w, q, c);
}

static void test_conditions(
	struct work *w, const struct context_question *q, struct context_list *list)
{
	for (size_t k = 0; k < q->conditions->count; k++) {
		const struct condition *other = &q->conditions->items[k];
		struct context *c;

		if (other == q->condition || !(c = begin(w, list, CONTEXT_ACTIVE, other->id)))
			continue;
		for (size_t i = 0; i < w->count; i++)
			put(w, q, i, active_at(other, at(w, q, i)));
		end(w, q, c);
	}
}

static void test_metrics(
	struct work *w, const struct context_question *q, struct context_list *list)
{
	for (size_t k = 0; q->metrics && k < q->metrics->count; k++) {
		const struct metric *m = &q->metrics->items[k];
		struct context *c = begin(w, list, CONTEXT_METRIC, m->id);

		if (!c)
			continue;
		for (size_t i = 0; i < w->count; i++)
			put(w, q, i, metric_at(m, at(w, q, i)->start_ns));
		end(w, q, c);
	}
}

/* ---- all of them */

static int by_p(const void *a, const void *b)
{
	const struct context *x = a, *y = b;

	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	if (x->p_turn != y->p_turn)
		return x->p_turn < y->p_turn ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return strcmp(x->id, y->id);
}

static void say(struct context *c)
{
	char what[150];
	const char *sign = c->is_above ? ">" : "<=";

	if (c->kind == CONTEXT_ACTIVE)
		snprintf(what, sizeof(what), "%s %.100s", c->is_above ? "with" : "without", c->id);
	else if (c->kind == CONTEXT_SINCE_DEPLOY)
		snprintf(what, sizeof(what), "with %s %.3g min since a deploy", sign, c->threshold);
	else if (c->kind == CONTEXT_TRAFFIC)
		snprintf(what, sizeof(what), "with traffic %s %.3g/s", sign, c->threshold);
	else
		snprintf(what, sizeof(what), "with %.100s %s %.3g", c->id, sign, c->threshold);
	snprintf(c->text, sizeof(c->text), "%s %zu of %zu, %s %zu of %zu%s",
		c->kind == CONTEXT_ACTIVE && !c->is_above ? "else" : "alone", c->hit_without,
		c->without, what, c->hit_with, c->with,
		c->p_turn > level ? " (or both only drifted)" : "");
}

/* Benjamini and Hochberg 1995, then the best few. */
static void choose(struct context_list *list, struct work *w)
{
	double least = 1;

	qsort(w->all, w->used, sizeof(*w->all), by_p);
	for (size_t i = w->used; i-- > 0;) {
		least = fmin(least, w->all[i].p * (double)w->used / (double)(i + 1));
		w->all[i].q = least;
	}
	list->tested = w->used;
	for (size_t i = 0; i < w->used && list->count < CONTEXTS_KEPT; i++) {
		if (w->all[i].q > level)
			break;
		say(&w->all[i]);
		list->items[list->count++] = w->all[i];
	}
}

/* Occurrences that count, evenly spread when there are more than CONTEXT_TIMES_MAX. */
static void gather(struct work *w, const struct context_question *q)
{
	const struct lineup *l = q->lineup;
	size_t step = l->evaluable / CONTEXT_TIMES_MAX + 1, seen = 0;

	for (size_t i = 0; i < q->condition->count; i++)
		if (l->judged[i] && seen++ % step == 0)
			w->index[w->count++] = i;
}

bool context_measure(struct context_list *ret, const struct context_question *q)
{
	const struct lineup *l = q->lineup;
	struct work *w = calloc(1, sizeof(*w));
	bool ok = w && (w->all = calloc(CONTEXTS_MAX, sizeof(*w->all)));

	*ret = (struct context_list){ 0 };
	if (ok && l->hit >= SPLIT_SIDE_MIN && l->evaluable - l->hit >= SPLIT_SIDE_MIN) {
		gather(w, q);
		test_traffic(w, q, ret);
		test_deploys(w, q, ret);
		test_conditions(w, q, ret);
		test_metrics(w, q, ret);
		choose(ret, w);
	}
	if (w)
		free(w->all);
	free(w);
	return ok;
}
