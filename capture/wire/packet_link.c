/* What stands before IP on a link. */
#include "capture/wire/bigendian.h"
#include "capture/wire/packet_frame.h"

enum {
	TAGS_MAX = 8, /* VLAN tags or MPLS labels in a row */
	PPP_IPV4 = 0x0021,
	PPP_IPV6 = 0x0057,
	PPP_MPLS = 0x0281,
	PPP_MPLS_MANY = 0x0283,
	NFLOG_PAYLOAD = 9,
};

/* The next n bytes, or NULL. */
static const unsigned char *take(struct frame *f, size_t n)
{
	const unsigned char *p = f->at.p;

	if (n > cursor_left(&f->at))
		return NULL;
	f->at.p += n;
	return p;
}

/* IEEE 802.2 with SNAP (RFC 1042). */
static enum packet_verdict decode_llc(struct frame *f)
{
	const unsigned char *h = take(f, 8);

	if (!h || memcmp(h, "\xaa\xaa\x03", 3) != 0 || h[3] || h[4])
		return PACKET_NOT_IP;
	if (be16_at(h + 6) <= ETHER_LENGTH_MAX)
		return PACKET_NOT_IP;
	return packet_ether_type(f, be16_at(h + 6));
}

/* RFC 2516; session stage. */
static enum packet_verdict decode_pppoe(struct frame *f)
{
	return take(f, 6) ? packet_ppp(f) : frame_short(f);
}

/* RFC 1661: address and control may be left out, the protocol may be one byte. */
enum packet_verdict packet_ppp(struct frame *f)
{
	unsigned protocol;

	if (cursor_left(&f->at) < 4)
		return frame_short(f);
	if (memcmp(f->at.p, "\xff\x03", 2) == 0)
		f->at.p += 2;
	protocol = *f->at.p++;
	if (!(protocol & 1))
		protocol = protocol << 8 | *f->at.p++;
	switch (protocol) {
	case PPP_IPV4:
		return packet_ipv4(f);
	case PPP_IPV6:
		return packet_ipv6(f);
	case PPP_MPLS:
	case PPP_MPLS_MANY:
		return packet_mpls(f);
	default:
		return PACKET_NOT_IP;
	}
}

/* RFC 3032. Labels do not tell what they carry: the first half byte does; 0 is the
 * control word of an Ethernet pseudowire (RFC 4448). */
enum packet_verdict packet_mpls(struct frame *f)
{
	for (int i = 0; i < TAGS_MAX; i++) {
		const unsigned char *label = take(f, 4);

		if (!label)
			return frame_short(f);
		if (!(label[2] & 1))
			continue;
		if (cursor_left(&f->at) < 4 || f->at.p[0] >> 4)
			return packet_ip(f);
		f->at.p += 4;
		return packet_ethernet(f);
	}
	return PACKET_BAD;
}

static bool is_vlan(unsigned type)
{
	return type == ETHER_VLAN || type == ETHER_QINQ || type == ETHER_QINQ_OLD;
}

enum packet_verdict packet_ether_type(struct frame *f, unsigned type)
{
	for (int i = 0; is_vlan(type); i++) {
		const unsigned char *tag = take(f, 4);

		if (i == TAGS_MAX)
			return PACKET_BAD;
		if (!tag)
			return frame_short(f);
		type = be16_at(tag + 2);
	}
	switch (type) {
	case ETHER_IPV4:
		return packet_ipv4(f);
	case ETHER_IPV6:
		return packet_ipv6(f);
	case ETHER_PPPOE:
		return decode_pppoe(f);
	case ETHER_MPLS:
	case ETHER_MPLS_MANY:
		return packet_mpls(f);
	case ETHER_BRIDGE:
		return packet_ethernet(f);
	case ETHER_BACKBONE:
		return take(f, 4) ? packet_ethernet(f) : frame_short(f);
	default:
		return type <= ETHER_LENGTH_MAX ? decode_llc(f) : PACKET_NOT_IP;
	}
}

enum packet_verdict packet_ethernet(struct frame *f)
{
	const unsigned char *h = take(f, 14);

	if (!h)
		return frame_short(f);
	if (f->depth++ >= PACKET_DEPTH_MAX)
		return PACKET_BAD;
	return packet_ether_type(f, be16_at(h + 12));
}

/* before_n bytes, an EtherType, after_n bytes. */
static enum packet_verdict decode_typed(struct frame *f, size_t before_n, size_t after_n)
{
	const unsigned char *h = take(f, before_n + 2 + after_n);

	return h ? packet_ether_type(f, be16_at(h + before_n)) : frame_short(f);
}

/* A header without interest. The IP version tells what comes then: the protocol
 * family of BSD loopback is in the byte order of the host that captured, and IPv6 is
 * 10, 24, 28 or 30. */
static enum packet_verdict skip_to_ip(struct frame *f, size_t n)
{
	return take(f, n) ? packet_ip(f) : frame_short(f);
}

/* Cisco's HDLC has an EtherType (RFC 1547), PPP in HDLC framing (RFC 1662) its own. */
static enum packet_verdict decode_hdlc(struct frame *f)
{
	if (cursor_left(&f->at) < 4)
		return frame_short(f);
	return f->at.p[0] == 0xff ? packet_ppp(f) : decode_typed(f, 2, 0);
}

/* IEEE 802.11-2020, section 9.3.2: data frames that are in the clear. */
static enum packet_verdict decode_wifi(struct frame *f)
{
	const unsigned char *h = f->at.p;
	bool has_qos;
	size_t n = 24;

	if (cursor_left(&f->at) < 26)
		return PACKET_NOT_IP;
	has_qos = h[0] & 0x80;
	/* Data, not a null frame, neither encrypted nor in fragments. */
	if ((h[0] & 0x4c) != 0x08 || h[1] & 0x44 || h[22] & 15)
		return PACKET_NOT_IP;
	if ((h[1] & 3) == 3)
		n += 6;
	if (has_qos)
		n += h[1] & 0x80 ? 6 : 2;
	return take(f, n) ? decode_llc(f) : frame_short(f);
}

/* radiotap.org: the length is little-endian whatever the host. */
static enum packet_verdict decode_radiotap(struct frame *f)
{
	const unsigned char *h = f->at.p;

	if (cursor_left(&f->at) < 8)
		return frame_short(f);
	return take(f, (size_t)(h[2] | h[3] << 8)) ? decode_wifi(f) : frame_short(f);
}

/* Attributes {length, type} in the byte order of the host; that of ours is assumed. */
static enum packet_verdict decode_nflog(struct frame *f)
{
	if (!take(f, 4))
		return frame_short(f);
	for (;;) {
		const unsigned char *h = take(f, 4);
		size_t n;

		if (!h)
			return frame_short(f);
		if ((h[2] | (h[3] & 0x7f) << 8) == NFLOG_PAYLOAD)
			return packet_ip(f);
		n = (size_t)(h[0] | h[1] << 8);
		if (n < 4)
			return PACKET_BAD;
		if (!take(f, ((n + 3) & ~(size_t)3) - 4))
			return frame_short(f);
	}
}

/* Darwin: a header that says its length and the link type of what it carries. */
static enum packet_verdict decode_pktap(struct frame *f)
{
	const unsigned char *h = f->at.p;
	size_t n;
	int inner;

	if (cursor_left(&f->at) < 12)
		return frame_short(f);
	n = (size_t)(h[0] | h[1] << 8);
	inner = h[8] | h[9] << 8;
	if (n < 12 || inner == LINK_PKTAP)
		return PACKET_BAD;
	return take(f, n) ? packet_link(f, inner) : frame_short(f);
}

/* OpenBSD: the first byte is the header's length before it was filled up to four. */
static enum packet_verdict decode_pflog(struct frame *f)
{
	if (cursor_left(&f->at) == 0)
		return frame_short(f);
	return skip_to_ip(f, ((size_t)f->at.p[0] + 3) & ~(size_t)3);
}

enum packet_verdict packet_link(struct frame *f, int link)
{
	switch (link) {
	case LINK_ETHERNET:
		return packet_ethernet(f);
	case LINK_SLL:
		return decode_typed(f, 14, 0);
	case LINK_SLL2:
		return decode_typed(f, 0, 18);
	case LINK_NULL:
	case LINK_LOOP:
		return skip_to_ip(f, 4);
	case LINK_ENC:
		return skip_to_ip(f, 12);
	case LINK_PFLOG:
		return decode_pflog(f);
	case LINK_RAW:
	case LINK_RAW_BSD:
	case LINK_RAW_FILE:
	case LINK_IPV4:
	case LINK_IPV6:
		return packet_ip(f);
	case LINK_PPP:
		return packet_ppp(f);
	case LINK_PPP_HDLC:
	case LINK_C_HDLC:
		return decode_hdlc(f);
	case LINK_PPP_ETHER:
		return decode_pppoe(f);
	case LINK_WIFI:
		return decode_wifi(f);
	case LINK_RADIOTAP:
		return decode_radiotap(f);
	case LINK_NFLOG:
		return decode_nflog(f);
	case LINK_PKTAP:
		return decode_pktap(f);
	default:
		return PACKET_UNKNOWN_LINK;
	}
}
