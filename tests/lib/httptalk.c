#include "tests/lib/httptalk.h"

#include <stdlib.h>

static bool on_session(void *data, const struct raw_session *s, struct err *e)
{
	struct httptalk *t = data;

	(void)e;
	t->sessions++;
	t->session_flags = s->flags;
	return true;
}

static void add_flags(struct buf *b, uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
		{ REQUEST_GAP, " gap" },
		{ REQUEST_SHED, " shed" },
		{ REQUEST_UNANSWERED, " unanswered" },
		{ REQUEST_CANCELLED, " cancelled" },
		{ REQUEST_TEXT_UNKNOWN, " unknown" },
		{ REQUEST_VALUE_LOST, " cut" },
	};

	for (size_t i = 0; i < LENGTH(names); i++)
		if (flags & names[i].flag)
			buf_add_text(b, names[i].name);
}

static bool on_request(void *data, const struct raw_request *q, struct err *e)
{
	struct httptalk *t = data;
	const struct raw_http *h = q->http;
	struct buf *b = &t->lines;

	(void)e;
	buf_add_slice(b, h->method);
	buf_add_byte(b, ' ');
	buf_add_slice(b, h->target);
	buf_addf(b, " %u", h->status);
	if (h->body.n) {
		buf_add_text(b, " body=");
		for (size_t i = 0; i < h->body.n; i++)
			buf_add_byte(b, h->body.p[i] >= ' ' ? (unsigned char)h->body.p[i] : '.');
	}
	if (h->grpc)
		buf_addf(b, " grpc=%d", h->grpc - 1);
	add_flags(b, q->flags);
	buf_add_byte(b, '\n');
	t->last = *q;
	t->requests++;
	return true;
}

struct httptalk *httptalk_new(bool is_late)
{
	struct httptalk *t = calloc(1, sizeof *t);
	struct conn_info info = { .client = 0, .is_joined_late = is_late };

	info.flow = (struct flow_info){ .client = is_late ? -1 : 0,
		.address = { { { 10, 0, 0, 1 }, 1000 }, { { 10, 0, 0, 2 }, 80 } },
		.open_ns = 500 };
	t->now_ns = 1000;
	t->wire.sink = (struct request_sink){ on_session, on_request, t };
	t->wire.ledger = &t->ledger;
	t->wire.held_max = 64 << 20;
	t->state = conn_http.open(&t->wire, &info);
	return t;
}

void httptalk_say(struct httptalk *t, int side, const char *bytes, size_t n)
{
	t->wire.now_ns = t->now_ns += 1000;
	if (!t->is_over)
		t->is_over =
			!conn_http.bytes(t->state, side, (struct slice){ bytes, n }, t->now_ns);
	if (t->wire.held_n > t->held_max_seen)
		t->held_max_seen = t->wire.held_n;
}

void httptalk_gap(struct httptalk *t, int side, uint64_t missing_n)
{
	t->wire.now_ns = t->now_ns += 1000;
	if (!t->is_over)
		t->is_over = !conn_http.gap(t->state, side, missing_n, t->now_ns);
}

void httptalk_close(struct httptalk *t)
{
	if (t->state)
		conn_http.close(t->state, FLOW_CLOSED, t->now_ns + 1000);
	t->state = NULL;
}

const char *httptalk_fault(const struct httptalk *t)
{
	if (t->wire.in_flight[PROTOCOL_HTTP])
		return "something stays in flight";
	if (t->wire.held_n)
		return "memory stays counted as held";
	if (t->ledger.undecided || !ledger_balances(&t->ledger))
		return "the ledger does not balance";
	return t->sessions == 0 || t->sessions == 2 ? NULL : "a session is not told twice";
}

void httptalk_free(struct httptalk *t)
{
	httptalk_close(t);
	http_wire_free(t->wire.http);
	buf_free(&t->lines);
	free(t);
}
