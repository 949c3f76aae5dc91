#include <math.h>

#include "correlate/report_parts.h"

void report_set_rounded(struct json *map, const char *key, double v)
{
	json_set_number(map, key, isnan(v) ? v : round(v * 1e6) / 1e6);
}

void report_set_or_null(struct json *map, const char *key, struct json *value)
{
	if (value)
		json_set(map, key, value);
	else
		json_set_null(map, key);
}

void report_set_fingerprint(struct json *map, const struct series_route *r)
{
	char hex[17];

	snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)r->fingerprint);
	json_set_text(map, "fingerprint", hex);
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

static void set_time_or_null(struct json *m, const char *key, int64_t t, int64_t none)
{
	if (t == none)
		json_set_null(m, key);
	else
		json_set_time(m, key, t);
}

static struct json *reaches(const struct reach_list *all)
{
	struct json *list = json_array();

	for (size_t i = 0; i < all->count; i++) {
		const struct reach *x = &all->items[i];
		struct json *m = json_object();

		json_set_text(m, "source", x->source);
		json_set_text(m, "dialect", x->dialect);
		set_time_or_null(m, "from", x->from_ns, INT64_MIN);
		set_time_or_null(m, "to", x->to_ns, INT64_MAX);
		json_set_bool(m, "is_assumed", x->is_assumed);
		json_set_int(m, "read", (int64_t)x->read);
		json_set_int(m, "bad", (int64_t)x->bad);
		json_set_text(m, "note", x->note);
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
		report_set_fingerprint(doc, judged);
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
	json_set_int(doc, "routes_untested", (int64_t)a->untested);
	json_set_int(doc, "routes_not_estimable", (int64_t)a->unestimable);
	json_set_number(doc, "tick_s", (double)a->series->tick_ns / 1e9);
	set_judged(doc, r);
	json_set(doc, "series", report_series_json(a, r->named));
	json_set(doc, "spikes", report_spikes_json(a, false));
	json_set(doc, "conditions", report_conditions_json(a));
	json_set(doc, "unexplained", report_spikes_json(a, true));
	json_set(doc, "periods", periods(r));
	json_set(doc, "reaches", reaches(&r->causes->reaches));
	return doc;
}
