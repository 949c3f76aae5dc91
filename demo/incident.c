#include "demo/incident.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"

#define INCIDENT_FILE_MAX (1u << 20)
#define INCIDENT_ARENA_MAX (4u << 20)

static const char *keep(struct incident *in, const char *text)
{
	struct slice copy = arena_copy(&in->arena, slice_of(text));

	return copy.p;
}

/* A file of the folder: a plain relative name without "..", which exists. */
static bool inside(
	struct incident *in, const char *what, const char *name, const char **ret, struct err *e)
{
	if (!name || !*name)
		return err_set(e, ERR_INPUT, "%s: 'file' is missing", what);
	if (*name == '/' || strstr(name, ".."))
		return err_set(e, ERR_INPUT, "%s: '%s' does not stay inside the incident's folder",
			what, name);
	*ret = arena_printf(&in->arena, "%s/%s", in->dir, name);
	if (!*ret)
		return err_set(e, ERR_INPUT, "the incident is too large");
	if (!file_exists(*ret))
		return err_set(e, ERR_INPUT, "%s: there is no file '%s'", what, name);
	return true;
}

static const char *optional(struct incident *in, const char *name)
{
	const char *path = arena_printf(&in->arena, "%s/%s", in->dir, name);

	return path && file_exists(path) ? path : NULL;
}

static bool in_range(const struct json *j, const char *what, double fallback, double low,
	double high, double *ret, struct err *e)
{
	*ret = json_number(j, fallback);
	if (!(*ret >= low && *ret <= high))
		return err_set(
			e, ERR_INPUT, "'%s' must be a number from %g to %g", what, low, high);
	return true;
}

static bool few_enough(const struct json *list, const char *what, struct err *e)
{
	if (json_count(list) > INCIDENT_ITEMS_MAX)
		return err_set(e, ERR_INPUT, "'%s' has %zu entries, at most %d are read", what,
			json_count(list), INCIDENT_ITEMS_MAX);
	return true;
}

static bool load_traffic(struct incident *in, const struct json *list, struct err *e)
{
	if (json_count(list) == 0)
		return err_set(e, ERR_INPUT, "'production.traffic' names no pgbench script");
	if (!few_enough(list, "production.traffic", e))
		return false;
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *item = json_at(list, i);
		struct incident_traffic *t = &in->traffic[in->traffic_count++];

		if (!inside(in, "production.traffic", json_text(json_get(item, "file"), ""),
			    &t->file, e))
			return false;
		t->weight = json_int(json_get(item, "weight"), 1);
		if (t->weight < 1 || t->weight > 1000000)
			return err_set(e, ERR_INPUT,
				"'production.traffic[%zu].weight' must be 1 or more", i);
	}
	return true;
}

static bool load_production(struct incident *in, const struct json *p, struct err *e)
{
	double clients;

	if (!in_range(
		    json_get(p, "seconds"), "production.seconds", NAN, 5, 3600, &in->seconds, e) ||
		!in_range(json_get(p, "clients"), "production.clients", 8, 1, 1000, &clients, e) ||
		!in_range(json_get(p, "rate_per_s"), "production.rate_per_s", 0, 0, 1e6,
			&in->rate_per_s, e))
		return false;
	in->clients = (int64_t)clients;
	in->protocol = keep(in, json_text(json_get(p, "protocol"), "simple"));
	if (!in->protocol ||
		(strcmp(in->protocol, "simple") != 0 && strcmp(in->protocol, "extended") != 0 &&
			strcmp(in->protocol, "prepared") != 0))
		return err_set(
			e, ERR_INPUT, "'production.protocol' must be simple, extended or prepared");
	return load_traffic(in, json_get(p, "traffic"), e);
}

static bool load_jobs(struct incident *in, const struct json *list, struct err *e)
{
	if (!few_enough(list, "jobs", e))
		return false;
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *item = json_at(list, i);
		struct incident_job *job = &in->jobs[in->job_count++];

		job->name = keep(in, json_text(json_get(item, "name"), ""));
		if (!job->name || !*job->name || strchr(job->name, '/'))
			return err_set(
				e, ERR_INPUT, "'jobs[%zu].name' is missing or holds a '/'", i);
		if (!inside(in, "jobs", json_text(json_get(item, "file"), ""), &job->file, e) ||
			!in_range(json_get(item, "every_s"), "jobs.every_s", 0, 0, 86400,
				&job->every_s, e) ||
			!in_range(json_get(item, "at_s"), "jobs.at_s", 0, 0, 86400, &job->at_s, e))
			return false;
		job->is_innocent = json_is_true(json_get(item, "innocent"), false);
	}
	return true;
}

static bool load_events(struct incident *in, const struct json *list, struct err *e)
{
	if (!few_enough(list, "events", e))
		return false;
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *item = json_at(list, i);
		struct incident_event *event = &in->events[in->event_count++];

		event->name = keep(in, json_text(json_get(item, "name"), ""));
		event->kind = keep(in, json_text(json_get(item, "kind"), "event"));
		if (!event->name || !*event->name || !event->kind)
			return err_set(e, ERR_INPUT, "'events[%zu].name' is missing", i);
		if (!in_range(json_get(item, "at_s"), "events.at_s", 0, 0, 86400, &event->at_s, e))
			return false;
	}
	return true;
}

static bool load_settings(struct incident *in, const struct json *map, struct err *e)
{
	if (!few_enough(map, "settings", e))
		return false;
	for (size_t i = 0; i < json_count(map); i++) {
		struct json *value;
		const char *name = json_key_at(map, i, &value);
		const char *line;

		if (json_type(value) == JSON_BOOL)
			line = arena_printf(&in->arena, "%s=%s", name,
				json_is_true(value, false) ? "on" : "off");
		else if (json_type(value) == JSON_NUMBER)
			line = arena_printf(&in->arena, "%s=%.15g", name, json_number(value, 0));
		else if (json_type(value) == JSON_TEXT)
			line = arena_printf(&in->arena, "%s=%s", name, json_text(value, ""));
		else
			return err_set(e, ERR_INPUT,
				"'settings.%s' must be text, a number or a boolean", name);
		in->settings[in->setting_count++] = line;
	}
	return true;
}

static bool load_ids(struct incident *in, const struct json *list, const char *what,
	const char **items, size_t *count, struct err *e)
{
	if (!few_enough(list, what, e))
		return false;
	for (size_t i = 0; i < json_count(list); i++)
		items[(*count)++] = keep(in, json_text(json_at(list, i), ""));
	return true;
}

static bool load_truth(struct incident *in, const struct json *truth, struct err *e)
{
	in->truth_condition = keep(in, json_text(json_get(truth, "condition"), ""));
	in->truth_route = keep(in, json_text(json_get(truth, "route"), ""));
	if (!in->truth_condition || !*in->truth_condition)
		return err_set(e, ERR_INPUT, "'truth.condition' is missing");
	return load_ids(in, json_get(truth, "necessary"), "truth.necessary", in->truth_necessary,
		&in->truth_necessary_count, e);
}

static bool load_files(struct incident *in, struct err *e)
{
	in->schema = optional(in, "schema.sql");
	in->before = optional(in, "before.sql");
	in->during = optional(in, "during.sql");
	in->test = optional(in, "test.sql");
	if (!in->schema)
		return err_set(e, ERR_INPUT, "there is no 'schema.sql' beside incident.json");
	return true;
}

static bool load_document(struct incident *in, const struct json *doc, struct err *e)
{
	in->title = keep(in, json_text(json_get(doc, "title"), in->name));
	return load_production(in, json_get(doc, "production"), e) &&
	       load_jobs(in, json_get(doc, "jobs"), e) &&
	       load_events(in, json_get(doc, "events"), e) &&
	       load_settings(in, json_get(doc, "settings"), e) &&
	       load_ids(in, json_get(doc, "ablate"), "ablate", in->ablate, &in->ablate_count, e) &&
	       load_truth(in, json_get(doc, "truth"), e) && load_files(in, e);
}

static const char *base_name(struct incident *in, const char *dir)
{
	size_t end = strlen(dir);
	size_t start;

	while (end > 1 && dir[end - 1] == '/')
		end--;
	for (start = end; start > 0 && dir[start - 1] != '/'; start--)
		;
	return arena_copy(&in->arena, (struct slice){ dir + start, end - start }).p;
}

bool incident_load(struct incident *in, const char *dir, struct err *e)
{
	struct json *doc CLEANUP(json_cleanup) = NULL;
	const char *path;

	*in = (struct incident){ 0 };
	arena_init(&in->arena, INCIDENT_ARENA_MAX);
	in->dir = keep(in, dir);
	in->name = base_name(in, dir);
	path = arena_printf(&in->arena, "%s/incident.json", dir);
	if (!in->dir || !in->name || !path)
		return err_set(e, ERR_INPUT, "the incident is too large");
	doc = json_load(path, INCIDENT_FILE_MAX, e);
	if (!doc)
		return false;
	if (!load_document(in, doc, e))
		return err_in(e, "%s", path);
	if (in->arena.refused > 0)
		return err_set(e, ERR_INPUT, "'%s' is larger than an incident may be", path);
	return true;
}

void incident_free(struct incident *in)
{
	arena_free(&in->arena);
	*in = (struct incident){ 0 };
}
