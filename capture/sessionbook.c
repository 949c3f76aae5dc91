#include "capture/sessionbook.h"

#include <stdlib.h>

enum { EVENTS = 65536 };

/* What is known of an open session. */
struct page {
	uint64_t id;
	uint64_t requests;
	int64_t open_ns;
	int64_t begin_ns; /* of the transaction */
	int64_t idle_ns; /* within it */
	uint32_t statements;
	bool is_late;
	bool has_ended_pipeline; /* the request before was followed by a Sync, or was simple */
	bool is_counted;
	bool is_inside; /* a transaction whose begin was seen */
	bool has_failed;
	bool is_half_seen;
};

bool sessionbook_init(struct sessionbook *b, int64_t from_ns, int64_t to_ns)
{
	*b = (struct sessionbook){ .from_ns = from_ns, .to_ns = to_ns, .now_ns = INT64_MIN };
	table_init(&b->open, SESSIONBOOK_OPEN_MAX);
	timeheap_init(&b->events, EVENTS);
	return timegrid_init(&b->opens, NS_PER_S);
}

void sessionbook_free(struct sessionbook *b)
{
	void *page;

	for (size_t at = 0; table_next(&b->open, &at, NULL, &page);)
		free(page);
	table_free(&b->open);
	timeheap_free(&b->events);
	timegrid_free(&b->opens);
	level_free(&b->level);
	hist_free(&b->lifetime_us);
	hist_free(&b->requests_each);
	hist_free(&b->think_idle_us);
	hist_free(&b->think_inside_us);
	hist_free(&b->statements);
	hist_free(&b->length_us);
}

static bool is_within(const struct sessionbook *b, int64_t at_ns)
{
	return at_ns >= b->from_ns && at_ns < b->to_ns;
}

/* ---- how many are open */

static bool next_event(struct sessionbook *b)
{
	struct timeheap_item item;

	if (!timeheap_take(&b->events, &item))
		return true;
	if (item.key > b->now_ns)
		b->now_ns = item.key;
	return level_change(&b->level, b->now_ns, (int)item.other);
}

/* Times are almost in order: a session is stored when it opens and when it closes. */
static bool add_event(struct sessionbook *b, int64_t at_ns, int by)
{
	at_ns = at_ns < b->from_ns ? b->from_ns : at_ns > b->to_ns ? b->to_ns : at_ns;
	if (b->events.count == EVENTS && !next_event(b))
		return false;
	return timeheap_put(&b->events, (struct timeheap_item){ at_ns, by, 0 });
}

static bool count_page(struct sessionbook *b, struct page *p)
{
	p->is_counted = true;
	b->sessions++;
	b->joined_late += p->is_late;
	return add_event(b, p->open_ns, 1);
}

/* Sessions that closed before from are none of ours: those that are still open count
 * when the clock gets there. */
static bool enter(struct sessionbook *b, int64_t at_ns)
{
	void *page;

	if (b->has_entered || at_ns < b->from_ns)
		return true;
	b->has_entered = true;
	for (size_t at = 0; table_next(&b->open, &at, NULL, &page);)
		if (!count_page(b, page))
			return false;
	return true;
}

/* ---- pages */

static struct page *find_page(const struct sessionbook *b, uint64_t id)
{
	return table_get(&b->open, (struct slice){ (const char *)&id, sizeof(id) });
}

static struct page *add_page(struct sessionbook *b, uint64_t id, int64_t open_ns, bool is_late)
{
	struct page *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	*p = (struct page){
		.id = id, .open_ns = open_ns, .is_late = is_late, .has_ended_pipeline = true
	};
	if (table_put(&b->open, (struct slice){ (const char *)&p->id, sizeof(p->id) }, p))
		return p;
	free(p);
	return NULL;
}

/* A session that is seen for the first time; false at the cap, which is counted. */
static bool open_page(
	struct sessionbook *b, const struct session_record *s, struct page **ret, bool *ret_ok)
{
	bool is_late = s->flags & SESSION_JOINED_LATE;

	*ret_ok = true;
	*ret = add_page(b, s->id, s->open_ns, is_late);
	if (!*ret) {
		b->untracked++;
		return false;
	}
	if (b->has_entered && s->open_ns < b->to_ns)
		*ret_ok = count_page(b, *ret);
	if (!is_late && is_within(b, s->open_ns)) {
		b->opened++;
		timegrid_add(&b->opens, s->open_ns, 1);
	}
	return true;
}

static bool close_page(struct sessionbook *b, struct page *p, const struct session_record *s)
{
	bool ok = !p->is_counted || add_event(b, s->close_ns, -1);

	if (is_within(b, s->close_ns)) {
		b->closed++;
		b->silent += p->requests == 0;
		ok = ok && hist_add(&b->requests_each, (int64_t)p->requests, 1);
		if (ok && !p->is_late && !(s->flags & SESSION_UNCLOSED))
			ok = hist_add(&b->lifetime_us, (s->close_ns - p->open_ns) / NS_PER_US, 1);
	}
	b->half_seen += p->is_inside;
	table_remove(&b->open, (struct slice){ (const char *)&p->id, sizeof(p->id) });
	free(p);
	return ok;
}

bool sessionbook_session(struct sessionbook *b, const struct session_record *s)
{
	struct page *p = find_page(b, s->id);
	bool ok = true;

	if (!enter(b, s->close_ns ? s->close_ns : s->open_ns))
		return false;
	if (!p && !open_page(b, s, &p, &ok))
		return true;
	return ok && (!s->close_ns || close_page(b, p, s));
}

/* ---- transactions */

static bool end_transaction(
	struct sessionbook *b, struct page *p, const struct request_record *q, bool is_rollback)
{
	p->is_inside = false;
	if (!is_within(b, q->end_ns))
		return true;
	b->explicit_count++;
	b->failed += p->has_failed;
	b->rolled_back += is_rollback || q->state_before == 'E';
	b->length_ns += (double)(q->end_ns - p->begin_ns);
	b->idle_ns += (double)p->idle_ns;
	return hist_add(&b->statements, p->statements, 1) &&
	       hist_add(&b->length_us, (q->end_ns - p->begin_ns) / NS_PER_US, 1);
}

static void begin_transaction(struct sessionbook *b, struct page *p, const struct request_record *q)
{
	/* Joined in its middle: nothing is known of its length. */
	if (q->state_before != 'I') {
		if (!p->is_half_seen)
			b->half_seen++;
		p->is_half_seen = true;
		return;
	}
	p->is_inside = true;
	p->begin_ns = q->start_ns;
	p->idle_ns = 0;
	p->statements = 1;
	p->has_failed = q->state_after == 'E';
}

static bool follow_transaction(
	struct sessionbook *b, struct page *p, const struct request_record *q, bool is_rollback)
{
	if (q->state_before == '?' || q->state_after == '?') {
		b->unknown_state++;
		p->is_inside = false;
		return true;
	}
	if (p->is_inside) {
		p->statements++;
		p->idle_ns += q->think_ns > 0 ? q->think_ns : 0;
		p->has_failed |= q->state_after == 'E';
		return q->state_after != 'I' || end_transaction(b, p, q, is_rollback);
	}
	if (q->state_after != 'I')
		begin_transaction(b, p, q);
	else if (q->state_before != 'I')
		p->is_half_seen = false;
	else
		b->implicit_count += is_within(b, q->end_ns);
	return true;
}

/* ---- requests */

/* Within a pipeline nobody thinks: its messages were sent together. */
static bool add_think(struct sessionbook *b, const struct page *p, const struct request_record *q)
{
	bool is_inside = q->state_before == 'T' || q->state_before == 'E';

	if (q->think_ns < 0 || (q->think_ns == 0 && !p->has_ended_pipeline))
		return true;
	return hist_add(
		is_inside ? &b->think_inside_us : &b->think_idle_us, q->think_ns / NS_PER_US, 1);
}

static bool ends_pipeline(const struct request_record *q)
{
	return q->flags & REQUEST_SYNC || q->form == FORM_SIMPLE || q->form == FORM_HTTP;
}

bool sessionbook_request(struct sessionbook *b, const struct request_record *q, bool is_rollback)
{
	struct page *p = find_page(b, q->session);
	bool ok = true;

	if (!enter(b, q->end_ns))
		return false;
	if (!p) {
		struct session_record s = {
			.id = q->session, .open_ns = q->start_ns, .flags = SESSION_JOINED_LATE
		};

		if (!open_page(b, &s, &p, &ok))
			return true;
	}
	if (is_within(b, q->start_ns)) {
		p->requests++;
		ok = ok && add_think(b, p, q);
	}
	p->has_ended_pipeline = ends_pipeline(q);
	if (q->form == FORM_HTTP || q->form == FORM_PREPARE)
		return ok;
	return ok && follow_transaction(b, p, q, is_rollback);
}

bool sessionbook_finish(struct sessionbook *b, int64_t from_ns, int64_t to_ns)
{
	void *page;

	while (b->events.count)
		if (!next_event(b))
			return false;
	for (size_t at = 0; table_next(&b->open, &at, NULL, &page);)
		b->half_seen += ((struct page *)page)->is_inside;
	int64_t end_ns = b->now_ns > to_ns ? b->now_ns : to_ns;
	return level_finish(&b->level, end_ns, to_ns - from_ns);
}
