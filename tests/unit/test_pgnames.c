#include "tests/lib/talk.h"

static void a_failed_prepare_leaves_no_name(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "P s1|good", "S");
	server(x, "1", "Z I");
	client(x, "P s1|again", "S");
	server(x, "E 42P05", "Z I");
	client(x, "B |s1", "E |0", "S");
	server(x, "2", "C SELECT 0", "Z I");
	assert_int_equal(x->count, 3);
	assert_string_equal(x->seen[2].text, "good");
	talk_end(x);
}

static void discard_all_forgets_the_names(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "P s1|select 1", "S");
	server(x, "1", "Z I");
	client(x, "Q  discard ALL;");
	server(x, "C DISCARD ALL", "Z I");
	client(x, "B |s1", "E |0", "S");
	server(x, "E 26000", "Z I");
	assert_int_equal(x->count, 3);
	assert_true(x->seen[2].raw.flags & REQUEST_TEXT_UNKNOWN);
	talk_end(x);
}

static void a_named_statement_is_prepared_and_run(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "P s1|select $1", "D S|s1", "S");
	server(x, "1", "t 23", "n", "Z I");
	client(x, "B |s1|4711", "E |0", "S");
	server(x, "2", "D 4711", "C SELECT 1", "Z I");
	assert_int_equal(x->count, 2);
	assert_int_equal(x->seen[0].raw.form, FORM_PREPARE);
	assert_string_equal(x->seen[0].text, "select $1");
	assert_int_equal(x->seen[0].raw.statement, 1);
	assert_int_equal(x->seen[1].raw.form, FORM_NAMED);
	assert_string_equal(x->seen[1].text, "select $1");
	assert_string_equal(x->seen[1].binds, "4711");
	assert_int_equal(x->seen[1].raw.statement, 1);
	assert_true(x->seen[1].raw.flags & REQUEST_SYNC);
	assert_int_equal(x->ledger.requests_seen, 1);
	assert_int_equal(x->ledger.prepares, 1);
	talk_end(x);
}

static void parameter_types_come_from_the_description(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "P s1|select $1", "D S|s1", "B |s1|5");
	/* The description came after this Bind: only the next one knows. */
	server(x, "1", "t 23", "n", "2");
	client(x, "B |s1|6", "E |0", "S");
	server(x, "2", "C SELECT 0", "Z I");
	assert_int_equal(x->count, 2);
	assert_string_equal(x->seen[1].binds, "6");
	talk_end(x);
}

static void prepare(struct talk *x, const char *parse)
{
	client(x, parse, "S");
	server(x, "1", "Z I");
}

static const struct seen *run(struct talk *x, const char *bind)
{
	client(x, bind, "E ", "S");
	server(x, "2", "C SELECT 0", "Z I");
	return &x->seen[x->count - 1];
}

static void deallocate_drops_a_name_when_the_server_did(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	prepare(x, "P a1|select 1");
	prepare(x, "P Mixed|select 2");
	client(x, "Q deallocate A1");
	server(x, "E 25P02|aborted", "Z E");
	assert_string_equal(run(x, "B |a1")->text, "select 1");
	client(x, "Q /* both */ DEALLOCATE prepare A1; deallocate \"Mixed\"");
	server(x, "C DEALLOCATE", "C DEALLOCATE", "Z I");
	assert_true(run(x, "B |a1")->raw.flags & REQUEST_TEXT_UNKNOWN);
	assert_true(run(x, "B |Mixed")->raw.flags & REQUEST_TEXT_UNKNOWN);
	talk_end(x);
}

static void what_is_prepared_behind_a_deallocate_stays(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	prepare(x, "P s|select 'old'");
	client(x, "P |deallocate all", "B |", "E ", "P s|select 'new'", "S");
	server(x, "1", "2", "C DEALLOCATE ALL", "1", "Z I");
	assert_string_equal(run(x, "B |s")->text, "select 'new'");
	client(x, "P |deallocate s", "B |", "E ", "P s|select 'newer'", "S");
	server(x, "1", "2", "C DEALLOCATE", "1", "Z I");
	assert_string_equal(run(x, "B |s")->text, "select 'newer'");
	talk_end(x);
}

static void a_close_that_was_skipped_closed_nothing(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	prepare(x, "P s|select 1");
	client(x, "P |selec", "C S|s", "S");
	server(x, "E 42601", "Z I");
	assert_string_equal(run(x, "B |s")->text, "select 1");
	client(x, "C S|s", "S");
	server(x, "3", "Z I");
	assert_true(run(x, "B |s")->raw.flags & REQUEST_TEXT_UNKNOWN);
	talk_end(x);
}

static void a_second_parse_tells_the_text_that_was_missed(void **state)
{
	(void)state;
	struct talk *x = talk_late(-1);

	server(x, "C SELECT 1", "Z I");
	assert_true(run(x, "B |s")->raw.flags & REQUEST_TEXT_UNKNOWN);
	client(x, "P s|select 1", "S");
	server(x, "E 42P05|exists", "Z I");
	assert_string_equal(run(x, "B |s")->text, "select 1");
	talk_end(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_prepare_leaves_no_name),
		cmocka_unit_test(discard_all_forgets_the_names),
		cmocka_unit_test(a_named_statement_is_prepared_and_run),
		cmocka_unit_test(parameter_types_come_from_the_description),
		cmocka_unit_test(deallocate_drops_a_name_when_the_server_did),
		cmocka_unit_test(what_is_prepared_behind_a_deallocate_stays),
		cmocka_unit_test(a_close_that_was_skipped_closed_nothing),
		cmocka_unit_test(a_second_parse_tells_the_text_that_was_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
