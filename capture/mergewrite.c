#include "capture/mergewrite.h"

#include <stdlib.h>

#include "core/model/rcap_code.h"

enum { OPEN_MAX = 1000000 };

/* One input while it is read. */
struct lane {
	struct merge_input *in;
	struct rcap_item item;
	bool has_item;
	int64_t key_ns; /* when the item happened on the common clock */
	uint32_t *routes, *templates; /* numbers in the output + 1; 0: none yet */
	struct table open; /* sessions: old number -> page */
};

struct page {
	uint64_t old, number;
};

struct joint {
	struct merge *m;
	struct rcap_writer *w;
	struct lane lanes[MERGE_FILES_MAX];
	uint64_t numbers; /* given to sessions */
};

static bool out_of_memory(struct err *e)
{
	return err_set(e, ERR_ENV, "out of memory");
}

/* ---- numbers */

static uint32_t route_of(struct joint *j, struct lane *l, uint32_t id)
{
	const struct rcap_route *r = rcap_route(l->in->rcap, id);

	if (id != RCAP_OTHER && !l->routes[id])
		l->routes[id] = 1 + rcap_add_route(j->w, r->protocol, r->fingerprint, r->text);
	return id == RCAP_OTHER ? RCAP_OTHER : l->routes[id] - 1;
}

static uint32_t template_of(struct joint *j, struct lane *l, uint32_t id)
{
	if (id != RCAP_OTHER && !l->templates[id])
		l->templates[id] = 1 + rcap_add_template(j->w, rcap_template(l->in->rcap, id));
	return id == RCAP_OTHER ? RCAP_OTHER : l->templates[id] - 1;
}

static struct slice key_of(const uint64_t *id)
{
	return (struct slice){ (const char *)id, sizeof(*id) };
}

static bool number_of(struct joint *j, struct lane *l, uint64_t old, uint64_t *ret, struct err *e)
{
	struct page *p = table_get(&l->open, key_of(&old));

	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return out_of_memory(e);
		*p = (struct page){ old, ++j->numbers };
		if (!table_put(&l->open, key_of(&p->old), p)) {
			free(p);
			err_set(e, ERR_INPUT, "more than %d sessions are open at once", OPEN_MAX);
			return err_in(e, "%s", l->in->path);
		}
	}
	*ret = p->number;
	return true;
}

static void forget(struct lane *l, uint64_t old)
{
	free(table_remove(&l->open, key_of(&old)));
}

/* ---- one record */

/* Counts a session once, be its opening in the file or not. */
static bool leave_out(struct lane *l, const struct session_record *s)
{
	struct page *p = table_get(&l->open, key_of(&s->id));

	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return false;
		p->old = s->id;
		if (!table_put(&l->open, key_of(&p->old), p)) {
			free(p);
			return false;
		}
		l->in->dropped_sessions++;
	}
	if (s->close_ns)
		forget(l, s->id);
	return true;
}

static void shift(int64_t *ns, int64_t by)
{
	if (*ns)
		*ns -= by;
}

static bool put_session(struct joint *j, struct lane *l, struct session_record *s, struct err *e)
{
	uint64_t old = s->id;

	if (merge_is_dropped(l->in, old))
		return leave_out(l, s) || out_of_memory(e);
	if (!number_of(j, l, old, &s->id, e))
		return false;
	shift(&s->open_ns, l->in->skew_ns);
	shift(&s->close_ns, l->in->skew_ns);
	if (!rcap_put_session(j->w, s, e))
		return false;
	if (s->close_ns)
		forget(l, old);
	return true;
}

static bool count_dropped(struct merge_input *in, const struct request_record *q)
{
	struct rcap_route *c = &in->dropped_counts[q->route];
	int64_t us = rcap_latency_us(q);

	if (q->form == FORM_PREPARE) {
		in->dropped_prepares++;
		return true;
	}
	in->dropped_requests++;
	c->requests++;
	c->errors += rcap_is_error(q);
	c->rows += q->rows;
	c->bytes_in += q->bytes_in;
	c->bytes_out += q->bytes_out;
	return us < 0 || hist_add(&c->latency_us, us, 1);
}

static bool put_request(struct joint *j, struct lane *l, struct request_record *q, struct err *e)
{
	if (merge_is_dropped(l->in, q->session))
		return count_dropped(l->in, q) || out_of_memory(e);
	if (!number_of(j, l, q->session, &q->session, e))
		return false;
	shift(&q->start_ns, l->in->skew_ns);
	shift(&q->first_byte_ns, l->in->skew_ns);
	shift(&q->end_ns, l->in->skew_ns);
	q->route = route_of(j, l, q->route);
	q->template_id = template_of(j, l, q->template_id);
	return rcap_store_request(j->w, q, e);
}

/* ---- the stream */

static int64_t happened_ns(const struct rcap_item *item)
{
	const struct session_record *s = &item->session;

	if (item->kind == RCAP_REQUEST)
		return item->request.end_ns;
	return s->close_ns ? s->close_ns : s->open_ns;
}

/* Within an input the order stays: a log's session may have opened hours before. */
static bool pull(struct lane *l, struct err *e)
{
	enum step step = rcap_next(l->in->rcap, &l->item, e);

	l->has_item = step == STEP_ITEM;
	if (l->has_item) {
		int64_t ns = happened_ns(&l->item) - l->in->skew_ns;

		l->key_ns = ns > l->key_ns ? ns : l->key_ns;
	}
	return step != STEP_FAIL;
}

static struct lane *earliest(struct joint *j)
{
	struct lane *first = NULL;

	for (size_t i = 0; i < j->m->count; i++) {
		struct lane *l = &j->lanes[i];

		if (l->has_item && (!first || l->key_ns < first->key_ns))
			first = l;
	}
	return first;
}

static bool stream(struct joint *j, struct err *e)
{
	struct run_progress progress = { .verb = "merging", .unit = "records" };
	struct lane *l;
	uint64_t done = 0;

	while ((l = earliest(j))) {
		bool ok = l->item.kind == RCAP_SESSION ? put_session(j, l, &l->item.session, e)
						       : put_request(j, l, &l->item.request, e);
		if (!ok || !pull(l, e))
			return false;
		if (++done % 65536 == 0)
			run_progress_at(j->m->run, &progress, (double)done);
		if (run_stopped(j->m->run))
			return err_set(e, ERR_INTERRUPTED, "interrupted");
	}
	run_progress_end(j->m->run, &progress);
	return true;
}

/* ---- counts */

/* Those of requests that were never stored (sampling) are in them too. */
static bool add_counts(struct joint *j, struct lane *l, uint32_t id, struct err *e)
{
	const struct rcap_route *r = rcap_route(l->in->rcap, id);
	const struct rcap_route *less = &l->in->dropped_counts[id];
	struct rcap_route sum = *r;

	sum.requests -= less->requests;
	sum.errors -= less->errors;
	sum.rows -= less->rows;
	sum.bytes_in -= less->bytes_in;
	sum.bytes_out -= less->bytes_out;
	sum.latency_us = (struct hist){ 0 };
	bool ok = hist_merge(&sum.latency_us, &r->latency_us);
	if (ok) {
		hist_subtract(&sum.latency_us, &less->latency_us);
		ok = !sum.requests || rcap_count_route(j->w, route_of(j, l, id), &sum, e);
	} else {
		out_of_memory(e);
	}
	hist_free(&sum.latency_us);
	j->m->requests += sum.requests;
	return ok;
}

static bool add_all_counts(struct joint *j, struct err *e)
{
	for (size_t i = 0; i < j->m->count; i++) {
		struct lane *l = &j->lanes[i];

		for (uint32_t id = 0; id < rcap_route_count(l->in->rcap); id++)
			if (!add_counts(j, l, id, e))
				return false;
		j->m->sessions += rcap_totals(l->in->rcap).sessions - l->in->dropped_sessions;
	}
	rcap_set_sessions(j->w, j->m->sessions);
	return true;
}

/* ---- lanes */

static bool open_lane(struct lane *l, struct merge_input *in, struct err *e)
{
	size_t routes = rcap_route_count(in->rcap), templates = rcap_template_count(in->rcap);

	*l = (struct lane){ .in = in, .key_ns = INT64_MIN };
	table_init(&l->open, OPEN_MAX);
	l->routes = calloc(routes, sizeof(*l->routes));
	l->templates = calloc(templates, sizeof(*l->templates));
	in->dropped_counts = calloc(routes, sizeof(*in->dropped_counts));
	if (!l->routes || !l->templates || !in->dropped_counts)
		return out_of_memory(e);
	rcap_rewind(in->rcap);
	return pull(l, e);
}

static void close_lane(struct lane *l)
{
	void *page;

	for (size_t at = 0; table_next(&l->open, &at, NULL, &page);)
		free(page);
	table_free(&l->open);
	free(l->routes);
	free(l->templates);
}

bool mergewrite_all(struct merge *m, struct rcap_writer *w, struct err *e)
{
	struct joint *j = calloc(1, sizeof(*j));
	bool ok = true;

	if (!j)
		return out_of_memory(e);
	j->m = m;
	j->w = w;
	for (size_t i = 0; ok && i < m->count; i++)
		ok = open_lane(&j->lanes[i], &m->inputs[i], e);
	ok = ok && stream(j, e) && add_all_counts(j, e);
	for (size_t i = 0; i < m->count; i++)
		close_lane(&j->lanes[i]);
	free(j);
	return ok;
}
