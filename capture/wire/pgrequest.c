/* The life of a request, and the queue of answers a session is owed. */
#include <stdlib.h>

#include "capture/wire/pgsession.h"
#include "capture/wire/bigendian.h"

enum { POOL_MAX = 1024, VALUES_KEPT = 1024 };

/* ---- pool */

/* They held raw values: nothing of them stays in freed memory. */
static void wipe(struct buf *b)
{
	if (b->n)
		explicit_bzero(b->p, b->n);
	buf_reset(b);
}

static void free_request(struct pg_request *r)
{
	wipe(&r->body);
	wipe(&r->copy);
	buf_free(&r->body);
	buf_free(&r->copy);
	free(r->values);
	free(r);
}

void pg_request_free_pool(struct pg_wire *m)
{
	while (m->pool) {
		struct pg_request *r = m->pool;

		m->pool = r->next;
		free_request(r);
	}
	m->pool_count = 0;
}

static struct pg_request *take_request(struct pg_wire *m)
{
	struct pg_request *r = m->pool;

	if (!r) {
		r = calloc(1, sizeof *r);
		if (r) {
			buf_init(&r->body, PG_BODY_MAX);
			buf_init(&r->copy, PG_COPY_KEPT_MAX);
		}
		return r;
	}
	m->pool = r->next;
	m->pool_count--;
	return r;
}

static void recycle(struct pg_session *s, struct pg_request *r)
{
	struct pg_wire *m = s->wire->pg;
	struct buf body = r->body, copy = r->copy;
	struct raw_value *values = r->values;
	size_t value_cap = r->value_cap;

	pg_statement_drop(&s->names, r->statement);
	s->wire->held_n -= r->held_n;
	if (m->pool_count >= POOL_MAX || body.cap > PG_COPY_MAX || copy.cap > PG_COPY_MAX ||
		value_cap > VALUES_KEPT) {
		free_request(r);
		return;
	}
	wipe(&body);
	wipe(&copy);
	/* edges[] need no clearing: raw.edge_count says how many there are. */
	memset(r, 0, offsetof(struct pg_request, edges));
	memset((char *)r + offsetof(struct pg_request, held_n), 0,
		sizeof *r - offsetof(struct pg_request, held_n));
	r->body = body;
	r->copy = copy;
	r->values = values;
	r->value_cap = value_cap;
	r->next = m->pool;
	m->pool = r;
	m->pool_count++;
}

/* ---- life */

static bool is_counted(const struct pg_request *r)
{
	return r->raw.form != FORM_PREPARE;
}

struct pg_request *pg_request_open(struct pg_session *s, enum form form, int64_t start_ns)
{
	struct wire *w = s->wire;
	struct pg_request *r = take_request(w->pg);

	if (!r) {
		w->has_failed = !err_set(&w->err, ERR_ENV, "out of memory");
		return NULL;
	}
	r->refs = 1;
	r->raw.session = s->id;
	r->raw.form = (uint8_t)form;
	r->raw.start_ns = start_ns;
	r->next_statement = s->names.next_statement + 1;
	if (form != FORM_PREPARE) {
		w->in_flight[PROTOCOL_PG]++;
		w->ledger->requests_seen++;
		w->ledger->undecided++;
	}
	r->raw.in_flight = w->in_flight[PROTOCOL_PG];
	return r;
}

void pg_request_release(struct pg_session *s, struct pg_request *r)
{
	if (!r || --r->refs)
		return;
	if (!r->is_emitted && is_counted(r)) {
		/* Parsed or bound, never executed: no request after all. */
		s->wire->in_flight[PROTOCOL_PG] -= !r->is_complete;
		s->wire->ledger->requests_seen--;
		s->wire->ledger->undecided--;
	}
	recycle(s, r);
}

void pg_request_complete(struct pg_session *s, struct pg_request *r, int64_t end_ns)
{
	r->raw.end_ns = end_ns < r->raw.start_ns ? r->raw.start_ns : end_ns;
	if (!r->is_complete && is_counted(r))
		s->wire->in_flight[PROTOCOL_PG]--;
	r->is_complete = true;
}

static void count_emitted(struct ledger *l, const struct raw_request *q)
{
	enum ledger_unpaired why = UNPAIRED_NO_ANSWER;

	if (q->form == FORM_PREPARE) {
		l->prepares++;
		return;
	}
	l->undecided--;
	if (!(q->flags & (REQUEST_UNANSWERED | REQUEST_SKIPPED))) {
		l->requests_paired++;
		return;
	}
	if (q->flags & REQUEST_SKIPPED)
		why = UNPAIRED_SKIPPED;
	else if (q->flags & REQUEST_SHED)
		why = UNPAIRED_SHED;
	else if (q->flags & REQUEST_GAP)
		why = UNPAIRED_GAP;
	l->requests_unpaired[why]++;
}

static void set_text(struct pg_request *r)
{
	const struct pg_statement *st = r->statement;

	if (st && st->text && !(st->learned && st->learned->is_contested))
		r->raw.text = st->text->text;
	else if (r->is_simple)
		r->raw.text = buf_slice(&r->body);
	else if (r->raw.form != FORM_FUNCTION)
		r->raw.flags |= REQUEST_TEXT_UNKNOWN;
}

void pg_request_emit(struct pg_session *s, struct pg_request *r)
{
	struct wire *w = s->wire;
	struct raw_request *q = &r->raw;

	if (r->is_emitted)
		return;
	r->is_emitted = true;
	if (!r->is_complete)
		pg_request_complete(s, r, w->now_ns);
	set_text(r);
	q->is_backslash_escape = s->is_backslash_escape;
	q->seq = s->next_seq++;
	q->think_ns = -1;
	if (q->seq)
		q->think_ns =
			q->start_ns > s->previous_end_ns ? q->start_ns - s->previous_end_ns : 0;
	s->previous_end_ns = q->end_ns;
	q->state_before = s->emitted_state;
	q->state_after = s->emitted_state = s->state;
	q->binds = r->values;
	q->edges = r->edges;
	q->copy_data = r->is_copy_cut ? (struct slice){ 0 } : buf_slice(&r->copy);
	if (r->is_copy_cut) {
		q->flags |= REQUEST_VALUE_LOST;
		w->ledger->lost[LOST_COPY]++;
	}
	count_emitted(w->ledger, q);
	wire_request(w, q);
}

bool pg_request_set_sqlstate(struct pg_request *r, const char *code)
{
	if (r->raw.sqlstate[0])
		return false;
	memcpy(r->raw.sqlstate, code, 5);
	return true;
}

/* ---- text and values */

static void add_edge(struct pg_request *r, size_t value, const struct pg_known *k)
{
	if (r->raw.edge_count == PG_REQUEST_EDGES_MAX)
		return;
	r->edges[r->raw.edge_count++] = (struct edge){ .from_seq = k->from_seq,
		.row = k->row,
		.column = k->column,
		.value = (uint16_t)value,
		.is_strong = k->is_strong };
}

static void add_literal_edge(void *data, uint32_t ordinal, const struct pg_known *k)
{
	if (ordinal < MATCH_EDGE_BIND)
		add_edge(data, ordinal, k);
}

static void keep_body(struct pg_session *s, struct pg_request *r, struct slice bytes)
{
	buf_add_slice(&r->body, bytes);
	r->held_n += bytes.n;
	s->wire->held_n += bytes.n;
}

void pg_request_find_literals(struct pg_session *s, struct pg_request *r, struct slice text)
{
	if (s->edges)
		pg_edges_literals(s->edges, text, add_literal_edge, r);
}

void pg_request_set_text(struct pg_session *s, struct pg_request *r, struct slice text)
{
	keep_body(s, r, text);
	pg_request_find_literals(s, r, text);
	r->is_generating = pg_text_generates(text);
	r->is_simple = true;
}

static bool grow_values(struct pg_request *r, size_t count)
{
	struct raw_value *more;

	if (count <= r->value_cap)
		return true;
	more = realloc(r->values, count * sizeof *more);
	if (!more)
		return false;
	r->values = more;
	r->value_cap = count;
	return true;
}

/* What is left of a Bind message. */
struct rest {
	const char *p, *end;
};

static size_t left(const struct rest *r)
{
	return (size_t)(r->end - r->p);
}

/* The word, or -1 and nothing left. */
static int32_t read_u16(struct rest *r)
{
	if (left(r) < 2) {
		r->p = r->end;
		return -1;
	}
	r->p += 2;
	return be16_at(r->p - 2);
}

struct formats {
	const char *codes;
	int32_t count;
};

static bool read_formats(struct rest *r, struct formats *ret)
{
	ret->count = read_u16(r);
	if (ret->count < 0 || (size_t)ret->count * 2 > left(r))
		return false;
	ret->codes = r->p;
	r->p += (size_t)ret->count * 2;
	return true;
}

/* None: all text; one: for all; else one each. */
static uint8_t format_of(const struct formats *f, int32_t i)
{
	if (!f->count)
		return 0;
	if (f->count == 1)
		i = 0;
	return i < f->count ? (uint8_t)f->codes[(size_t)i * 2 + 1] : 0;
}

static void find_edge(
	const struct pg_session *s, struct pg_request *r, int32_t i, const struct raw_value *v)
{
	const struct pg_known *k;

	if (!s->edges || v->bytes.n > 36 || i >= MATCH_EDGE_BIND)
		return;
	k = pg_edges_find(s->edges, pg_scalar_of(v->bytes, v->format, v->type_oid));
	if (k)
		add_edge(r, MATCH_EDGE_BIND | (unsigned)i, k);
}

static void read_value(const struct pg_session *s, struct pg_request *r, struct rest *rest,
	int32_t i, uint8_t format)
{
	const struct pg_statement *st = r->statement;
	struct raw_value *v = &r->values[i];
	int32_t n;

	*v = (struct raw_value){ .format = format };
	if (st && (uint32_t)i < st->type_count)
		v->type_oid = st->types[i];
	if (left(rest) < 4) {
		rest->p = rest->end;
		v->is_cut = true;
		r->raw.flags |= REQUEST_VALUE_LOST;
		return;
	}
	n = (int32_t)be32_at(rest->p);
	rest->p += 4;
	if (n < 0) {
		v->is_null = true;
		return;
	}
	v->is_cut = (size_t)n > left(rest);
	v->bytes = (struct slice){ rest->p, v->is_cut ? left(rest) : (size_t)n };
	rest->p += v->bytes.n;
	if (v->is_cut)
		r->raw.flags |= REQUEST_VALUE_LOST;
	else
		find_edge(s, r, i, v);
}

void pg_request_bind(struct pg_session *s, struct pg_request *r, struct slice body, size_t names_n,
	bool is_whole)
{
	struct formats formats, results;
	struct rest rest;
	int32_t count;

	keep_body(s, r, body);
	if (r->body.n != body.n)
		return;
	rest = (struct rest){ r->body.p + names_n, r->body.p + r->body.n };
	count = read_formats(&rest, &formats) ? read_u16(&rest) : -1;
	/* A value costs at least its length word. */
	if (count < 0 || (is_whole && (size_t)count * 4 > left(&rest)) ||
		!grow_values(r, (size_t)count)) {
		r->raw.flags |= REQUEST_VALUE_LOST;
		return;
	}
	for (int32_t i = 0; i < count; i++)
		read_value(s, r, &rest, i, format_of(&formats, i));
	r->raw.bind_count = (size_t)count;
	if (!read_formats(&rest, &results))
		return;
	for (int32_t i = 0; results.count && i < PG_EDGE_COLUMNS; i++)
		r->binary_columns |= (uint32_t)(format_of(&results, i) & 1) << i;
}

/* ---- the queue */

static bool grow_queue(struct pg_queue *q)
{
	uint32_t size = q->size ? q->size * 2 : 16;
	struct pg_entry *more;

	if (size > PG_QUEUE_MAX)
		return false;
	more = malloc(size * sizeof *more);
	if (!more)
		return false;
	for (uint32_t i = 0; i < q->count; i++)
		more[i] = q->entries[(q->head + i) & (q->size - 1)];
	free(q->entries);
	q->entries = more;
	q->size = size;
	q->head = 0;
	return true;
}

bool pg_queue_push(struct pg_session *s, enum pg_expected kind, struct pg_request *r)
{
	struct pg_queue *q = &s->queue;

	if (q->count == q->size && !grow_queue(q)) {
		pg_queue_give_up(s, REQUEST_SHED, s->wire->now_ns);
		s->is_blurry = true;
		if (r && r->is_executed && !r->is_emitted) {
			r->raw.flags |= REQUEST_SHED | REQUEST_UNANSWERED;
			pg_request_emit(s, r);
		}
		return false;
	}
	q->entries[(q->head + q->count++) & (q->size - 1)] =
		(struct pg_entry){ .kind = kind, .request = r };
	if (r)
		r->refs++;
	return true;
}

void pg_queue_pop(struct pg_session *s)
{
	struct pg_queue *q = &s->queue;
	struct pg_entry e = q->entries[q->head];

	q->head = (q->head + 1) & (q->size - 1);
	q->count--;
	pg_statement_drop(&s->names, e.statement);
	pg_statement_drop(&s->names, e.replaced);
	pg_request_release(s, e.request);
}

void pg_queue_give_up(struct pg_session *s, uint32_t flags, int64_t end_ns)
{
	struct pg_entry *e;

	pg_session_settle(s, false);
	while ((e = pg_queue_head(s))) {
		struct pg_request *r = e->request;
		bool is_asked =
			r && (r->is_executed || r->raw.form == FORM_PREPARE || r->raw.sqlstate[0]);

		if (is_asked && !r->is_emitted) {
			/* An error that ended the connection was an answer. */
			r->raw.flags |= flags;
			if (!r->raw.sqlstate[0] && !r->is_complete)
				r->raw.flags |= REQUEST_UNANSWERED;
			if (!r->is_complete)
				pg_request_complete(s, r, end_ns);
			pg_request_emit(s, r);
		}
		pg_queue_pop(s);
	}
	s->copying = NULL;
}
