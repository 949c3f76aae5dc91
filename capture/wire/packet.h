/*
 * packet.h - one captured frame down to its TCP segment.
 *
 * Ethernet (VLAN, QinQ, 802.1ah, PPPoE, MPLS, LLC), Linux cooked v1 and v2, BSD
 * loopback, raw IP, PPP, 802.11 and the rest of enum packet_link; IPv4 and IPv6 with
 * all extension headers; through VXLAN, Geneve, GRE, ERSPAN and IP in IP to the
 * innermost connection. Nothing is copied: the payload points into the frame.
 * Ethernet padding is trimmed by the IP length; an IP length of 0 (BIG TCP,
 * segmentation offload, jumbograms) means "to the end of the frame". Checksums are
 * not looked at: offloading leaves them wrong on the sender's side. Pieces of a
 * fragmented datagram are put together by fragment.h.
 */
#ifndef REPROD_PACKET_H
#define REPROD_PACKET_H

#include "core/base/base.h"

/* Numbers of https://www.tcpdump.org/linktypes.html as libpcap returns them. */
enum packet_link {
	LINK_NULL = 0,
	LINK_ETHERNET = 1,
	LINK_PPP = 9,
	LINK_RAW = 12,
	LINK_RAW_BSD = 14,
	LINK_PPP_HDLC = 50,
	LINK_PPP_ETHER = 51,
	LINK_RAW_FILE = 101,
	LINK_C_HDLC = 104,
	LINK_WIFI = 105,
	LINK_LOOP = 108,
	LINK_ENC = 109,
	LINK_SLL = 113,
	LINK_PFLOG = 117,
	LINK_RADIOTAP = 127,
	LINK_IPV4 = 228,
	LINK_IPV6 = 229,
	LINK_NFLOG = 239,
	LINK_PKTAP = 258,
	LINK_SLL2 = 276,
};

/* What became of a frame; all but the first are reasons to skip it. */
enum packet_verdict {
	PACKET_TCP,
	PACKET_NOT_IP,
	PACKET_NOT_TCP,
	PACKET_FRAGMENT, /* a piece of a datagram: .fragment, payload and wire_n are set */
	PACKET_CUT, /* the snapshot length cut it inside a header */
	PACKET_BAD, /* a header contradicts itself */
	PACKET_UNKNOWN_LINK,
	PACKET_VERDICTS,
};

enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16, TCP_URG = 32 };

struct packet_address {
	unsigned char bytes[16]; /* IPv4 in the first four, the rest zero */
	uint16_t port;
};

/* RFC 791 and RFC 8200, section 4.5. */
struct packet_fragment {
	uint32_t id;
	uint32_t offset_n; /* bytes before it */
	uint8_t protocol; /* of the whole */
	bool has_more;
};

struct packet {
	bool is_v6;
	uint8_t flags; /* TCP_FIN ... */
	uint8_t window_shift; /* with TCP_SYN: RFC 7323 */
	uint16_t window; /* unscaled */
	uint16_t ip_id; /* IPv4's identification; 0 with IPv6 */
	struct packet_address from, to;
	union {
		struct {
			uint32_t seq, ack;
		};
		struct packet_fragment fragment;
	};
	const unsigned char *payload;
	uint32_t payload_n; /* bytes we have */
	uint32_t wire_n; /* bytes the segment had */
};

/* bytes[0..n) is what was kept of a frame of wire_n bytes. */
enum packet_verdict packet_decode(
	int link, const unsigned char *bytes, size_t n, size_t wire_n, struct packet *ret);
/* The same from behind the IP header, for a datagram put together again: addresses
 * and protocol are those of *piece. ret may be piece. */
enum packet_verdict packet_decode_whole(
	const struct packet *piece, const unsigned char *bytes, size_t n, struct packet *ret);
/* "not_ip" and so on, the names in the ledger. */
const char *packet_verdict_name(enum packet_verdict v);
bool packet_knows_link(int link);

#define PACKET_ADDRESS_MAX 64

/* "10.0.0.1" or "fe80::1"; with a port "10.0.0.1:5432" or "[fe80::1]:5432". */
const char *packet_address_text(
	const struct packet_address *a, bool is_v6, bool with_port, char text[PACKET_ADDRESS_MAX]);

#endif
