#include "correlate/draft.h"

#include <stdlib.h>

#include "core/base/file.h"
#include "core/model/recipe.h"
#include "correlate/report_parts.h"

struct drafting {
	const struct analysis *a;
	struct json *conditions, *left_out;
};

static bool has(const struct json *list, const char *id)
{
	for (size_t i = 0; i < json_count(list); i++)
		if (strcmp(json_text(json_get(json_at(list, i), "id"), ""), id) == 0)
			return true;
	return false;
}

static void leave_out(struct drafting *d, const char *id, const char *reason)
{
	struct json *j;

	if (has(d->left_out, id) || has(d->conditions, id))
		return;
	j = json_object();
	json_set_text(j, "id", id);
	json_set_text(j, "reason", reason);
	json_append(d->left_out, j);
}

static struct json *add(struct drafting *d, const char *id, const char *source)
{
	const char *colon = strchr(id, ':');
	char kind[64];
	struct json *j, *on, *off;

	if (has(d->conditions, id))
		return NULL;
	if (json_count(d->conditions) == RECIPE_CONDITIONS_MAX) {
		leave_out(d, id, "beyond the sixteen that a recipe can test");
		return NULL;
	}
	snprintf(kind, sizeof(kind), "%.*s", colon ? (int)(colon - id) : (int)strlen(id), id);
	j = json_object();
	on = json_object();
	off = json_object();
	json_set_text(j, "id", id);
	json_set_text(j, "kind", kind);
	json_set_text(j, "source", source);
	if (recipe_switch_of(kind) == SWITCH_FILE) {
		json_set_number(on, "timeout_s", 60);
		json_set_text(off, "is", "not started");
	}
	json_set(j, "on", on);
	json_set(j, "off", off);
	json_append(d->conditions, j);
	return j;
}

/* Of a metric that says how bloated a table is, the table; else NULL. */
static const char *bloated_table(const char *id)
{
	static const char dead[] = "metric:n_dead_tup.";

	return strncmp(id, dead, sizeof(dead) - 1) == 0 ? id + sizeof(dead) - 1 : NULL;
}

static void add_bloat(struct drafting *d, const char *table)
{
	struct json *j = add(d, "bloat", "context"), *tables;

	if (!j)
		return;
	tables = json_array();
	json_append_text(tables, table);
	json_set(j, "tables", tables);
}

static void add_context(struct drafting *d, const struct context *c)
{
	const char *table = bloated_table(c->id);

	if (table)
		add_bloat(d, table);
	else if (c->kind == CONTEXT_ACTIVE)
		add(d, c->id, "context");
	else
		leave_out(d, c->id, c->text);
}

static void add_finding(struct drafting *d, const struct finding *f)
{
	const char *id = f->condition->id;
	const char *table = bloated_table(id);
	struct json *j;

	if (f->metric && table) {
		add_bloat(d, table);
	} else if (f->metric) {
		leave_out(d, id, "a number, not something that can be switched");
	} else if (recipe_switch_of(f->condition->kind) == SWITCH_NONE) {
		leave_out(d, id, "what it left behind is in the snapshot");
	} else if ((j = add(d, id, "correlation"))) {
		json_set_text(j, "verdict", verdict_text(f->verdict));
		report_set_rounded(j, "lag_s", f->lag.lag_s);
		json_set_number(j, "p", f->p);
	}
	for (size_t i = 0; i < f->contexts.count; i++)
		add_context(d, &f->contexts.items[i]);
}

static void add_findings(struct drafting *d)
{
	const struct analysis *a = d->a;
	bool has_line_up = false;
	size_t first_group = 0;

	for (size_t i = 0; i < a->finding_count; i++)
		has_line_up |= a->findings[i].verdict == VERDICT_LINES_UP;
	for (size_t i = 0; i < a->finding_count; i++) {
		const struct finding *f = &a->findings[i];

		if (f->verdict != (has_line_up ? VERDICT_LINES_UP : VERDICT_SUGGESTIVE))
			continue;
		if (!has_line_up && first_group && f->group != first_group) {
			leave_out(d, f->condition->id, "not in the first group");
			continue;
		}
		first_group = first_group ? first_group : f->group;
		add_finding(d, f);
	}
	add(d, "data", "always");
	add(d, "concurrency", "always");
}

/* Paths of a recipe start at its folder. */
static void set_capture(struct json *traffic, const char *path, const char *capture)
{
	const char *slash = strrchr(path, '/');
	size_t dir = slash ? (size_t)(slash - path) + 1 : 0;
	char *real;

	if (strncmp(path, capture, dir) == 0 && !strchr(capture + dir, '/')) {
		json_set_text(traffic, "capture", capture + dir);
		return;
	}
	real = realpath(capture, NULL);
	json_set_text(traffic, "capture", real ? real : capture);
	free(real);
}

static struct json *traffic_json(const struct report *r, const char *path, struct err *e)
{
	const struct series *s = r->analysis->series;
	struct json *j;
	char hex[65];

	if (!file_sha256(r->inputs[0], hex, e))
		return NULL;
	j = json_object();
	set_capture(j, path, r->inputs[0]);
	json_set_text(j, "sha256", hex);
	json_set_time(j, "start", s->first_ns);
	json_set_time(j, "end", s->last_ns);
	json_set_int(j, "requests", (int64_t)s->requests);
	json_set_number(j, "speed", 1);
	json_set_null(j, "routes");
	return j;
}

/* Its slow time is not cut into what is judged yet. */
static struct json *expectation_json(const struct tested_route *t)
{
	struct json *j = json_object();

	if (!t)
		return j;
	json_set_slice(j, "route", t->view.route->text);
	report_set_fingerprint(j, t->view.route);
	json_set_number(j, "quantile", 0.99);
	if (t->view.base.count)
		report_set_rounded(j, "baseline_ms", t->view.base.segments[0].p99_ms);
	return j;
}

bool draft_check(const struct report *r, bool is_capture, struct err *e)
{
	if (is_capture && r->input_count == 1 && strcmp(r->inputs[0], "-") != 0)
		return true;
	err_set(e, ERR_USAGE, "--draft needs one capture file as its input");
	return err_hint(e, "an experiment replays traffic: reprod capture ... -o F.rcap");
}

bool draft_save(const struct report *r, const char *path, bool is_forced, struct err *e)
{
	const struct analysis *a = r->analysis;
	struct json *traffic = traffic_json(r, path, e), *doc, *cell;

	if (!traffic)
		return false;
	struct drafting d = { a, json_array(), json_array() };
	add_findings(&d);
	doc = json_object();
	cell = json_object();
	json_set(cell, "windows", json_array());
	json_set_text(doc, "format", "reprod-recipe");
	json_set_int(doc, "version", RECIPE_VERSION);
	json_set_text(doc, "title", r->answer);
	json_set(doc, "traffic", traffic);
	json_set(doc, "snapshot", json_object());
	json_set(doc, "expectation", expectation_json(a->route_count ? &a->routes[0] : NULL));
	json_set(doc, "cell", cell);
	json_set(doc, "conditions", d.conditions);
	json_set(doc, "left_out", d.left_out);
	json_set(doc, "results", json_array());
	bool ok = json_save(doc, path, is_forced, e);
	json_free(doc);
	return ok;
}
