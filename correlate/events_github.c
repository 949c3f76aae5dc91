/*
 * GitHub's deployments, GET /repos/:o/:r/deployments, and their statuses: embedded
 * ("statuses"), in a file of their own, or as webhooks. A deployment starts with
 * in_progress (else queued or pending, else its creation) and ends with success, failure
 * or error. Kept is the name of the environment.
 */
#include <math.h>
#include <stdlib.h>

#include "correlate/events_parts.h"

enum { DEPLOYS_MAX = 200000 };

static bool fits_deployment(const struct json *object, const char *list_kind)
{
	(void)list_kind;
	return json_get(object, "created_at") && json_get(object, "sha") &&
	       (json_get(object, "statuses_url") || json_get(object, "statuses") ||
		       json_type(json_get(object, "environment")) == JSON_TEXT);
}

static bool fits_status(const struct json *object, const char *list_kind)
{
	(void)list_kind;
	return json_get(object, "state") && json_get(object, "deployment_url") &&
	       json_get(object, "created_at");
}

static bool fits_hook(const struct json *object, const char *list_kind)
{
	(void)list_kind;
	return json_get(object, "deployment") && json_get(object, "deployment_status");
}

static bool grow(struct events *ev)
{
	size_t cap = ev->deploy_cap ? ev->deploy_cap * 2 : 64;
	struct events_deploy **grown;

	if (ev->deploy_count < ev->deploy_cap)
		return true;
	grown = ev->deploy_count >= DEPLOYS_MAX
			? NULL
			: realloc(ev->deploy_items, cap * sizeof(struct events_deploy *));
	if (!grown)
		return false;
	ev->deploy_items = grown;
	ev->deploy_cap = cap;
	return true;
}

/* By the path of its URL, "/repos/o/r/deployments/1": ids come again on other servers. */
static struct events_deploy *deploy_of(struct events *ev, const char *url, struct err *e)
{
	struct events_deploy *d = table_get(&ev->deploys, slice_of(url));
	struct arena *arena = event_arena(ev->o.list);

	if (d)
		return d;
	struct slice key = arena_copy(arena, slice_of(url));
	d = arena_take(arena, sizeof(*d));
	if (!key.p || !d || !grow(ev) || !table_put(&ev->deploys, key, d)) {
		err_set(e, ERR_ENV, "more than %d deployments, or out of memory", DEPLOYS_MAX);
		return NULL;
	}
	*d = (struct events_deploy){ INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, NULL, ev->source,
		false };
	ev->deploy_items[ev->deploy_count++] = d;
	return d;
}

static bool name_it(
	struct events *ev, struct events_deploy *d, const struct json *object, struct err *e)
{
	const char *name = json_text(json_get(object, "environment"), "");

	if (d->environment || !*name)
		return true;
	if (!event_name_is_plain(slice_of(name)))
		return err_set(e, ERR_INPUT, "'environment' holds control characters");
	d->environment = arena_copy(event_arena(ev->o.list), slice_of(name)).p;
	return d->environment || err_set(e, ERR_ENV, "out of memory");
}

static void take_first(int64_t *at, int64_t ns)
{
	if (*at == INT64_MIN || ns < *at)
		*at = ns;
}

/* "inactive" comes when a later deployment takes over: no end of this one. */
static bool take_status_of(
	struct events *ev, struct events_deploy *d, const struct json *status, struct err *e)
{
	const char *state = json_text(json_get(status, "state"), "");
	int64_t ns;

	if (!events_time_at(ev, status, "created_at", NULL, &ns, e) || !name_it(ev, d, status, e))
		return false;
	events_saw(ev, ns);
	if (strcmp(state, "in_progress") == 0)
		take_first(&d->started_ns, ns);
	else if (strcmp(state, "queued") == 0 || strcmp(state, "pending") == 0)
		take_first(&d->queued_ns, ns);
	else if (strcmp(state, "success") == 0 || strcmp(state, "failure") == 0 ||
		 strcmp(state, "error") == 0)
		take_first(&d->ended_ns, ns);
	return true;
}

static bool take_status(struct events *ev, const struct json *status, struct err *e)
{
	struct events_deploy *d =
		deploy_of(ev, json_text(json_get(status, "deployment_url"), ""), e);

	return d && take_status_of(ev, d, status, e);
}

/* The deployment's own URL, or that of its statuses without the last part. */
static const char *url_of(const struct json *object, char url[1024])
{
	const char *own = json_text(json_get(object, "url"), NULL);
	const char *statuses = json_text(json_get(object, "statuses_url"), NULL);

	if (own)
		return own;
	if (statuses) {
		snprintf(url, 1024, "%.1000s", statuses);
		char *slash = strrchr(url, '/');
		if (slash)
			*slash = '\0';
	} else {
		snprintf(url, 1024, "id %.0f %.40s", json_number(json_get(object, "id"), 0),
			json_text(json_get(object, "created_at"), ""));
	}
	return url;
}

static bool take_deployment(struct events *ev, const struct json *object, struct err *e)
{
	char url[1024];
	const struct json *statuses = json_get(object, "statuses");
	struct events_deploy *d = deploy_of(ev, url_of(object, url), e);

	if (!d || !events_time_at(ev, object, "created_at", NULL, &d->created_ns, e) ||
		!name_it(ev, d, object, e))
		return false;
	events_saw(ev, d->created_ns);
	d->source = ev->source;
	if (!d->environment)
		return err_set(e, ERR_INPUT, "no 'environment'");
	ev->reach->read++;
	d->is_told = true;
	for (size_t i = 0; i < json_count(statuses); i++)
		if (!take_status_of(ev, d, json_at(statuses, i), e))
			return false;
	return true;
}

static bool take_hook(struct events *ev, const struct json *object, struct err *e)
{
	char url[1024];
	const struct json *deployment = json_get(object, "deployment");
	struct events_deploy *d = deploy_of(ev, url_of(deployment, url), e);

	if (!d)
		return false;
	if (!d->is_told && !take_deployment(ev, deployment, e))
		return false;
	return take_status_of(ev, d, json_get(object, "deployment_status"), e);
}

static bool emit(struct events *ev, const struct events_deploy *d, struct err *e)
{
	int64_t start_ns = d->started_ns != INT64_MIN  ? d->started_ns
			   : d->queued_ns != INT64_MIN ? d->queued_ns
						       : d->created_ns;

	/* Only its end was told: when it began is not known. */
	if (start_ns == INT64_MIN)
		start_ns = d->ended_ns;
	if (start_ns == INT64_MIN || !d->environment)
		return true;
	int64_t end_ns = d->ended_ns >= start_ns ? d->ended_ns : INT64_MIN;
	uint64_t read = ev->o.reaches->items[d->source].read;
	bool ok =
		events_add_from(ev, d->source, "deploy", d->environment, start_ns, end_ns, NAN, e);
	/* Counted when it was read; a status without its deployment is counted now. */
	ev->o.reaches->items[d->source].read = read + !d->is_told;
	return ok;
}

bool events_github_finish(struct events *ev, struct err *e)
{
	for (size_t i = 0; i < ev->deploy_count; i++)
		if (!emit(ev, ev->deploy_items[i], e))
			return false;
	return true;
}

static const uint16_t pages[] = { 30, 100, 0 };

const struct events_format events_github = {
	.dialect = "github", .fits = fits_deployment, .take = take_deployment, .pages = pages
};
const struct events_format events_github_status = {
	.dialect = "github", .fits = fits_status, .take = take_status, .pages = pages
};
const struct events_format events_github_hook = {
	.dialect = "github", .fits = fits_hook, .take = take_hook
};
