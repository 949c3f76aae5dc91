/*
 * match.h - the dispatcher: which protocol a connection speaks, and its bytes to it.
 *
 * Sits behind the flow table. Looks at the first bytes of both sides (held until
 * they tell, at most a few KiB, with their times) or, when a connection was joined
 * late, at each chunk until one is evidence; then a protocol (conn.h) reads on.
 * TLS that the keys open is read as what is inside; other TLS is counted with its
 * reason. All time is packet time. One thread.
 */
#ifndef REPROD_MATCH_H
#define REPROD_MATCH_H

#include "capture/wire/conn.h"
#include "capture/wire/tls.h"

#define MATCH_PORTS_MAX 32
#define MATCH_PG_PORT 5432

struct match_options {
	uint16_t ports[MATCH_PORTS_MAX]; /* servers' ports; none: any, 5432 known */
	size_t port_count;
	size_t held_max; /* 0: 256 MiB of requests in flight and statement texts */
	struct tls_keys *tls_keys; /* outlive the match; NULL: TLS is counted only */
};

struct match;

struct match *match_new(
	const struct match_options *o, const struct request_sink *sink, struct ledger *ledger);
struct flow_sink match_flow_sink(struct match *m);
/* From the next connection on; they outlive the match. */
void match_use_keys(struct match *m, struct tls_keys *keys);
/* The time of the packet that is fed next. */
void match_set_time(struct match *m, int64_t now_ns);
/* False when the sink refused something; *e is the sink's. */
bool match_ok(const struct match *m, struct err *e) MUST_USE;
/* Nothing more goes to the sink, whatever is still open; match_ok() is false from now on. */
void match_silence(struct match *m);
const struct wire_server *match_server(const struct match *m);
/* All Postgres servers; a match knows at most WIRE_SERVERS_MAX. */
const struct wire_servers *match_servers(const struct match *m);
/* Of all protocols. */
uint32_t match_in_flight(const struct match *m);
/* After the flow table is gone. NULL is fine. */
void match_free(struct match *m);

#endif
