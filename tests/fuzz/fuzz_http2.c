/*
 * fuzz_http2.c - laws of conn_http over HTTP/2: whatever the two sides send, however it
 * is cut and whatever is missing, the books balance at the end, nothing stays in flight
 * or held, times do not run backwards, and what is kept has a cap.
 *
 * The first byte's bit 0: joined late. Then each stretch has a header byte: bit 0 the
 * side, bit 1 a gap before it, the rest its length (63: the next byte times 16).
 */
#include <stdio.h>
#include <stdlib.h>

#include "capture/wire/conn.h"
#include "capture/wire/http2.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

struct world {
	uint64_t requests, next_seq, checksum;
};

static void touch(struct world *w, struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		w->checksum += (unsigned char)s.p[i];
}

static bool on_session(void *data, const struct raw_session *s, struct err *e)
{
	(void)e;
	must(s->id > 0, "sessions are numbered from 1");
	touch(data, s->client);
	touch(data, s->server);
	return true;
}

static bool on_request(void *data, const struct raw_request *q, struct err *e)
{
	struct world *w = data;
	const struct raw_http *h = q->http;

	(void)e;
	must(q->seq == w->next_seq++, "requests are numbered without holes");
	must(q->end_ns >= q->start_ns, "an end is not before its start");
	must(!q->first_byte_ns || q->first_byte_ns >= q->start_ns, "nor the first byte");
	must(q->form == FORM_HTTP && h, "all are HTTP");
	must(h->body.n <= HTTP_BODY_MAX && h->body.n <= h->body_n, "bodies have a cap");
	must(h->method.n || q->flags & REQUEST_TEXT_UNKNOWN, "a request has a method");
	must(!(q->flags & REQUEST_UNANSWERED) || !h->status, "no answer, no status");
	touch(w, h->method);
	touch(w, h->target);
	touch(w, h->authority);
	touch(w, h->body);
	touch(w, h->answer_type);
	for (size_t i = 0; i < h->field_count; i++) {
		touch(w, h->fields[i].name);
		touch(w, h->fields[i].value);
	}
	w->requests++;
	return true;
}

static void feed(struct wire *w, void *state, const uint8_t *bytes, size_t size)
{
	bool is_going_on = true;

	while (size && is_going_on) {
		uint8_t head = *bytes++;
		size_t n = head >> 2;

		size--;
		if (n == 63 && size) {
			n = (size_t)*bytes++ * 16;
			size--;
		}
		if (n > size)
			n = size;
		w->now_ns += 10;
		if (head & 2)
			is_going_on = conn_http.gap(state, head & 1, 7, w->now_ns);
		if (n && is_going_on)
			is_going_on = conn_http.bytes(state, head & 1,
				(struct slice){ (const char *)bytes, n }, w->now_ns);
		must(w->held_n <= w->held_max, "what is held has a cap");
		bytes += n;
		size -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct world world = { 0 };
	struct ledger ledger = { 0 };
	struct wire w = { .sink = { on_session, on_request, &world },
		.ledger = &ledger,
		.now_ns = 1000,
		.held_max = 1 << 16 };
	struct conn_info info = { .client = 0, .flow.open_ns = 900 };
	void *state;

	if (!size)
		return 0;
	info.is_joined_late = bytes[0] & 1;
	info.flow.client = info.is_joined_late ? -1 : 0;
	state = conn_http.open(&w, &info);
	if (!info.is_joined_late)
		conn_http.bytes(state, 0, SLICE(HTTP2_PREFACE), w.now_ns);
	feed(&w, state, bytes + 1, size - 1);
	conn_http.close(state, FLOW_INPUT_ENDED, w.now_ns);
	http_wire_free(w.http);
	must(!w.has_failed, "nothing fails");
	must(ledger.undecided == 0 && ledger_balances(&ledger), "the ledger balances");
	must(w.in_flight[PROTOCOL_HTTP] == 0 && w.held_n == 0, "nothing stays");
	return 0;
}
