/* IP and Ethernet inside of IP. A port alone proves nothing: where the tunnel's header
 * is not as its document says, it is some other datagram. */
#include "capture/wire/bigendian.h"
#include "capture/wire/packet_frame.h"

enum {
	IP_IPV4 = 4,
	IP_UDP = 17,
	IP_IPV6 = 41,
	IP_GRE = 47,
	IP_MPLS = 137,
	PORT_VXLAN = 4789,
	PORT_VXLAN_GPE = 4790,
	PORT_VXLAN_LINUX = 8472, /* before there was a number, and still flannel's */
	PORT_GENEVE = 6081,
	GRE_PPP = 0x880b,
	GRE_ERSPAN2 = 0x88be,
	GRE_ERSPAN3 = 0x22eb,
};

/* RFC 7348; the bit with P set is the draft of its generic extension. */
static enum packet_verdict decode_vxlan(struct frame *f, unsigned port)
{
	const unsigned char *h = f->at.p;
	bool is_typed = port == PORT_VXLAN_GPE;

	if (cursor_left(&f->at) < 8 || !(h[0] & 0x08) || h[0] & 0x30)
		return PACKET_NOT_TCP;
	f->at.p += 8;
	if (!is_typed || !(h[0] & 0x04))
		return packet_ethernet(f);
	if (h[3] == 1)
		return packet_ipv4(f);
	if (h[3] == 2)
		return packet_ipv6(f);
	return h[3] == 3 ? packet_ethernet(f) : PACKET_NOT_TCP;
}

/* RFC 8926: version 0, options in words of four. */
static enum packet_verdict decode_geneve(struct frame *f)
{
	const unsigned char *h = f->at.p;
	size_t n;

	if (cursor_left(&f->at) < 8 || h[0] & 0xc0 || h[7])
		return PACKET_NOT_TCP;
	n = 8 + (size_t)(h[0] & 0x3f) * 4;
	if (n > cursor_left(&f->at))
		return frame_short(f);
	f->at.p += n;
	return packet_ether_type(f, be16_at(h + 2));
}

static enum packet_verdict decode_udp(struct frame *f)
{
	unsigned port;

	if (cursor_left(&f->at) < 8)
		return PACKET_NOT_TCP;
	port = be16_at(f->at.p + 2);
	switch (port) {
	case PORT_VXLAN:
	case PORT_VXLAN_LINUX:
	case PORT_VXLAN_GPE:
		f->at.p += 8;
		return decode_vxlan(f, port);
	case PORT_GENEVE:
		f->at.p += 8;
		return decode_geneve(f);
	default:
		return PACKET_NOT_TCP;
	}
}

/* draft-foschiano-erspan: type I has no header and no sequence number in the GRE one. */
static enum packet_verdict decode_erspan(struct frame *f, unsigned flags, unsigned protocol)
{
	size_t n = protocol == GRE_ERSPAN3 ? 12 : flags & 0x1000 ? 8 : 0;

	if (n > cursor_left(&f->at))
		return frame_short(f);
	if (protocol == GRE_ERSPAN3 && f->at.p[11] & 1)
		n += 8;
	if (n > cursor_left(&f->at))
		return frame_short(f);
	f->at.p += n;
	return packet_ethernet(f);
}

/* RFC 2784 and 2890; version 1 is PPTP's (RFC 2637). */
static enum packet_verdict decode_gre(struct frame *f)
{
	const unsigned char *h = f->at.p;
	unsigned flags, protocol;
	size_t n = 4;

	if (cursor_left(&f->at) < 4)
		return PACKET_NOT_TCP;
	flags = be16_at(h);
	protocol = be16_at(h + 2);
	if (flags & 0x4000 || (flags & 7) > 1)
		return PACKET_NOT_TCP;
	n += flags & 0x8000 ? 4 : 0;
	n += flags & 0x2000 ? 4 : 0;
	n += flags & 0x1000 ? 4 : 0;
	n += (flags & 7) == 1 && flags & 0x0080 ? 4 : 0;
	if (n > cursor_left(&f->at))
		return frame_short(f);
	f->at.p += n;
	if ((flags & 7) == 1)
		return protocol == GRE_PPP && cursor_left(&f->at) ? packet_ppp(f) : PACKET_NOT_TCP;
	if (protocol == GRE_ERSPAN2 || protocol == GRE_ERSPAN3)
		return decode_erspan(f, flags, protocol);
	return packet_ether_type(f, protocol);
}

enum packet_verdict packet_tunnel(struct frame *f, unsigned protocol)
{
	switch (protocol) {
	case IP_UDP:
		return decode_udp(f);
	case IP_IPV4:
		return packet_ipv4(f);
	case IP_IPV6:
		return packet_ipv6(f);
	case IP_GRE:
		return decode_gre(f);
	case IP_MPLS:
		return packet_mpls(f);
	default:
		return PACKET_NOT_TCP;
	}
}
