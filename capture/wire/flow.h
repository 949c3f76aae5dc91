/*
 * flow.h - TCP connections put together again from the packets of both sides.
 *
 * Bytes are handed on in order, each once: retransmissions and overlaps are
 * trimmed (the first bytes win, and bytes that differ are counted), what comes early
 * is held (a cap for each flow and one for all), and bytes that the peer acknowledged
 * or that did not come before the cap or the end are a gap. Where only one direction
 * was captured nothing acknowledges: a gap is told after a second. Sequence numbers
 * wrap. A new SYN ends the flow that had the ports before; a RST outside the window
 * ends nothing (RFC 5961). All time is packet time. At the cap the flow that was quiet
 * the longest is ended and counted, half-open ones first once they are half of all.
 * One thread; callbacks must not call back.
 */
#ifndef REPROD_FLOW_H
#define REPROD_FLOW_H

#include "capture/wire/packet.h"

enum flow_end {
	FLOW_CLOSED, /* FIN from both sides */
	FLOW_RESET,
	FLOW_REUSED, /* a new connection on the same ports */
	FLOW_EVICTED,
	FLOW_INPUT_ENDED,
	FLOW_SHED, /* its packets are no longer asked for, to cost less */
};

struct flow;

/* What an owner may know of a flow. Sides are 0 and 1. */
struct flow_info {
	bool is_v6;
	struct packet_address address[2];
	int client; /* the side that sent the SYN; -1 when it was not seen */
	int64_t open_ns;
};

struct flow_sink {
	/* Returns what the other calls get as owner. NULL: the flow is of no interest. */
	void *(*open)(void *data, const struct flow_info *f);
	/* time_ns: when these bytes were captured. False: no interest in the rest. */
	bool (*bytes)(void *data, void *owner, int side, struct slice bytes, int64_t time_ns);
	/* The next missing_n bytes of that side will never come. */
	bool (*gap)(void *data, void *owner, int side, uint64_t missing_n, int64_t time_ns);
	void (*close)(void *data, void *owner, enum flow_end why, int64_t time_ns);
	void *data;
};

struct flow_limits {
	uint32_t flows_max; /* 0: 65536 */
	size_t held_per_flow_max; /* 0: 1 MiB */
	size_t held_total_max; /* 0: 64 MiB */
	uint64_t hash_seed;
};

struct flow_counts {
	uint64_t opened, closed, reset, reused, evicted;
	uint64_t joined_late; /* no SYN was seen */
	uint64_t half_open; /* ended without a byte */
	uint64_t one_way; /* ended with bytes, but nothing of the other side was seen */
	uint64_t retransmitted_n; /* bytes seen again */
	uint64_t conflicting; /* segments with other bytes under numbers that were seen */
	uint64_t duplicated; /* frames that were captured twice: no retransmissions */
	uint64_t keepalives; /* RFC 9293, section 3.8.4 */
	uint64_t window_probes; /* a byte sent into a window of 0 */
	uint64_t urgent; /* segments with urgent data: left in line (RFC 6093) */
	uint64_t reordered; /* segments that came early */
	uint64_t gaps, gap_n; /* how often, how many bytes */
	uint64_t hold_full; /* gaps because a cap was reached */
	uint64_t out_of_window; /* segments with numbers far from all others */
	uint64_t resets_ignored;
};

struct flow_table;

struct flow_table *flow_table_new(const struct flow_sink *sink, const struct flow_limits *limits);
/* Ends every open flow with FLOW_INPUT_ENDED first. NULL is fine. */
void flow_table_free(struct flow_table *t);
/* False only when out of memory. */
bool flow_feed(struct flow_table *t, const struct packet *p, int64_t time_ns) MUST_USE;
/* Ends the flows that is_chosen() names, as FLOW_SHED. */
void flow_end_chosen(struct flow_table *t, bool (*is_chosen)(void *data, const struct flow_info *f),
	void *data, int64_t time_ns);
void flow_end_all(struct flow_table *t, int64_t time_ns);
const struct flow_counts *flow_counts(const struct flow_table *t);

#endif
