#include "tests/lib/unit.h"

#include "capture/wire/fragment.h"
#include "core/base/buf.h"
#include "tests/lib/wire.h"

struct fixture {
	struct fragment_table *table;
	struct buf tcp; /* a segment, as it stands behind the IP header */
	int64_t now_ns;
	uint64_t frames;
	struct packet p;
};

static struct fixture *begin(struct fragment_limits limits)
{
	struct fixture *x = calloc(1, sizeof *x);
	struct wire_segment s = { 1, 2, 40000, 5432, 1000, 2000, TCP_ACK,
		{ "0123456789abcdefghijklmn", 24 }, 0 };
	struct buf frame = { 0 };

	wire_frame(&frame, &s);
	buf_add(&x->tcp, frame.p + 34, frame.n - 34);
	buf_free(&frame);
	x->table = fragment_table_new(&limits);
	assert_non_null(x->table);
	return x;
}

static void end(struct fixture *x)
{
	fragment_table_free(x->table);
	buf_free(&x->tcp);
	free(x);
}

/* Bytes [from, to) of the segment; more tells whether others follow. */
static enum packet_verdict feed(
	struct fixture *x, bool is_v6, uint32_t id, uint32_t from, uint32_t to, bool more)
{
	x->p = (struct packet){ .is_v6 = is_v6,
		.fragment = { id, from, 6, more },
		.payload = (const unsigned char *)x->tcp.p + from,
		.payload_n = to - from,
		.wire_n = to - from };
	x->p.from.bytes[0] = 10;
	return fragment_feed(x->table, &x->p, x->now_ns += NS_PER_MS, &x->frames);
}

static void pieces_make_the_segment_in_any_order(void **state)
{
	static const int orders[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 0, 2 }, { 1, 2, 0 } };

	(void)state;
	for (size_t i = 0; i < LENGTH(orders); i++) {
		struct fixture *x = begin((struct fragment_limits){ 0 });
		enum packet_verdict v = PACKET_FRAGMENT;

		for (int k = 0; k < 3; k++) {
			uint32_t from = (uint32_t)orders[i][k] * 16;

			assert_int_equal(v, PACKET_FRAGMENT);
			v = feed(x, i % 2, 7, from, from == 32 ? 44 : from + 16, from != 32);
		}
		assert_int_equal(v, PACKET_TCP);
		assert_int_equal(x->frames, 3);
		assert_int_equal(x->p.to.port, 5432);
		assert_int_equal(x->p.from.bytes[0], 10);
		assert_int_equal(x->p.seq, 1000);
		assert_int_equal(x->p.payload_n, 24);
		assert_memory_equal(x->p.payload, "0123456789abcdefghijklmn", 24);
		end(x);
	}
}

static void an_ipv4_overlap_keeps_the_first_bytes(void **state)
{
	(void)state;
	struct fixture *x = begin((struct fragment_limits){ 0 });

	feed(x, false, 7, 0, 32, true);
	x->tcp.p[28] = 'X';
	x->tcp.p[40] = 'Y';
	assert_int_equal(feed(x, false, 7, 24, 44, false), PACKET_TCP);
	assert_memory_equal(x->p.payload, "0123456789abcdefghijYlmn", 24);
	assert_int_equal(fragment_counts(x->table)->overlaps, 1);
	end(x);
}

static void an_ipv6_overlap_drops_the_datagram(void **state)
{
	(void)state;
	struct fixture *x = begin((struct fragment_limits){ 0 });

	feed(x, true, 7, 0, 32, true);
	assert_int_equal(feed(x, true, 7, 24, 44, false), PACKET_FRAGMENT);
	assert_int_equal(feed(x, true, 7, 32, 44, false), PACKET_FRAGMENT);
	assert_int_equal(fragment_counts(x->table)->whole, 0);
	end(x);
}

static void a_copy_of_a_piece_is_no_overlap(void **state)
{
	(void)state;
	struct fixture *x = begin((struct fragment_limits){ 0 });

	feed(x, true, 7, 0, 32, true);
	feed(x, true, 7, 0, 32, true);
	assert_int_equal(feed(x, true, 7, 32, 44, false), PACKET_TCP);
	assert_int_equal(x->frames, 3);
	assert_int_equal(fragment_counts(x->table)->overlaps, 0);
	end(x);
}

static void a_piece_behind_the_end_spoils_it(void **state)
{
	(void)state;
	struct fixture *x = begin((struct fragment_limits){ 0 });

	feed(x, false, 7, 32, 40, true);
	assert_int_equal(feed(x, false, 7, 0, 32, false), PACKET_FRAGMENT);
	assert_int_equal(feed(x, false, 8, 0, 32, false), PACKET_TCP);
	end(x);
}

static void an_old_piece_is_another_datagrams(void **state)
{
	(void)state;
	struct fixture *x = begin((struct fragment_limits){ 0 });

	feed(x, false, 7, 0, 32, true);
	x->now_ns += 31 * NS_PER_S;
	assert_int_equal(feed(x, false, 7, 32, 44, false), PACKET_FRAGMENT);
	assert_int_equal(fragment_counts(x->table)->given_up, 1);
	end(x);
}

static void the_oldest_goes_at_the_caps(void **state)
{
	(void)state;
	struct fixture *x = begin((struct fragment_limits){ .datagrams_max = 2 });

	for (uint32_t id = 1; id <= 3; id++)
		feed(x, false, id, 0, 32, true);
	assert_int_equal(fragment_counts(x->table)->given_up, 1);
	assert_int_equal(feed(x, false, 1, 32, 44, false), PACKET_FRAGMENT);
	assert_int_equal(feed(x, false, 3, 32, 44, false), PACKET_TCP);
	end(x);
	x = begin((struct fragment_limits){ .bytes_max = 12000 });
	for (uint32_t id = 1; id <= 9; id++)
		feed(x, false, id, 0, 32, true);
	assert_true(fragment_counts(x->table)->given_up >= 6);
	assert_int_equal(feed(x, false, 9, 32, 44, false), PACKET_TCP);
	end(x);
}

static void holes_have_a_cap(void **state)
{
	(void)state;
	struct fixture *x = begin((struct fragment_limits){ 0 });

	for (int i = 0; i < 3000; i++)
		buf_add_byte(&x->tcp, 0);
	for (uint32_t i = 1; i < 150; i++)
		assert_int_equal(feed(x, false, 7, i * 16, i * 16 + 8, true), PACKET_FRAGMENT);
	for (uint32_t i = 0; i < 150; i++)
		assert_int_equal(feed(x, false, 7, i * 16, i * 16 + 16, i != 149), PACKET_FRAGMENT);
	end(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_make_the_segment_in_any_order),
		cmocka_unit_test(an_ipv4_overlap_keeps_the_first_bytes),
		cmocka_unit_test(an_ipv6_overlap_drops_the_datagram),
		cmocka_unit_test(a_copy_of_a_piece_is_no_overlap),
		cmocka_unit_test(a_piece_behind_the_end_spoils_it),
		cmocka_unit_test(an_old_piece_is_another_datagrams),
		cmocka_unit_test(the_oldest_goes_at_the_caps),
		cmocka_unit_test(holes_have_a_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
