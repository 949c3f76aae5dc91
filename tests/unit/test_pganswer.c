#include "tests/lib/talk.h"

static void after_an_error_the_rest_of_the_pipeline_is_skipped(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	for (int i = 0; i < 3; i++) {
		wire_parse(&x->c, "", "select 1");
		wire_bind(&x->c, "", "", NULL);
		wire_execute(&x->c, "", 0);
	}
	client(x, "S");
	server(x, "1", "2", "E 22012", "Z I");
	assert_int_equal(x->count, 3);
	assert_string_equal(x->seen[0].raw.sqlstate, "22012");
	assert_int_equal(x->seen[0].raw.flags & REQUEST_SKIPPED, 0);
	assert_true(x->seen[1].raw.flags & REQUEST_SKIPPED);
	assert_true(x->seen[2].raw.flags & REQUEST_SKIPPED);
	assert_int_equal(x->ledger.requests_paired, 1);
	assert_int_equal(x->ledger.requests_unpaired[UNPAIRED_SKIPPED], 2);
	/* The next one is none of that. */
	client(x, "Q select 2");
	server(x, "C SELECT 0", "Z I");
	assert_int_equal(x->seen[3].raw.flags, 0);
	talk_end(x);
}

static void what_comes_after_an_error_before_sync_is_skipped_too(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "P |selec");
	server(x, "E 42601");
	client(x, "B |", "E |0", "S");
	server(x, "Z I");
	assert_int_equal(x->count, 2);
	assert_string_equal(x->seen[0].raw.sqlstate, "42601");
	assert_true(x->seen[1].raw.flags & REQUEST_SKIPPED);
	talk_end(x);
}

/* An answer that fits nothing we know of: what is owed is doubtful until ReadyForQuery. */
static void an_answer_that_does_not_fit_is_not_believed(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q select 1");
	server(x, "2", "C SELECT 77", "Z I");
	talk_simple(x, "select 2");
	assert_int_equal(x->count, 2);
	assert_true(x->seen[0].raw.flags & REQUEST_GAP);
	assert_int_equal(x->seen[0].raw.rows, 0);
	assert_int_equal(x->seen[1].raw.flags, 0);
	talk_end(x);
}

static void a_fatal_error_is_an_answer(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q select pg_sleep(100)");
	server(x, "E 57P01");
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->count, 1);
	assert_string_equal(x->seen[0].raw.sqlstate, "57P01");
	assert_int_equal(x->seen[0].raw.flags & REQUEST_UNANSWERED, 0);
	talk_end(x);
}

static void a_cancelled_query_is_flagged(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q select pg_sleep(100)");
	server(x, "E 57014", "Z I");
	assert_true(x->seen[0].raw.flags & REQUEST_CANCELLED);
	talk_end(x);
}

static void copy_in_is_one_request_with_its_rows(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	/* libpq sends Sync with the COPY and once more at its end; the first is ignored. */
	client(x, "P |copy t from stdin", "B |", "E |0", "S");
	server(x, "1", "2", "G");
	client(x, "d 1\tone\n2\t");
	client(x, "d two\n", "c", "S");
	server(x, "C COPY 2", "Z I");
	talk_simple(x, "select 'next'");
	assert_int_equal(x->count, 2);
	assert_string_equal(x->seen[1].text, "select 'next'");
	assert_int_equal(x->seen[1].raw.flags, 0);
	assert_int_equal(x->seen[0].raw.form, FORM_COPY_IN);
	assert_int_equal(x->seen[0].raw.rows, 2);
	assert_int_equal(x->seen[0].raw.copy_data.n, 12);
	talk_end(x);
}

static void notices_come_anywhere(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q select 1");
	server(x, "N", "T a|23", "A", "D 1", "S application_name|", "D 2", "N", "C SELECT 2", "A",
		"Z I");
	talk_simple(x, "select 2");
	assert_int_equal(x->count, 2);
	assert_int_equal(x->seen[0].raw.rows, 2);
	assert_int_equal(x->seen[0].raw.flags | x->seen[1].raw.flags, 0);
	talk_end(x);
}

static void an_empty_query_is_answered(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q ");
	server(x, "I", "Z I");
	client(x, "P |", "B |", "E ", "S");
	server(x, "1", "2", "I", "Z I");
	assert_int_equal(x->count, 2);
	assert_int_equal(x->ledger.requests_paired, 2);
	talk_end(x);
}

static void a_function_call_is_one_request(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "F 957");
	server(x, "N", "V", "Z T");
	client(x, "F 957");
	server(x, "E 42883", "Z E");
	assert_int_equal(x->count, 2);
	assert_int_equal(x->seen[0].raw.form, FORM_FUNCTION);
	assert_int_equal(x->seen[0].raw.flags, REQUEST_VALUE_LOST);
	assert_string_equal(x->seen[1].raw.sqlstate, "42883");
	assert_int_equal(x->seen[1].raw.state_after, 'E');
	talk_end(x);
}

static void a_copy_may_stand_among_several_statements(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q begin; copy t from stdin; commit");
	server(x, "C BEGIN", "G");
	client(x, "d 1\n2\n", "c");
	server(x, "C COPY 2", "C COMMIT", "Z I");
	assert_int_equal(x->count, 1);
	assert_int_equal(x->seen[0].raw.form, FORM_COPY_IN);
	assert_int_equal(x->seen[0].raw.rows, 2);
	assert_string_equal(x->seen[0].copy, "1\n2\n");
	talk_end(x);
}

static void rows_of_two_copies_are_not_mixed(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q copy t from stdin; copy u from stdin");
	server(x, "G");
	client(x, "d 1\n", "c");
	server(x, "C COPY 1", "G");
	client(x, "d a\n", "c");
	server(x, "C COPY 1", "Z I");
	assert_int_equal(x->count, 1);
	assert_int_equal(x->seen[0].raw.rows, 2);
	assert_int_equal(x->seen[0].raw.copy_data.n, 0);
	assert_true(x->seen[0].raw.flags & REQUEST_VALUE_LOST);
	talk_end(x);
}

static void binary_copy_is_counted_without_its_rows(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q copy t from stdin (format binary)");
	server(x, "G 1");
	client(x, "d PGCOPY...", "c");
	server(x, "C COPY 3", "Z I");
	client(x, "Q copy t to stdout (format binary)");
	server(x, "H 1", "d PGCOPY", "d ...", "c", "C COPY 4", "Z I");
	assert_int_equal(x->count, 2);
	assert_int_equal(x->seen[0].raw.rows, 3);
	assert_int_equal(x->seen[0].raw.copy_data.n, 0);
	assert_true(x->seen[0].raw.flags & REQUEST_VALUE_LOST);
	assert_int_equal(x->seen[1].raw.form, FORM_COPY_OUT);
	assert_int_equal(x->seen[1].raw.rows, 4);
	talk_end(x);
}

static void a_copy_that_the_client_gives_up_was_not_cancelled(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q copy t from stdin");
	server(x, "G");
	client(x, "d 1\n", "f no more");
	server(x, "E 57014|COPY from stdin failed: no more", "Z I");
	talk_simple(x, "select 2");
	assert_int_equal(x->count, 2);
	assert_string_equal(x->seen[0].raw.sqlstate, "57014");
	assert_false(x->seen[0].raw.flags & REQUEST_CANCELLED);
	talk_end(x);
}

static void an_error_ends_a_copy_and_its_data_belongs_to_nothing(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "P |copy t from stdin", "B |", "E ", "S");
	server(x, "1", "2", "G");
	client(x, "d bad\n");
	server(x, "E 22P02|invalid input");
	client(x, "d more\n", "c", "S");
	server(x, "Z I");
	talk_simple(x, "select 2");
	assert_int_equal(x->count, 2);
	assert_string_equal(x->seen[0].raw.sqlstate, "22P02");
	assert_int_equal(x->seen[1].raw.flags, 0);
	talk_end(x);
}

static void a_timeout_is_no_cancel(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q select pg_sleep(100)");
	server(x, "E 57014|canceling statement due to statement timeout", "Z I");
	assert_false(x->seen[0].raw.flags & REQUEST_CANCELLED);
	talk_end(x);
}

static void a_failed_commit_at_sync_is_the_requests_error(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "P |insert", "B |", "E ", "S");
	server(x, "1", "2", "C INSERT 0 1", "E 23503|deferred", "Z I");
	assert_int_equal(x->count, 1);
	assert_string_equal(x->seen[0].raw.sqlstate, "23503");
	talk_end(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_an_error_the_rest_of_the_pipeline_is_skipped),
		cmocka_unit_test(what_comes_after_an_error_before_sync_is_skipped_too),
		cmocka_unit_test(an_answer_that_does_not_fit_is_not_believed),
		cmocka_unit_test(a_fatal_error_is_an_answer),
		cmocka_unit_test(a_cancelled_query_is_flagged),
		cmocka_unit_test(copy_in_is_one_request_with_its_rows),
		cmocka_unit_test(notices_come_anywhere),
		cmocka_unit_test(an_empty_query_is_answered),
		cmocka_unit_test(a_function_call_is_one_request),
		cmocka_unit_test(a_copy_may_stand_among_several_statements),
		cmocka_unit_test(rows_of_two_copies_are_not_mixed),
		cmocka_unit_test(binary_copy_is_counted_without_its_rows),
		cmocka_unit_test(a_copy_that_the_client_gives_up_was_not_cancelled),
		cmocka_unit_test(an_error_ends_a_copy_and_its_data_belongs_to_nothing),
		cmocka_unit_test(a_timeout_is_no_cancel),
		cmocka_unit_test(a_failed_commit_at_sync_is_the_requests_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
