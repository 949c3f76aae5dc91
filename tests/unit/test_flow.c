#include "tests/lib/unit.h"

#include "capture/wire/flow.h"
#include "core/base/buf.h"

/* Writes down what the table tells: "0:abc" bytes of side 0, "0-5" a gap of five,
 * "." a close. */
struct heard {
	struct buf text;
	unsigned opened, closed;
	enum flow_end why;
	int client;
};

static void *on_open(void *data, const struct flow_info *f)
{
	struct heard *h = data;

	h->opened++;
	h->client = f->client;
	return h;
}

static bool on_bytes(void *data, void *owner, int side, struct slice bytes, int64_t time_ns)
{
	(void)owner;
	(void)time_ns;
	buf_addf(&((struct heard *)data)->text, "%d:%.*s ", side, (int)bytes.n, bytes.p);
	return bytes.p[0] != '!';
}

static bool on_gap(void *data, void *owner, int side, uint64_t missing_n, int64_t time_ns)
{
	(void)owner;
	(void)time_ns;
	buf_addf(&((struct heard *)data)->text, "%d-%d ", side, (int)missing_n);
	return true;
}

static void on_close(void *data, void *owner, enum flow_end why, int64_t time_ns)
{
	struct heard *h = data;

	(void)owner;
	(void)time_ns;
	h->closed++;
	h->why = why;
	buf_add_text(&h->text, ". ");
}

struct fixture {
	struct heard heard;
	struct flow_table *table;
	int64_t now_ns;
};

static struct fixture *begin(struct flow_limits limits)
{
	struct fixture *x = calloc(1, sizeof *x);
	struct flow_sink sink = { on_open, on_bytes, on_gap, on_close, &x->heard };

	x->table = flow_table_new(&sink, &limits);
	assert_non_null(x->table);
	return x;
}

static void end(struct fixture *x)
{
	flow_table_free(x->table);
	buf_free(&x->heard.text);
	free(x);
}

/* A packet between the two with everything a test may set. */
static struct packet packet_of(
	int side, uint32_t seq, uint32_t ack, uint8_t flags, const char *text)
{
	struct packet p = { .seq = seq,
		.ack = ack,
		.flags = flags,
		.window = 1000,
		.payload = (const unsigned char *)text,
		.payload_n = (uint32_t)strlen(text),
		.wire_n = (uint32_t)strlen(text) };
	struct packet_address client = { { 10, 0, 0, 1 }, 1000 },
			      server = { { 10, 0, 0, 2 }, 5432 };

	p.from = side ? server : client;
	p.to = side ? client : server;
	return p;
}

/* side 0 is 10.0.0.1:1000, side 1 10.0.0.2:5432. */
static void feed_port(struct fixture *x, int side, uint16_t port, uint32_t seq, uint32_t ack,
	uint8_t flags, const char *text)
{
	struct packet p = { .seq = seq,
		.ack = ack,
		.flags = flags,
		.payload = (const unsigned char *)text,
		.payload_n = (uint32_t)strlen(text),
		.wire_n = (uint32_t)strlen(text) };
	struct packet_address client = { { 10, 0, 0, 1 }, port },
			      server = { { 10, 0, 0, 2 }, 5432 };

	p.from = side ? server : client;
	p.to = side ? client : server;
	assert_true(flow_feed(x->table, &p, x->now_ns += 10 * NS_PER_MS));
}

static void feed(
	struct fixture *x, int side, uint32_t seq, uint32_t ack, uint8_t flags, const char *text)
{
	feed_port(x, side, 1000, seq, ack, flags, text);
}

static void shake_hands(struct fixture *x, uint32_t client_isn, uint32_t server_isn)
{
	feed(x, 0, client_isn, 0, TCP_SYN, "");
	feed(x, 1, server_isn, client_isn + 1, TCP_SYN | TCP_ACK, "");
	feed(x, 0, client_isn + 1, server_isn + 1, TCP_ACK, "");
}

static void bytes_come_in_order_once(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	shake_hands(x, 100, 500);
	feed(x, 0, 101, 501, TCP_ACK, "abc");
	feed(x, 0, 107, 501, TCP_ACK, "ghi");
	feed(x, 0, 101, 501, TCP_ACK, "abc");
	feed(x, 0, 102, 501, TCP_ACK, "XXdef");
	feed(x, 1, 501, 110, TCP_ACK, "ok");
	assert_string_equal(buf_text(&x->heard.text), "0:abc 0:def 0:ghi 1:ok ");
	assert_int_equal(x->heard.client, 0);
	assert_int_equal(flow_counts(x->table)->gaps, 0);
	assert_int_equal(flow_counts(x->table)->retransmitted_n, 5);
	end(x);
}

static void sequence_numbers_wrap(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	shake_hands(x, 0xfffffffcu, 0xffffffffu);
	feed(x, 0, 3, 0, TCP_ACK, "ghi");
	feed(x, 0, 0xfffffffdu, 0, TCP_ACK, "abcdef");
	feed(x, 1, 0, 6, TCP_ACK, "ok");
	assert_string_equal(buf_text(&x->heard.text), "0:abcdef 0:ghi 1:ok ");
	end(x);
}

static void acknowledged_bytes_we_never_saw_are_a_gap(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	shake_hands(x, 100, 500);
	feed(x, 0, 101, 501, TCP_ACK, "abc");
	feed(x, 0, 109, 501, TCP_ACK, "ghi");
	/* A bare acknowledgement of what is missing alone tells nothing yet. */
	feed(x, 1, 501, 109, TCP_ACK, "");
	assert_string_equal(buf_text(&x->heard.text), "0:abc ");
	feed(x, 1, 501, 112, TCP_ACK, "ok");
	assert_string_equal(buf_text(&x->heard.text), "0:abc 0-5 0:ghi 1:ok ");
	end(x);
}

static void a_lost_request_is_told_before_its_answer(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	shake_hands(x, 100, 500);
	feed(x, 1, 501, 105, TCP_ACK, "ok");
	assert_string_equal(buf_text(&x->heard.text), "0-4 1:ok ");
	end(x);
}

static void the_hold_has_a_cap(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ .held_per_flow_max = 200 });

	shake_hands(x, 100, 500);
	for (uint32_t i = 0; i < 20; i++)
		feed(x, 0, 102 + i * 2, 501, TCP_ACK, "ab");
	assert_int_equal(flow_counts(x->table)->hold_full, 1);
	assert_int_equal(flow_counts(x->table)->gap_n, 1);
	assert_memory_equal(x->heard.text.p, "0-1 0:ab 0:ab", 13);
	end(x);
}

static void a_snapshot_cut_segment_is_a_gap_at_its_end(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });
	struct packet p = { .seq = 101,
		.flags = TCP_ACK,
		.payload = (const unsigned char *)"abc",
		.payload_n = 3,
		.wire_n = 10,
		.from = { { 10, 0, 0, 1 }, 1000 },
		.to = { { 10, 0, 0, 2 }, 5432 } };

	shake_hands(x, 100, 500);
	assert_true(flow_feed(x->table, &p, 1));
	feed(x, 0, 111, 501, TCP_ACK, "next");
	assert_string_equal(buf_text(&x->heard.text), "0:abc 0-7 0:next ");
	end(x);
}

static void fin_of_both_sides_and_rst_close(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	shake_hands(x, 100, 500);
	feed(x, 0, 101, 501, TCP_ACK | TCP_FIN, "abc");
	assert_int_equal(x->heard.closed, 0);
	feed(x, 1, 501, 105, TCP_ACK | TCP_FIN, "");
	assert_int_equal(x->heard.why, FLOW_CLOSED);
	assert_int_equal(x->heard.closed, 1);
	/* Late segments of the ended flow open nothing. */
	feed(x, 0, 101, 501, TCP_ACK, "abc");
	assert_int_equal(x->heard.opened, 1);
	shake_hands(x, 9000, 7000);
	feed(x, 1, 7001, 9001, TCP_RST | TCP_ACK, "");
	assert_int_equal(x->heard.opened, 2);
	assert_int_equal(x->heard.why, FLOW_RESET);
	end(x);
}

static void a_new_syn_on_the_same_ports_is_a_new_flow(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	shake_hands(x, 100, 500);
	feed(x, 0, 101, 501, TCP_ACK, "abc");
	feed(x, 0, 100, 0, TCP_SYN, "");
	assert_int_equal(x->heard.opened, 1);
	shake_hands(x, 300, 900);
	feed(x, 0, 301, 901, TCP_ACK, "new");
	assert_string_equal(buf_text(&x->heard.text), "0:abc . 0:new ");
	assert_int_equal(x->heard.why, FLOW_REUSED);
	end(x);
}

static void without_a_syn_it_joins_at_the_first_bytes(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	feed(x, 0, 101, 501, TCP_ACK, "");
	assert_int_equal(x->heard.opened, 0);
	feed(x, 1, 501, 101, TCP_ACK, "ok");
	assert_int_equal(x->heard.client, -1);
	feed(x, 0, 101, 503, TCP_ACK, "abc");
	assert_string_equal(buf_text(&x->heard.text), "1:ok 0:abc ");
	assert_int_equal(flow_counts(x->table)->joined_late, 1);
	end(x);
}

static void the_quietest_flow_is_evicted_at_the_cap(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ .flows_max = 2 });

	feed_port(x, 0, 1001, 1, 0, TCP_ACK, "a");
	feed_port(x, 0, 1002, 1, 0, TCP_ACK, "b");
	feed_port(x, 0, 1001, 2, 0, TCP_ACK, "c");
	feed_port(x, 0, 1003, 1, 0, TCP_ACK, "d");
	assert_int_equal(flow_counts(x->table)->evicted, 1);
	feed_port(x, 0, 1001, 3, 0, TCP_ACK, "e");
	assert_string_equal(buf_text(&x->heard.text), "0:a 0:b 0:c . 0:d 0:e ");
	end(x);
}

static void a_sink_without_interest_hears_no_more(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	shake_hands(x, 100, 500);
	feed(x, 0, 101, 501, TCP_ACK, "!");
	feed(x, 0, 102, 501, TCP_ACK, "abc");
	feed(x, 1, 501, 110, TCP_ACK, "ok");
	feed(x, 0, 105, 501, TCP_ACK | TCP_FIN, "");
	feed(x, 1, 503, 106, TCP_ACK | TCP_FIN, "");
	assert_string_equal(buf_text(&x->heard.text), "0:! ");
	assert_int_equal(flow_counts(x->table)->closed, 1);
	end(x);
}

static void other_bytes_under_old_numbers_lose_and_are_counted(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	shake_hands(x, 100, 500);
	feed(x, 0, 101, 501, TCP_ACK, "abc");
	feed(x, 0, 101, 501, TCP_ACK, "abc");
	assert_int_equal(flow_counts(x->table)->conflicting, 0);
	feed(x, 0, 101, 501, TCP_ACK, "aXcd");
	assert_int_equal(flow_counts(x->table)->conflicting, 1);
	/* Among what came early too: 107 to 109 came first, then 109 to 112, then all. */
	feed(x, 0, 107, 501, TCP_ACK, "gh");
	feed(x, 0, 110, 501, TCP_ACK, "j");
	feed(x, 0, 106, 501, TCP_ACK, "fGHiJk");
	assert_int_equal(flow_counts(x->table)->conflicting, 3);
	feed(x, 0, 105, 501, TCP_ACK, "eZZ");
	assert_string_equal(buf_text(&x->heard.text), "0:abc 0:d 0:e 0:f 0:gh 0:i 0:j 0:k ");
	end(x);
}

static void a_keepalive_is_no_retransmission(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	shake_hands(x, 100, 500);
	feed(x, 0, 101, 501, TCP_ACK, "abc");
	feed(x, 0, 103, 501, TCP_ACK, "?");
	feed(x, 0, 103, 501, TCP_ACK, "");
	assert_int_equal(flow_counts(x->table)->keepalives, 1);
	assert_int_equal(flow_counts(x->table)->retransmitted_n, 0);
	assert_int_equal(flow_counts(x->table)->conflicting, 0);
	assert_string_equal(buf_text(&x->heard.text), "0:abc ");
	end(x);
}

static void a_frame_captured_twice_is_no_retransmission(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });
	struct packet p = packet_of(0, 101, 501, TCP_ACK, "abc");

	shake_hands(x, 100, 500);
	p.ip_id = 7;
	assert_true(flow_feed(x->table, &p, NS_PER_S));
	assert_true(flow_feed(x->table, &p, NS_PER_S + 5 * NS_PER_MS));
	assert_int_equal(flow_counts(x->table)->duplicated, 1);
	assert_int_equal(flow_counts(x->table)->retransmitted_n, 0);
	p.ip_id = 8;
	assert_true(flow_feed(x->table, &p, NS_PER_S + 6 * NS_PER_MS));
	assert_int_equal(flow_counts(x->table)->duplicated, 1);
	assert_int_equal(flow_counts(x->table)->retransmitted_n, 3);
	end(x);
}

static void a_byte_into_a_closed_window_is_a_probe(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });
	struct packet full = packet_of(1, 501, 101, TCP_ACK, "");

	shake_hands(x, 100, 500);
	full.window = 0;
	assert_true(flow_feed(x->table, &full, ++x->now_ns));
	feed(x, 0, 101, 501, TCP_ACK, "a");
	feed(x, 0, 101, 501, TCP_ACK, "abc");
	assert_int_equal(flow_counts(x->table)->window_probes, 1);
	assert_string_equal(buf_text(&x->heard.text), "0:a 0:bc ");
	end(x);
}

static void a_reset_outside_the_window_ends_nothing(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	shake_hands(x, 100, 500);
	feed(x, 0, 101, 501, TCP_ACK, "abc");
	feed(x, 1, 501, 104, TCP_ACK, "ok");
	feed(x, 0, 50, 501, TCP_RST, "");
	feed(x, 0, 104 + 70000, 501, TCP_RST, "");
	assert_int_equal(x->heard.closed, 0);
	assert_int_equal(flow_counts(x->table)->resets_ignored, 2);
	feed(x, 0, 104, 501, TCP_RST, "");
	assert_int_equal(x->heard.why, FLOW_RESET);
	end(x);
}

static void a_refused_connection_is_reset(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	feed(x, 0, 100, 0, TCP_SYN, "");
	feed(x, 1, 0, 101, TCP_RST | TCP_ACK, "");
	assert_int_equal(x->heard.why, FLOW_RESET);
	assert_int_equal(flow_counts(x->table)->half_open, 1);
	end(x);
}

static void in_one_direction_a_gap_is_told_after_a_second(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	feed(x, 0, 101, 501, TCP_ACK, "abc");
	feed(x, 0, 109, 501, TCP_ACK, "ghi");
	feed(x, 0, 112, 501, TCP_ACK, "jkl");
	assert_string_equal(buf_text(&x->heard.text), "0:abc ");
	x->now_ns += NS_PER_S;
	feed(x, 0, 115, 501, TCP_ACK, "mno");
	assert_string_equal(buf_text(&x->heard.text), "0:abc 0-5 0:ghi 0:jkl 0:mno ");
	flow_end_all(x->table, x->now_ns);
	assert_int_equal(flow_counts(x->table)->one_way, 1);
	end(x);
}

static void what_is_held_at_the_end_is_handed_on(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	shake_hands(x, 100, 500);
	feed(x, 0, 105, 501, TCP_ACK, "def");
	flow_end_all(x->table, x->now_ns);
	assert_string_equal(buf_text(&x->heard.text), "0-4 0:def . ");
	end(x);
}

static void numbers_far_away_are_garbage_until_they_go_on(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });
	uint32_t far = 101 + (1u << 28);

	shake_hands(x, 100, 500);
	feed(x, 0, 101, 501, TCP_ACK, "abc");
	feed(x, 0, far, 501, TCP_ACK, "xx");
	feed(x, 0, 104, 501, TCP_ACK, "def");
	assert_string_equal(buf_text(&x->heard.text), "0:abc 0:def ");
	feed(x, 0, far + 2, 501, TCP_ACK, "gh");
	feed(x, 0, far + 4, 501, TCP_ACK, "ij");
	assert_int_equal(flow_counts(x->table)->out_of_window, 2);
	assert_non_null(strstr(buf_text(&x->heard.text), "0:def 0-"));
	assert_non_null(strstr(buf_text(&x->heard.text), " 0:ij "));
	end(x);
}

static void bytes_in_the_syn_are_bytes(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	feed(x, 0, 100, 0, TCP_SYN, "abc");
	feed(x, 1, 500, 101, TCP_SYN | TCP_ACK, "");
	/* The server did not take them: they come again. */
	feed(x, 0, 101, 501, TCP_ACK, "abcdef");
	assert_string_equal(buf_text(&x->heard.text), "0:abc 0:def ");
	end(x);
}

static void a_scan_does_not_drive_out_what_works(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ .flows_max = 8 });

	feed_port(x, 0, 1001, 1, 0, TCP_ACK, "a");
	for (uint16_t port = 2000; port < 2100; port++)
		feed_port(x, 0, port, 1, 0, TCP_SYN, "");
	feed_port(x, 0, 1001, 2, 0, TCP_ACK, "b");
	assert_memory_equal(x->heard.text.p, "0:a ", 4);
	assert_non_null(strstr(buf_text(&x->heard.text), "0:b "));
	assert_int_equal(flow_counts(x->table)->joined_late, 1);
	end(x);
}

static void bytes_long_after_the_end_are_a_new_flow(void **state)
{
	(void)state;
	struct fixture *x = begin((struct flow_limits){ 0 });

	shake_hands(x, 100, 500);
	feed(x, 0, 101, 501, TCP_ACK | TCP_FIN, "abc");
	feed(x, 1, 501, 105, TCP_ACK | TCP_FIN, "");
	x->now_ns += 200 * NS_PER_S;
	feed(x, 0, 7000, 501, TCP_ACK, "new");
	assert_int_equal(x->heard.opened, 2);
	end(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_in_order_once),
		cmocka_unit_test(sequence_numbers_wrap),
		cmocka_unit_test(acknowledged_bytes_we_never_saw_are_a_gap),
		cmocka_unit_test(a_lost_request_is_told_before_its_answer),
		cmocka_unit_test(the_hold_has_a_cap),
		cmocka_unit_test(a_snapshot_cut_segment_is_a_gap_at_its_end),
		cmocka_unit_test(fin_of_both_sides_and_rst_close),
		cmocka_unit_test(a_new_syn_on_the_same_ports_is_a_new_flow),
		cmocka_unit_test(without_a_syn_it_joins_at_the_first_bytes),
		cmocka_unit_test(the_quietest_flow_is_evicted_at_the_cap),
		cmocka_unit_test(a_sink_without_interest_hears_no_more),
		cmocka_unit_test(other_bytes_under_old_numbers_lose_and_are_counted),
		cmocka_unit_test(a_keepalive_is_no_retransmission),
		cmocka_unit_test(a_frame_captured_twice_is_no_retransmission),
		cmocka_unit_test(a_byte_into_a_closed_window_is_a_probe),
		cmocka_unit_test(a_reset_outside_the_window_ends_nothing),
		cmocka_unit_test(a_refused_connection_is_reset),
		cmocka_unit_test(in_one_direction_a_gap_is_told_after_a_second),
		cmocka_unit_test(what_is_held_at_the_end_is_handed_on),
		cmocka_unit_test(numbers_far_away_are_garbage_until_they_go_on),
		cmocka_unit_test(bytes_in_the_syn_are_bytes),
		cmocka_unit_test(a_scan_does_not_drive_out_what_works),
		cmocka_unit_test(bytes_long_after_the_end_are_a_new_flow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
