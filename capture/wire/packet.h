/*
 * packet.h - one captured frame down to its TCP segment.
 *
 * Ethernet (VLAN, QinQ, PPPoE, MPLS labels), Linux cooked v1 and v2, BSD loopback
 * and raw IP; IPv4 and IPv6 with extension headers. Nothing is copied: the
 * payload points into the frame. Ethernet padding is trimmed by the IP length, an
 * IP length of 0 (BIG TCP, segmentation offload) means "to the end of the frame".
 * Checksums are not looked at: offloading leaves them wrong on the sender's side.
 */
#ifndef REPROD_PACKET_H
#define REPROD_PACKET_H

#include "core/base/base.h"

/* Numbers of https://www.tcpdump.org/linktypes.html as libpcap returns them. */
enum packet_link {
	LINK_NULL = 0,
	LINK_ETHERNET = 1,
	LINK_RAW = 12,
	LINK_RAW_BSD = 14,
	LINK_RAW_FILE = 101,
	LINK_LOOP = 108,
	LINK_SLL = 113,
	LINK_IPV4 = 228,
	LINK_IPV6 = 229,
	LINK_SLL2 = 276,
};

/* What became of a frame; all but the first are reasons to skip it. */
enum packet_verdict {
	PACKET_TCP,
	PACKET_NOT_IP,
	PACKET_NOT_TCP,
	PACKET_FRAGMENT,
	PACKET_CUT, /* the snapshot length cut it inside a header */
	PACKET_BAD, /* a header contradicts itself */
	PACKET_UNKNOWN_LINK,
	PACKET_VERDICTS,
};

enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16 };

struct packet_address {
	unsigned char bytes[16]; /* IPv4 in the first four, the rest zero */
	uint16_t port;
};

struct packet {
	bool is_v6;
	struct packet_address from, to;
	uint32_t seq, ack;
	uint8_t flags; /* TCP_FIN ... */
	const unsigned char *payload;
	uint32_t payload_n; /* bytes we have */
	uint32_t wire_n; /* bytes the segment had */
};

/* bytes[0..n) is what was kept of a frame of wire_n bytes. */
enum packet_verdict packet_decode(
	int link, const unsigned char *bytes, size_t n, size_t wire_n, struct packet *ret);
/* "not_ip" and so on, the names in the ledger. */
const char *packet_verdict_name(enum packet_verdict v);
bool packet_knows_link(int link);

#define PACKET_ADDRESS_MAX 64

/* "10.0.0.1" or "fe80::1"; with a port "10.0.0.1:5432" or "[fe80::1]:5432". */
const char *packet_address_text(
	const struct packet_address *a, bool is_v6, bool with_port, char text[PACKET_ADDRESS_MAX]);

#endif
