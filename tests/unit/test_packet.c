#include "tests/lib/unit.h"

#include "capture/wire/packet.h"
#include "tests/lib/wire.h"

static const struct wire_segment hello = { 1, 2, 40000, 5432, 1000, 2000, TCP_ACK, { "hello", 5 },
	0 };

static void ethernet_padding_is_not_payload(void **state)
{
	(void)state;
	struct buf b = { 0 };
	struct wire_segment s = hello;
	struct packet p;

	s.padding = 13;
	wire_frame(&b, &s);
	assert_int_equal(
		packet_decode(LINK_ETHERNET, (unsigned char *)b.p, b.n, b.n, &p), PACKET_TCP);
	assert_int_equal(p.payload_n, 5);
	assert_memory_equal(p.payload, "hello", 5);
	assert_int_equal(p.from.port, 40000);
	assert_int_equal(p.seq, 1000);
	assert_int_equal(p.ack, 2000);
	buf_free(&b);
}

static void length_zero_means_to_the_end_of_the_frame(void **state)
{
	(void)state;
	struct buf b = { 0 };
	struct packet p;

	wire_frame(&b, &hello);
	b.p[16] = b.p[17] = 0;
	assert_int_equal(
		packet_decode(LINK_ETHERNET, (unsigned char *)b.p, b.n, b.n, &p), PACKET_TCP);
	assert_int_equal(p.wire_n, 5);
	buf_free(&b);
}

static void a_cut_packet_knows_its_true_length(void **state)
{
	(void)state;
	struct buf b = { 0 };
	struct packet p;

	wire_frame(&b, &hello);
	assert_int_equal(
		packet_decode(LINK_ETHERNET, (unsigned char *)b.p, b.n - 3, b.n, &p), PACKET_TCP);
	assert_int_equal(p.payload_n, 2);
	assert_int_equal(p.wire_n, 5);
	assert_int_equal(
		packet_decode(LINK_ETHERNET, (unsigned char *)b.p, 50, b.n, &p), PACKET_CUT);
	assert_int_equal(
		packet_decode(LINK_ETHERNET, (unsigned char *)b.p, 50, 50, &p), PACKET_CUT);
	/* A tool that shortened the frame and its length: IP still knows. */
	assert_int_equal(packet_decode(LINK_ETHERNET, (unsigned char *)b.p, b.n - 3, b.n - 3, &p),
		PACKET_TCP);
	assert_int_equal(p.payload_n, 2);
	assert_int_equal(p.wire_n, 5);
	buf_free(&b);
}

/* An IPv4 header of length 0, which reaches to the end of the frame. */
#define TUNNEL(protocol) "\x45\0\0\0\0\0\0\0\x40" protocol "\0\0\x0a\0\0\x08\x0a\0\0\x09"
#define MAC "aaaaaabbbbbb"

/* The same segment behind each link header. */
static void every_link_type_leads_to_the_segment(void **state)
{
	(void)state;
	static const struct {
		int link;
		const char *header;
		size_t n;
	} cases[] = {
		{ LINK_ETHERNET, "aaaaaabbbbbb\x81\x00\x00\x05\x08\x00", 18 },
		{ LINK_ETHERNET, "aaaaaabbbbbb\x88\xa8\x00\x05\x81\x00\x00\x06\x08\x00", 22 },
		{ LINK_ETHERNET, "aaaaaabbbbbb\x88\x64\x11\x00\x00\x01\x00\x2f\x00\x21", 22 },
		{ LINK_ETHERNET, "aaaaaabbbbbb\x88\x47\x00\x01\x01\x40", 18 },
		{ LINK_SLL, "\0\0\x03\x04\0\6\0\0\0\0\0\0\0\0\x08\x00", 16 },
		{ LINK_SLL2, "\x08\x00\0\0\0\0\0\1\x03\x04\0\6\0\0\0\0\0\0\0\0", 20 },
		{ LINK_NULL, "\2\0\0\0", 4 },
		{ LINK_LOOP, "\0\0\0\2", 4 },
		{ LINK_RAW, "", 0 },
		{ LINK_IPV4, "", 0 },
		{ LINK_PPP, "\xff\x03\0\x21", 4 },
		{ LINK_PPP, "\x21", 1 },
		{ LINK_C_HDLC, "\x0f\0\x08\0", 4 },
		{ LINK_ENC, "\2\0\0\0aaaabbbb", 12 },
		{ LINK_NFLOG, "\2\0\0\0\x08\0\1\0abcd\x2d\0\x09\0", 16 },
		{ LINK_WIFI, "\x88\1\0\0aaaaaabbbbbbcccccc\x10\0\0\0\xaa\xaa\3\0\0\0\x08\0", 34 },
		{ LINK_RADIOTAP,
			"\0\0\x08\0\0\0\0\0\x08\1\0\0aaaaaabbbbbbcccccc\x10\0"
			"\xaa\xaa\3\0\0\0\x08\0",
			40 },
		{ LINK_ETHERNET, "aaaaaabbbbbb\0\x35\xaa\xaa\3\0\0\0\x08\0", 22 },
		/* The next are tunnels: IPv4, then VXLAN, Geneve, GRE, ERSPAN, IP in IP. */
		{ LINK_RAW, TUNNEL("\x11") "\0\1\x12\xb5\0\0\0\0\x08\0\0\0\0\0\1\0" MAC "\x08\0",
			50 },
		{ LINK_RAW,
			TUNNEL("\x11") "\0\1\x17\xc1\0\0\0\0\1\0\x65\x58\0\0\1\0optn" MAC "\x08\0",
			54 },
		{ LINK_RAW, TUNNEL("\x2f") "\x20\0\x08\0keyk", 28 },
		{ LINK_RAW, TUNNEL("\x2f") "\x10\0\x88\xbe\0\0\0\1headhead" MAC "\x08\0", 50 },
		{ LINK_RAW, TUNNEL("\4"), 20 },
	};
	struct buf inner = { 0 }, b = { 0 };
	struct packet p;

	wire_frame(&inner, &hello);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		buf_reset(&b);
		buf_add(&b, cases[i].header, cases[i].n);
		buf_add(&b, inner.p + 14, inner.n - 14);
		assert_int_equal(packet_decode(cases[i].link, (unsigned char *)b.p, b.n, b.n, &p),
			PACKET_TCP);
		assert_memory_equal(p.payload, "hello", 5);
		assert_int_equal(p.from.bytes[3], 1);
		assert_int_equal(p.from.bytes[4], 0);
	}
	assert_int_equal(
		packet_decode(999, (unsigned char *)b.p, b.n, b.n, &p), PACKET_UNKNOWN_LINK);
	buf_free(&inner);
	buf_free(&b);
}

static void ipv6_extensions_are_walked(void **state)
{
	(void)state;
	struct buf tcp = { 0 }, b = { 0 };
	struct packet p;
	char text[PACKET_ADDRESS_MAX];

	wire_frame(&tcp, &hello);
	buf_add(&b, "\x60\0\0\0\0\x21\0\x40", 8);
	for (int i = 0; i < 32; i++)
		buf_add_byte(&b, i == 15 ? 1 : i == 31 ? 2 : 0);
	buf_add(&b, "\x06\0\1\4\0\0\0\0", 8);
	buf_add(&b, tcp.p + 34, tcp.n - 34);
	assert_int_equal(packet_decode(LINK_RAW, (unsigned char *)b.p, b.n, b.n, &p), PACKET_TCP);
	assert_memory_equal(p.payload, "hello", 5);
	assert_string_equal(packet_address_text(&p.to, true, true, text), "[::2]:5432");
	/* As a fragment header with an offset. */
	b.p[6] = 44;
	b.p[42] = 1;
	assert_int_equal(
		packet_decode(LINK_RAW, (unsigned char *)b.p, b.n, b.n, &p), PACKET_FRAGMENT);
	buf_free(&tcp);
	buf_free(&b);
}

static void what_is_not_tcp_is_named(void **state)
{
	(void)state;
	struct buf b = { 0 };
	struct packet p;

	wire_frame(&b, &hello);
	b.p[23] = 17;
	assert_int_equal(
		packet_decode(LINK_ETHERNET, (unsigned char *)b.p, b.n, b.n, &p), PACKET_NOT_TCP);
	b.p[23] = 6;
	b.p[21] = 1;
	assert_int_equal(
		packet_decode(LINK_ETHERNET, (unsigned char *)b.p, b.n, b.n, &p), PACKET_FRAGMENT);
	b.p[20] = 0x40;
	b.p[21] = 0;
	assert_int_equal(
		packet_decode(LINK_ETHERNET, (unsigned char *)b.p, b.n, b.n, &p), PACKET_TCP);
	b.p[46] = 0x10;
	assert_int_equal(
		packet_decode(LINK_ETHERNET, (unsigned char *)b.p, b.n, b.n, &p), PACKET_BAD);
	b.p[12] = 0x08;
	b.p[13] = 0x06;
	assert_int_equal(
		packet_decode(LINK_ETHERNET, (unsigned char *)b.p, b.n, b.n, &p), PACKET_NOT_IP);
	buf_free(&b);
}

static void tunnels_in_tunnels_end_somewhere(void **state)
{
	(void)state;
	struct buf b = { 0 };
	struct packet p;

	for (int i = 0; i < 100; i++)
		buf_add(&b, TUNNEL("\4"), 20);
	assert_int_equal(packet_decode(LINK_RAW, (unsigned char *)b.p, b.n, b.n, &p), PACKET_BAD);
	buf_free(&b);
}

static void a_syn_tells_its_window_scale(void **state)
{
	(void)state;
	struct buf b = { 0 };
	struct wire_segment s = hello;
	struct packet p;

	s.flags = TCP_SYN;
	s.payload = (struct slice){ "\2\4\5\xb4\1\3\3\7data", 12 };
	wire_frame(&b, &s);
	b.p[46] = 0x70;
	assert_int_equal(
		packet_decode(LINK_ETHERNET, (unsigned char *)b.p, b.n, b.n, &p), PACKET_TCP);
	assert_int_equal(p.window_shift, 7);
	assert_memory_equal(p.payload, "data", 4);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ethernet_padding_is_not_payload),
		cmocka_unit_test(length_zero_means_to_the_end_of_the_frame),
		cmocka_unit_test(a_cut_packet_knows_its_true_length),
		cmocka_unit_test(every_link_type_leads_to_the_segment),
		cmocka_unit_test(ipv6_extensions_are_walked),
		cmocka_unit_test(what_is_not_tcp_is_named),
		cmocka_unit_test(tunnels_in_tunnels_end_somewhere),
		cmocka_unit_test(a_syn_tells_its_window_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
