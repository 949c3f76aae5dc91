#include <math.h>

#include "correlate/report_parts.h"

enum { TIMES_MAX = 10000 };

static struct json *occurrences(const struct finding *f)
{
	const struct lineup *l = &f->whole;
	struct json *m = json_object(), *times = json_array();

	json_set_int(m, "scheduled", (int64_t)f->condition->scheduled);
	json_set_int(m, "confirmed", (int64_t)f->condition->confirmed);
	json_set_int(m, "evaluable", (int64_t)l->evaluable);
	json_set_int(m, "inside", (int64_t)l->inside);
	json_set_int(m, "unobserved", (int64_t)l->unobserved);
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

static struct json *rest(const struct finding *f)
{
	struct json *m = json_object();

	json_set_number(m, "p", f->rest.p);
	json_set_int(m, "evaluable", (int64_t)f->rest.evaluable);
	json_set_int(m, "hit", (int64_t)f->rest.hit);
	report_set_rounded(m, "lift", f->rest.lift);
	return m;
}

static struct json *thirds(const double values[3])
{
	struct json *list = json_array();

	for (size_t i = 0; i < 3; i++)
		json_append_number(list, values[i]);
	return list;
}

static struct json *dose(const struct dose *d)
{
	struct json *m = json_object();

	json_set_bool(m, "is_duration", d->is_duration);
	json_set_int(m, "n", (int64_t)d->n);
	report_set_rounded(m, "rho", d->rho);
	json_set_number(m, "p", d->p);
	json_set_number(m, "slope_s", d->slope_s);
	json_set(m, "tercile_dose", thirds(d->tercile_dose));
	json_set(m, "tercile_lost_s", thirds(d->tercile_lost_s));
	return m;
}

static struct json *sham(const struct sham *s)
{
	struct json *m = json_object();

	json_set_int(m, "phases", (int64_t)s->count);
	json_set_int(m, "reached", (int64_t)s->reached);
	report_set_rounded(m, "best_lift", s->best_lift);
	return m;
}

static struct json *metric(const struct finding *f)
{
	const struct metric_result *r = &f->by_metric;
	struct json *m = json_object();

	json_set_text(m, "unit", f->metric->unit);
	json_set_bool(m, "is_evaluable", r->is_evaluable);
	json_set_int(m, "used", (int64_t)r->used);
	json_set_int(m, "in_spikes", (int64_t)r->in_spikes);
	json_set_int(m, "episodes", (int64_t)r->episodes);
	report_set_rounded(m, "effect", r->is_evaluable ? r->effect : NAN);
	report_set_rounded(m, "smallest_effect", r->smallest_effect);
	report_set_rounded(m, "lag_s", r->is_evaluable ? r->lag_s : NAN);
	report_set_rounded(m, "lag_max_s", r->is_evaluable ? r->lag_max_s : NAN);
	json_set_number(m, "inside", r->is_evaluable ? r->inside : NAN);
	json_set_number(m, "outside", r->is_evaluable ? r->outside : NAN);
	json_set_bool(m, "is_deseasoned", r->is_deseasoned);
	json_set_int(m, "shifts", (int64_t)r->shifts);
	return m;
}

static const char *kind_text(enum context_kind kind)
{
	static const char *const texts[] = { "traffic", "active", "since deploy", "metric" };

	return texts[kind];
}

static struct json *contexts(const struct context_list *all)
{
	struct json *list = json_array();

	for (size_t i = 0; i < all->count; i++) {
		const struct context *c = &all->items[i];
		struct json *m = json_object();

		json_set_text(m, "kind", kind_text(c->kind));
		json_set_text(m, "id", c->id);
		json_set_number(m, "threshold", c->threshold);
		json_set_bool(m, "is_above", c->is_above);
		json_set_int(m, "with", (int64_t)c->with);
		json_set_int(m, "hit_with", (int64_t)c->hit_with);
		json_set_int(m, "without", (int64_t)c->without);
		json_set_int(m, "hit_without", (int64_t)c->hit_without);
		json_set_number(m, "p", c->p);
		json_set_number(m, "p_turn", c->p_turn);
		json_set_number(m, "q", c->q);
		json_set_text(m, "text", c->text);
		json_append(list, m);
	}
	return list;
}

/* Null: as far as the capture and beyond. */
static void set_reach(struct json *m, const struct condition *c)
{
	if (c->from_ns > INT64_MIN)
		json_set_time(m, "reach_from", c->from_ns);
	else
		json_set_null(m, "reach_from");
	if (c->to_ns < INT64_MAX)
		json_set_time(m, "reach_to", c->to_ns);
	else
		json_set_null(m, "reach_to");
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
		report_set_fingerprint(m, a->routes[f->route].view.route);
	}
	report_set_rounded(m, "lift", l->lift);
	report_set_rounded(m, "lift_low", l->lift_low);
	report_set_rounded(m, "lift_high", l->lift_high);
	report_set_rounded(m, "lag_s", f->lag.lag_s);
	report_set_rounded(m, "lag_low_s", f->lag.low_s);
	report_set_rounded(m, "lag_high_s", f->lag.high_s);
	report_set_rounded(m, "duration_s", f->lag.duration_s);
	json_set_bool(m, "is_before", f->lag.is_before);
	json_set_number(m, "p", f->p);
	json_set_number(m, "q", f->q);
	json_set_text(m, "null", f->null);
	json_set_int(m, "shifts", (int64_t)l->shifts);
	json_set_number(m, "p_phase", l->p_phase);
	json_set(m, "occurrences", occurrences(f));
	report_set_rounded(m, "coverage", f->coverage);
	report_set_rounded(m, "coverage_time", f->coverage_time);
	json_set_int(m, "group", (int64_t)f->group);
	report_set_rounded(m, "smallest_lift", l->smallest_lift);
	json_set_number(m, "period_s", c->period_ns ? (double)c->period_ns / 1e9 : NAN);
	json_set_bool(m, "is_regular", c->is_regular);
	json_set_number(m, "n1", l->around.n1);
	json_set_number(m, "k1", l->around.k1);
	json_set_number(m, "n0", l->around.n0);
	json_set_number(m, "k0", l->around.k0);
	json_set_bool(m, "is_weak", c->is_weak);
	json_set_bool(m, "is_lone", f->is_lone);
	report_set_rounded(m, "trigger", f->trigger);
	report_set_rounded(m, "windows_share", l->share);
	set_reach(m, c);
	report_set_or_null(m, "outside_of_others", f->has_rest ? rest(f) : NULL);
	report_set_or_null(m, "dose", f->dose.is_evaluable ? dose(&f->dose) : NULL);
	report_set_or_null(m, "sham", f->sham.count ? sham(&f->sham) : NULL);
	report_set_or_null(m, "metric", f->metric ? metric(f) : NULL);
	json_set(m, "contexts", contexts(&f->contexts));
	return m;
}

struct json *report_conditions_json(const struct analysis *a)
{
	struct json *list = json_array();

	for (size_t i = 0; i < a->finding_count; i++)
		json_append(list, condition_json(a, &a->findings[i]));
	return list;
}
