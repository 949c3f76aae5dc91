#include "tests/lib/talk.h"

static void the_first_bytes_name_the_protocol(void **state)
{
	(void)state;
	static const struct {
		int side;
		const char *first;
		size_t n;
		enum ledger_flow kind;
	} cases[] = {
		{ 0, "GET / HTTP/1.1\r\n", 16, FLOWS_HTTP },
		{ 0, "PROPFIND /x HTTP/1.1\r\n", 22, FLOWS_HTTP },
		{ 0, "\r\nPOST / HTTP/1.0\r\n", 19, FLOWS_HTTP },
		{ 0, "x.y-1+z * HTTP/1.1\r\n", 20, FLOWS_HTTP },
		{ 0, "FOO /HTTP/1.1\n", 14, FLOWS_HTTP },
		{ 0, "FOO /x\r\n", 8, FLOWS_OTHER },
		{ 0, "\xdd GET / HTTP/1.1\r\n", 19, FLOWS_OTHER },
		{ 0, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24, FLOWS_HTTP2 },
		{ 1, "HTTP/1.1 408 Timeout\r\n", 22, FLOWS_HTTP },
		{ 0, "EHLO mail\r\n", 11, FLOWS_OTHER },
		{ 0, "SSH-2.0-x\r\n", 11, FLOWS_OTHER },
		{ 1, "220 mail\r\n", 10, FLOWS_OTHER },
		{ 0, "\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\1\0\0\0\2", 16, FLOWS_CANCEL },
		{ 0, "\x16\3\1\2\0\1\0\1\xfc", 9, FLOWS_TLS },
		{ 0, "GE", 2, FLOWS_SILENT },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct talk *x = talk_new(0, 9999, NULL);

		talk_bytes(x, cases[i].side, cases[i].first, cases[i].n);
		talk_close(x, FLOW_CLOSED);
		for (int k = 0; k < FLOWS_KINDS; k++)
			assert_int_equal(x->ledger.flows[k], k == (int)cases[i].kind);
		talk_end(x);
	}
}

static void first_bytes_that_come_one_by_one_are_held_with_their_time(void **state)
{
	(void)state;
	struct talk *x = talk_new(0, 9999, NULL);
	struct buf all = { 0 };

	wire_startup(&all, 196608, "app", "shop");
	for (size_t i = 0; i < all.n; i++)
		talk_bytes(x, 0, all.p + i, 1);
	buf_free(&all);
	assert_string_equal(x->user, "app");
	assert_int_equal(x->last_session.open_ns, 2000);
	talk_end(x);
}

static void joined_late_the_bytes_tell_who_is_who(void **state)
{
	(void)state;
	struct talk *x = talk_new(-1, 9999, NULL);

	/* The other way round than usual: side 1 is the client. */
	talk_bytes(x, 0, "in the middle of a row", 22);
	wire_query(&x->s, "select 1");
	talk_flush(x, 1);
	wire_done(&x->c, "SELECT 1");
	wire_ready(&x->c, 'I');
	talk_flush(x, 0);
	assert_int_equal(x->count, 1);
	assert_string_equal(x->client, "10.0.0.2");
	assert_int_equal(x->last_session.flags, SESSION_JOINED_LATE);
	talk_end(x);
}

static void a_known_port_tells_who_is_who(void **state)
{
	(void)state;
	struct talk *x = talk_late(-1);

	client(x, "P s|select 1", "B |s", "E ", "S");
	server(x, "1", "2", "C SELECT 1", "Z I");
	assert_int_equal(x->count, 2);
	assert_string_equal(x->client, "10.0.0.1");
	talk_end(x);
}

static void joined_late_it_may_turn_out_to_be_http(void **state)
{
	(void)state;
	struct talk *x = talk_late(-1);

	for (int i = 0; i < 200; i++)
		talk_bytes(x, 1, "the middle of a long body", 25);
	talk_bytes(x, 0, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n", 28);
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->ledger.flows[FLOWS_HTTP], 1);
	talk_end(x);
}

static void what_is_answered_in_http_is_http(void **state)
{
	(void)state;
	struct talk *x = talk_new(0, 9999, NULL);

	talk_bytes(x, 0, "\xdd\0\0", 3);
	talk_bytes(x, 0, " GET /\r\n", 8);
	talk_bytes(x, 1, "HTTP/1.1 400 No\r\n\r\n", 19);
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->ledger.flows[FLOWS_HTTP], 1);
	assert_int_equal(x->ledger.requests_unpaired[UNPAIRED_NO_REQUEST], 1);
	talk_end(x);
	x = talk_new(0, 9999, NULL);
	talk_bytes(x, 0, "\xdd\0\0", 3);
	talk_bytes(x, 1, "\xee", 1);
	assert_null(x->owner);
	assert_int_equal(x->ledger.flows[FLOWS_OTHER], 1);
	talk_end(x);
}

static void a_stranger_is_held_up_to_a_cap(void **state)
{
	(void)state;
	struct talk *x = talk_new(0, 9999, NULL);
	int n = 0;

	for (; x->owner && n < 1000; n++)
		talk_bytes(x, 0, "\xdd and more", 10);
	assert_in_range(n, 2, 999);
	assert_int_equal(x->ledger.flows[FLOWS_OTHER], 1);
	talk_end(x);
}

static void strangers_are_given_up(void **state)
{
	(void)state;
	struct talk *x = talk_new(-1, 9999, NULL);
	int n = 0;

	for (; x->owner && n < 100000; n++)
		talk_bytes(x, 0, "some other protocol", 19);
	assert_in_range(n, 64, 20000);
	assert_int_equal(x->ledger.flows[FLOWS_OTHER], 1);
	talk_end(x);
}

static void direct_tls_is_postgres_by_its_port_or_its_alpn(void **state)
{
	(void)state;
	static const char hello[] = "\x16\3\1\0\x20\1\0\0\x1c...\0\x10\0\xd\0\xb\x0apostgresql";
	struct talk *x = talk_new(0, 5432, NULL);

	talk_bytes(x, 0, "\x16\3\1\2\0\1\0\1\xfc", 9);
	talk_bytes(x, 1, "\x16\3\3\0\1\2", 6);
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->last_session.flags, SESSION_ENCRYPTED);
	assert_int_equal(x->ledger.flows[FLOWS_ENCRYPTED], 1);
	assert_int_equal(x->ledger.encrypted[TLS_NO_KEY], 1);
	talk_end(x);
	x = talk_new(0, 9999, NULL);
	talk_bytes(x, 0, hello, sizeof hello - 1);
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->ledger.flows[FLOWS_ENCRYPTED], 1);
	talk_end(x);
}

static void tls_in_the_middle_is_counted_with_its_reason(void **state)
{
	(void)state;
	struct talk *x = talk_new(-1, 443, NULL);

	talk_bytes(x, 1, "\x17\3\3\1\0rubbish", 12);
	assert_null(x->owner);
	assert_int_equal(x->ledger.flows[FLOWS_TLS], 1);
	assert_int_equal(x->ledger.encrypted[TLS_NO_HANDSHAKE], 1);
	talk_end(x);
}

static void a_gap_before_the_first_bytes_is_a_late_join(void **state)
{
	(void)state;
	struct talk *x = talk_late(0);

	talk_gap(x, 0, 100);
	client(x, "Q select 1");
	server(x, "C SELECT 1", "Z I");
	assert_int_equal(x->count, 1);
	assert_int_equal(x->last_session.flags, SESSION_JOINED_LATE);
	talk_end(x);
}

static void with_ports_named_other_ports_are_not_read(void **state)
{
	(void)state;
	struct match_options o = { .ports = { 7777 }, .port_count = 1 };
	struct talk *x = talk_new(0, 5432, &o);

	assert_null(x->owner);
	assert_int_equal(x->ledger.flows[FLOWS_OTHER_PORT], 1);
	talk_end(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_bytes_name_the_protocol),
		cmocka_unit_test(first_bytes_that_come_one_by_one_are_held_with_their_time),
		cmocka_unit_test(joined_late_the_bytes_tell_who_is_who),
		cmocka_unit_test(a_known_port_tells_who_is_who),
		cmocka_unit_test(joined_late_it_may_turn_out_to_be_http),
		cmocka_unit_test(what_is_answered_in_http_is_http),
		cmocka_unit_test(a_stranger_is_held_up_to_a_cap),
		cmocka_unit_test(strangers_are_given_up),
		cmocka_unit_test(direct_tls_is_postgres_by_its_port_or_its_alpn),
		cmocka_unit_test(tls_in_the_middle_is_counted_with_its_reason),
		cmocka_unit_test(a_gap_before_the_first_bytes_is_a_late_join),
		cmocka_unit_test(with_ports_named_other_ports_are_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
