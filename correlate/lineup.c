#include "correlate/lineup.h"

#include <math.h>
#include <stdlib.h>

#include "correlate/shuffle.h"

static struct span window_of(const struct view *v, const struct occurrence *o)
{
	const struct series *s = v->series;
	int64_t tick = series_tick(s, o->start_ns);
	double base_ms = v->base.count ? baseline_at(&v->base, tick)->limit_ms : 0;
	int64_t slack = (int64_t)(base_ms * 1e6 / (double)s->tick_ns) + 1;

	return (struct span){ tick - slack, series_tick(s, o->until_ns) + 1 };
}

/* At least half of a window must lie between the two instants. */
static bool is_between(const struct occurrence *o, int64_t from_ns, int64_t to_ns)
{
	int64_t middle = o->start_ns + (o->until_ns - o->start_ns) / 2;

	return o->start_ns >= from_ns && middle <= to_ns;
}

static struct span seen_of(const struct view *v, const struct condition *c)
{
	const struct series *s = v->series;
	struct span all = { v->first_tick, v->first_tick + (int64_t)v->ticks };

	if (c->from_ns > s->first_ns)
		all.from_tick = c->from_ns > s->last_ns ? all.to_tick : series_tick(s, c->from_ns);
	if (c->to_ns < s->last_ns)
		all.to_tick = c->to_ns < s->first_ns ? all.from_tick : series_tick(s, c->to_ns) + 1;
	return all;
}

struct lineup lineup_none(void)
{
	return (struct lineup){ .p = 1,
		.lift = NAN,
		.lift_low = NAN,
		.lift_high = NAN,
		.p_phase = NAN,
		.smallest_lift = NAN };
}

static bool take(struct lineup *l, size_t count)
{
	size_t room = count ? count : 1;

	*l = lineup_none();
	l->hits = calloc(room, sizeof(*l->hits));
	l->placed = calloc(room, sizeof(*l->placed));
	l->judged = calloc(room, sizeof(*l->judged));
	l->spans = calloc(room, sizeof(*l->spans));
	return l->hits && l->placed && l->judged && l->spans;
}

void lineup_free(struct lineup *l)
{
	free(l->hits);
	free(l->placed);
	free(l->judged);
	free(l->spans);
	*l = (struct lineup){ 0 };
}

static void place_windows(
	struct lineup *l, const struct view *v, const struct view *full, const struct condition *c)
{
	const struct series *s = full->series;
	int64_t end = full->first_tick + (int64_t)full->ticks;

	l->seen = seen_of(full, c);
	for (size_t i = 0; i < c->count; i++) {
		const struct occurrence *o = &c->items[i];

		l->spans[i] = window_of(full, o);
		if (!is_between(o, s->first_ns, s->last_ns))
			continue;
		l->inside++;
		/* The source must have known of it; what it did is in the traffic. */
		if (o->start_ns < c->from_ns || o->start_ns > c->to_ns ||
			!shuffle_is_observed(full, l->spans[i])) {
			l->unobserved++;
			continue;
		}
		if (l->spans[i].to_tick > l->seen.to_tick)
			l->seen.to_tick = l->spans[i].to_tick < end ? l->spans[i].to_tick : end;
		double n = view_sum(v, l->spans[i]).n, all = view_sum(full, l->spans[i]).n;

		/* One without requests is no hit, and counts for the luck of the others. */
		l->placed[i] = n >= all / 2;
		l->judged[i] = l->placed[i] && n > 0;
		l->evaluable += l->judged[i];
	}
}

static void set_lift(struct lineup *l, const struct view *v)
{
	const struct lift *a = &l->around;
	double ticks = (double)(l->seen.to_tick - l->seen.from_tick);

	l->lift = a->lift;
	l->lost_s = fmax(0, a->lost1_s - a->n1 * (a->lost0_s / fmax(1, a->n0)));
	l->share = a->taken_ticks / fmax(1, fmin(ticks, (double)v->ticks));
}

static bool compare(
	struct lineup *l, const struct view *v, const struct condition *c, uint64_t seed)
{
	if (!lift_compare(&l->around, v, l->spans, l->judged, c->count, l->seen))
		return false;
	set_lift(l, v);
	return lift_interval(
		&l->lift_low, &l->lift_high, v, &l->around, l->spans, l->judged, c->count, seed);
}

/* The chance that a phase taken at random falls on a rhythm that the slow time has. */
static double phase_luck(const struct lineup *l, const struct view *v, const struct condition *c)
{
	double window_ns =
		l->around.taken_ticks / (double)l->evaluable * (double)v->series->tick_ns;

	return c->is_regular && c->period_ns ? fmin(1, window_ns / (double)c->period_ns) : NAN;
}

bool lineup_test(struct lineup *l, const struct lineup_question *q)
{
	const struct condition *c = q->condition;
	struct shuffle shuffle;

	if (!take(l, c->count))
		return false;
	place_windows(l, q->view, q->full, c);
	if (!l->evaluable)
		return true;
	if (!compare(l, q->view, c, q->seed) || !shuffle_init(&shuffle, q->view, q->full, c, l))
		return false;
	shuffle_score(&shuffle, l, c);
	shuffle_run(&shuffle, l, q->seed, q->finest);
	l->smallest_lift = shuffle_smallest_lift(&shuffle, l);
	l->p_phase = phase_luck(l, q->view, c);
	shuffle_free(&shuffle);
	return true;
}

bool lineup_test_lone(struct lineup *l, const struct view *v, const struct condition *c)
{
	struct shuffle shuffle;

	if (!take(l, c->count))
		return false;
	place_windows(l, v, v, c);
	if (!l->evaluable)
		return true;
	if (!lift_compare(&l->around, v, l->spans, l->judged, c->count, l->seen) ||
		!shuffle_init(&shuffle, v, v, c, l))
		return false;
	set_lift(l, v);
	shuffle_score(&shuffle, l, c);
	size_t at = 0;
	while (!l->judged[at])
		at++;
	shuffle_run_everywhere(&shuffle, l, l->spans[at]);
	shuffle_free(&shuffle);
	return true;
}
