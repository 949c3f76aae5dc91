/*
 * conn.h - a protocol that a TCP connection may speak, as the dispatcher
 * (match.c) sees it, and what all connections of one capture share.
 *
 * The dispatcher looks at the first bytes of both sides, opens the protocol that
 * they show, and hands it the connection's bytes in order, each once, with their
 * packet times; TLS (tls.h) sits between when keys are known. A protocol emits
 * sessions and finished requests to struct wire and counts in its ledger. Secrets
 * (passwords, cancel keys) never come as far as the sink. One thread.
 */
#ifndef REPROD_CONN_H
#define REPROD_CONN_H

#include "capture/wire/flow.h"
#include "capture/wire/ledger.h"
#include "core/model/request.h"

/* In raw_request.edges[].value: the rest is the bind's index, not the literal's. */
#define MATCH_EDGE_BIND 0x8000

/* What sessions said of their server: by its address replay knows which database it must
 * not touch. */
struct wire_server {
	char address[PACKET_ADDRESS_MAX];
	uint16_t port;
	char version[64];
	char time_zone[64];
};

enum { WIRE_SERVERS_MAX = 64 }; /* Postgres servers told apart; what lies beyond is counted */

/* By address and port, in the order of their first sessions. */
struct wire_servers {
	struct wire_server items[WIRE_SERVERS_MAX];
	uint32_t count;
	uint64_t sessions_beyond;
};

struct wire {
	struct request_sink sink;
	struct ledger *ledger;
	struct wire_server server; /* the first of HTTP */
	struct wire_servers servers; /* of Postgres */
	int64_t now_ns; /* the latest packet's time: never goes back */
	uint64_t sessions; /* the last number given; they count from 1 */
	uint32_t in_flight[PROTOCOL_HTTP + 1]; /* by enum protocol */
	size_t held_n, held_max; /* bytes kept for requests in flight, and their cap */
	bool has_failed; /* the sink refused something: *err is its */
	struct err err;
	struct pg_wire *pg; /* what Postgres sessions share; the dispatcher's to free */
	struct http_wire *http; /* likewise; NULL before the first HTTP connection */
};

struct conn_info {
	struct flow_info flow;
	int client; /* the flow's side: by SYN, port or what was said */
	bool is_joined_late; /* its first bytes were not seen */
	bool is_tls; /* the bytes given are decrypted */
};

struct conn_protocol {
	const char *name;
	/* NULL: out of memory. */
	void *(*open)(struct wire *w, const struct conn_info *info);
	/* False: nothing more to learn from this connection; close() follows at once. */
	bool (*bytes)(void *state, int side, struct slice bytes, int64_t time_ns);
	/* The next missing_n bytes of that side will never come. */
	bool (*gap)(void *state, int side, uint64_t missing_n, int64_t time_ns);
	/* Ends what is open, counts the flow in the ledger, and frees. */
	void (*close)(void *state, enum flow_end why, int64_t time_ns);
	/* Both may be NULL. After bytes() said false: does TLS begin with the next byte?
	 * Then the plain text comes as before, or encrypted() says that it never will. */
	bool (*wants_tls)(const void *state);
	void (*encrypted)(void *state, int64_t time_ns);
};

/* capture/wire/pgconn.c: PostgreSQL's protocol 3. */
extern const struct conn_protocol conn_pg;
struct pg_wire *pg_wire_new(size_t texts_max);
void pg_wire_free(struct pg_wire *pg);

/* capture/wire/http.c: HTTP/1.x and HTTP/2 in the clear. */
extern const struct conn_protocol conn_http;
/* Wipes it: heads of requests hold credentials. NULL is fine. */
void http_wire_free(struct http_wire *http);

/* Emits, unless an earlier failure of the sink ended the capture. */
static inline void wire_session(struct wire *w, const struct raw_session *s)
{
	if (!w->has_failed && !w->sink.session(w->sink.data, s, &w->err))
		w->has_failed = true;
}

static inline void wire_request(struct wire *w, const struct raw_request *q)
{
	if (!w->has_failed && !w->sink.request(w->sink.data, q, &w->err))
		w->has_failed = true;
}

#endif
