/*
 * packet_frame.h - what the decoders of one frame share: packet.c (IP and TCP),
 * packet_link.c (what may be around IP on a link) and packet_tunnel.c (what may be
 * around it inside of IP). No one else's.
 */
#ifndef REPROD_PACKET_FRAME_H
#define REPROD_PACKET_FRAME_H

#include "capture/wire/packet.h"
#include "core/base/cursor.h"

struct frame {
	struct cursor at;
	size_t lost_n; /* bytes of the frame that were not kept */
	struct packet *out;
	unsigned depth; /* headers of IP and Ethernet so far */
};

enum {
	PACKET_DEPTH_MAX = 8, /* tunnels in tunnels; more is an attack */
	ETHER_LENGTH_MAX = 0x05dc, /* up to here it is a length and an LLC header follows */
	ETHER_IPV4 = 0x0800,
	ETHER_BRIDGE = 0x6558, /* an Ethernet frame, in GRE and Geneve */
	ETHER_VLAN = 0x8100,
	ETHER_IPV6 = 0x86dd,
	ETHER_MPLS = 0x8847,
	ETHER_MPLS_MANY = 0x8848,
	ETHER_PPPOE = 0x8864,
	ETHER_QINQ = 0x88a8,
	ETHER_BACKBONE = 0x88e7, /* 802.1ah */
	ETHER_QINQ_OLD = 0x9100,
};

/* A header that ends early was cut by the snapshot length, or lied. */
static inline enum packet_verdict frame_short(const struct frame *f)
{
	return f->lost_n ? PACKET_CUT : PACKET_BAD;
}

enum packet_verdict packet_ipv4(struct frame *f);
enum packet_verdict packet_ipv6(struct frame *f);
/* By the version that the first byte tells. */
enum packet_verdict packet_ip(struct frame *f);
/* What an IP header says comes next. */
enum packet_verdict packet_protocol(struct frame *f, unsigned protocol);

enum packet_verdict packet_link(struct frame *f, int link);
enum packet_verdict packet_ethernet(struct frame *f);
enum packet_verdict packet_ether_type(struct frame *f, unsigned type);
enum packet_verdict packet_ppp(struct frame *f);
enum packet_verdict packet_mpls(struct frame *f);

/* UDP, GRE, IP in IP: NOT_TCP when it is no tunnel. */
enum packet_verdict packet_tunnel(struct frame *f, unsigned protocol);

#endif
