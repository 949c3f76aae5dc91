/*
 * match.h - connections to sessions, messages to requests with their answers.
 *
 * Sits behind the flow table. Follows the order the protocol promises (PostgreSQL
 * manual, 55.2.3 and 55.2.4): a queue of expected answers for each session; after
 * an error everything up to Sync is skipped, not slow. A request goes to the sink
 * when it ends, in the order of the session. What is held for requests in flight
 * has caps; at a cap the session's open requests are shed and counted. Secrets
 * (passwords, cancel keys) never come this far. All time is packet time.
 */
#ifndef REPROD_MATCH_H
#define REPROD_MATCH_H

#include "capture/wire/flow.h"
#include "capture/wire/ledger.h"
#include "core/model/request.h"

#define MATCH_PORTS_MAX 32
#define MATCH_PG_PORT 5432
/* In raw_request.edges[].value: the rest is the bind's index, not the literal's. */
#define MATCH_EDGE_BIND 0x8000

struct match_options {
	uint16_t ports[MATCH_PORTS_MAX]; /* servers' ports; none: any, 5432 known */
	size_t port_count;
	size_t held_max; /* 0: 256 MiB of requests in flight and statement texts */
};

/* What sessions said of their server; the first one wins. */
struct match_server {
	char address[PACKET_ADDRESS_MAX];
	uint16_t port;
	char version[64];
	char time_zone[64];
};

struct match;

struct match *match_new(
	const struct match_options *o, const struct request_sink *sink, struct ledger *ledger);
struct flow_sink match_flow_sink(struct match *m);
/* The time of the packet that is fed next. */
void match_set_time(struct match *m, int64_t now_ns);
/* False when the sink refused something; *e is the sink's. */
bool match_ok(const struct match *m, struct err *e) MUST_USE;
const struct match_server *match_server(const struct match *m);
uint32_t match_in_flight(const struct match *m);
/* After the flow table is gone. NULL is fine. */
void match_free(struct match *m);

#endif
