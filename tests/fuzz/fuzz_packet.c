/*
 * fuzz_packet.c - laws: a decoded segment's payload lies inside the frame, and it has
 * no more bytes than it had on the wire. The first byte picks the link type, the second
 * says how many bytes the snapshot length cut. A fragment is fed to a table together with
 * its rest in the same input, so that datagrams become whole.
 */
#include <stdio.h>
#include <stdlib.h>

#include "capture/wire/fragment.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

static const int links[] = { LINK_NULL, LINK_ETHERNET, LINK_RAW, LINK_LOOP, LINK_SLL, LINK_IPV4,
	LINK_IPV6, LINK_SLL2, 999, LINK_PPP, LINK_PPP_HDLC, LINK_PPP_ETHER, LINK_C_HDLC, LINK_WIFI,
	LINK_RADIOTAP, LINK_ENC, LINK_PFLOG, LINK_NFLOG, LINK_PKTAP };

static void check(const struct packet *p)
{
	char text[PACKET_ADDRESS_MAX];
	unsigned sum = 0;

	must(p->payload_n <= p->wire_n, "we have no more than there was");
	must(packet_address_text(&p->from, p->is_v6, true, text)[0], "an address has a text");
	for (uint32_t i = 0; i < p->payload_n; i++)
		sum += p->payload[i];
	must(p->payload_n || !sum, "the payload can be read");
}

static void feed(
	struct fragment_table *t, const uint8_t *bytes, size_t n, int link, int64_t time_ns)
{
	struct packet p;
	enum packet_verdict v = packet_decode(link, bytes, n, n, &p);
	uint64_t frames = 0;

	if (v != PACKET_FRAGMENT)
		return;
	must(p.payload >= bytes && p.payload + p.payload_n <= bytes + n, "a piece lies in it");
	v = fragment_feed(t, &p, time_ns, &frames);
	if (v == PACKET_TCP)
		check(&p);
	must(v == PACKET_FRAGMENT || frames >= 1, "a whole has frames");
}

static void feed_fragments(const uint8_t *bytes, size_t size, int link, size_t frame_n)
{
	struct fragment_table *t = fragment_table_new(
		&(struct fragment_limits){ .datagrams_max = 4, .bytes_max = 40000 });
	int64_t time_ns = 0;

	for (; t && size >= frame_n; bytes += frame_n, size -= frame_n)
		feed(t, bytes, frame_n, link, time_ns += NS_PER_S);
	fragment_table_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct packet p;
	int link;

	if (size < 2)
		return 0;
	link = links[bytes[0] % LENGTH(links)];
	feed_fragments(bytes + 2, size - 2, link, 28u + (bytes[1] & 31u));
	if (packet_decode(link, bytes + 2, size - 2, size - 2 + bytes[1], &p) != PACKET_TCP)
		return 0;
	must(p.payload >= bytes + 2 && p.payload + p.payload_n <= bytes + size,
		"the payload lies in the frame");
	check(&p);
	return 0;
}
