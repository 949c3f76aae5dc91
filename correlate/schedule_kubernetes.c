/* CronJobs as "kubectl get cronjobs -A -o json" or "-o yaml" prints them, and manifests. */
#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/yaml.h"
#include "core/format/robfig.h"
#include "core/model/event.h"
#include "correlate/schedule_load.h"

enum { CONTROLLER_S = 10, DEADLINE_TEXT_MAX = 200 };

struct cronjob {
	const char *name; /* "namespace/name" */
	const char *schedule, *zone;
	const char *policy; /* "Allow", "Forbid", "Replace" */
	bool is_suspended;
	int64_t deadline_s; /* startingDeadlineSeconds; -1: none */
	int64_t last_s; /* when it last ran, or was created; INT64_MIN: not told */
};

static int64_t time_of(const struct json *object, const char *path)
{
	int64_t ns;

	return clock_parse(slice_of(json_text(json_path(object, path), "")), &ns) ? ns / NS_PER_S
										  : INT64_MIN;
}

static bool take(
	struct schedule_loader *l, const struct json *object, struct cronjob *ret, struct err *e)
{
	const char *space = json_text(json_path(object, "metadata.namespace"), "");
	const char *name = json_text(json_path(object, "metadata.name"), "");

	*ret = (struct cronjob){
		.name = arena_printf(
			&l->to->list->arena, "%.100s%s%.99s", space, *space ? "/" : "", name),
		.schedule = json_text(json_path(object, "spec.schedule"), NULL),
		.zone = json_text(json_path(object, "spec.timeZone"), NULL),
		.policy = json_text(json_path(object, "spec.concurrencyPolicy"), "Allow"),
		.is_suspended = json_is_true(json_path(object, "spec.suspend"), false),
		.deadline_s = json_int(json_path(object, "spec.startingDeadlineSeconds"), -1),
		.last_s = time_of(object, "status.lastScheduleTime"),
	};
	if (ret->last_s == INT64_MIN)
		ret->last_s = time_of(object, "metadata.creationTimestamp");
	if (!*name || !ret->name || !event_name_is_plain(slice_of(ret->name)))
		return err_set(e, ERR_INPUT, "a CronJob without a plain metadata.name");
	if (!ret->schedule)
		return err_set(e, ERR_INPUT, "CronJob '%.100s' has no spec.schedule", ret->name);
	return true;
}

/* "@every" counts on from the last run: backwards as well. */
static int64_t first_every(const struct robfig *r, int64_t last_s, int64_t first_s)
{
	int64_t past = (first_s - last_s) % r->every_s;

	return first_s - past - (past < 0 ? r->every_s : 0) - r->every_s;
}

static void run(struct schedule_loader *l, const struct cronjob *job, const struct robfig *r,
	const struct zone *zone)
{
	int64_t first_s = l->to->first_ns / NS_PER_S - 1;
	int64_t s = r->every_s ? first_every(r, job->last_s, first_s) : first_s;

	while (robfig_next(r, zone, s, &s) && s * NS_PER_S <= l->to->last_ns)
		if (!schedule_emit(l, s, s))
			return;
}

static bool expand(struct schedule_loader *l, const struct cronjob *job, struct err *bad)
{
	struct robfig r;
	struct zone zone;

	if (!robfig_parse(slice_of(job->schedule), &l->to->list->arena, &r, bad))
		return false;
	if (r.every_s && job->last_s == INT64_MIN) {
		schedule_silent(l, SILENT_INTERVAL);
		return true;
	}
	const char *named = job->zone ? job->zone : r.zone;
	if (named && !zone_open(&zone, named, bad))
		return false;
	if (!named && r.every_s ? !zone_open(&zone, NULL, bad)
				: !named && !schedule_zone(l, NULL, &zone, bad))
		return false;
	run(l, job, &r, &zone);
	zone_close(&zone);
	return true;
}

/* What may make it start otherwise than scheduled. */
static void tell(struct schedule_loader *l, const struct cronjob *job)
{
	if (job->deadline_s >= 0 && job->deadline_s < CONTROLLER_S)
		notes_add(l->to->notes,
			"%s: startingDeadlineSeconds below %d may keep Kubernetes from ever starting it",
			l->into->id, CONTROLLER_S);
	if (strcmp(job->policy, "Forbid") == 0)
		notes_add(l->to->notes,
			"%s: with concurrencyPolicy Forbid a start waits for, or is skipped by, a run that goes on",
			l->into->id);
}

static bool add_object(
	struct schedule_loader *l, const struct json *object, const char *place, struct err *e)
{
	struct cronjob job;
	struct err bad = { 0 };

	if (strcmp(json_text(json_get(object, "kind"), "CronJob"), "CronJob") != 0)
		return true;
	if (!take(l, object, &job, &bad)) {
		schedule_bad(l, &bad, place);
		return true;
	}
	if (!schedule_entry(l, job.name, e))
		return false;
	if (job.is_suspended) {
		schedule_silent(l, SILENT_SUSPENDED);
		return true;
	}
	if (!expand(l, &job, &bad)) {
		err_in(&bad, "%s", job.name);
		schedule_bad(l, &bad, place);
		schedule_drop(l);
		return true;
	}
	tell(l, &job);
	return true;
}

/* One object, or a list of them ("List", "CronJobList"). */
static bool add_document(
	struct schedule_loader *l, const struct json *document, const char *place, struct err *e)
{
	const struct json *items =
		json_type(document) == JSON_LIST ? document : json_get(document, "items");
	char where[96];

	if (json_type(items) != JSON_LIST)
		return add_object(l, document, place, e);
	for (size_t i = 0; i < json_count(items); i++) {
		snprintf(where, sizeof(where), "%sobject %zu", place, i + 1);
		if (!add_object(l, json_at(items, i), where, e))
			return false;
	}
	return true;
}

static bool read_json(struct schedule_loader *l, struct slice text, struct err *e)
{
	struct json *document CLEANUP(json_cleanup) = json_parse(text, l->path, e);

	return document && add_document(l, document, "", e);
}

static bool read_yaml(struct schedule_loader *l, struct slice text, struct err *e)
{
	struct yaml_stream *stream = yaml_open(text);
	struct err bad = { 0 };
	enum step step = STEP_ITEM;
	bool ok = stream || err_set(e, ERR_ENV, "out of memory");

	for (size_t n = 1; ok && step == STEP_ITEM; n++) {
		struct json *document = NULL;
		char place[48];

		step = yaml_next(stream, &document, &bad);
		snprintf(place, sizeof(place), "document %zu", n);
		if (step == STEP_ITEM)
			ok = add_document(l, document, place, e);
		if (step == STEP_FAIL)
			schedule_bad(l, &bad, place);
		json_free(document);
	}
	yaml_close(stream);
	return ok;
}

bool schedule_read_kubernetes(struct schedule_loader *l, struct slice text, struct err *e)
{
	struct slice start = text;

	while (start.n && strchr(" \t\r\n", *start.p))
		start = (struct slice){ start.p + 1, start.n - 1 };
	return start.n && strchr("{[", *start.p) ? read_json(l, text, e) : read_yaml(l, text, e);
}
