/* What a server answers: requests end here. */
#include <stdlib.h>

#include "capture/wire/pgsession.h"
#include "core/base/cursor.h"

/* A cancel request may overtake the query it is meant for by so much. */
enum { CANCEL_LATE_NS = 100 * 1000 * 1000 };

static void add_bytes(struct pg_request *r, const struct pg_message *m)
{
	if (!r)
		return;
	r->raw.bytes_out += m->wire_n;
	if (!r->raw.first_byte_ns)
		r->raw.first_byte_ns = m->end_ns < r->raw.start_ns ? r->raw.start_ns : m->end_ns;
}

/* The answers no longer fit what is owed: wait for ReadyForQuery. */
static void blur(struct pg_session *s)
{
	if (!s->queue.count)
		s->has_stray = s->is_ready || s->flags & SESSION_JOINED_LATE;
	else
		s->is_blurry = true;
}

/* The head when it is one of the kinds; otherwise NULL and blurred. */
static struct pg_entry *head_of(struct pg_session *s, unsigned kinds)
{
	struct pg_entry *e = pg_queue_head(s);

	if (e && 1u << e->kind & kinds)
		return e;
	blur(s);
	return NULL;
}

#define KIND(k) (1u << (k))

/* ---- ends */

static bool is_done_before_sync(const struct pg_entry *e)
{
	return e->kind == EXPECT_CLOSE;
}

/* The SYNC entry whose ReadyForQuery ends what was answered just now, or NULL. */
static struct pg_entry *sync_behind(struct pg_session *s)
{
	struct pg_queue *q = &s->queue;
	uint32_t i = 0;

	while (i < q->count && is_done_before_sync(&q->entries[(q->head + i) & (q->size - 1)]))
		i++;
	if (i == q->count || q->entries[(q->head + i) & (q->size - 1)].kind != EXPECT_SYNC)
		return NULL;
	return &q->entries[(q->head + i) & (q->size - 1)];
}

/* Answered. ReadyForQuery belongs to it when a Sync is what comes next; when the
 * client has sent nothing more, the next message tells whether a Sync follows. */
static void answered(struct pg_session *s, struct pg_request *r, int64_t end_ns)
{
	struct pg_entry *sync = sync_behind(s);

	if (sync && !sync->request) {
		sync->request = r;
		r->refs++;
		return;
	}
	pg_request_complete(s, r, end_ns);
	if (s->queue.count) {
		pg_request_emit(s, r);
		return;
	}
	pg_session_settle(s, false);
	s->waiting = r;
	r->refs++;
}

static void finish_at_ready(struct pg_session *s, struct pg_entry *e, int64_t now_ns)
{
	struct pg_request *r = e->request;

	if (r && !r->is_emitted) {
		if (e->kind == EXPECT_SYNC)
			r->raw.flags |= REQUEST_SYNC;
		pg_request_complete(s, r, now_ns);
		pg_request_emit(s, r);
	}
	if (s->copying == r)
		s->copying = NULL;
	pg_queue_pop(s);
}

static bool ends_with_ready(const struct pg_entry *e)
{
	return e->kind == EXPECT_SYNC || e->kind == EXPECT_QUERY || e->kind == EXPECT_FUNCTION;
}

/* The entry whose answer is the request's, not a step on the way to it. */
static bool is_own_entry(const struct pg_entry *e)
{
	return e->kind == EXPECT_EXECUTE || e->kind == EXPECT_QUERY || e->kind == EXPECT_FUNCTION ||
	       (e->kind == EXPECT_PARSE && e->request->raw.form == FORM_PREPARE);
}

/* After a loss: this ReadyForQuery ends the last of what was owed. */
static void clear_blur(struct pg_session *s, int64_t now_ns)
{
	pg_session_settle(s, false);
	while (s->queue.count > 1) {
		struct pg_request *r = pg_queue_head(s)->request;
		struct pg_request *last = pg_queue_last(s)->request;

		if (r && r != last && !r->is_emitted && is_own_entry(pg_queue_head(s))) {
			r->raw.flags |= REQUEST_GAP | (r->is_complete ? 0 : REQUEST_UNANSWERED);
			/* With only its Sync behind it, this was its end. */
			if (s->queue.count == 2 && !last)
				r->raw.flags &= ~(uint32_t)REQUEST_UNANSWERED;
			if (!r->is_complete)
				pg_request_complete(s, r, now_ns);
			pg_request_emit(s, r);
		}
		pg_queue_pop(s);
	}
	if (s->queue.count) {
		if (pg_queue_head(s)->request)
			pg_queue_head(s)->request->raw.flags |= REQUEST_GAP;
		finish_at_ready(s, pg_queue_head(s), now_ns);
	}
	s->copying = NULL;
	s->is_blurry = false;
}

static void count_stray(struct pg_session *s)
{
	if (!s->has_stray)
		return;
	s->has_stray = false;
	s->wire->ledger->requests_seen++;
	s->wire->ledger->requests_unpaired[UNPAIRED_NO_REQUEST]++;
}

static void ready(struct pg_session *s, const struct pg_message *m)
{
	struct pg_entry *e = pg_queue_head(s);

	s->state = m->body.n ? m->body.p[0] : '?';
	if (!e) {
		count_stray(s);
		s->emitted_state = s->state;
	} else if (s->is_blurry || !ends_with_ready(e)) {
		clear_blur(s, m->end_ns);
	} else {
		if (e->request)
			add_bytes(e->request, m);
		finish_at_ready(s, e, m->end_ns);
	}
	s->is_ready = true;
	s->has_stray = false;
	/* It came too late, and hits nothing of what is asked later. */
	if (!s->queue.count && s->cancelled_ns && m->end_ns - s->cancelled_ns > CANCEL_LATE_NS)
		s->cancelled_ns = 0;
	if (s->state == 'I' && !s->queue.count && !s->building)
		pg_names_close_portals(&s->names);
}

/* ---- results */

static bool starts(struct slice tag, const char *word)
{
	size_t n = strlen(word);

	return tag.n >= n && memcmp(tag.p, word, n) == 0;
}

/* "SELECT 5", "INSERT 0 5": the last word when it is a number. */
static uint64_t rows_of_tag(struct slice tag)
{
	uint64_t rows = 0, unit = 1;
	size_t i = tag.n;

	for (; i && tag.p[i - 1] >= '0' && tag.p[i - 1] <= '9' &&
		unit < UINT64_C(1000000000000000000);
		i--) {
		rows += unit * (unsigned)(tag.p[i - 1] - '0');
		unit *= 10;
	}
	return i && i < tag.n && tag.p[i - 1] == ' ' ? rows : 0;
}

static void end_result(struct pg_session *s, struct pg_request *r)
{
	r->rows_seen = 0;
	if (s->edges)
		pg_edges_end_result(s->edges);
}

static void command_complete(struct pg_session *s, const struct pg_message *m)
{
	struct pg_entry *e = head_of(s, KIND(EXPECT_EXECUTE) | KIND(EXPECT_QUERY));
	struct slice tag = m->body;
	struct pg_request *r;

	if (!e)
		return;
	r = e->request;
	if (tag.n)
		tag.n--;
	r->raw.rows += rows_of_tag(tag);
	/* Inside a pipeline ReadyForQuery comes late; ROLLBACK may be to a savepoint. */
	if (slice_is(tag, "BEGIN") || slice_is(tag, "START TRANSACTION"))
		s->state = 'T';
	else if (slice_is(tag, "COMMIT"))
		s->state = 'I';
	else if (starts(tag, "DEALLOCATE") || slice_is(tag, "DISCARD ALL"))
		pg_session_note_dropped(s, r, tag);
	end_result(s, r);
	add_bytes(r, m);
	if (s->copying == r)
		s->copying = NULL;
	if (e->kind == EXPECT_QUERY)
		return;
	r->refs++;
	pg_queue_pop(s);
	answered(s, r, m->end_ns);
	pg_request_release(s, r);
}

static void end_execute(struct pg_session *s, const struct pg_message *m)
{
	struct pg_entry *e = head_of(s, KIND(EXPECT_EXECUTE) | KIND(EXPECT_QUERY));
	struct pg_request *r;

	if (!e)
		return;
	r = e->request;
	if (m->type == 's')
		r->raw.rows += r->rows_seen;
	end_result(s, r);
	add_bytes(r, m);
	if (e->kind == EXPECT_QUERY)
		return;
	r->refs++;
	pg_queue_pop(s);
	answered(s, r, m->end_ns);
	pg_request_release(s, r);
}

static void data_row(struct pg_session *s, const struct pg_message *m)
{
	struct pg_entry *e = pg_queue_head(s);
	struct pg_request *r = e ? e->request : NULL;
	const uint32_t *types;

	if (!e || (e->kind != EXPECT_EXECUTE && e->kind != EXPECT_QUERY)) {
		blur(s);
		return;
	}
	add_bytes(r, m);
	r->rows_seen++;
	if (r->rows_seen == PG_EDGE_ROWS + 1 && s->edges)
		pg_edges_forget_result(s->edges);
	if (r->rows_seen > PG_EDGE_ROWS || !m->is_whole || s->is_blurry)
		return;
	if (!s->edges) {
		s->edges = calloc(1, sizeof *s->edges);
		if (!s->edges)
			return;
	}
	types = r->statement ? r->statement->result_types : s->result_types;
	pg_edges_row(s->edges, m->body, r->rows_seen - 1, s->next_seq, r->binary_columns, types,
		r->is_generating);
}

/* Of a named statement; seldom more than once. */
static void note_columns(struct pg_session *s, struct pg_statement *st, struct slice body)
{
	if (!st || !st->number || (st->columns && st->text))
		return;
	st->columns = pg_columns_digest(body);
	pg_learned_described(&s->wire->pg->learned, st);
}

static void row_description(struct pg_session *s, const struct pg_message *m)
{
	struct pg_entry *e =
		head_of(s, KIND(EXPECT_DESCRIBE) | KIND(EXPECT_QUERY) | KIND(EXPECT_EXECUTE));
	struct cursor c = cursor_of(m->body.p, m->body.n);
	uint32_t *types = s->result_types;
	unsigned count;

	if (!e)
		return;
	add_bytes(e->request, m);
	if (e->kind == EXPECT_DESCRIBE && e->statement)
		types = e->statement->result_types;
	memset(types, 0, sizeof s->result_types);
	count = m->type == 'T' ? cursor_u16be(&c) : 0;
	for (unsigned i = 0; i < count && i < PG_EDGE_COLUMNS && !c.is_short; i++) {
		cursor_cstring(&c);
		cursor_skip(&c, 6);
		types[i] = cursor_u32be(&c);
		cursor_skip(&c, 8);
	}
	if (e->kind == EXPECT_DESCRIBE) {
		note_columns(s, e->statement, m->body);
		pg_queue_pop(s);
	}
}

static void parameter_description(struct pg_session *s, const struct pg_message *m)
{
	struct pg_entry *e = head_of(s, KIND(EXPECT_DESCRIBE));
	struct cursor c = cursor_of(m->body.p, m->body.n);
	unsigned count = cursor_u16be(&c);
	uint32_t types[256];

	if (!e || !e->statement)
		return;
	add_bytes(e->request, m);
	for (unsigned i = 0; i < count && i < LENGTH(types); i++)
		types[i] = cursor_u32be(&c);
	if (c.is_short)
		return;
	pg_statement_set_types(
		e->statement, types, count < LENGTH(types) ? count : (uint32_t)LENGTH(types));
	e->statement->param_count = (int32_t)count;
}

/* ---- parse, bind, close */

static void parse_complete(struct pg_session *s, const struct pg_message *m)
{
	struct pg_entry *e = head_of(s, KIND(EXPECT_PARSE));
	struct pg_request *r;

	if (!e)
		return;
	r = e->request;
	add_bytes(r, m);
	if (r->raw.form == FORM_PREPARE) {
		pg_learned_prepared(&s->wire->pg->learned, &s->wire->pg->texts, e->statement);
		pg_request_complete(s, r, m->end_ns);
		pg_request_emit(s, r);
	}
	pg_queue_pop(s);
}

static void step_complete(struct pg_session *s, const struct pg_message *m, enum pg_expected kind)
{
	struct pg_entry *e = head_of(s, KIND(kind));

	if (!e)
		return;
	add_bytes(e->request, m);
	pg_queue_pop(s);
}

/* ---- errors */

struct failure {
	char code[6];
	bool is_timeout; /* so its message says, in English */
};

static struct failure read_failure(struct slice body)
{
	struct failure f = { "XX000", false };
	struct cursor c = cursor_of(body.p, body.n);

	for (;;) {
		char field = (char)cursor_u8(&c);
		struct slice value;

		if (!field || c.is_short)
			return f;
		value = cursor_cstring(&c);
		if (c.is_short)
			return f;
		if (field == 'C' && value.n == 5)
			memcpy(f.code, value.p, 5);
		if (field == 'M')
			f.is_timeout = memmem(value.p, value.n, "timeout", 7) != NULL;
	}
}

/* 57014 is also what statement_timeout and a CopyFail of the client end with. */
static void fail(struct pg_session *s, struct pg_request *r, const struct failure *f)
{
	if (!pg_request_set_sqlstate(r, f->code) || strcmp(f->code, "57014") != 0 ||
		r->is_copy_failed)
		return;
	if (s->cancelled_ns || !f->is_timeout)
		r->raw.flags |= REQUEST_CANCELLED;
	s->cancelled_ns = 0;
}

/* duplicate_prepared_statement: prepared before we listened, so now we know its text. */
static bool is_duplicate(const struct pg_request *r)
{
	return r && strcmp(r->raw.sqlstate, "42P05") == 0;
}

/* Pops what the server will not answer: everything up to Sync. */
static void skip_to_sync(struct pg_session *s, struct pg_request *failed, int64_t now_ns)
{
	struct pg_entry *e;
	bool is_failed_out = false;

	while ((e = pg_queue_head(s)) && e->kind != EXPECT_SYNC) {
		struct pg_request *r = e->request;

		if (r && r != failed && !r->is_emitted &&
			(r->is_executed || r->raw.form == FORM_PREPARE)) {
			if (failed && !is_failed_out && !failed->is_emitted) {
				pg_request_complete(s, failed, now_ns);
				pg_request_emit(s, failed);
			}
			is_failed_out = true;
			r->raw.flags |= REQUEST_SKIPPED;
			pg_request_complete(s, r, now_ns);
			pg_request_emit(s, r);
		}
		/* What was not prepared must not be known by that name. */
		if (e->kind == EXPECT_PARSE && (e->replaced || !is_duplicate(r))) {
			pg_names_put_back(&s->names, e->statement, e->replaced);
			e->replaced = NULL;
		}
		if (e->kind == EXPECT_CLOSE) {
			pg_names_reopen(&s->names, e->replaced);
			e->replaced = NULL;
		}
		pg_queue_pop(s);
	}
	s->is_skipping = !e;
}

static void fail_extended(struct pg_session *s, struct pg_entry *e, const struct failure *f,
	const struct pg_message *m)
{
	struct pg_request *failed = e->request;

	if (failed) {
		failed->refs++;
		fail(s, failed, f);
		add_bytes(failed, m);
		end_result(s, failed);
	}
	skip_to_sync(s, failed, m->end_ns);
	if (failed && !failed->is_emitted) {
		failed->is_executed = true;
		answered(s, failed, m->end_ns);
	}
	if (failed && failed == s->building) {
		s->building = NULL;
		s->building_portal = NULL;
		pg_request_release(s, failed);
	}
	if (failed == s->copying)
		s->copying = NULL;
	pg_request_release(s, failed);
}

static void error_response(struct pg_session *s, const struct pg_message *m)
{
	struct pg_entry *e = pg_queue_head(s);
	struct failure f = read_failure(m->body);

	if (!e) {
		blur(s);
		return;
	}
	if (s->is_blurry) {
		if (e->request)
			fail(s, e->request, &f);
		return;
	}
	if (ends_with_ready(e)) {
		/* The commit that Sync or the end of a query brings can fail too. */
		if (e->request) {
			fail(s, e->request, &f);
			add_bytes(e->request, m);
			end_result(s, e->request);
		}
		if (e->request == s->copying)
			s->copying = NULL;
		return;
	}
	fail_extended(s, e, &f, m);
}

/* ---- copy, functions, parameters */

/* The server awaits COPY data: syncs it was sent before are ignored (55.2.3). */
static void drop_early_syncs(struct pg_session *s)
{
	struct pg_queue *q = &s->queue;

	while (q->count > 1 && pg_queue_last(s)->kind == EXPECT_SYNC && !pg_queue_last(s)->request)
		q->count--;
}

static void copy_response(struct pg_session *s, const struct pg_message *m)
{
	struct pg_entry *e = head_of(s, KIND(EXPECT_EXECUTE) | KIND(EXPECT_QUERY));

	if (!e)
		return;
	add_bytes(e->request, m);
	e->request->raw.form = m->type == 'G' ? FORM_COPY_IN : FORM_COPY_OUT;
	if (m->type != 'G')
		return;
	s->copying = e->request;
	s->is_copy_ending = false;
	/* Binary rows are not for the scrubber, nor is what two COPYs of one query mix. */
	if ((m->body.n && m->body.p[0]) || e->request->copy.n)
		e->request->is_copy_cut = true;
	if (e->kind == EXPECT_EXECUTE)
		drop_early_syncs(s);
}

static void copy_out_data(struct pg_session *s, const struct pg_message *m)
{
	struct pg_entry *e = head_of(s, KIND(EXPECT_EXECUTE) | KIND(EXPECT_QUERY));

	if (e)
		add_bytes(e->request, m);
}

/* CopyBoth: a walsender. What it was asked was no statement. */
static void set_aside(struct pg_session *s)
{
	pg_session_settle(s, false);
	s->flags |= SESSION_WALSENDER;
	while (pg_queue_head(s))
		pg_queue_pop(s);
	pg_request_release(s, s->building);
	s->building = NULL;
	s->copying = NULL;
}

static void keep_text(struct slice value, char *to, size_t size)
{
	if (to[0] || value.n >= size)
		return;
	memcpy(to, value.p, value.n);
	to[value.n] = '\0';
}

static void parameter_status(struct pg_session *s, const struct pg_message *m)
{
	struct cursor c = cursor_of(m->body.p, m->body.n);
	struct slice name = cursor_cstring(&c), value = cursor_cstring(&c);
	struct wire_server *server = s->id ? pg_session_server(s) : NULL;

	if (c.is_short)
		return;
	if (slice_is(name, "server_version")) {
		if (server)
			keep_text(value, server->version, sizeof server->version);
		/* "1.21.0/bouncer": the pooler's own console. */
		if (memmem(value.p, value.n, "/bouncer", 8))
			s->flags |= SESSION_POOLER_CLIENT;
	}
	if (slice_is(name, "standard_conforming_strings"))
		s->is_backslash_escape = slice_is(value, "off");
	else if (slice_is(name, "TimeZone") && server)
		keep_text(value, server->time_zone, sizeof server->time_zone);
}

void pg_answer_message(struct pg_session *s, const struct pg_message *m)
{
	if (s->is_blurry && m->type != 'Z' && m->type != 'E' && m->type != 'S')
		return;
	switch (m->type) {
	case '1':
		parse_complete(s, m);
		break;
	case '2':
		step_complete(s, m, EXPECT_BIND);
		break;
	case '3':
		step_complete(s, m, EXPECT_CLOSE);
		break;
	case 'C':
		command_complete(s, m);
		break;
	case 'D':
		data_row(s, m);
		break;
	case 'E':
		error_response(s, m);
		break;
	case 'G':
	case 'H':
		copy_response(s, m);
		break;
	case 'I':
	case 's':
		end_execute(s, m);
		break;
	case 'K':
		pg_session_set_key(s, m->body);
		break;
	case 'S':
		parameter_status(s, m);
		break;
	case 'T':
	case 'n':
		row_description(s, m);
		break;
	case 'V':
		if (pg_queue_head(s) && pg_queue_head(s)->kind == EXPECT_FUNCTION)
			add_bytes(pg_queue_head(s)->request, m);
		break;
	case 'W':
		set_aside(s);
		break;
	case 'Z':
		ready(s, m);
		break;
	case 'c':
	case 'd':
		copy_out_data(s, m);
		break;
	case 't':
		parameter_description(s, m);
		break;
	default: /* authentication, notices, notifications */
		break;
	}
}
