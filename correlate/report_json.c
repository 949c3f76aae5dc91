#include <math.h>

#include "correlate/report.h"

enum { TIMES_MAX = 10000, POINTS_MAX = 20000 };

static void set_ms(struct json *map, const char *key, double v)
{
	json_set_number(map, key, isnan(v) ? v : round(v * 1e6) / 1e6);
}

/* Rounded, so that the last bits of a sum order no difference. */
static void set_share(struct json *map, const char *key, double v)
{
	json_set_number(map, key, isnan(v) ? v : round(v * 1e6) / 1e6);
}

static void set_fingerprint(struct json *map, const struct series_route *r)
{
	char hex[17];

	snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)r->fingerprint);
	json_set_text(map, "fingerprint", hex);
}

static const char *state_text(enum bucket_state s)
{
	static const char *const texts[] = { "ok", "low", "empty" };

	return texts[s];
}

static struct json *points(const struct bucket_list *buckets)
{
	struct json *list = json_array();

	for (size_t i = 0; i < buckets->count && i < POINTS_MAX; i++) {
		const struct bucket *b = &buckets->items[i];
		struct json *p = json_object();

		json_set_time(p, "t", b->start_ns);
		json_set_int(p, "n", (int64_t)b->n);
		set_ms(p, "p50_ms", b->p50_ms);
		set_ms(p, "p99_ms", b->p99_ms);
		set_ms(p, "p99_low_ms", b->p99_low_ms);
		set_ms(p, "p99_high_ms", b->p99_high_ms);
		set_ms(p, "max_ms", b->max_ms);
		json_set_text(p, "state", state_text(b->state));
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
		set_ms(m, "p99_ms", base->segments[i].p99_ms);
		set_ms(m, "slow_ms", base->segments[i].slow_ms);
		json_append(list, m);
	}
	return list;
}

static struct json *series_list(const struct analysis *a, const struct series_route *named)
{
	struct json *list = json_array();

	for (size_t i = 0; i < a->route_count; i++) {
		const struct tested_route *t = &a->routes[i];
		struct json *m = json_object();

		json_set_slice(m, "route", t->view.route->text);
		set_fingerprint(m, t->view.route);
		json_set_int(m, "requests", (int64_t)t->view.route->requests);
		json_set_int(m, "errors", (int64_t)t->view.route->errors);
		json_set_int(m, "unanswered", (int64_t)t->view.route->unanswered);
		json_set_number(m, "bucket_s", (double)a->bucket_ns / 1e9);
		json_set(m, "baselines", segments(&t->view.base, a->series));
		json_set_int(m, "anecdotes", (int64_t)t->spikes.anecdotes);
		set_ms(m, "lost_s", t->lost_s);
		/* Quiet routes are told by their figures alone. */
		if (t->spikes.count || t->view.route == named || a->route_count == 1)
			json_set(m, "points", points(&t->view.buckets));
		json_append(list, m);
	}
	return list;
}

static struct json *spike_json(const struct tested_route *t, const struct spike *s)
{
	struct json *m = json_object();

	json_set_slice(m, "route", t->view.route->text);
	set_fingerprint(m, t->view.route);
	json_set_time(m, "start", s->start_ns);
	json_set_time(m, "end", s->end_ns);
	json_set_text(m, "kind", spike_kind_text(s->kind));
	set_ms(m, "p99_ms", s->p99_ms);
	set_ms(m, "baseline_ms", s->baseline_ms);
	json_set_int(m, "n", (int64_t)s->n);
	json_set_int(m, "slow", (int64_t)s->slow);
	set_ms(m, "p50_ms", s->p50_ms);
	set_ms(m, "max_ms", s->max_ms);
	set_ms(m, "lost_s", s->lost_s);
	return m;
}

static struct json *spikes(const struct analysis *a, bool only_unexplained)
{
	struct json *list = json_array();

	for (size_t i = 0; i < a->route_count; i++) {
		const struct tested_route *t = &a->routes[i];

		for (size_t k = 0; k < t->spikes.count; k++)
			if (!only_unexplained || !t->explained[k])
				json_append(list, spike_json(t, &t->spikes.items[k]));
	}
	return list;
}

static struct json *occurrences(const struct finding *f)
{
	const struct lineup *l = &f->whole;
	struct json *m = json_object(), *times = json_array();

	json_set_int(m, "scheduled", (int64_t)f->condition->scheduled);
	json_set_int(m, "confirmed", (int64_t)f->condition->confirmed);
	json_set_int(m, "evaluable", (int64_t)l->evaluable);
	json_set_int(m, "hit", (int64_t)l->hit);
	json_set_number(m, "hit_by_luck", round(l->hit_by_luck * 1e3) / 1e3);
	for (size_t i = 0; i < f->condition->count && i < TIMES_MAX; i++) {
		const struct occurrence *o = &f->condition->items[i];
		struct json *t = json_object();

		json_set_time(t, "start", o->start_ns);
		json_set_time(t, "end", o->end_ns);
		if (!o->has_end)
			json_set_bool(t, "end_known", false);
		if (l->hits && l->judged[i])
			json_set_bool(t, "hit", l->hits[i]);
		else
			json_set_null(t, "hit");
		json_append(times, t);
	}
	json_set(m, "times", times);
	return m;
}

static struct json *condition_json(const struct analysis *a, const struct finding *f)
{
	const struct condition *c = f->condition;
	const struct lineup *l = &f->whole;
	struct json *m = json_object();

	json_set_text(m, "id", c->id);
	json_set_text(m, "kind", c->kind);
	json_set_text(m, "dialect", c->dialect);
	json_set_text(m, "verdict", verdict_text(f->verdict));
	json_set_text(m, "reason", f->reason);
	if (a->route_count) {
		json_set_slice(m, "route", a->routes[f->route].view.route->text);
		set_fingerprint(m, a->routes[f->route].view.route);
	}
	set_share(m, "lift", l->lift);
	set_share(m, "lift_low", l->lift_low);
	set_share(m, "lift_high", l->lift_high);
	set_share(m, "lag_s", f->lag.lag_s);
	set_share(m, "lag_low_s", f->lag.low_s);
	set_share(m, "lag_high_s", f->lag.high_s);
	set_share(m, "duration_s", f->lag.duration_s);
	json_set_number(m, "p", f->p);
	json_set_number(m, "q", f->q);
	json_set_text(m, "null", f->null);
	json_set_int(m, "shifts", (int64_t)l->shifts);
	json_set_number(m, "p_phase", l->p_phase);
	json_set(m, "occurrences", occurrences(f));
	set_share(m, "coverage", f->coverage);
	set_share(m, "coverage_time", f->coverage_time);
	json_set_int(m, "group", (int64_t)f->group);
	set_share(m, "smallest_lift", l->smallest_lift);
	json_set_number(m, "period_s", c->period_ns ? (double)c->period_ns / 1e9 : NAN);
	json_set_bool(m, "is_regular", c->is_regular);
	json_set_number(m, "n1", l->around.n1);
	json_set_number(m, "k1", l->around.k1);
	json_set_number(m, "n0", l->around.n0);
	json_set_number(m, "k0", l->around.k0);
	if (f->has_rest) {
		struct json *rest = json_object();

		json_set_number(rest, "p", f->rest.p);
		json_set_int(rest, "evaluable", (int64_t)f->rest.evaluable);
		json_set_int(rest, "hit", (int64_t)f->rest.hit);
		set_share(rest, "lift", f->rest.lift);
		json_set(m, "outside_of_others", rest);
	}
	return m;
}

static struct json *conditions(const struct analysis *a)
{
	struct json *list = json_array();

	for (size_t i = 0; i < a->finding_count; i++)
		json_append(list, condition_json(a, &a->findings[i]));
	return list;
}

static struct json *periods(const struct report *r)
{
	const struct analysis *a = r->analysis;
	struct json *list = json_array();

	for (size_t i = 0; i < a->route_count; i++) {
		struct period p;
		struct json *m;

		size_t asked = i < a->spiking_count ? a->spiking_count : a->route_count;
		if (!period_find(
			    &p, &a->routes[i].view, &a->routes[i].spikes, r->causes->zone, asked))
			continue;
		m = json_object();
		json_set_slice(m, "route", a->routes[i].view.route->text);
		json_set_number(m, "period_s", (double)p.period_ns / 1e9);
		json_set_number(m, "phase_s", (double)p.phase_ns / 1e9);
		json_set_number(m, "width_s", (double)p.width_ns / 1e9);
		json_set_text(m, "zone", p.zone);
		json_set_bool(m, "is_zone_told", p.is_zone_told);
		json_set_bool(m, "is_interval", p.is_interval);
		json_set_bool(m, "is_by_counts", p.is_by_counts);
		json_set_bool(m, "is_confirmed", p.is_confirmed);
		json_set_number(m, "held_out_p", p.held_out_p);
		json_set_int(m, "held_out_cycles", (int64_t)p.held_out_cycles);
		json_set_int(m, "held_out_hit", (int64_t)p.held_out_hit);
		json_set_number(m, "score", round(p.score * 1e6) / 1e6);
		json_set_int(m, "cycles", (int64_t)p.cycles);
		json_set_int(m, "hit", (int64_t)p.hit);
		json_append(list, m);
	}
	return list;
}

static struct json *texts(const char *const *items, size_t count)
{
	struct json *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_append_text(list, items[i]);
	return list;
}

static void set_judged(struct json *doc, const struct report *r)
{
	const struct analysis *a = r->analysis;
	const struct series_route *judged = r->named;

	if (!judged && a->spiking_count)
		judged = a->routes[0].view.route;
	if (judged) {
		json_set_slice(doc, "route", judged->text);
		set_fingerprint(doc, judged);
	} else {
		json_set_null(doc, "route");
		json_set_null(doc, "fingerprint");
	}
}

struct json *report_json(const struct report *r)
{
	const struct analysis *a = r->analysis;
	struct json *doc = json_object();

	json_set_text(doc, "format", "correlation");
	json_set_int(doc, "version", 1);
	json_set_text(doc, "answer", r->answer);
	json_set_int(doc, "seed", (int64_t)a->seed);
	json_set(doc, "inputs", texts(r->inputs, r->input_count));
	json_set_bool(doc, "complete", !r->notes->is_incomplete);
	json_set(doc, "warnings", texts(r->notes->items, r->notes->count));
	json_set_time(doc, "start", a->series->first_ns);
	json_set_time(doc, "end", a->series->last_ns);
	json_set_int(doc, "requests", (int64_t)a->series->requests);
	json_set_int(doc, "routes", (int64_t)a->series->route_count);
	json_set_int(doc, "routes_with_spikes", (int64_t)a->spiking_count);
	json_set_int(doc, "routes_not_estimable", (int64_t)a->unestimable);
	json_set_number(doc, "tick_s", (double)a->series->tick_ns / 1e9);
	set_judged(doc, r);
	json_set(doc, "series", series_list(a, r->named));
	json_set(doc, "spikes", spikes(a, false));
	json_set(doc, "conditions", conditions(a));
	json_set(doc, "unexplained", spikes(a, true));
	json_set(doc, "periods", periods(r));
	return doc;
}
