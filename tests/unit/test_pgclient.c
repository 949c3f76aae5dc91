#include "tests/lib/talk.h"

static void a_simple_query_is_one_request(void **state)
{
	(void)state;
	struct talk *x = talk_begin();
	const struct raw_request *q = &x->seen[0].raw;

	client(x, "Q select 1; select 2");
	server(x, "T a|23", "D 1", "C SELECT 1");
	server(x, "D 2", "C SELECT 1", "Z I");
	assert_int_equal(x->count, 1);
	assert_string_equal(x->seen[0].text, "select 1; select 2");
	assert_int_equal(q->form, FORM_SIMPLE);
	assert_int_equal(q->rows, 2);
	assert_int_equal(q->first_byte_ns - q->start_ns, 1000);
	assert_int_equal(q->end_ns - q->start_ns, 2000);
	assert_int_equal(q->think_ns, -1);
	assert_int_equal(q->in_flight, 1);
	assert_int_equal(q->state_before, 'I');
	assert_int_equal(q->bytes_in, 24);
	talk_end(x);
}

static void think_time_is_counted_from_the_last_answer(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	for (int i = 0; i < 2; i++) {
		wire_query(&x->c, i ? "commit" : "begin");
		x->now_ns += 5000;
		talk_flush(x, 0);
		wire_done(&x->s, i ? "COMMIT" : "BEGIN");
		wire_ready(&x->s, i ? 'I' : 'T');
		talk_flush(x, 1);
	}
	assert_int_equal(x->seen[1].raw.think_ns, 6000);
	assert_int_equal(x->seen[1].raw.seq, 1);
	assert_int_equal(x->seen[1].raw.state_before, 'T');
	assert_int_equal(x->seen[1].raw.state_after, 'I');
	talk_end(x);
}

static void a_split_message_is_put_together(void **state)
{
	(void)state;
	struct talk *x = talk_begin();
	struct buf all = { 0 };
	int64_t started_ns = x->now_ns + 1000;

	wire_query(&all, "select 'in many pieces'");
	for (size_t i = 0; i < all.n; i++) {
		buf_add(&x->c, all.p + i, 1);
		talk_flush(x, 0);
	}
	buf_reset(&all);
	wire_done(&all, "SELECT 0");
	wire_ready(&all, 'I');
	for (size_t i = 0; i < all.n; i++) {
		buf_add(&x->s, all.p + i, 1);
		talk_flush(x, 1);
	}
	assert_int_equal(x->count, 1);
	assert_string_equal(x->seen[0].text, "select 'in many pieces'");
	assert_int_equal(x->seen[0].raw.start_ns, started_ns);
	assert_int_equal(x->seen[0].raw.end_ns, x->now_ns);
	buf_free(&all);
	talk_end(x);
}

static void a_pipeline_is_several_requests(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	for (int i = 0; i < 3; i++) {
		wire_parse(&x->c, "", i == 0 ? "begin" : i == 1 ? "select 2" : "commit");
		client(x, "B |", "E |0");
	}
	client(x, "S");
	for (int i = 0; i < 3; i++) {
		wire_bare(&x->s, '1');
		wire_bare(&x->s, '2');
		wire_done(&x->s, i == 0 ? "BEGIN" : i == 1 ? "SELECT 0" : "COMMIT");
		talk_flush(x, 1);
	}
	assert_int_equal(x->count, 2);
	server(x, "Z I");
	assert_int_equal(x->count, 3);
	assert_string_equal(x->seen[1].text, "select 2");
	assert_int_equal(x->seen[1].raw.state_before, 'T');
	assert_int_equal(x->seen[1].raw.think_ns, 0);
	assert_int_equal(x->seen[1].raw.in_flight, 2);
	assert_false(x->seen[1].raw.flags & REQUEST_SYNC);
	assert_true(x->seen[2].raw.flags & REQUEST_SYNC);
	/* ReadyForQuery ends the last one alone. */
	assert_int_equal(x->seen[2].raw.end_ns, x->now_ns);
	assert_int_equal(x->seen[1].raw.end_ns, x->now_ns - 2000);
	talk_end(x);
}

static void a_portal_is_fetched_in_parts(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "P |select g", "B p|", "E p|2", "S");
	server(x, "1", "2", "D 1", "D 2", "s", "Z T");
	client(x, "E p|2", "S");
	server(x, "D 3", "C SELECT 1", "Z T");
	assert_int_equal(x->count, 2);
	assert_int_equal(x->seen[0].raw.form, FORM_UNNAMED);
	assert_int_equal(x->seen[0].raw.rows, 2);
	assert_int_equal(x->seen[0].raw.row_limit, 2);
	assert_int_equal(x->seen[1].raw.form, FORM_FETCH);
	assert_int_equal(x->seen[1].raw.portal, x->seen[0].raw.portal);
	assert_int_equal(x->seen[1].raw.rows, 1);
	assert_string_equal(x->seen[1].text, "select g");
	talk_end(x);
}

static void too_long_a_pipeline_is_shed_and_counted(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	for (int i = 0; i < 20000; i++)
		wire_describe(&x->c, 'S', "s");
	client(x, "Q select 1");
	server(x, "Z I");
	client(x, "Q select 2");
	server(x, "C SELECT 0", "Z I");
	assert_string_equal(x->seen[x->count - 1].text, "select 2");
	talk_end(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_simple_query_is_one_request),
		cmocka_unit_test(think_time_is_counted_from_the_last_answer),
		cmocka_unit_test(a_split_message_is_put_together),
		cmocka_unit_test(a_pipeline_is_several_requests),
		cmocka_unit_test(a_portal_is_fetched_in_parts),
		cmocka_unit_test(too_long_a_pipeline_is_shed_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
