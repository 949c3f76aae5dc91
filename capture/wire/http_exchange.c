/* A request and its answer, from its first byte to the sink. */
#include <stdlib.h>

#include "capture/wire/http_conn.h"

enum { SPARE_MAX = 4, SPARE_BYTES = 16384 };

/* ---- memory */

/* They held raw values: nothing of them stays in freed memory. */
static void wipe(struct http_exchange *x)
{
	if (x->head.n)
		explicit_bzero(x->head.p, x->head.n);
	if (x->body.n)
		explicit_bzero(x->body.p, x->body.n);
	buf_reset(&x->head);
	buf_reset(&x->body);
}

static void free_exchange(struct http_exchange *x)
{
	wipe(x);
	buf_free(&x->head);
	buf_free(&x->body);
	free(x->fields);
	free(x);
}

void http_exchange_free_spare(struct http_conn *c)
{
	while (c->spare) {
		struct http_exchange *x = c->spare;

		c->spare = x->next;
		free_exchange(x);
	}
	c->spare_count = 0;
}

static struct http_exchange *take_exchange(struct http_conn *c)
{
	struct http_exchange *x = c->spare;

	if (x) {
		c->spare = x->next;
		c->spare_count--;
		return x;
	}
	x = calloc(1, sizeof *x);
	if (x) {
		buf_init(&x->head, HTTP1_HEAD_MAX + HTTP1_FIELDS_MAX);
		buf_init(&x->body, HTTP_BODY_MAX);
	}
	return x;
}

static void recycle(struct http_conn *c, struct http_exchange *x)
{
	wipe(x);
	struct http_exchange again = { .fields = x->fields,
		.field_cap = x->field_cap,
		.head = x->head,
		.body = x->body,
		.next = c->spare };

	c->wire->held_n -= x->held_n;
	if (c->spare_count >= SPARE_MAX || x->head.cap > SPARE_BYTES || x->body.cap > SPARE_BYTES) {
		free_exchange(x);
		return;
	}
	memcpy(x, &again, offsetof(struct http_exchange, type));
	c->spare = x;
	c->spare_count++;
}

/* ---- what is kept */

static bool hold(struct http_conn *c, struct http_exchange *x, size_t n)
{
	struct wire *w = c->wire;

	if (w->held_max && (w->held_n > w->held_max || n > w->held_max - w->held_n))
		return false;
	w->held_n += n;
	x->held_n += n;
	return true;
}

static void shed_head(struct http_exchange *x)
{
	if (x->head.n)
		explicit_bzero(x->head.p, x->head.n);
	buf_reset(&x->head);
	x->field_count = 0;
	x->method = x->target = x->authority = (struct http_span){ 0 };
	x->flags |= REQUEST_SHED | REQUEST_TEXT_UNKNOWN;
}

static bool grow_fields(struct http_exchange *x, uint32_t count)
{
	struct http_span *more;

	if (count <= x->field_cap)
		return true;
	more = realloc(x->fields, count * sizeof *more);
	if (!more)
		return false;
	x->fields = more;
	x->field_cap = count;
	return true;
}

void http_exchange_keep_head(struct http_conn *c, struct http_exchange *x, struct slice head,
	const struct http_span *spans, uint32_t count)
{
	if (!hold(c, x, head.n + count * sizeof *spans) || !grow_fields(x, count)) {
		shed_head(x);
		return;
	}
	buf_add_slice(&x->head, head);
	if (x->head.is_full) {
		shed_head(x);
		return;
	}
	if (count)
		memcpy(x->fields, spans, count * sizeof *spans);
	x->field_count = count;
}

/* The first bytes are kept; what does not fit is only counted. */
void http_exchange_keep_body(struct http_conn *c, struct http_exchange *x, struct slice piece)
{
	size_t room = HTTP_BODY_MAX - x->body.n;
	struct slice kept = { piece.p, piece.n < room ? piece.n : room };

	x->body_n += piece.n;
	if (x->is_body_cut || x->flags & REQUEST_SHED)
		return;
	if (hold(c, x, kept.n))
		buf_add_slice(&x->body, kept);
	else
		kept.n = 0;
	if (kept.n < piece.n || x->body.is_full) {
		x->is_body_cut = true;
		c->wire->ledger->lost[LOST_BODY]++;
	}
}

void http_exchange_set_type(struct http_exchange *x, struct slice content_type)
{
	x->type_n = content_type.n < sizeof x->type ? (uint32_t)content_type.n : 0;
	if (x->type_n)
		memcpy(x->type, content_type.p, x->type_n);
}

/* ---- life */

struct http_exchange *http_exchange_open(struct http_conn *c, int64_t start_ns)
{
	struct wire *w = c->wire;
	struct http_exchange *x = take_exchange(c);

	if (!x) {
		w->has_failed = w->has_failed || !err_set(&w->err, ERR_ENV, "out of memory");
		return NULL;
	}
	http_begin_session(c, start_ns);
	x->start_ns = start_ns;
	x->in_flight = ++w->in_flight[PROTOCOL_HTTP];
	w->ledger->requests_seen++;
	w->ledger->undecided++;
	c->open_count++;
	return x;
}

void http_count_stray(struct http_conn *c)
{
	c->wire->ledger->requests_seen++;
	c->wire->ledger->requests_unpaired[UNPAIRED_NO_REQUEST]++;
}

static void count_emitted(struct ledger *l, uint32_t flags)
{
	enum ledger_unpaired why = UNPAIRED_NO_ANSWER;

	l->undecided--;
	if (!(flags & REQUEST_UNANSWERED)) {
		l->requests_paired++;
		return;
	}
	if (flags & REQUEST_SHED)
		why = UNPAIRED_SHED;
	else if (flags & REQUEST_GAP)
		why = UNPAIRED_GAP;
	l->requests_unpaired[why]++;
}

static struct slice value_of(const struct http_exchange *x, const struct http_span *s)
{
	return s->value_n ? (struct slice){ x->head.p + s->value_at, s->value_n }
			  : (struct slice){ 0 };
}

static void list_fields(const struct http_exchange *x, struct raw_field *fields)
{
	for (uint32_t i = 0; i < x->field_count; i++) {
		const struct http_span *s = &x->fields[i];

		fields[i].name = (struct slice){ x->head.p + s->name_at, s->name_n };
		fields[i].value = (struct slice){ x->head.p + s->value_at, s->value_n };
	}
}

static void hand_on(struct http_conn *c, struct http_exchange *x)
{
	struct raw_field fields[HTTP1_FIELDS_MAX];
	struct raw_http http = {
		.method = value_of(x, &x->method),
		.target = value_of(x, &x->target),
		.authority = value_of(x, &x->authority),
		.version = x->version,
		.fields = fields,
		.field_count = x->field_count,
		.body = buf_slice(&x->body),
		.body_n = x->body_n,
		.is_chunked = x->is_chunked,
		.is_body_cut = x->is_body_cut,
		.status = x->status,
		.grpc = x->grpc,
		.answer_type = { x->type, x->type_n },
	};
	struct raw_request q = {
		.session = c->id,
		.seq = c->next_seq++,
		.start_ns = x->start_ns,
		.first_byte_ns = x->first_byte_ns,
		.end_ns = x->end_ns,
		.think_ns = -1,
		.form = FORM_HTTP,
		.state_before = '?',
		.state_after = '?',
		.in_flight = x->in_flight,
		.flags = x->flags,
		.bytes_in = x->bytes_in,
		.bytes_out = x->bytes_out,
		.http = &http,
	};

	if (q.seq)
		q.think_ns = q.start_ns > c->previous_end_ns ? q.start_ns - c->previous_end_ns : 0;
	c->previous_end_ns = q.end_ns;
	list_fields(x, fields);
	wire_request(c->wire, &q);
}

void http_exchange_emit(struct http_conn *c, struct http_exchange *x, int64_t end_ns)
{
	if (!x->is_answered)
		x->flags |= REQUEST_UNANSWERED;
	if (x->is_body_cut)
		x->flags |= REQUEST_VALUE_LOST;
	x->end_ns = end_ns < x->start_ns ? x->start_ns : end_ns;
	if (x->first_byte_ns && x->first_byte_ns < x->start_ns)
		x->first_byte_ns = x->start_ns;
	c->wire->in_flight[PROTOCOL_HTTP]--;
	c->open_count--;
	count_emitted(c->wire->ledger, x->flags);
	hand_on(c, x);
	recycle(c, x);
}
