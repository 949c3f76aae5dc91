/*
 * Kubernetes, as kubectl get ... -o json prints it: ReplicaSets (rollouts), Jobs, Pods
 * (containers that were restarted), Events; and Argo CD's Applications.
 *
 * A cluster forgets: old ReplicaSets (revisionHistoryLimit), Jobs (the last three and
 * the last failed), all but the last restart of a container, Events after an hour. Each
 * name therefore has a reach of its own, from the oldest that was kept. Names are
 * "namespace/name" of the owner: Deployment, CronJob; messages are not kept.
 */
#include <math.h>
#include <stdio.h>

#include "correlate/events_parts.h"

static const char *kind_of(const struct json *object, const char *list_kind)
{
	return json_text(json_get(object, "kind"), list_kind ? list_kind : "");
}

static bool fits_kubernetes(const struct json *object, const char *list_kind)
{
	static const char *const kinds[] = { "ReplicaSet", "Job", "Pod", "Event" };
	const char *kind = kind_of(object, list_kind);

	for (size_t i = 0; i < LENGTH(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return json_type(json_get(object, "metadata")) == JSON_MAP;
	return false;
}

static const char *owner_of(const struct json *object, const char *kind)
{
	const struct json *owners = json_path(object, "metadata.ownerReferences");

	for (size_t i = 0; i < json_count(owners); i++)
		if (strcmp(json_text(json_get(json_at(owners, i), "kind"), ""), kind) == 0)
			return json_text(json_get(json_at(owners, i), "name"), NULL);
	return NULL;
}

/* "namespace/name", as schedules of CronJobs are named. */
static void full_name(char to[EVENT_NAME_MAX + 1], const char *space, const char *name)
{
	snprintf(to, EVENT_NAME_MAX + 1, "%.100s%s%.*s", space, *space ? "/" : "",
		*space ? 99 : EVENT_NAME_MAX, name);
}

static const char *space_of(const struct json *object)
{
	return json_text(json_path(object, "metadata.namespace"), "");
}

/* A ReplicaSet without a Deployment is scaled by hand, and no rollout. */
static bool take_rollout(struct events *ev, const struct json *object, struct err *e)
{
	const char *owner = owner_of(object, "Deployment");
	char name[EVENT_NAME_MAX + 1], id[EVENT_NAME_MAX + 16];
	int64_t t_ns;

	if (!owner)
		return true;
	if (!events_time_at(ev, json_get(object, "metadata"), "creationTimestamp", NULL, &t_ns, e))
		return false;
	full_name(name, space_of(object), owner);
	snprintf(id, sizeof(id), "deploy:%s", name);
	uint16_t source = events_reach_of(ev, "kubernetes", id,
		"older ReplicaSets are removed (revisionHistoryLimit), a rollback to one shows no time",
		t_ns);
	return events_add_from(ev, source, "deploy", name, t_ns, INT64_MIN, NAN, e);
}

static int64_t failed_at(struct events *ev, const struct json *object)
{
	const struct json *list = json_path(object, "status.conditions");
	struct err unused = { 0 };
	int64_t ns;

	for (size_t i = 0; i < json_count(list); i++)
		if (strcmp(json_text(json_get(json_at(list, i), "type"), ""), "Failed") == 0 &&
			events_time_maybe(
				ev, json_at(list, i), "lastTransitionTime", NULL, &ns, &unused))
			return ns;
	return INT64_MIN;
}

static bool take_job(struct events *ev, const struct json *object, struct err *e)
{
	const char *owner = owner_of(object, "CronJob");
	const struct json *status = json_get(object, "status");
	char name[EVENT_NAME_MAX + 1], id[EVENT_NAME_MAX + 16];
	int64_t start_ns, end_ns;

	if (!events_time_maybe(ev, status, "startTime", NULL, &start_ns, e) ||
		!events_time_maybe(ev, status, "completionTime", NULL, &end_ns, e))
		return false;
	/* Suspended or waiting: it has not run. */
	if (start_ns == INT64_MIN)
		return true;
	if (end_ns == INT64_MIN)
		end_ns = failed_at(ev, object);
	if (end_ns < start_ns)
		end_ns = INT64_MIN;
	full_name(name, space_of(object),
		owner ? owner : json_text(json_path(object, "metadata.name"), "job"));
	snprintf(id, sizeof(id), "job:%s", name);
	uint16_t source = events_reach_of(ev, "kubernetes", id,
		"finished Jobs are removed (successfulJobsHistoryLimit, ttlSecondsAfterFinished)",
		start_ns);
	return events_add_from(ev, source, "job", name, start_ns, end_ns, NAN, e);
}

/* "web-7d4b9c6f5d-x2x7q" and "web-0" are of web; a Job's pods have one part more. */
static void workload_of(char to[128], const char *pod)
{
	snprintf(to, 128, "%.127s", pod);
	for (int part = 0; part < 2; part++) {
		char *dash = strrchr(to, '-');
		size_t n = dash ? strlen(dash + 1) : 0;
		bool is_number = dash && n && strspn(dash + 1, "0123456789") == n;
		/* Kubernetes' random parts have no vowels; a hash of a template has up to ten. */
		bool is_random = dash && (n == 5 || (part == 1 && n >= 6 && n <= 10)) &&
				 strspn(dash + 1, "0123456789bcdfghjklmnpqrstvwxz") == n;

		if (dash == to || (!is_number && !is_random))
			return;
		*dash = '\0';
		if (is_number && n < 5)
			return;
	}
}

static bool take_container(
	struct events *ev, const struct json *pod, const struct json *container, struct err *e)
{
	const struct json *before = json_path(container, "lastState.terminated");
	const struct json *now = json_path(container, "state.running");
	char workload[128], whole[300], name[EVENT_NAME_MAX + 1], id[EVENT_NAME_MAX + 16];
	int64_t ended_ns, running_ns;

	if (json_number(json_get(container, "restartCount"), 0) < 1)
		return true;
	if (!events_time_maybe(ev, before, "finishedAt", NULL, &ended_ns, e) ||
		!events_time_maybe(ev, now, "startedAt", NULL, &running_ns, e))
		return false;
	if (ended_ns == INT64_MIN)
		return true;
	workload_of(workload, json_text(json_path(pod, "metadata.name"), "pod"));
	snprintf(whole, sizeof(whole), "%s/%.100s", workload,
		json_text(json_get(container, "name"), "container"));
	full_name(name, space_of(pod), whole);
	snprintf(id, sizeof(id), "restart:%s", name);
	uint16_t source = events_reach_of(
		ev, "kubernetes", id, "only a container's last restart is told", ended_ns);
	return events_add_from(ev, source, "restart", name, ended_ns,
		running_ns >= ended_ns ? running_ns : INT64_MIN, NAN, e);
}

static bool take_pod(struct events *ev, const struct json *object, struct err *e)
{
	const struct json *list = json_path(object, "status.containerStatuses");

	for (size_t i = 0; i < json_count(list); i++)
		if (!take_container(ev, object, json_at(list, i), e))
			return false;
	return true;
}

/* ---- Events: warnings, and the ordinary ones that may slow something down */

static bool is_told(const char *reason, const char *type)
{
	static const char *const reasons[] = { "ScalingReplicaSet", "Killing", "Preempting",
		"SuccessfulRescale", "TriggeredScaleUp", "ScaleDown", "Rebooted", "NodeNotReady",
		"NodeNotSchedulable", "LeaderElection", "Starting" };

	if (strcmp(type, "Warning") == 0)
		return true;
	for (size_t i = 0; i < LENGTH(reasons); i++)
		if (strcmp(reason, reasons[i]) == 0)
			return true;
	return false;
}

/* A series of the same kind: only its first and its last are told. */
static bool event_times(struct events *ev, const struct json *object, int64_t *ret_first,
	int64_t *ret_last, struct err *e)
{
	int64_t series_ns;

	if (!events_time_maybe(ev, object, "firstTimestamp", NULL, ret_first, e) ||
		!events_time_maybe(ev, object, "lastTimestamp", NULL, ret_last, e) ||
		!events_time_maybe(
			ev, json_get(object, "series"), "lastObservedTime", NULL, &series_ns, e))
		return false;
	if (*ret_first == INT64_MIN &&
		!events_time_maybe(ev, object, "eventTime", NULL, ret_first, e))
		return false;
	if (*ret_first == INT64_MIN && !events_time_at(ev, json_get(object, "metadata"),
					       "creationTimestamp", NULL, ret_first, e))
		return false;
	*ret_last = series_ns > *ret_last ? series_ns : *ret_last;
	*ret_last = *ret_last > *ret_first ? *ret_last : *ret_first;
	return true;
}

static bool take_event(struct events *ev, const struct json *object, struct err *e)
{
	const struct json *about = json_get(object, "involvedObject");
	const char *reason = json_text(json_get(object, "reason"), "");
	char workload[128], whole[EVENT_NAME_MAX + 1], name[EVENT_NAME_MAX + 100];
	int64_t first_ns, last_ns;

	if (!*reason)
		return err_set(e, ERR_INPUT, "an Event without a 'reason'");
	if (!event_times(ev, object, &first_ns, &last_ns, e))
		return false;
	events_saw(ev, first_ns);
	events_saw(ev, last_ns);
	ev->is_log = true;
	if (!is_told(reason, json_text(json_get(object, "type"), "")))
		return true;
	workload_of(workload, json_text(json_get(about, "name"), "cluster"));
	full_name(whole, json_text(json_get(about, "namespace"), ""), workload);
	snprintf(name, sizeof(name), "%.60s:%s", reason, whole);
	if (!events_add(ev, "kubernetes", name, first_ns, INT64_MIN, NAN, e))
		return false;
	if (json_number(json_get(object, "count"), 1) > 2)
		events_note(
			ev, "of an Event that came again only the first and last times are told");
	return last_ns == first_ns ||
	       events_add(ev, "kubernetes", name, last_ns, INT64_MIN, NAN, e);
}

static bool take_kubernetes(struct events *ev, const struct json *object, struct err *e)
{
	const char *kind = kind_of(object, ev->list_kind);

	switch (*kind) {
	case 'R':
		return take_rollout(ev, object, e);
	case 'J':
		return take_job(ev, object, e);
	case 'P':
		return take_pod(ev, object, e);
	default:
		return take_event(ev, object, e);
	}
}

const struct events_format events_kubernetes = {
	.dialect = "kubernetes", .fits = fits_kubernetes, .take = take_kubernetes
};

/* ---- Argo CD */

static bool fits_argo(const struct json *object, const char *list_kind)
{
	return strcmp(kind_of(object, list_kind), "Application") == 0 &&
	       json_type(json_get(object, "metadata")) == JSON_MAP;
}

static bool take_argo(struct events *ev, const struct json *object, struct err *e)
{
	const char *name = json_text(json_path(object, "metadata.name"), "");
	const struct json *list = json_path(object, "status.history");
	char id[EVENT_NAME_MAX + 16];
	int64_t start_ns, end_ns;

	if (!*name)
		return err_set(e, ERR_INPUT, "an Application without a name");
	snprintf(id, sizeof(id), "deploy:%.200s", name);
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *one = json_at(list, i);

		if (!events_time_at(ev, one, "deployedAt", NULL, &end_ns, e) ||
			!events_time_maybe(ev, one, "deployStartedAt", NULL, &start_ns, e))
			return false;
		bool has_start = start_ns != INT64_MIN && start_ns <= end_ns;
		start_ns = has_start ? start_ns : end_ns;
		uint16_t source = events_reach_of(ev, "argo", id,
			"older deployments are removed (revisionHistoryLimit)", start_ns);
		if (!events_add_from(ev, source, "deploy", name, start_ns,
			    has_start ? end_ns : INT64_MIN, NAN, e))
			return false;
	}
	return true;
}

const struct events_format events_argo = {
	.dialect = "argo", .fits = fits_argo, .take = take_argo
};
