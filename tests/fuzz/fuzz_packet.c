/*
 * fuzz_packet.c - laws: a decoded segment's payload lies inside the frame, and it has
 * no more bytes than it had on the wire. The first byte picks the link type, the second
 * says how many bytes the snapshot length cut.
 */
#include <stdio.h>
#include <stdlib.h>

#include "capture/wire/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const int links[] = { LINK_NULL, LINK_ETHERNET, LINK_RAW, LINK_LOOP, LINK_SLL,
		LINK_IPV4, LINK_IPV6, LINK_SLL2, 999 };
	struct packet p;
	char text[PACKET_ADDRESS_MAX];

	if (size < 2)
		return 0;
	if (packet_decode(links[bytes[0] % LENGTH(links)], bytes + 2, size - 2, size - 2 + bytes[1],
		    &p) != PACKET_TCP)
		return 0;
	must(p.payload >= bytes + 2 && p.payload + p.payload_n <= bytes + size,
		"the payload lies in the frame");
	must(p.payload_n <= p.wire_n, "we have no more than there was");
	must(packet_address_text(&p.from, p.is_v6, true, text)[0], "an address has a text");
	return 0;
}
