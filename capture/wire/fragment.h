/*
 * fragment.h - IP datagrams put together again from their fragments.
 *
 * Holes are kept as RFC 815 says. IPv4: where pieces overlap the first bytes win.
 * IPv6: a datagram whose pieces overlap is dropped with all that still comes of it
 * (RFC 5722; RFC 8200, section 4.5); an exact copy of a piece is only a copy. A
 * datagram waits for 30 seconds of packet time. At the caps of datagrams and of
 * bytes the oldest one is given up and counted. One thread.
 */
#ifndef REPROD_FRAGMENT_H
#define REPROD_FRAGMENT_H

#include "capture/wire/packet.h"

struct fragment_limits {
	uint32_t datagrams_max; /* 0: 1024 */
	size_t bytes_max; /* 0: 8 MiB */
};

struct fragment_counts {
	uint64_t whole; /* datagrams put together */
	uint64_t overlaps; /* pieces that others overlapped */
	uint64_t given_up; /* datagrams that never became whole */
};

struct fragment_table;

/* NULL: out of memory. */
struct fragment_table *fragment_table_new(const struct fragment_limits *limits);
/* NULL is fine. */
void fragment_table_free(struct fragment_table *t);
/* *p is what packet_decode() called a PACKET_FRAGMENT. When it makes its datagram
 * whole, *p becomes what was inside, *ret_frames how many frames that took (this one
 * included), and the verdict is the whole's; else PACKET_FRAGMENT. The payload is
 * the table's until the next call. */
enum packet_verdict fragment_feed(
	struct fragment_table *t, struct packet *p, int64_t time_ns, uint64_t *ret_frames);
const struct fragment_counts *fragment_counts(const struct fragment_table *t);

#endif
