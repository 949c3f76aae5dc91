#include <math.h>

#include "correlate/report_parts.h"

enum { POINTS_MAX = 20000 };

static struct json *points(const struct bucket_list *buckets)
{
	struct json *list = json_array();

	for (size_t i = 0; i < buckets->count && i < POINTS_MAX; i++) {
		const struct bucket *b = &buckets->items[i];
		struct json *p = json_object();

		json_set_time(p, "t", b->start_ns);
		json_set_int(p, "n", (int64_t)b->n);
		report_set_rounded(p, "p50_ms", b->p50_ms);
		report_set_rounded(p, "p90_ms", b->p90_ms);
		report_set_rounded(p, "p99_ms", b->p99_ms);
		report_set_rounded(p, "p99_low_ms", b->p99_low_ms);
		report_set_rounded(p, "p99_high_ms", b->p99_high_ms);
		report_set_rounded(p, "max_ms", b->max_ms);
		json_set_text(p, "state", bucket_state_text(b->state));
		/* Only what is out of the ordinary. */
		if (b->is_interval)
			json_set_bool(p, "is_interval", true);
		if (b->is_floored)
			json_set_bool(p, "is_floored", true);
		if (b->is_flagged)
			json_set_bool(p, "is_flagged", true);
		json_append(list, p);
	}
	return list;
}

static struct json *segments(const struct baseline *base, const struct series *s)
{
	struct json *list = json_array();

	for (size_t i = 0; i < base->count; i++) {
		struct json *m = json_object();

		if (i)
			json_set_time(m, "from", series_tick_ns(s, base->segments[i].from_tick));
		report_set_rounded(m, "p99_ms", base->segments[i].p99_ms);
		report_set_rounded(m, "slow_ms", base->segments[i].slow_ms);
		json_append(list, m);
	}
	return list;
}

static struct json *anecdotes(const struct spike_list *list)
{
	struct json *j = json_array();

	for (size_t i = 0; i < list->anecdote_count; i++) {
		struct json *m = json_object();

		json_set_time(m, "t", list->anecdote[i].start_ns);
		report_set_rounded(m, "ms", list->anecdote[i].ms);
		json_set_bool(m, "is_pending", list->anecdote[i].is_pending);
		json_append(j, m);
	}
	return j;
}

static struct json *season(const struct season *s)
{
	struct json *m;

	if (!s->factor)
		return NULL;
	m = json_object();
	report_set_rounded(m, "swing", s->swing);
	json_set_bool(m, "has_week", s->has_week);
	return m;
}

/* How the level moved for good: null when it did not. */
static struct json *level_shift(const struct baseline *base)
{
	struct json *m;

	if (!base->has_shift)
		return NULL;
	m = json_object();
	json_set_time(m, "t", base->shift_ns);
	report_set_rounded(m, "ratio", base->shift_ratio);
	report_set_rounded(m, "quantile", base->shift_quantile);
	return m;
}

static void set_figures(struct json *m, const struct analysis *a, const struct tested_route *t)
{
	json_set_slice(m, "route", t->view.route->text);
	report_set_fingerprint(m, t->view.route);
	json_set_int(m, "requests", (int64_t)t->view.route->requests);
	json_set_int(m, "errors", (int64_t)t->view.route->errors);
	json_set_int(m, "unanswered", (int64_t)t->view.route->unanswered);
	json_set_number(m, "bucket_s", (double)a->bucket_ns / 1e9);
	json_set(m, "baselines", segments(&t->view.base, a->series));
	json_set_bool(m, "is_floored", t->view.base.is_floored);
	report_set_or_null(m, "season", season(&t->view.base.season));
	report_set_or_null(m, "level_shift", level_shift(&t->view.base));
	json_set_int(m, "anecdotes", (int64_t)t->spikes.anecdotes);
	report_set_rounded(m, "lost_s", t->lost_s);
	json_set(m, "largest_anecdotes", anecdotes(&t->spikes));
	json_set_int(m, "one_connection", (int64_t)t->spikes.one_connection);
	report_set_rounded(m, "duty", t->spikes.duty);
	report_set_rounded(m, "quiet_rate", t->spikes.quiet_rate);
	json_set_int(m, "spikes_refused", (int64_t)t->spikes.refused);
}

struct json *report_series_json(const struct analysis *a, const struct series_route *named)
{
	struct json *list = json_array();

	for (size_t i = 0; i < a->route_count; i++) {
		const struct tested_route *t = &a->routes[i];
		struct json *m = json_object();

		set_figures(m, a, t);
		/* Quiet routes are told by their figures alone. */
		if (t->spikes.count || t->view.route == named || a->route_count == 1)
			json_set(m, "points", points(&t->view.buckets));
		json_append(list, m);
	}
	return list;
}

static struct json *spike_json(const struct tested_route *t, size_t k)
{
	const struct spike *s = &t->spikes.items[k];
	struct json *m = json_object();

	json_set_slice(m, "route", t->view.route->text);
	report_set_fingerprint(m, t->view.route);
	json_set_time(m, "start", s->start_ns);
	json_set_time(m, "end", s->end_ns);
	json_set_text(m, "kind", spike_kind_text(s->kind));
	report_set_rounded(m, "p99_ms", s->p99_ms);
	report_set_rounded(m, "baseline_ms", s->baseline_ms);
	json_set_int(m, "n", (int64_t)s->n);
	json_set_int(m, "slow", (int64_t)s->slow);
	report_set_rounded(m, "p50_ms", s->p50_ms);
	report_set_rounded(m, "max_ms", s->max_ms);
	report_set_rounded(m, "lost_s", s->lost_s);
	json_set_bool(m, "is_explained", t->explained[k]);
	json_set_bool(m, "is_covered", t->covered && t->covered[k]);
	return m;
}

struct json *report_spikes_json(const struct analysis *a, bool only_unexplained)
{
	struct json *list = json_array();

	for (size_t i = 0; i < a->route_count; i++) {
		const struct tested_route *t = &a->routes[i];

		for (size_t k = 0; k < t->spikes.count; k++)
			if (!only_unexplained || !t->explained[k])
				json_append(list, spike_json(t, k));
	}
	return list;
}
