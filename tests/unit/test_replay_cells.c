#include "tests/lib/unit.h"

#include "replay/cells.h"
#include "replay/statement.h"

static struct value literal(uint16_t place, const char *text)
{
	return (struct value){ .place = place, .bytes = slice_of(text) };
}

static void a_key_is_spelled_as_what_it_replaces(void **state)
{
	static const struct {
		const char *cell;
		struct value like;
		const char *expected;
		size_t length;
	} cases[] = {
		{ "5001", { .bytes = { "17", 2 } }, "5001", 4 },
		{ "5001", { .bytes = { "'17'", 4 } }, "'5001'", 6 },
		{ "5001", { .is_bind = true, .bytes = { "17", 2 } }, "5001", 4 },
		{ "258", { .is_bind = true, .format = 1, .bytes = { "\0\0\0\7", 4 } }, "\0\0\1\2",
			4 },
		{ "-1", { .is_bind = true, .format = 1, .bytes = { "\0\0\0\0\0\0\0\7", 8 } },
			"\377\377\377\377\377\377\377\377", 8 },
		{ "00010203-0405-0607-0809-0a0b0c0d0e0f",
			{ .is_bind = true, .format = 1, .bytes = { "................", 16 } },
			"\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17", 16 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct cell cell = { .length = (uint8_t)strlen(cases[i].cell) };
		char to[CELL_TEXT_MAX + 2];
		size_t length;

		strcpy(cell.text, cases[i].cell);
		assert_true(cell_spell(&cell, &cases[i].like, to, &length));
		assert_int_equal(length, cases[i].length);
		assert_memory_equal(to, cases[i].expected, length);
	}
}

static void what_does_not_fit_keeps_the_captured_value(void **state)
{
	static const struct {
		const char *cell;
		struct value like;
	} cases[] = {
		{ "70000", { .is_bind = true, .format = 1, .bytes = { "\0\7", 2 } } },
		{ "1 OR true", { .bytes = { "17", 2 } } },
		{ "it's", { .bytes = { "'17'", 4 } } },
		{ "zz", { .is_bind = true, .format = 1, .bytes = { "................", 16 } } },
		{ "5", { .is_bind = true, .format = 1, .bytes = { "abc", 3 } } },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct cell cell = { .length = (uint8_t)strlen(cases[i].cell) };
		char to[CELL_TEXT_MAX + 2];
		size_t length;

		strcpy(cell.text, cases[i].cell);
		assert_false(cell_spell(&cell, &cases[i].like, to, &length));
	}
}

static void the_newest_answer_counts_and_old_ones_go(void **state)
{
	struct cells c = { 0 };
	struct edge edge = { .from_seq = 3 };

	(void)state;
	assert_true(cells_put(&c, 1, 3, 0, 0, SLICE("1")));
	assert_true(cells_put(&c, 1, 3, 0, 0, SLICE("2")));
	assert_true(cells_put(&c, 2, 3, 0, 0, SLICE("3")));
	assert_string_equal(cells_get(&c, 1, &edge)->text, "2");
	assert_null(cells_get(&c, 4, &edge));
	for (int i = 0; i < CELLS_MAX; i++)
		assert_true(cells_put(&c, 9, 9, 0, 0, SLICE("9")));
	assert_null(cells_get(&c, 1, &edge));
	assert_int_equal(c.count, CELLS_MAX);
	cells_free(&c);
}

static void a_statement_gets_its_literals_and_keys_back(void **state)
{
	struct value values[] = { literal(0, "17"), literal(1, "'x'"),
		{ .is_bind = true, .bytes = { "17", 2 } } };
	struct edge edges[] = { { .from_seq = 3, .value = 0, .is_strong = true },
		{ .from_seq = 3, .value = 2, .is_strong = true } };
	struct plan_item item = { .q = { .session = 1,
					  .values = values,
					  .value_count = 3,
					  .edges = edges,
					  .edge_count = 2 } };
	struct statement s = { 0 };
	struct cells c = { 0 };

	(void)state;
	assert_true(cells_put(&c, 1, 3, 0, 0, SLICE("5001")));
	assert_true(statement_build(&s, &item, SLICE("SELECT \x01, \x01, $1"), &c, true));
	assert_string_equal(s.text.p, "SELECT 5001, 'x', $1");
	assert_int_equal(s.param_count, 1);
	assert_string_equal(s.params[0], "5001");
	assert_int_equal(s.substituted, 2);
	edges[0].is_strong = edges[1].is_strong = false;
	assert_true(statement_build(&s, &item, SLICE("SELECT \x01, \x01, $1"), &c, true));
	assert_string_equal(s.text.p, "SELECT 17, 'x', $1");
	statement_free(&s);
	cells_free(&c);
}

static void a_missing_value_is_no_statement(void **state)
{
	struct value lost = { .flags = VALUE_IS_UNKNOWN };
	struct plan_item item = { .q = { .session = 1, .values = &lost, .value_count = 1 } };
	struct statement s = { 0 };
	struct cells c = { 0 };

	(void)state;
	assert_false(statement_build(&s, &item, SLICE("SELECT \x01"), &c, true));
	assert_false(statement_build(&s, &item, (struct slice){ 0 }, &c, true));
	statement_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_spelled_as_what_it_replaces),
		cmocka_unit_test(what_does_not_fit_keeps_the_captured_value),
		cmocka_unit_test(the_newest_answer_counts_and_old_ones_go),
		cmocka_unit_test(a_statement_gets_its_literals_and_keys_back),
		cmocka_unit_test(a_missing_value_is_no_statement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
