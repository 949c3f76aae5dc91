/* What a client sends: requests begin here. */
#include "capture/wire/pgsession.h"
#include "core/base/cursor.h"

static void drop_building(struct pg_session *s)
{
	pg_request_release(s, s->building);
	s->building = NULL;
	s->building_portal = NULL;
}

void pg_session_settle(struct pg_session *s, bool is_sync)
{
	struct pg_request *r = s->waiting;

	if (!r)
		return;
	s->waiting = NULL;
	if (is_sync)
		r->raw.flags |= REQUEST_SYNC;
	pg_request_emit(s, r);
	pg_request_release(s, r);
}

/* A request that the server discards unread: it gets no answer. */
static void discard(struct pg_session *s, struct pg_request *r)
{
	r->is_executed = true;
	r->raw.flags |= REQUEST_SKIPPED;
	pg_request_complete(s, r, r->raw.start_ns);
	pg_request_emit(s, r);
}

/* Hands the request over to the queue. */
static void expect(struct pg_session *s, enum pg_expected kind, struct pg_request *r)
{
	if (!s->is_skipping)
		pg_queue_push(s, kind, r);
	else if (r && (kind == EXPECT_EXECUTE || kind == EXPECT_QUERY || kind == EXPECT_FUNCTION))
		discard(s, r);
}

/* ---- messages */

static void query(struct pg_session *s, const struct pg_message *m)
{
	struct pg_request *r = pg_request_open(s, FORM_SIMPLE, m->start_ns);
	struct slice text = m->body;

	if (!r)
		return;
	if (text.n && text.p[text.n - 1] == '\0')
		text.n--;
	if (m->is_whole) {
		pg_request_set_text(s, r, text);
	} else {
		s->wire->ledger->lost[LOST_TEXT]++;
		r->raw.flags |= REQUEST_VALUE_LOST;
	}
	drop_building(s);
	pg_names_forget_unnamed(&s->names);
	r->raw.bytes_in = m->wire_n;
	r->is_executed = true;
	expect(s, EXPECT_QUERY, r);
	pg_request_release(s, r);
}

/* pgbouncer renames what it prepares on the server (1.21 and later). */
static void note_pooler(struct pg_session *s, struct slice name)
{
	if (name.n > 10 && memcmp(name.p, "PGBOUNCER_", 10) == 0)
		s->flags |= SESSION_POOLER_SERVER;
}

static void parse(struct pg_session *s, const struct pg_message *m)
{
	struct cursor c = cursor_of(m->body.p, m->body.n);
	struct slice name = cursor_cstring(&c), text = cursor_cstring(&c);
	bool is_known = m->is_whole && !c.is_short;
	unsigned count = cursor_u16be(&c);
	struct pg_statement *replaced, *st;
	struct pg_request *r;

	if (s->is_skipping)
		return;
	note_pooler(s, name);
	st = pg_names_prepare(&s->names, name, text, is_known, &replaced);
	r = st ? pg_request_open(s, name.n ? FORM_PREPARE : FORM_UNNAMED, m->start_ns) : NULL;
	if (!r) {
		pg_statement_drop(&s->names, replaced);
		return;
	}
	if (!st->text)
		s->wire->ledger->lost[LOST_TEXT]++;
	else
		st->is_generating = pg_text_generates(st->text->text);
	if (is_known && (size_t)count * 4 <= cursor_left(&c)) {
		uint32_t types[256];

		for (unsigned i = 0; i < count && i < LENGTH(types); i++)
			types[i] = cursor_u32be(&c);
		pg_statement_set_types(
			st, types, count < LENGTH(types) ? count : (uint32_t)LENGTH(types));
	}
	r->statement = pg_statement_hold(st);
	r->raw.statement = st->number;
	r->raw.bytes_in = m->wire_n;
	if (pg_queue_push(s, EXPECT_PARSE, r)) {
		struct pg_entry *e = pg_queue_last(s);

		e->statement = pg_statement_hold(st);
		e->replaced = replaced;
	} else {
		pg_statement_drop(&s->names, replaced);
	}
	if (name.n) {
		pg_request_release(s, r);
		return;
	}
	drop_building(s);
	s->building = r;
	if (s->edges && st->text && s->edges->count)
		pg_request_find_literals(s, r, st->text->text);
}

static void bind(struct pg_session *s, const struct pg_message *m)
{
	struct cursor c = cursor_of(m->body.p, m->body.n);
	struct slice portal_name = cursor_cstring(&c), name = cursor_cstring(&c);
	struct pg_statement *st = pg_names_statement(&s->names, name);
	struct pg_portal *p = st ? pg_names_bind(&s->names, portal_name, st) : NULL;
	struct pg_request *r = s->building;

	if (!st || c.is_short)
		return;
	if (!st->text)
		note_pooler(s, name);
	if (!r || r->is_bound || r->statement != st) {
		drop_building(s);
		r = pg_request_open(s, name.n ? FORM_NAMED : FORM_UNNAMED, m->start_ns);
		if (!r)
			return;
		r->statement = pg_statement_hold(st);
		s->building = r;
	}
	s->building_portal = p;
	r->is_bound = true;
	r->is_generating = st->is_generating;
	r->raw.statement = st->number;
	r->raw.portal = p ? p->number : 0;
	r->raw.bytes_in += m->wire_n;
	pg_request_bind(s, r, m->body, portal_name.n + name.n + 2, m->is_whole);
	st->param_count = (int32_t)r->raw.bind_count;
	expect(s, EXPECT_BIND, r);
}

static void describe(struct pg_session *s, const struct pg_message *m)
{
	struct slice name = { m->body.p + 1,
		m->body.n ? strnlen(m->body.p + 1, m->body.n - 1) : 0 };
	struct pg_statement *st = NULL;
	struct pg_portal *p;

	if (!m->body.n || s->is_skipping)
		return;
	if (s->building)
		s->building->raw.bytes_in += m->wire_n;
	if (m->body.p[0] == 'S') {
		st = pg_names_statement(&s->names, name);
	} else {
		p = pg_names_portal(&s->names, name);
		st = p ? p->statement : NULL;
	}
	if (pg_queue_push(s, EXPECT_DESCRIBE, s->building))
		pg_queue_last(s)->statement = pg_statement_hold(st);
}

/* An Execute on a portal that ran before, or that was bound before we listened. */
static struct pg_request *open_fetch(
	struct pg_session *s, const struct pg_portal *p, const struct pg_message *m)
{
	bool is_fetch = p && p->is_started;
	struct pg_request *r =
		pg_request_open(s, is_fetch ? FORM_FETCH : FORM_UNNAMED, m->start_ns);

	if (!r || !p)
		return r;
	r->statement = pg_statement_hold(p->statement);
	r->raw.portal = p->number;
	r->raw.statement = p->statement ? p->statement->number : 0;
	if (!is_fetch && r->raw.statement)
		r->raw.form = FORM_NAMED;
	if (!is_fetch)
		r->raw.flags |= REQUEST_VALUE_LOST;
	return r;
}

static void execute(struct pg_session *s, const struct pg_message *m)
{
	struct cursor c = cursor_of(m->body.p, m->body.n);
	struct pg_portal *p = pg_names_portal(&s->names, cursor_cstring(&c));
	struct pg_request *r = NULL;

	if (s->building && s->building->is_bound && p == s->building_portal) {
		r = s->building;
		s->building = NULL;
		s->building_portal = NULL;
	} else {
		r = open_fetch(s, p && p->statement ? p : NULL, m);
	}
	if (!r)
		return;
	if (!r->raw.start_ns) {
		r->raw.start_ns = m->start_ns;
		r->raw.first_byte_ns = 0;
	}
	r->raw.row_limit = cursor_u32be(&c);
	r->raw.bytes_in += m->wire_n;
	r->is_executed = true;
	if (p)
		p->is_started = true;
	expect(s, EXPECT_EXECUTE, r);
	pg_request_release(s, r);
}

static void close_name(struct pg_session *s, const struct pg_message *m)
{
	struct slice name = { m->body.p + 1,
		m->body.n ? strnlen(m->body.p + 1, m->body.n - 1) : 0 };
	struct pg_statement *closed = NULL;

	if (!m->body.n || s->is_skipping)
		return;
	if (m->body.p[0] == 'S') {
		closed = pg_names_close_statement(&s->names, name);
	} else {
		if (s->building_portal && s->building_portal == pg_names_portal(&s->names, name))
			s->building_portal = NULL;
		pg_names_close_portal(&s->names, name);
	}
	if (pg_queue_push(s, EXPECT_CLOSE, NULL))
		pg_queue_last(s)->replaced = closed;
	else
		pg_statement_drop(&s->names, closed);
}

/* While COPY data is awaited the server ignores Sync (55.2.3). */
static void sync(struct pg_session *s)
{
	if (s->copying && !s->is_copy_ending)
		return;
	s->is_skipping = false;
	if (s->building && !s->building->is_bound)
		drop_building(s);
	else if (s->building)
		s->building->raw.start_ns = 0; /* begins again with its Execute */
	pg_queue_push(s, EXPECT_SYNC, NULL);
}

static void function_call(struct pg_session *s, const struct pg_message *m)
{
	struct pg_request *r = pg_request_open(s, FORM_FUNCTION, m->start_ns);

	if (!r)
		return;
	r->raw.bytes_in = m->wire_n;
	r->raw.flags |= REQUEST_VALUE_LOST;
	r->is_executed = true;
	expect(s, EXPECT_FUNCTION, r);
	pg_request_release(s, r);
}

static void copy_data(struct pg_session *s, const struct pg_message *m)
{
	struct pg_request *r = s->copying;
	size_t before_n;

	if (!r)
		return;
	r->raw.bytes_in += m->wire_n;
	if (r->is_copy_cut)
		return;
	before_n = r->copy.n;
	if (m->is_whole)
		buf_add_slice(&r->copy, m->body);
	if (!m->is_whole || r->copy.is_full) {
		r->is_copy_cut = true;
		buf_free(&r->copy);
		buf_init(&r->copy, PG_COPY_KEPT_MAX);
		s->wire->held_n -= before_n;
		r->held_n -= before_n;
		return;
	}
	r->held_n += m->body.n;
	s->wire->held_n += m->body.n;
}

static void end_copy(struct pg_session *s, const struct pg_message *m)
{
	if (!s->copying)
		return;
	s->copying->raw.bytes_in += m->wire_n;
	s->copying->is_copy_failed |= m->type == 'f';
	s->is_copy_ending = true;
}

void pg_client_message(struct pg_session *s, const struct pg_message *m)
{
	if (s->waiting)
		pg_session_settle(s, m->type == 'S');
	switch (m->type) {
	case 'Q':
		query(s, m);
		break;
	case 'P':
		parse(s, m);
		break;
	case 'B':
		bind(s, m);
		break;
	case 'D':
		describe(s, m);
		break;
	case 'E':
		execute(s, m);
		break;
	case 'C':
		close_name(s, m);
		break;
	case 'S':
		sync(s);
		break;
	case 'F':
		function_call(s, m);
		break;
	case 'd':
		copy_data(s, m);
		break;
	case 'c':
	case 'f':
		end_copy(s, m);
		break;
	default: /* Flush, Terminate, passwords */
		break;
	}
	if (s->wire->held_n > s->wire->held_max) {
		pg_queue_give_up(s, REQUEST_SHED, s->wire->now_ns);
		s->is_blurry = true;
	}
}
