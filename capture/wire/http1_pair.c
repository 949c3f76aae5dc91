/* HTTP/1.x messages of both sides to exchanges: answers come in the order of asking. */
#include <strings.h>

#include "capture/wire/http_conn.h"

static void push(struct http_conn *c, struct http_exchange *x)
{
	if (c->last)
		c->last->next = x;
	else
		c->first = x;
	x->next = NULL;
	c->last = x;
}

static struct http_exchange *pop(struct http_conn *c)
{
	struct http_exchange *x = c->first;

	c->first = x->next;
	if (!c->first)
		c->last = NULL;
	x->next = NULL;
	return x;
}

static void give_up_first(struct http_conn *c, uint32_t flags, int64_t time_ns)
{
	struct http_exchange *x = pop(c);
	int64_t end_ns = x->is_answered ? x->last_ns : time_ns;

	x->flags |= x->is_done ? 0 : flags;
	x->is_body_cut = x->is_body_cut || !x->is_asked;
	http_exchange_emit(c, x, x->is_done ? x->end_ns : end_ns);
}

static void emit_first(struct http_conn *c)
{
	struct http_exchange *x = pop(c);

	http_exchange_emit(c, x, x->end_ns);
}

static void emit_finished(struct http_conn *c)
{
	while (c->first && c->first->is_asked && c->first->is_done)
		emit_first(c);
}

/* The connection can't be read any further. */
static void stop(struct http_conn *c, enum http_mode mode, uint32_t flags, int64_t time_ns)
{
	while (c->first)
		give_up_first(c, flags, time_ns);
	if (c->two)
		http2_end(c, flags, time_ns);
	c->mode = mode;
}

/* ---- the client's side */

static struct http_span span_in(struct slice whole, struct slice part)
{
	struct http_span s = { 0 };

	if (part.n) {
		s.value_at = (uint32_t)(part.p - whole.p);
		s.value_n = (uint32_t)part.n;
	}
	return s;
}

/* RFC 9112, 5.2: a fold is blanks. */
static void unfold(struct http_exchange *x)
{
	for (uint32_t i = 0; i < x->field_count; i++)
		for (uint32_t k = 0; k < x->fields[i].value_n; k++) {
			char *p = x->head.p + x->fields[i].value_at + k;

			if (*p == '\r' || *p == '\n')
				*p = ' ';
		}
}

static bool is_waiting(const struct http_exchange *x)
{
	return x->is_asked && !x->is_answered;
}

/* A client that was never seen to pipeline asks again: what it waited for came
 * while packets were missing. */
static void settle_lost_answer(struct http_conn *c, int64_t time_ns)
{
	if (!c->was_answer_lost || c->is_pipelined)
		return;
	c->was_answer_lost = false;
	while (c->first && is_waiting(c->first))
		give_up_first(c, REQUEST_GAP, time_ns);
}

static void open_request(struct http_conn *c, const struct http1 *p, int64_t time_ns)
{
	const struct http1_head *h = &p->head;
	struct http_exchange *x;

	settle_lost_answer(c, time_ns);
	if (c->open_count >= HTTP_OPEN_MAX) {
		stop(c, HTTP_REFUSED, REQUEST_SHED, time_ns);
		return;
	}
	x = http_exchange_open(c, p->start_ns);
	if (!x)
		return;
	if (c->last && !c->last->is_done && !c->was_answer_lost)
		c->is_pipelined = true;
	x->version = h->version;
	x->is_chunked = h->is_chunked;
	x->is_head_request = slice_is(h->method, "HEAD");
	x->is_connect = slice_is(h->method, "CONNECT");
	if (h->target.n) {
		x->method = span_in(h->bytes, h->method);
		x->target = span_in(h->bytes, h->target);
		x->authority = span_in(h->bytes, h->host);
		http_exchange_keep_head(c, x, h->bytes, p->spans, h->field_count);
	} else {
		x->flags |= REQUEST_TEXT_UNKNOWN;
	}
	if (h->has_fold)
		unfold(x);
	push(c, x);
}

static void end_request(struct http_conn *c)
{
	if (!c->last)
		return;
	c->last->is_asked = true;
	emit_finished(c);
}

/* ---- the server's side */

static struct http_exchange *awaited(struct http_conn *c)
{
	struct http_exchange *x = c->first;

	while (x && x->is_done)
		x = x->next;
	return x;
}

static struct slice field_of(const struct http_exchange *x, const char *name)
{
	size_t n = strlen(name);

	for (uint32_t i = 0; i < x->field_count; i++)
		if (x->fields[i].name_n == n &&
			strncasecmp(x->head.p + x->fields[i].name_at, name, n) == 0)
			return (struct slice){ x->head.p + x->fields[i].value_at,
				x->fields[i].value_n };
	return (struct slice){ 0 };
}

/* The bytes of both sides are another protocol's from here on. */
static void switch_protocol(struct http_conn *c, const struct http1_head *h, int64_t time_ns)
{
	struct http_exchange *x = awaited(c);
	bool is_h2c =
		h->status == 101 && h->upgrade.n == 3 && strncasecmp(h->upgrade.p, "h2c", 3) == 0;

	if (is_h2c && x && x == c->first && !x->next && http2_begin(c, false)) {
		struct slice settings = field_of(x, "http2-settings");

		c->first = c->last = NULL;
		x->is_answered = false;
		x->status = 0;
		x->first_byte_ns = 0;
		x->is_asked = true;
		http2_upgrade(c, x, settings);
		return;
	}
	if (x) {
		x->is_asked = x->is_done = true;
		x->end_ns = time_ns;
	}
	stop(c, HTTP_UPGRADED, 0, time_ns);
}

/* A head that is cut or refused behind its first line switches nothing. */
static bool may_switch(const struct http1 *p)
{
	return p->phase != HTTP1_REFUSING && !p->head.is_cut;
}

static void open_answer(struct http_conn *c, struct http1 *p, int64_t time_ns)
{
	const struct http1_head *h = &p->head;
	struct http_exchange *x = awaited(c);
	bool is_final = h->status >= 200 || h->status == 101;

	c->is_stray = !x;
	http_begin_session(c, p->start_ns);
	if (!x) {
		if (is_final)
			http_count_stray(c);
		if (h->status == 101 && may_switch(p))
			switch_protocol(c, h, time_ns);
		return;
	}
	if (!is_final)
		return;
	x->is_answered = true;
	x->status = h->status;
	x->first_byte_ns = p->start_ns;
	http_exchange_set_type(x, h->content_type);
	if (x->is_head_request && h->status != 101)
		http1_no_body(p);
	if (may_switch(p) && (h->status == 101 || (x->is_connect && h->status < 300)))
		http1_opaque(p);
}

static bool is_tunnel(const struct http1 *p)
{
	return p->phase == HTTP1_OPAQUE;
}

static void end_answer(struct http_conn *c, int64_t time_ns)
{
	struct http_exchange *x = awaited(c);

	if (c->is_stray || !x || !x->is_answered)
		return;
	x->is_done = true;
	x->end_ns = time_ns;
	c->was_answer_lost = false;
	emit_finished(c);
}

/* ---- both */

static struct http_exchange *being_read(struct http_conn *c, bool from_client)
{
	if (from_client)
		return c->last && !c->last->is_asked ? c->last : NULL;
	return c->is_stray ? NULL : awaited(c);
}

static void count_wire(struct http_conn *c, bool from_client, size_t n, int64_t time_ns)
{
	struct http_exchange *x = n ? being_read(c, from_client) : NULL;

	if (!x)
		return;
	if (from_client) {
		x->bytes_in += n;
	} else {
		x->bytes_out += n;
		x->last_ns = time_ns;
	}
}

/* Its end is not known, and nothing of the client's behind it: the answer is. */
static void refuse_request(struct http_conn *c)
{
	struct http_exchange *x = being_read(c, true);

	c->was_refused = true;
	if (!x)
		return;
	x->is_asked = true;
	x->is_body_cut = true;
	emit_finished(c);
}

/* What goes on in the event, after the bytes it took were counted. */
static void on_event(struct http_conn *c, struct http1 *p, enum http1_event event, int64_t time_ns)
{
	struct http_exchange *x;

	switch (event) {
	case HTTP1_BODY:
		x = p->is_answer ? NULL : being_read(c, true);
		if (x)
			http_exchange_keep_body(c, x, p->piece);
		break;
	case HTTP1_END:
		if (p->is_answer)
			end_answer(c, time_ns);
		else
			end_request(c);
		break;
	case HTTP1_LOSING:
		c->resyncs++;
		break;
	case HTTP1_BAD:
		if (p->is_answer)
			stop(c, HTTP_REFUSED, 0, time_ns);
		else
			refuse_request(c);
		break;
	default:
		break;
	}
}

static void on_head(struct http_conn *c, struct http1 *p, int64_t time_ns)
{
	size_t head_n = p->head.bytes.n;

	if (!p->is_answer) {
		open_request(c, p, time_ns);
		count_wire(c, true, head_n, time_ns);
		return;
	}
	open_answer(c, p, time_ns);
	count_wire(c, false, head_n, time_ns);
	if (is_tunnel(p))
		switch_protocol(c, &p->head, time_ns);
}

void http1_pair_bytes(struct http_conn *c, bool from_client, struct slice bytes, int64_t time_ns)
{
	struct http_span spans[HTTP1_FIELDS_MAX];
	struct http1 *p = &c->side[from_client ? 0 : 1];
	enum http1_event event;

	p->spans = from_client ? spans : NULL;
	do {
		size_t before_n = bytes.n;
		bool was_body = p->phase >= HTTP1_IN_LENGTH && p->phase <= HTTP1_UNTIL_CLOSE;

		event = http1_next(p, &bytes, time_ns);
		if (event == HTTP1_HEAD) {
			on_head(c, p, time_ns);
		} else {
			if (was_body)
				count_wire(c, from_client, before_n - bytes.n, time_ns);
			on_event(c, p, event, time_ns);
		}
	} while (event != HTTP1_MORE && c->mode == HTTP_ONE);
	p->spans = NULL;
	if (c->mode == HTTP_TWO && bytes.n)
		http2_bytes(c, from_client, bytes, time_ns);
}

/* Packets are missing inside a head: what came of it is a message all the same. */
static void tell_cut_head(struct http_conn *c, struct http1 *p, int64_t time_ns)
{
	struct http_span spans[HTTP1_FIELDS_MAX];

	p->spans = p->is_answer ? NULL : spans;
	if (http1_cut_head(p))
		on_head(c, p, time_ns);
	p->spans = NULL;
}

/* A packet that the snapshot length cut has its time; one that was never seen has none. */
static void note_gap(struct http_exchange *x, bool is_timed)
{
	bool was_timed = !(x->flags & REQUEST_GAP) || x->flags & REQUEST_TIMED;

	x->flags &= ~(uint32_t)REQUEST_TIMED;
	x->flags |= REQUEST_GAP | (is_timed && was_timed ? REQUEST_TIMED : 0);
}

static void lose_request(struct http_conn *c)
{
	struct http_exchange *x = being_read(c, true);

	if (!x)
		return;
	x->is_asked = true;
	x->is_body_cut = true;
	note_gap(x, false);
	emit_finished(c);
}

static void lose_answer(struct http_conn *c, int64_t time_ns)
{
	struct http_exchange *x = being_read(c, false);

	c->is_stray = false;
	c->was_answer_lost = true;
	if (!x || !x->is_answered)
		return;
	note_gap(x, false);
	x->is_done = true;
	x->end_ns = x->last_ns ? x->last_ns : time_ns;
	emit_finished(c);
}

void http1_pair_gap(struct http_conn *c, bool from_client, uint64_t missing_n, int64_t time_ns)
{
	struct http1 *p = &c->side[from_client ? 0 : 1];
	struct http_exchange *x;

	if (p->phase == HTTP1_LOST) {
		c->was_answer_lost = c->was_answer_lost || !from_client;
		return;
	}
	tell_cut_head(c, p, time_ns);
	if (c->mode != HTTP_ONE)
		return;
	x = being_read(c, from_client);
	if (!http1_gap(p, missing_n)) {
		c->resyncs++;
		if (from_client)
			lose_request(c);
		else
			lose_answer(c, time_ns);
		return;
	}
	if (!x)
		return;
	note_gap(x, from_client || time_ns == x->last_ns);
	if (from_client) {
		x->bytes_in += missing_n;
		x->body_n += missing_n;
		x->is_body_cut = true;
	} else {
		x->bytes_out += missing_n;
	}
	http1_pair_bytes(c, from_client, (struct slice){ 0 }, time_ns);
}

void http1_pair_end(struct http_conn *c, uint32_t flags, int64_t time_ns)
{
	/* An answer whose head never ended has a status; a request is none yet. */
	if (c->side[1].phase == HTTP1_IN_HEAD)
		http1_pair_gap(c, false, 0, time_ns);
	c->resyncs += c->side[0].phase == HTTP1_IN_HEAD;
	if (http1_close(&c->side[0]))
		end_request(c);
	if (http1_close(&c->side[1])) {
		struct http_exchange *x = being_read(c, false);

		end_answer(c, x && x->last_ns ? x->last_ns : time_ns);
	}
	while (c->first)
		give_up_first(c, flags, time_ns);
}
