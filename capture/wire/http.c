/* HTTP in the clear: a connection's life, and which version of the protocol it speaks. */
#include <stdlib.h>

#include "capture/wire/http2.h"
#include "capture/wire/http_conn.h"

/* ---- sessions */

static void emit_session(struct http_conn *c, int64_t close_ns)
{
	const struct flow_info *f = &c->info.flow;
	const struct packet_address *client = &f->address[c->client];
	const struct packet_address *server = &f->address[!c->client];
	struct wire *w = c->wire;
	char client_text[PACKET_ADDRESS_MAX], server_text[PACKET_ADDRESS_MAX];
	struct raw_session raw = {
		.id = c->id,
		.protocol = PROTOCOL_HTTP,
		.open_ns = c->open_ns,
		.close_ns = close_ns,
		.flags = c->session_flags,
	};

	raw.client = slice_of(packet_address_text(client, f->is_v6, false, client_text));
	raw.server = slice_of(packet_address_text(server, f->is_v6, true, server_text));
	if (!w->server.address[0]) {
		packet_address_text(server, f->is_v6, false, w->server.address);
		w->server.port = server->port;
	}
	wire_session(w, &raw);
}

void http_begin_session(struct http_conn *c, int64_t time_ns)
{
	if (c->id)
		return;
	c->id = ++c->wire->sessions;
	c->wire->ledger->sessions++;
	c->open_ns =
		c->info.flow.client >= 0 && c->info.flow.open_ns ? c->info.flow.open_ns : time_ns;
	emit_session(c, 0);
}

/* ---- which version */

/* Two heads that tell the sides apart, whatever the caller took them for. */
static int client_by(struct slice bytes, int side)
{
	if (http1_is_status_line(bytes))
		return !side;
	return http1_is_request_line(bytes) ? side : -1;
}

static bool begin_one(struct http_conn *c)
{
	c->mode = HTTP_ONE;
	if (!c->wire->http)
		c->wire->http = calloc(1, sizeof *c->wire->http);
	for (int i = 0; i < 2; i++) {
		http1_init(&c->side[i], i == 1);
		if (c->wire->http)
			c->side[i].memo = &c->wire->http->memos[c->wire->sessions % HTTP_MEMOS][i];
		if (c->info.is_joined_late)
			http1_lose(&c->side[i]);
	}
	return true;
}

/* False: out of memory, or too few bytes to tell. */
static bool decide(struct http_conn *c, int side, struct slice bytes)
{
	size_t n = bytes.n < sizeof HTTP2_PREFACE - 1 ? bytes.n : sizeof HTTP2_PREFACE - 1;
	int client = client_by(bytes, side);

	if (client >= 0)
		c->client = client;
	if (n >= 4 && memcmp(bytes.p, HTTP2_PREFACE, n) == 0) {
		c->client = side;
		return http2_begin(c, false);
	}
	if (client >= 0)
		return begin_one(c);
	if (c->client < 0)
		c->client = side;
	if (http2_is_frames(bytes))
		/* A server may speak first (RFC 9113, 3.4). */
		return http2_begin(c, c->info.is_joined_late);
	return begin_one(c);
}

/* ---- the protocol's face */

static void *conn_open(struct wire *w, const struct conn_info *info)
{
	struct http_conn *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->wire = w;
	c->info = *info;
	c->client = info->client;
	if (info->is_joined_late)
		c->session_flags |= SESSION_JOINED_LATE;
	return c;
}

static bool conn_bytes(void *state, int side, struct slice bytes, int64_t time_ns)
{
	struct http_conn *c = state;

	if (!bytes.n)
		return c->mode != HTTP_REFUSED;
	if (c->mode == HTTP_UNDECIDED && !decide(c, side, bytes))
		return false;
	c->last_ns = time_ns;
	if (c->mode == HTTP_ONE)
		http1_pair_bytes(c, side == c->client, bytes, time_ns);
	else if (c->mode == HTTP_TWO)
		http2_bytes(c, side == c->client, bytes, time_ns);
	return c->mode != HTTP_REFUSED;
}

static bool conn_gap(void *state, int side, uint64_t missing_n, int64_t time_ns)
{
	struct http_conn *c = state;

	if (c->mode == HTTP_UNDECIDED)
		c->info.is_joined_late = true;
	c->gaps++;
	if (c->mode == HTTP_ONE)
		http1_pair_gap(c, side == c->client, missing_n, time_ns);
	else if (c->mode == HTTP_TWO)
		http2_gap(c, side == c->client, missing_n, time_ns);
	return c->mode != HTTP_REFUSED;
}

static enum ledger_flow kind_of(const struct http_conn *c)
{
	switch (c->mode) {
	case HTTP_UNDECIDED:
		return FLOWS_SILENT;
	case HTTP_TWO:
		return FLOWS_HTTP2;
	case HTTP_UPGRADED:
		return FLOWS_HTTP_UPGRADED;
	case HTTP_REFUSED:
		return FLOWS_HTTP_REFUSED;
	default:
		return c->was_refused ? FLOWS_HTTP_REFUSED : FLOWS_HTTP;
	}
}

static void conn_close(void *state, enum flow_end why, int64_t time_ns)
{
	struct http_conn *c = state;
	struct ledger *l = c->wire->ledger;
	int64_t end_ns = time_ns > c->wire->now_ns ? time_ns : c->wire->now_ns;

	if (c->mode == HTTP_ONE)
		http1_pair_end(c, c->was_answer_lost ? REQUEST_GAP : 0, end_ns);
	else if (c->mode == HTTP_TWO)
		http2_end(c, 0, end_ns);
	l->flows[kind_of(c)]++;
	l->lost[LOST_EVICTED] += why == FLOW_EVICTED;
	l->lost[LOST_TCP_GAP] += c->gaps;
	l->lost[LOST_RESYNC] += c->resyncs;
	if (c->id) {
		if (why == FLOW_EVICTED || why == FLOW_INPUT_ENDED || why == FLOW_REUSED)
			c->session_flags |= SESSION_UNCLOSED;
		emit_session(c, end_ns);
	}
	http_exchange_free_spare(c);
	http2_free(c);
	http1_free(&c->side[0]);
	http1_free(&c->side[1]);
	free(c);
}

void http_wire_free(struct http_wire *http)
{
	if (http)
		explicit_bzero(http, sizeof *http);
	free(http);
}

const struct conn_protocol conn_http = {
	.name = "http",
	.open = conn_open,
	.bytes = conn_bytes,
	.gap = conn_gap,
	.close = conn_close,
};
