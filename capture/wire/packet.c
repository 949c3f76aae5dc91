#include "capture/wire/packet.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "capture/wire/bigendian.h"
#include "capture/wire/packet_frame.h"

enum {
	IP_HOPS = 0,
	IP_TCP = 6,
	IP_ROUTING = 43,
	IP_FRAGMENT = 44,
	IP_AUTHENTICATION = 51,
	IP_DESTINATION = 60,
	IP_MOBILITY = 135,
	IP_HOST_IDENTITY = 139,
	IP_SHIM6 = 140,
	EXTENSIONS_MAX = 16,
	DATAGRAM_MAX = 65535,
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

/* ---- TCP */

/* RFC 7323, section 2: kind 3, three bytes; more than 14 counts as 14. */
static uint8_t window_shift(const unsigned char *option, const unsigned char *end)
{
	while (end - option >= 3 && *option) {
		if (*option == 1) {
			option++;
			continue;
		}
		if (option[0] == 3 && option[1] == 3)
			return option[2] < 14 ? option[2] : 14;
		if (option[1] < 2)
			break;
		option += option[1] < end - option ? option[1] : end - option;
	}
	return 0;
}

static enum packet_verdict decode_tcp(struct frame *f)
{
	struct packet *p = f->out;
	const unsigned char *start = f->at.p;
	size_t kept_n = cursor_left(&f->at), whole_n = kept_n + f->lost_n;
	size_t header_n;

	if (kept_n < 20)
		return whole_n >= 20 ? PACKET_CUT : PACKET_BAD;
	p->from.port = be16_at(start);
	p->to.port = be16_at(start + 2);
	p->seq = be32_at(start + 4);
	p->ack = be32_at(start + 8);
	header_n = (size_t)(start[12] >> 4) * 4;
	p->flags = start[13];
	p->window = be16_at(start + 14);
	if (header_n < 20 || header_n > whole_n)
		return PACKET_BAD;
	if (header_n > kept_n)
		return PACKET_CUT;
	if (p->flags & TCP_SYN)
		p->window_shift = window_shift(start + 20, start + header_n);
	p->payload = start + header_n;
	p->payload_n = (uint32_t)(kept_n - header_n);
	p->wire_n = (uint32_t)(whole_n - header_n);
	return PACKET_TCP;
}

/* ---- IP */

/* The datagram ends n bytes from here; what the frame has behind is padding. What it
 * lacks was on the wire all the same: tools that shorten frames forget to say so. */
static void limit(struct frame *f, size_t n)
{
	size_t left_n = cursor_left(&f->at);

	f->lost_n = n > left_n ? n - left_n : 0;
	if (n < left_n)
		f->at.end = f->at.p + n;
}

/* The addresses are those of the innermost header. */
static bool enter(struct frame *f)
{
	if (f->depth++ == 0)
		return true;
	*f->out = (struct packet){ 0 };
	return f->depth <= PACKET_DEPTH_MAX;
}

/* Pieces other than the last are multiples of eight bytes; no datagram is longer than
 * its length field can say (RFC 8200, section 4.5). */
static enum packet_verdict piece(struct frame *f, struct packet_fragment fragment)
{
	struct packet *p = f->out;

	if (f->lost_n)
		return PACKET_CUT;
	p->payload = f->at.p;
	p->payload_n = p->wire_n = (uint32_t)cursor_left(&f->at);
	p->fragment = fragment;
	if (fragment.offset_n + p->wire_n > DATAGRAM_MAX || !p->wire_n ||
		(fragment.has_more && p->wire_n % 8))
		return PACKET_BAD;
	return PACKET_FRAGMENT;
}

enum packet_verdict packet_ipv4(struct frame *f)
{
	const unsigned char *h = f->at.p;
	size_t header_n, total_n;
	unsigned split;

	if (cursor_left(&f->at) < 20)
		return frame_short(f);
	if (!enter(f))
		return PACKET_BAD;
	header_n = (size_t)(h[0] & 15) * 4;
	total_n = be16_at(h + 2);
	if (total_n)
		limit(f, total_n);
	else
		total_n = cursor_left(&f->at) + f->lost_n;
	if (h[0] >> 4 != 4 || header_n < 20 || total_n < header_n)
		return PACKET_BAD;
	if (header_n > cursor_left(&f->at))
		return PACKET_CUT;
	f->out->ip_id = be16_at(h + 4);
	memcpy(f->out->from.bytes, h + 12, 4);
	memcpy(f->out->to.bytes, h + 16, 4);
	f->at.p += header_n;
	split = be16_at(h + 6) & 0x3fff;
	if (split)
		return piece(f, (struct packet_fragment){ be16_at(h + 4), (split & 0x1fff) * 8,
					h[9], split & 0x2000 });
	return h[9] == IP_TCP ? decode_tcp(f) : packet_protocol(f, h[9]);
}

enum packet_verdict packet_ipv6(struct frame *f)
{
	const unsigned char *h = f->at.p;
	size_t body_n;

	if (cursor_left(&f->at) < 40)
		return frame_short(f);
	if (h[0] >> 4 != 6 || !enter(f))
		return PACKET_BAD;
	body_n = be16_at(h + 4);
	/* 0: a jumbogram (RFC 2675) or BIG TCP; frames of that size have no padding. */
	if (body_n)
		limit(f, 40 + body_n);
	f->out->is_v6 = true;
	memcpy(f->out->from.bytes, h + 8, 16);
	memcpy(f->out->to.bytes, h + 24, 16);
	f->at.p += 40;
	return h[6] == IP_TCP ? decode_tcp(f) : packet_protocol(f, h[6]);
}

enum packet_verdict packet_ip(struct frame *f)
{
	if (cursor_left(&f->at) == 0)
		return frame_short(f);
	if (f->at.p[0] >> 4 == 4)
		return packet_ipv4(f);
	return f->at.p[0] >> 4 == 6 ? packet_ipv6(f) : PACKET_NOT_IP;
}

/* RFC 8200, section 4; the authentication header (RFC 4302) counts in words of four and
 * exists in IPv4 too. */
static bool is_extension(const struct frame *f, unsigned protocol)
{
	switch (protocol) {
	case IP_AUTHENTICATION:
		return true;
	case IP_HOPS:
	case IP_ROUTING:
	case IP_FRAGMENT:
	case IP_DESTINATION:
	case IP_MOBILITY:
	case IP_HOST_IDENTITY:
	case IP_SHIM6:
		return f->out->is_v6;
	default:
		return false;
	}
}

static size_t extension_n(const unsigned char *h, unsigned protocol)
{
	if (protocol == IP_FRAGMENT)
		return 8;
	return protocol == IP_AUTHENTICATION ? ((size_t)h[1] + 2) * 4 : ((size_t)h[1] + 1) * 8;
}

enum packet_verdict packet_protocol(struct frame *f, unsigned protocol)
{
	for (int i = 0; is_extension(f, protocol); i++) {
		const unsigned char *h = f->at.p;
		size_t n;

		if (i == EXTENSIONS_MAX)
			return PACKET_BAD;
		if (cursor_left(&f->at) < 8)
			return frame_short(f);
		n = extension_n(h, protocol);
		if (n > cursor_left(&f->at))
			return frame_short(f);
		f->at.p += n;
		/* An "atomic" fragment (RFC 6946) is the whole. */
		if (protocol == IP_FRAGMENT && be16_at(h + 2) & 0xfff9)
			return piece(f, (struct packet_fragment){ be32_at(h + 4),
						be16_at(h + 2) & 0xfff8u, h[0], h[3] & 1 });
		protocol = h[0];
	}
	return protocol == IP_TCP ? decode_tcp(f) : packet_tunnel(f, protocol);
}

/* ---- the whole */

enum packet_verdict packet_decode(
	int link, const unsigned char *bytes, size_t n, size_t wire_n, struct packet *ret)
{
	struct frame f = { .at = cursor_of(bytes, n), .out = ret };

	*ret = (struct packet){ 0 };
	f.lost_n = wire_n > n ? wire_n - n : 0;
	if (link != LINK_ETHERNET)
		return packet_link(&f, link);
	if (n >= 34 && be16_at(bytes + 12) == ETHER_IPV4) {
		f.at.p += 14;
		return packet_ipv4(&f);
	}
	return packet_ethernet(&f);
}

enum packet_verdict packet_decode_whole(
	const struct packet *piece, const unsigned char *bytes, size_t n, struct packet *ret)
{
	struct packet whole = {
		.is_v6 = piece->is_v6, .ip_id = piece->ip_id, .from = piece->from, .to = piece->to
	};
	unsigned protocol = piece->fragment.protocol;
	struct frame f = { .at = cursor_of(bytes, n), .out = ret, .depth = 1 };

	*ret = whole;
	return packet_protocol(&f, protocol);
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
