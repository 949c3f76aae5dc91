/*
 * fuzz_proto_pg.c - laws: whatever the two sides send, however it is cut and whatever
 * is missing, the ledger balances at the end, nothing stays in flight, and times do not
 * run backwards within a request.
 *
 * The first byte says how the connection begins. Then each stretch has a header byte:
 * bit 0 the side, bit 1 a gap before it, the rest its length (63: the next byte times 16).
 */
#include <stdio.h>
#include <stdlib.h>

#include "capture/wire/match.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

struct world {
	uint64_t requests, next_seq;
	uint64_t checksum;
};

static void touch(struct world *w, struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		w->checksum += (unsigned char)s.p[i];
}

static bool on_session(void *data, const struct raw_session *s, struct err *e)
{
	struct world *w = data;

	(void)e;
	must(s->id > 0, "sessions are numbered from 1");
	touch(w, s->client);
	touch(w, s->server);
	touch(w, s->user);
	touch(w, s->database);
	touch(w, s->application);
	return true;
}

static bool on_request(void *data, const struct raw_request *q, struct err *e)
{
	struct world *w = data;

	(void)e;
	must(q->seq == w->next_seq++, "requests are numbered without holes");
	must(q->end_ns >= q->start_ns, "an end is not before its start");
	must(!q->first_byte_ns || q->first_byte_ns >= q->start_ns, "nor the first byte");
	must(q->think_ns >= -1, "think time is not negative");
	must(q->form >= FORM_SIMPLE && (q->form < FORM_HTTP || q->http), "the form is one of ours");
	touch(w, q->text);
	touch(w, q->copy_data);
	for (size_t i = 0; i < q->bind_count; i++)
		touch(w, q->binds[i].bytes);
	for (size_t i = 0; i < q->edge_count; i++)
		must(q->edges[i].from_seq < q->seq, "an edge comes from an earlier request");
	w->requests += q->form != FORM_PREPARE;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct world w = { 0 };
	struct request_sink sink = { on_session, on_request, &w };
	struct match_options options = { .held_max = 1 << 16 };
	struct ledger ledger = { 0 };
	struct match *m;
	struct flow_sink flow;
	struct flow_info info = { .client = -1, .address = { { { 1 }, 1000 }, { { 2 }, 5432 } } };
	struct err e;
	void *owner;
	int64_t now_ns = 1000;

	if (!size)
		return 0;
	info.client = (int)(bytes[0] % 3) - 1;
	info.address[1].port = bytes[0] & 8 ? 5432 : 9999;
	m = match_new(&options, &sink, &ledger);
	flow = match_flow_sink(m);
	owner = flow.open(flow.data, &info);
	bytes++, size--;
	while (size && owner) {
		uint8_t head = *bytes++;
		size_t n = head >> 2;
		struct slice part;

		size--;
		if (n == 63 && size) {
			n = (size_t)*bytes++ * 16;
			size--;
		}
		if (n > size)
			n = size;
		part = (struct slice){ (const char *)bytes, n };
		match_set_time(m, now_ns += 10);
		if (head & 2 && !flow.gap(flow.data, owner, head & 1, 7, now_ns))
			owner = NULL;
		if (n && owner && !flow.bytes(flow.data, owner, head & 1, part, now_ns))
			owner = NULL;
		bytes += n;
		size -= n;
	}
	if (owner)
		flow.close(flow.data, owner, FLOW_INPUT_ENDED, now_ns);
	must(match_ok(m, &e), "nothing fails");
	must(ledger.undecided == 0 && ledger_balances(&ledger), "the ledger balances");
	must(match_in_flight(m) == 0, "nothing stays in flight");
	must(ledger.requests_seen - ledger.requests_unpaired[UNPAIRED_NO_REQUEST] == w.requests,
		"every request reaches the sink");
	match_free(m);
	return 0;
}
