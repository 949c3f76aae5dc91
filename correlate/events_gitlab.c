/*
 * GitLab's deployments, GET /projects/:id/deployments: the job that deployed tells start
 * and end, else the deployment itself. Kept is the name of the environment.
 */
#include <math.h>
#include <string.h>

#include "correlate/events_parts.h"

static bool fits_gitlab(const struct json *object, const char *list_kind)
{
	(void)list_kind;
	return json_get(object, "iid") && json_get(object, "created_at") &&
	       json_type(json_get(object, "environment")) == JSON_MAP;
}

static bool has_ended(const char *status)
{
	return strcmp(status, "success") == 0 || strcmp(status, "failed") == 0 ||
	       strcmp(status, "canceled") == 0;
}

static bool take_gitlab(struct events *ev, const struct json *object, struct err *e)
{
	const struct json *job = json_get(object, "deployable");
	const char *name = json_text(json_path(object, "environment.name"), "");
	const char *status = json_text(json_get(object, "status"), "success");
	int64_t created_ns, started_ns, finished_ns, ended_ns, updated_ns;

	if (!*name)
		return err_set(e, ERR_INPUT, "no 'environment.name'");
	if (!events_time_at(ev, object, "created_at", NULL, &created_ns, e) ||
		!events_time_maybe(ev, object, "updated_at", NULL, &updated_ns, e) ||
		!events_time_maybe(ev, job, "started_at", NULL, &started_ns, e) ||
		!events_time_maybe(ev, job, "finished_at", NULL, &finished_ns, e) ||
		!events_time_maybe(ev, object, "finished_at", NULL, &ended_ns, e))
		return false;
	if (finished_ns == INT64_MIN)
		finished_ns = ended_ns;
	/* Without a job, what changed it last was its end. */
	if (finished_ns == INT64_MIN && has_ended(status) && json_type(job) != JSON_MAP)
		finished_ns = updated_ns;
	int64_t start_ns = started_ns == INT64_MIN ? created_ns : started_ns;
	if (finished_ns < start_ns)
		finished_ns = INT64_MIN;
	return events_add(ev, "deploy", name, start_ns, finished_ns, NAN, e);
}

static const uint16_t pages[] = { 20, 50, 100, 0 };

const struct events_format events_gitlab = {
	.dialect = "gitlab", .fits = fits_gitlab, .take = take_gitlab, .pages = pages
};
