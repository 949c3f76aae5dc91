#include "recipes/production.h"

#include <stdlib.h>

static const struct rcap_route *busiest(const struct rcap *c, const struct own *own)
{
	const struct rcap_route *best = NULL;

	for (size_t i = 0; i < rcap_route_count(c); i++) {
		const struct rcap_route *q = rcap_route(c, (uint32_t)i);

		if (!q || q->requests == 0 || q->protocol == PROTOCOL_HTTP ||
			(own && own_has(own, q->fingerprint)))
			continue;
		if (!best || q->latency_us.sum > best->latency_us.sum)
			best = q;
	}
	return best;
}

static const struct rcap_route *by_fingerprint(const struct rcap *c, uint64_t fingerprint)
{
	for (size_t i = 0; i < rcap_route_count(c); i++) {
		const struct rcap_route *q = rcap_route(c, (uint32_t)i);

		if (q && q->requests > 0 && q->fingerprint == fingerprint)
			return q;
	}
	return NULL;
}

static bool is_statement(const struct rcap_route *route, struct err *e)
{
	if (route->protocol != PROTOCOL_HTTP)
		return true;
	err_set(e, ERR_INPUT, "'%.*s' is an HTTP route, and only statements are judged",
		(int)(route->text.n < 80 ? route->text.n : 80), route->text.p);
	return err_hint(e, "name a statement's route with --route; reprod capture show lists them");
}

static const struct rcap_route *choose(
	const struct rcap *c, const struct production_choice *choice, struct err *e)
{
	const char *fragment = choice->fragment;
	const struct rcap_route *route;

	if (choice->fingerprint) {
		route = by_fingerprint(c, choice->fingerprint);
		if (!route)
			err_set(e, ERR_INPUT, "no request has the fingerprint %016llx",
				(unsigned long long)choice->fingerprint);
	} else if (fragment) {
		route = rcap_find_route(c, slice_of(fragment));
		if (!route) {
			err_set(e, ERR_INPUT, "no route has '%s' in its text", fragment);
			err_hint(e, "reprod capture show lists the routes");
		}
	} else {
		route = busiest(c, choice->own);
		if (!route)
			err_set(e, ERR_INPUT, "the capture holds no statement but the jobs' own");
	}
	return route && is_statement(route, e) ? route : NULL;
}

static bool keep(struct production *p, const struct request_record *q, struct err *e)
{
	if (p->count == PRODUCTION_MAX) {
		p->left_out++;
		return true;
	}
	if (p->count == p->room) {
		size_t room = p->room ? p->room * 2 : 4096;
		struct inside_request *grown = realloc(p->requests, room * sizeof(*grown));

		if (!grown)
			return err_set(e, ERR_ENV, "could not get memory for %zu requests", room);
		p->requests = grown;
		p->room = room;
	}
	p->requests[p->count++] = (struct inside_request){ .start_ns = q->start_ns,
		.end_ns = q->end_ns,
		.is_censored = q->flags & REQUEST_UNANSWERED };
	return true;
}

static bool is_request(const struct rcap_item *item)
{
	return item->kind == RCAP_REQUEST && item->request.form != FORM_PREPARE &&
	       !(item->request.flags & REQUEST_SKIPPED);
}

static bool read_all(
	struct production *p, struct rcap *c, uint32_t route, const struct run *r, struct err *e)
{
	struct rcap_item item;
	enum step step;

	while ((step = rcap_next(c, &item, e)) == STEP_ITEM) {
		const struct request_record *q = &item.request;

		if (!is_request(&item))
			continue;
		if (p->all++ == 0 || q->start_ns < p->start_ns)
			p->start_ns = q->start_ns;
		if (q->end_ns > p->end_ns)
			p->end_ns = q->end_ns;
		if (q->route == route && !keep(p, q, e))
			return false;
		if (run_stopped(r))
			return err_set(e, ERR_INTERRUPTED, "interrupted");
	}
	return step == STEP_END;
}

static int by_start(const void *a, const void *b)
{
	const struct inside_request *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

bool production_load(struct production *p, const char *capture,
	const struct production_choice *choice, const struct run *r, struct err *e)
{
	struct rcap *c = rcap_open(capture, e);
	const struct rcap_route *route;
	bool ok = false;

	*p = (struct production){ 0 };
	if (!c)
		return false;
	route = choose(c, choice, e);
	if (!route)
		goto out;
	p->route = strndup(route->text.p ? route->text.p : "", route->text.n);
	p->fingerprint = route->fingerprint;
	p->protocol = route->protocol;
	p->route_rows = route->rows;
	p->route_errors = route->errors;
	p->head = json_copy(rcap_head(c));
	if (!p->route) {
		err_set(e, ERR_ENV, "memory ran out");
		goto out;
	}
	if (!read_all(p, c, route->id, r, e))
		goto out;
	if (p->count > 1)
		qsort(p->requests, p->count, sizeof(p->requests[0]), by_start);
	ok = true;
out:
	rcap_close(c);
	if (!ok)
		err_in(e, "%s", capture);
	return ok;
}

void production_free(struct production *p)
{
	free(p->requests);
	free(p->route);
	json_free(p->head);
	*p = (struct production){ 0 };
}

bool production_arrivals(const char *capture, const struct span *spans, size_t count,
	uint64_t *ret_all, const struct run *r, struct err *e)
{
	struct rcap *c = rcap_open(capture, e);
	struct rcap_item item;
	enum step step = STEP_FAIL;

	memset(ret_all, 0, count * sizeof(*ret_all));
	while (c && !run_stopped(r) && (step = rcap_next(c, &item, e)) == STEP_ITEM) {
		int64_t t = item.request.start_ns;

		if (!is_request(&item))
			continue;
		for (size_t i = 0; i < count; i++)
			ret_all[i] += t >= spans[i].from_ns && t < spans[i].to_ns;
	}
	rcap_close(c);
	if (run_stopped(r))
		return err_set(e, ERR_INTERRUPTED, "interrupted");
	return step == STEP_END;
}

bool production_divide(const struct production *p, const struct production_spans *spans,
	struct production_sets *ret, struct err *e)
{
	*ret = (struct production_sets){ 0 };
	return inside_collect(&ret->inside, p->requests, p->count, spans->inside,
		       spans->inside_count, e) &&
	       outside_collect(&ret->outside, p->requests, p->count, spans->slow, spans->slow_count,
		       spans->guard_ns, spans->quiet, spans->quiet_count, e) &&
	       judge_set_seal(&ret->inside, e) && judge_set_seal(&ret->outside, e);
}

void production_sets_free(struct production_sets *s)
{
	judge_set_free(&s->inside);
	judge_set_free(&s->outside);
}
