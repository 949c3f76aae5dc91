#include "capture/mergemarks.h"

#include <stdlib.h>

enum { OPEN_MAX = 400000, BEFORE = 3 };

/* A session while it is read. */
struct page {
	struct mergesession s;
	uint64_t before[BEFORE]; /* contents of the requests before, the latest first */
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static uint64_t hash(uint64_t h, struct slice s)
{
	h = mix(h, s.n);
	while (s.n) {
		uint64_t word = 0;
		size_t n = s.n < sizeof(word) ? s.n : sizeof(word);

		memcpy(&word, s.p, n);
		h = mix(h, word);
		s.p += n;
		s.n -= n;
	}
	return h;
}

/* A log spells what the wire had: route and values, nothing of sizes and forms. */
static uint64_t content_of(const struct rcap *r, const struct request_record *q)
{
	const struct rcap_route *route = rcap_route(r, q->route);
	uint64_t h = mix(mix(1, (uint64_t)route->protocol), route->fingerprint);

	for (size_t i = 0; i < q->value_count; i++)
		if (!(q->values[i].flags & (VALUE_IS_UNKNOWN | VALUE_IS_CUT)))
			h = hash(h, q->values[i].bytes);
	return h;
}

/* ---- marks */

static struct mergemark *slot_of(const struct mergemarks *m, uint64_t content)
{
	size_t at = (content ^ content >> 32) & (m->room - 1);

	while (m->marks[at].content && m->marks[at].content != content)
		at = (at + 1) & (m->room - 1);
	return &m->marks[at];
}

/* Half of the marks go, the same half in every capture. */
static void thin_out(struct mergemarks *m)
{
	struct mergemark *old = m->marks;

	m->sample = m->sample << 1 | 1;
	m->marks = calloc(m->room, sizeof(*m->marks));
	if (!m->marks) {
		m->marks = old;
		m->is_short = true;
		return;
	}
	m->count = 0;
	for (size_t i = 0; i < m->room; i++)
		if (old[i].content && !(old[i].content & m->sample)) {
			*slot_of(m, old[i].content) = old[i];
			m->count++;
		}
	free(old);
}

static void add_mark(struct mergemarks *m, uint64_t content, const struct request_record *q,
	const struct page *p)
{
	if (!content || content & m->sample)
		return;
	struct mergemark *mark = slot_of(m, content);
	if (mark->content) {
		mark->is_repeated = true;
		return;
	}
	*mark = (struct mergemark){ content, q->session, p->s.client, q->start_ns, q->end_ns,
		false };
	if (++m->count > MERGEMARKS_MAX && !m->is_short)
		thin_out(m);
	if (m->count > m->room / 2 + m->room / 4)
		*mark = (struct mergemark){ 0 };
}

const struct mergemark *mergemarks_find(const struct mergemarks *m, uint64_t content)
{
	const struct mergemark *mark = slot_of(m, content);

	return mark->content && !mark->is_repeated ? mark : NULL;
}

/* ---- sessions */

static struct page *page_of(struct mergemarks *m, uint64_t id)
{
	struct page *p = table_get(&m->open, (struct slice){ (const char *)&id, sizeof(id) });

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->s.id = id;
	if (table_put(&m->open, (struct slice){ (const char *)&p->s.id, sizeof(p->s.id) }, p))
		return p;
	free(p);
	return NULL;
}

static bool keep_session(struct mergemarks *m, const struct mergesession *s)
{
	if (m->session_count == m->session_cap) {
		m->unchecked++;
		return true;
	}
	if (m->session_count == m->session_room) {
		size_t room = m->session_room ? 2 * m->session_room : 256;
		struct mergesession *sessions = realloc(m->sessions, room * sizeof(*sessions));

		if (!sessions)
			return false;
		m->sessions = sessions;
		m->session_room = room;
	}
	m->sessions[m->session_count++] = *s;
	return true;
}

static bool close_page(struct mergemarks *m, struct page *p)
{
	bool ok = keep_session(m, &p->s);

	table_remove(&m->open, (struct slice){ (const char *)&p->s.id, sizeof(p->s.id) });
	free(p);
	return ok;
}

static bool take_session(struct mergemarks *m, const struct session_record *s)
{
	struct page *p = page_of(m, s->id);

	if (!p) {
		m->unchecked++;
		return true;
	}
	p->s.client = s->client.n ? hash(1, s->client) : 0;
	p->s.server = s->server.n ? hash(1, s->server) : 0;
	if (!p->s.requests)
		p->s.first_ns = p->s.last_ns = s->open_ns;
	return !s->close_ns || close_page(m, p);
}

static void take_request(struct mergemarks *m, const struct rcap *r, const struct request_record *q)
{
	uint64_t content = content_of(r, q);
	struct page *p = page_of(m, q->session);

	if (!p)
		return;
	uint64_t chain = content;
	for (size_t i = 0; i < BEFORE; i++)
		chain = mix(chain, p->before[i]);
	if (q->form != FORM_PREPARE) {
		add_mark(m, content, q, p);
		if (p->s.requests >= BEFORE)
			add_mark(m, chain, q, p);
	}
	if (!p->s.requests++)
		p->s.first_ns = q->start_ns;
	p->s.last_ns = q->end_ns;
	p->s.content = mix(p->s.content, content);
	memmove(p->before + 1, p->before, (BEFORE - 1) * sizeof(*p->before));
	p->before[0] = content;
}

static bool close_all(struct mergemarks *m)
{
	void *page;

	for (size_t at = 0; table_next(&m->open, &at, NULL, &page);)
		if (!close_page(m, page))
			return false;
	return true;
}

bool mergemarks_read(struct mergemarks *m, struct rcap *r, size_t session_cap,
	const struct run *run, struct err *e)
{
	struct rcap_item item;
	enum step step = STEP_END;

	*m = (struct mergemarks){ .room = 4 * (size_t)MERGEMARKS_MAX, .session_cap = session_cap };
	table_init(&m->open, OPEN_MAX);
	m->marks = calloc(m->room, sizeof(*m->marks));
	bool ok = m->marks != NULL;
	rcap_rewind(r);
	while (ok && !run_stopped(run) && (step = rcap_next(r, &item, e)) == STEP_ITEM) {
		if (item.kind == RCAP_SESSION)
			ok = take_session(m, &item.session);
		else
			take_request(m, r, &item.request);
	}
	rcap_rewind(r);
	if (step == STEP_FAIL)
		return false;
	if (run_stopped(run))
		return err_set(e, ERR_INTERRUPTED, "interrupted");
	return (ok && close_all(m)) || err_set(e, ERR_ENV, "out of memory");
}

void mergemarks_free(struct mergemarks *m)
{
	void *page;

	for (size_t at = 0; table_next(&m->open, &at, NULL, &page);)
		free(page);
	table_free(&m->open);
	free(m->marks);
	free(m->sessions);
	*m = (struct mergemarks){ 0 };
}
