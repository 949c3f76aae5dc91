#include "capture/watchjoin.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/table.h"

enum { SESSIONS_MAX = 1 << 17 };

struct joining {
	const struct watch_join *plan;
	struct rcap_writer *writer;
	struct table sessions; /* id -> itself: has been opened */
	struct rcap *part;
	uint32_t *routes, *templates; /* numbers in the part -> in the whole, plus 1 */
	uint64_t requests, session_count, stored;
	struct json *head;
};

/* ---- numbers */

static bool open_part(struct joining *j, const char *path, struct err *e)
{
	free(j->routes);
	free(j->templates);
	rcap_close(j->part);
	j->routes = j->templates = NULL;
	j->part = rcap_open(path, e);
	if (!j->part)
		return false;
	j->routes = calloc(rcap_route_count(j->part) + 1, sizeof *j->routes);
	j->templates = calloc(rcap_template_count(j->part) + 1, sizeof *j->templates);
	return (j->routes && j->templates) || err_set(e, ERR_ENV, "out of memory");
}

static uint32_t route_of(struct joining *j, uint32_t id)
{
	if (id >= rcap_route_count(j->part))
		return RCAP_OTHER;
	if (!j->routes[id] && id != RCAP_OTHER) {
		const struct rcap_route *r = rcap_route(j->part, id);

		j->routes[id] = rcap_add_route(j->writer, r->protocol, r->fingerprint, r->text) + 1;
	}
	return j->routes[id] ? j->routes[id] - 1 : RCAP_OTHER;
}

static uint32_t template_of(struct joining *j, uint32_t id)
{
	if (id >= rcap_template_count(j->part) || id == RCAP_OTHER)
		return RCAP_OTHER;
	if (!j->templates[id])
		j->templates[id] = rcap_add_template(j->writer, rcap_template(j->part, id)) + 1;
	return j->templates[id] - 1;
}

/* ---- records */

static bool add_session(struct joining *j, struct session_record *s, struct err *e)
{
	struct slice key = { (const char *)&s->id, sizeof s->id };
	uint64_t *id;

	if (table_get(&j->sessions, key))
		return !s->close_ns || rcap_put_session(j->writer, s, e);
	/* It ended without a request in here. */
	if (s->close_ns && s->close_ns < j->plan->from_ns)
		return true;
	id = malloc(sizeof *id);
	if (id)
		*id = s->id;
	if (!id || !table_put(&j->sessions, (struct slice){ (const char *)id, sizeof *id }, id)) {
		free(id);
		return true;
	}
	j->session_count++;
	if (s->open_ns < j->plan->from_ns)
		s->flags |= SESSION_JOINED_LATE;
	return rcap_put_session(j->writer, s, e);
}

static bool add_request(struct joining *j, struct request_record *q, struct err *e)
{
	if (q->end_ns < j->plan->from_ns || q->end_ns > j->plan->until_ns)
		return true;
	q->route = route_of(j, q->route);
	q->template_id = template_of(j, q->template_id);
	j->requests += q->form != FORM_PREPARE;
	return rcap_put_request(j->writer, q, e) &&
	       (++j->stored % 65536 || rcap_flush(j->writer, NULL, e));
}

static bool add_part(struct joining *j, const char *path, struct err *e)
{
	struct rcap_item item;
	enum step step;

	if (!open_part(j, path, e))
		return false;
	while ((step = rcap_next(j->part, &item, e)) == STEP_ITEM)
		if (!(item.kind == RCAP_SESSION ? add_session(j, &item.session, e)
						: add_request(j, &item.request, e)))
			return false;
	if (step == STEP_FAIL)
		return false;
	json_free(j->head);
	j->head = json_copy(rcap_head(j->part));
	return true;
}

static void finish_head(struct joining *j)
{
	const struct watch_join *p = j->plan;
	struct json *counts = json_object(), *incident = json_object();

	json_set_int(counts, "sessions", (int64_t)j->session_count);
	json_set_int(counts, "requests", (int64_t)j->requests);
	json_set_text(incident, "why", p->why);
	json_set_time(incident, "at", p->at_ns);
	json_set_time(j->head, "start", p->from_ns);
	json_set_time(j->head, "end", p->until_ns);
	json_set(j->head, "counts", counts);
	json_set(j->head, "incident", incident);
	json_set_bool(j->head, "complete", true);
}

static void free_joining(struct joining *j)
{
	struct slice key;
	void *value;

	for (size_t at = 0; table_next(&j->sessions, &at, &key, &value);)
		free(value);
	table_free(&j->sessions);
	free(j->routes);
	free(j->templates);
	rcap_close(j->part);
	json_free(j->head);
	if (j->writer)
		rcap_abandon(j->writer);
}

static bool place(struct joining *j, const char *beside, const char *output, struct err *e)
{
	struct rcap_writer *w = j->writer;

	finish_head(j);
	j->writer = NULL;
	if (!rcap_finish(w, j->head, e))
		return false;
	if (rename(beside, output) != 0)
		return err_os(e, ERR_ENV, errno, "could not name '%s'", output);
	return true;
}

bool watch_join(
	const struct watch_join *plan, const char *output, uint64_t *ret_requests, struct err *e)
{
	struct joining j = { .plan = plan };
	char beside[512];
	bool ok;

	snprintf(beside, sizeof beside, "%.500s.new", output);
	table_init(&j.sessions, SESSIONS_MAX);
	j.writer = rcap_create(beside, true, e);
	ok = j.writer != NULL;
	if (ok && plan->dictionary_max)
		rcap_limit(j.writer, plan->dictionary_max);
	for (size_t i = 0; ok && i < plan->count; i++)
		ok = add_part(&j, plan->paths[i], e);
	*ret_requests = j.requests;
	ok = ok && (!j.requests || place(&j, beside, output, e));
	free_joining(&j);
	if (!ok || !*ret_requests)
		unlink(beside);
	return ok;
}
