/*
 * flow_parts.h - what flow.c (which connections there are, how they begin and end) and
 * flow_order.c (their bytes put in order) share. No one else's.
 */
#ifndef REPROD_FLOW_PARTS_H
#define REPROD_FLOW_PARTS_H

#include "capture/wire/flow.h"
#include "capture/wire/history.h"

enum {
	FLOW_BUCKETS = 1 << 14,
	FLOW_GAP_MAX = 1 << 24, /* numbers further away than this are garbage */
	FLOW_SEEN = 4,
};

/* What came early: pieces that do not overlap, by sequence number. */
struct flow_held {
	struct flow_held *next;
	uint32_t seq, n, wire_n;
	int64_t time_ns;
	unsigned char bytes[];
};

/* Tells a frame that was captured twice from a retransmission. */
struct flow_seen {
	int64_t time_ns;
	uint32_t seq, ack, n;
	uint16_t ip_id;
};

struct flow_side {
	uint32_t next_seq;
	uint32_t acked_seq; /* the most the other side acknowledged */
	bool is_known; /* next_seq is set */
	bool is_acked; /* acked_seq is set */
	bool has_syn, has_fin, is_done;
	uint8_t window_shift;
	uint16_t window; /* as it said last */
	uint32_t syn_seq, fin_seq;
	uint32_t far_seq; /* after the last segment that was far away */
	uint32_t far_count; /* how many followed each other there */
	uint32_t held_count;
	struct flow_held *held, *held_last;
	size_t held_n;
	struct history_mark lately;
	unsigned seen_at;
	struct flow_seen seen[FLOW_SEEN];
};

/* Both ends, the smaller one first. */
struct flow_key {
	uint64_t words[4];
	uint64_t ports; /* and the IP version */
};

enum flow_place {
	FLOW_NO_BYTES, /* half-open, or not a byte yet */
	FLOW_LIVE,
	FLOW_LINGERING, /* ended, kept so that late segments do not open it anew */
	FLOW_PLACES,
};

struct flow {
	struct flow *chain;
	struct flow *older, *newer; /* in the list of its place */
	uint64_t hash;
	struct flow_key key;
	struct flow_info info;
	struct flow_side side[2];
	void *owner; /* NULL: no interest */
	int64_t last_ns;
	enum flow_place place;
};

struct flow_list {
	struct flow *oldest, *newest;
	uint32_t count;
};

struct flow_table {
	struct flow_sink sink;
	struct flow_limits limits;
	struct flow_counts counts;
	struct history *history;
	struct flow *buckets[FLOW_BUCKETS];
	struct flow_list lists[FLOW_PLACES];
	size_t held_n;
};

/* The bytes of a segment. False only when out of memory. */
bool flow_order_bytes(struct flow_table *t, struct flow *f, int side, const struct packet *p,
	int64_t time_ns) MUST_USE;
/* What the packet's sender acknowledges of the other side. */
void flow_order_ack(struct flow_table *t, struct flow *f, int acked_side, const struct packet *p,
	int64_t time_ns);
/* Hands on what is held, with the gaps before it. */
void flow_order_flush(struct flow_table *t, struct flow *f, int64_t time_ns);
void flow_order_drop(struct flow_table *t, struct flow *f);

#endif
