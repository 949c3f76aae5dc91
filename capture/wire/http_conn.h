/*
 * http_conn.h - one HTTP connection while it is being read; for http*.c alone.
 *
 * An exchange is a request and its answer. It is the connection's own, keeps the
 * request's head and body (up to HTTP_BODY_MAX) until the answer ends, and then goes
 * to the sink and back to the connection's spare ones. What exchanges keep counts in
 * wire.held_n; at the cap the head is dropped and the exchange is shed, and counted.
 */
#ifndef REPROD_HTTP_CONN_H
#define REPROD_HTTP_CONN_H

#include "capture/wire/conn.h"
#include "core/format/http1.h"

#define HTTP_OPEN_MAX 16384 /* requests without an answer on one connection */

struct http_exchange {
	struct http_exchange *next; /* in the queue, in its stream's list, or spare */
	uint32_t stream; /* HTTP/2 */
	uint32_t flags; /* enum request_flag */
	int64_t start_ns, first_byte_ns, end_ns, last_ns; /* last_ns: of any byte of the answer */
	uint64_t bytes_in, bytes_out, body_n;
	uint32_t in_flight;
	uint16_t status;
	uint8_t version, grpc;
	bool is_chunked, is_body_cut;
	bool is_asked; /* the request ended */
	bool is_answered; /* a final answer's head came */
	bool is_done; /* the answer ended */
	bool is_head_request, is_connect;
	uint32_t field_count, field_cap;
	struct http_span *fields; /* offsets in head */
	struct http_span method, target, authority; /* only value_* */
	struct buf head, body;
	size_t held_n;
	uint32_t type_n;
	char type[128]; /* Content-Type of the answer */
};

struct http2;

/* Memos of heads, shared by connections: as many as work at a time, mostly. */
enum { HTTP_MEMOS = 64 };

struct http_wire {
	struct http1_memo memos[HTTP_MEMOS][2];
};

enum http_mode { HTTP_UNDECIDED, HTTP_ONE, HTTP_TWO, HTTP_UPGRADED, HTTP_REFUSED };

struct http_conn {
	struct wire *wire;
	struct conn_info info;
	enum http_mode mode;
	int client; /* the flow's side; -1 unknown */
	uint64_t id; /* 0: not (yet) a session */
	uint32_t session_flags;
	int64_t open_ns, last_ns, previous_end_ns;
	uint64_t next_seq;
	uint64_t gaps, resyncs;
	uint32_t open_count;
	struct http_exchange *spare;
	uint32_t spare_count;
	/* HTTP/1.x: in the order of asking. */
	struct http1 side[2]; /* 0 client, 1 server */
	struct http_exchange *first, *last;
	bool is_stray; /* the answer that is being read belongs to no request */
	bool is_pipelined; /* the client was seen to ask before it was answered */
	bool was_answer_lost; /* a boundary of the server's side is missing */
	bool was_refused; /* the client's side has no boundaries any more */
	struct http2 *two;
};

/* http_exchange.c */
/* NULL: out of memory (the wire has then failed). */
struct http_exchange *http_exchange_open(struct http_conn *c, int64_t start_ns);
/* Keeps the request's head; spans are offsets in it. */
void http_exchange_keep_head(struct http_conn *c, struct http_exchange *x, struct slice head,
	const struct http_span *spans, uint32_t count);
void http_exchange_keep_body(struct http_conn *c, struct http_exchange *x, struct slice piece);
void http_exchange_set_type(struct http_exchange *x, struct slice content_type);
/* It ended, at end_ns; out of the caller's list, to the sink. */
void http_exchange_emit(struct http_conn *c, struct http_exchange *x, int64_t end_ns);
/* An answer to something nobody saw. */
void http_count_stray(struct http_conn *c);
void http_exchange_free_spare(struct http_conn *c);
/* The connection speaks HTTP. */
void http_begin_session(struct http_conn *c, int64_t time_ns);

/* http1_pair.c: HTTP/1.x messages to exchanges. */
void http1_pair_bytes(struct http_conn *c, bool from_client, struct slice bytes, int64_t time_ns);
void http1_pair_gap(struct http_conn *c, bool from_client, uint64_t missing_n, int64_t time_ns);
/* flags: REQUEST_GAP, or 0. */
void http1_pair_end(struct http_conn *c, uint32_t flags, int64_t time_ns);

/* http2_stream.c: HTTP/2 streams to exchanges. */
/* False: out of memory. is_late: the preface was not seen. */
bool http2_begin(struct http_conn *c, bool is_late) MUST_USE;
/* After http2_begin(): upgraded is the exchange that asked for h2c, settings what its
 * HTTP2-Settings said. */
void http2_upgrade(struct http_conn *c, struct http_exchange *upgraded, struct slice settings);
void http2_bytes(struct http_conn *c, bool from_client, struct slice bytes, int64_t time_ns);
void http2_gap(struct http_conn *c, bool from_client, uint64_t missing_n, int64_t time_ns);
void http2_end(struct http_conn *c, uint32_t flags, int64_t time_ns);
void http2_free(struct http_conn *c);

#endif
