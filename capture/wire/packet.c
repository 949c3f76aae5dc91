#include "capture/wire/packet.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "capture/wire/bigendian.h"
#include "core/base/cursor.h"

enum {
	ETHER_IPV4 = 0x0800,
	ETHER_VLAN = 0x8100,
	ETHER_IPV6 = 0x86dd,
	ETHER_MPLS = 0x8847,
	ETHER_PPPOE = 0x8864,
	ETHER_QINQ = 0x88a8,
	ETHER_QINQ_OLD = 0x9100,
	PPP_IPV4 = 0x0021,
	PPP_IPV6 = 0x0057,
	IP_TCP = 6,
	TAGS_MAX = 8, /* VLAN tags or MPLS labels in a row */
	EXTENSIONS_MAX = 8,
};

struct frame {
	struct cursor at;
	size_t lost_n; /* bytes of the frame that were not kept */
	struct packet *out;
};

const char *packet_verdict_name(enum packet_verdict v)
{
	static const char *const names[PACKET_VERDICTS] = {
		[PACKET_TCP] = "tcp",
		[PACKET_NOT_IP] = "not_ip",
		[PACKET_NOT_TCP] = "not_tcp",
		[PACKET_FRAGMENT] = "fragment",
		[PACKET_CUT] = "header_cut",
		[PACKET_BAD] = "malformed",
		[PACKET_UNKNOWN_LINK] = "unknown_link",
	};

	return names[v];
}

/* A header that ends early was cut by the snapshot length, or lied. */
static enum packet_verdict short_frame(const struct frame *f)
{
	return f->lost_n ? PACKET_CUT : PACKET_BAD;
}

/* bound_n: bytes that the IP header grants the segment, or SIZE_MAX. */
static enum packet_verdict decode_tcp(struct frame *f, size_t bound_n)
{
	struct packet *p = f->out;
	const unsigned char *start = f->at.p;
	size_t kept_n = cursor_left(&f->at), whole_n = kept_n + f->lost_n;
	size_t header_n;

	if (bound_n < whole_n)
		whole_n = bound_n;
	if (kept_n > whole_n)
		kept_n = whole_n;
	if (kept_n < 20)
		return f->lost_n && whole_n >= 20 ? PACKET_CUT : PACKET_BAD;
	p->from.port = be16_at(start);
	p->to.port = be16_at(start + 2);
	p->seq = be32_at(start + 4);
	p->ack = be32_at(start + 8);
	header_n = (size_t)(start[12] >> 4) * 4;
	p->flags = start[13];
	if (header_n < 20 || header_n > whole_n)
		return PACKET_BAD;
	if (header_n > kept_n)
		return PACKET_CUT;
	p->payload = start + header_n;
	p->payload_n = (uint32_t)(kept_n - header_n);
	p->wire_n = (uint32_t)(whole_n - header_n);
	return PACKET_TCP;
}

static enum packet_verdict decode_ipv4(struct frame *f)
{
	size_t kept_n = cursor_left(&f->at), frame_n = kept_n + f->lost_n;
	const unsigned char *h = f->at.p;
	size_t header_n, total_n;

	if (kept_n < 20)
		return short_frame(f);
	header_n = (size_t)(h[0] & 15) * 4;
	total_n = (size_t)h[2] << 8 | h[3];
	if (total_n == 0 || total_n > frame_n)
		total_n = frame_n;
	if (h[0] >> 4 != 4 || header_n < 20 || total_n < header_n)
		return PACKET_BAD;
	if ((h[6] & 0x3f) || h[7])
		return PACKET_FRAGMENT;
	if (h[9] != IP_TCP)
		return PACKET_NOT_TCP;
	if (header_n > kept_n)
		return PACKET_CUT;
	f->out->is_v6 = false;
	memcpy(f->out->from.bytes, h + 12, 4);
	memcpy(f->out->to.bytes, h + 16, 4);
	f->at.p += header_n;
	return decode_tcp(f, total_n - header_n);
}

/* RFC 8200: hop-by-hop 0, routing 43, fragment 44, authentication 51,
 * destination 60, mobility 135. */
static enum packet_verdict skip_extensions(struct frame *f, unsigned next, size_t *bound_n)
{
	for (int i = 0; next != IP_TCP; i++) {
		const unsigned char *h = f->at.p;
		size_t n;

		if (next != 0 && next != 43 && next != 44 && next != 51 && next != 60 &&
			next != 135)
			return PACKET_NOT_TCP;
		if (i == EXTENSIONS_MAX)
			return PACKET_BAD;
		if (cursor_left(&f->at) < 8)
			return short_frame(f);
		if (next == 44 && ((h[2] << 8 | h[3]) & 0xfff9))
			return PACKET_FRAGMENT;
		n = next == 44 ? 8 : next == 51 ? ((size_t)h[1] + 2) * 4 : ((size_t)h[1] + 1) * 8;
		if (n > *bound_n)
			return PACKET_BAD;
		if (n > cursor_left(&f->at))
			return short_frame(f);
		if (*bound_n != SIZE_MAX)
			*bound_n -= n;
		next = h[0];
		cursor_skip(&f->at, n);
	}
	return PACKET_TCP;
}

static enum packet_verdict decode_ipv6(struct frame *f)
{
	const unsigned char *h = f->at.p;
	size_t bound_n;
	enum packet_verdict v;

	if (cursor_left(&f->at) < 40)
		return short_frame(f);
	if (h[0] >> 4 != 6)
		return PACKET_BAD;
	bound_n = (size_t)h[4] << 8 | h[5];
	if (bound_n == 0)
		bound_n = SIZE_MAX;
	f->out->is_v6 = true;
	memcpy(f->out->from.bytes, h + 8, 16);
	memcpy(f->out->to.bytes, h + 24, 16);
	cursor_skip(&f->at, 40);
	v = skip_extensions(f, h[6], &bound_n);
	return v == PACKET_TCP ? decode_tcp(f, bound_n) : v;
}

static enum packet_verdict decode_by_version(struct frame *f)
{
	if (cursor_left(&f->at) == 0)
		return short_frame(f);
	if (f->at.p[0] >> 4 == 4)
		return decode_ipv4(f);
	return f->at.p[0] >> 4 == 6 ? decode_ipv6(f) : PACKET_NOT_IP;
}

static enum packet_verdict decode_pppoe(struct frame *f)
{
	unsigned protocol;

	cursor_skip(&f->at, 6);
	protocol = cursor_u16be(&f->at);
	if (f->at.is_short)
		return short_frame(f);
	if (protocol == PPP_IPV4)
		return decode_ipv4(f);
	return protocol == PPP_IPV6 ? decode_ipv6(f) : PACKET_NOT_IP;
}

static enum packet_verdict decode_mpls(struct frame *f)
{
	for (int i = 0; i < TAGS_MAX; i++) {
		uint32_t label = cursor_u32be(&f->at);

		if (f->at.is_short)
			return short_frame(f);
		if (label & 0x100)
			return decode_by_version(f);
	}
	return PACKET_BAD;
}

static enum packet_verdict decode_ether_type(struct frame *f, unsigned type)
{
	for (int i = 0; type == ETHER_VLAN || type == ETHER_QINQ || type == ETHER_QINQ_OLD; i++) {
		if (i == TAGS_MAX)
			return PACKET_BAD;
		cursor_skip(&f->at, 2);
		type = cursor_u16be(&f->at);
		if (f->at.is_short)
			return short_frame(f);
	}
	switch (type) {
	case ETHER_IPV4:
		return decode_ipv4(f);
	case ETHER_IPV6:
		return decode_ipv6(f);
	case ETHER_PPPOE:
		return decode_pppoe(f);
	case ETHER_MPLS:
		return decode_mpls(f);
	default:
		return PACKET_NOT_IP;
	}
}

/* The protocol family, in the byte order of the host that captured (NULL) or of
 * the network (LOOP): 2 is IPv4; 10, 24, 28 and 30 are the IPv6 of various BSDs
 * and Linux. The IP version says the same and is enough. */
static enum packet_verdict decode_bsd_loopback(struct frame *f)
{
	cursor_skip(&f->at, 4);
	return f->at.is_short ? short_frame(f) : decode_by_version(f);
}

static enum packet_verdict decode_after(struct frame *f, size_t before_n, size_t after_n)
{
	unsigned type;

	if (cursor_left(&f->at) < before_n + 2 + after_n)
		return short_frame(f);
	type = be16_at(f->at.p + before_n);
	f->at.p += before_n + 2 + after_n;
	return decode_ether_type(f, type);
}

enum packet_verdict packet_decode(
	int link, const unsigned char *bytes, size_t n, size_t wire_n, struct packet *ret)
{
	struct frame f = { .at = cursor_of(bytes, n), .out = ret };

	*ret = (struct packet){ 0 };
	f.lost_n = wire_n > n ? wire_n - n : 0;
	switch (link) {
	case LINK_ETHERNET:
		return decode_after(&f, 12, 0);
	case LINK_SLL:
		return decode_after(&f, 14, 0);
	case LINK_SLL2:
		return decode_after(&f, 0, 18);
	case LINK_NULL:
	case LINK_LOOP:
		return decode_bsd_loopback(&f);
	case LINK_RAW:
	case LINK_RAW_BSD:
	case LINK_RAW_FILE:
	case LINK_IPV4:
	case LINK_IPV6:
		return decode_by_version(&f);
	default:
		return PACKET_UNKNOWN_LINK;
	}
}

bool packet_knows_link(int link)
{
	struct packet p;

	return packet_decode(link, NULL, 0, 0, &p) != PACKET_UNKNOWN_LINK;
}

const char *packet_address_text(
	const struct packet_address *a, bool is_v6, bool with_port, char text[PACKET_ADDRESS_MAX])
{
	char ip[INET6_ADDRSTRLEN];

	inet_ntop(is_v6 ? AF_INET6 : AF_INET, a->bytes, ip, sizeof ip);
	if (!with_port)
		snprintf(text, PACKET_ADDRESS_MAX, "%s", ip);
	else
		snprintf(text, PACKET_ADDRESS_MAX, is_v6 ? "[%s]:%u" : "%s:%u", ip, a->port);
	return text;
}
