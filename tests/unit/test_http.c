#include "tests/lib/unit.h"

#include "tests/lib/httptalk.h"

static void say(struct httptalk *t, int side, const char *text)
{
	httptalk_say(t, side, text, strlen(text));
}

static void end(struct httptalk *t, const char *lines)
{
	httptalk_close(t);
	assert_string_equal(buf_text(&t->lines), lines);
	assert_null(httptalk_fault(t));
	httptalk_free(t);
}

static void times_and_sizes_are_the_wires(void **state)
{
	(void)state;
	struct httptalk *t = httptalk_new(false);

	say(t, 0, "GET / HTTP/1.1\r\n"); /* 2000 */
	say(t, 0, "\r\n"); /* 3000 */
	say(t, 1, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"); /* 4000 */
	say(t, 1, "1\r\nx\r\n"); /* 5000 */
	say(t, 1, "0\r\n\r\n"); /* 6000 */
	assert_int_equal(t->last.start_ns, 2000);
	assert_int_equal(t->last.first_byte_ns, 4000);
	assert_int_equal(t->last.end_ns, 6000);
	assert_int_equal(t->last.think_ns, -1);
	assert_int_equal(t->last.in_flight, 1);
	assert_int_equal(t->last.bytes_in, 18);
	assert_int_equal(t->last.bytes_out, 47 + 6 + 5);
	say(t, 0, "GET / HTTP/1.1\r\n\r\n"); /* 7000 */
	say(t, 1, "HTTP/1.1 204 No\r\n\r\n");
	assert_int_equal(t->last.think_ns, 1000);
	assert_int_equal(t->last.seq, 1);
	end(t, "GET / 200\nGET / 204\n");
}

static void an_answer_may_come_before_the_request_ended(void **state)
{
	(void)state;
	struct httptalk *t = httptalk_new(false);

	say(t, 0, "POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nab");
	say(t, 1, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
	assert_int_equal(t->requests, 0);
	say(t, 0, "cd");
	assert_int_equal(t->requests, 1);
	say(t, 0, "POST /b HTTP/1.1\r\nContent-Length: 4\r\n\r\nab");
	say(t, 1, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
	end(t, "POST /a 413 body=abcd\nPOST /b 413 body=ab cut\n");
}

static void a_long_body_is_cut_and_counted(void **state)
{
	(void)state;
	struct httptalk *t = httptalk_new(false);
	size_t n = 3 << 20;
	char *body = calloc(1, n);

	say(t, 0, "POST /a HTTP/1.1\r\nContent-Length: 3145728\r\n\r\n");
	httptalk_say(t, 0, body, n);
	assert_true(t->held_max_seen < HTTP_BODY_MAX + 8192);
	say(t, 1, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	assert_int_equal(t->last.flags, REQUEST_VALUE_LOST);
	assert_int_equal(t->last.bytes_in, n + 45);
	assert_int_equal(t->ledger.lost[LOST_BODY], 1);
	httptalk_close(t);
	assert_null(httptalk_fault(t));
	httptalk_free(t);
	free(body);
}

static void over_the_cap_of_memory_requests_are_shed(void **state)
{
	(void)state;
	struct httptalk *t = httptalk_new(false);

	t->wire.held_max = 20;
	say(t, 0, "GET /secret HTTP/1.1\r\nHost: h\r\n\r\n");
	say(t, 1, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	say(t, 0, "GET /secret HTTP/1.1\r\nHost: h\r\n\r\n");
	httptalk_close(t);
	assert_int_equal(t->ledger.requests_unpaired[UNPAIRED_SHED], 1);
	end(t, "  200 shed unknown\n  0 shed unanswered unknown\n");
}

static void a_gap_inside_a_body_is_passed_over(void **state)
{
	(void)state;
	struct httptalk *t = httptalk_new(false);

	say(t, 0, "POST /a HTTP/1.1\r\nContent-Length: 10\r\n\r\nab");
	httptalk_gap(t, 0, 8);
	say(t, 1, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab");
	httptalk_gap(t, 1, 3);
	say(t, 1, "12345");
	say(t, 0, "GET /b HTTP/1.1\r\n\r\n");
	say(t, 1, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	assert_int_equal(t->ledger.lost[LOST_RESYNC], 0);
	end(t, "POST /a 200 body=ab gap cut\nGET /b 200\n");
}

static void after_a_gap_reading_goes_on_at_the_next_message(void **state)
{
	(void)state;
	struct httptalk *t = httptalk_new(false);

	say(t, 0, "GET /a HTTP/1.1\r\n\r\n");
	httptalk_gap(t, 1, 100); /* the answer, and who knows what */
	say(t, 0, "GET /b HTTP/1.1\r\n\r\n");
	say(t, 1, "rest of /a's");
	say(t, 1, "HTTP/1.1 201 OK\r\nContent-Length: 0\r\n\r\n");
	say(t, 0, "GET /c HT");
	httptalk_gap(t, 0, 100);
	say(t, 1, "HTTP/1.1 202 OK\r\nContent-Length: 0\r\n\r\n");
	say(t, 0, "GET /d HTTP/1.1\r\n\r\n");
	say(t, 1, "HTTP/1.1 203 OK\r\nContent-Length: 0\r\n\r\n");
	httptalk_close(t);
	assert_int_equal(t->ledger.requests_unpaired[UNPAIRED_GAP], 1);
	assert_int_equal(t->ledger.requests_unpaired[UNPAIRED_NO_REQUEST], 0);
	assert_int_equal(t->ledger.lost[LOST_RESYNC], 2);
	assert_int_equal(t->ledger.lost[LOST_TCP_GAP], 2);
	end(t, "GET /a 0 gap unanswered\nGET /b 201\n  202 gap unknown cut\nGET /d 203\n");
}

/* As with a snapshot length of 96: the first bytes of each packet. */
static void heads_that_were_cut_are_messages_all_the_same(void **state)
{
	(void)state;
	struct httptalk *t = httptalk_new(false);

	say(t, 0, "POST /a HTTP/1.1\r\nContent-Length: 5\r\nUser-");
	httptalk_gap(t, 0, 100);
	say(t, 1, "HTTP/1.1 200 OK\r\nDa");
	httptalk_gap(t, 1, 100);
	say(t, 1, "and a packet of its body");
	httptalk_gap(t, 1, 1000);
	say(t, 0, "HEAD /a/long/on");
	httptalk_gap(t, 0, 100);
	say(t, 1, "HTTP/1.1 404 ");
	httptalk_gap(t, 1, 100);
	say(t, 0, "GET /b HTTP/1.1\r\n\r\n");
	say(t, 1, "HTTP/1.1 201 OK\r\nContent-Length: 0\r\n\r\n");
	httptalk_close(t);
	assert_int_equal(t->ledger.requests_paired, 3);
	end(t, "POST /a 200 gap cut\n  404 gap unknown cut\nGET /b 201\n");
}

static void joined_late_it_waits_for_a_message(void **state)
{
	(void)state;
	struct httptalk *t = httptalk_new(true);

	say(t, 1, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	say(t, 0, "some body's end");
	say(t, 0, "GET /b HTTP/1.1\r\n\r\n");
	say(t, 1, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	httptalk_close(t);
	assert_int_equal(t->session_flags, SESSION_JOINED_LATE);
	assert_int_equal(t->ledger.requests_unpaired[UNPAIRED_NO_REQUEST], 1);
	assert_int_equal(t->ledger.lost[LOST_RESYNC], 0);
	end(t, "GET /b 200\n");
}

static void one_connection_owes_only_so_many_answers(void **state)
{
	(void)state;
	struct httptalk *t = httptalk_new(false);

	for (int i = 0; i < 20000; i++)
		say(t, 0, "GET / HTTP/1.1\r\n\r\n");
	assert_true(t->is_over);
	httptalk_close(t);
	assert_int_equal(t->requests, 16384);
	assert_int_equal(t->ledger.flows[FLOWS_HTTP_REFUSED], 1);
	assert_null(httptalk_fault(t));
	httptalk_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_and_sizes_are_the_wires),
		cmocka_unit_test(an_answer_may_come_before_the_request_ended),
		cmocka_unit_test(a_long_body_is_cut_and_counted),
		cmocka_unit_test(over_the_cap_of_memory_requests_are_shed),
		cmocka_unit_test(a_gap_inside_a_body_is_passed_over),
		cmocka_unit_test(after_a_gap_reading_goes_on_at_the_next_message),
		cmocka_unit_test(heads_that_were_cut_are_messages_all_the_same),
		cmocka_unit_test(joined_late_it_waits_for_a_message),
		cmocka_unit_test(one_connection_owes_only_so_many_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
