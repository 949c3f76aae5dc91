#include "tests/lib/talk.h"

#include "capture/wire/pgedges.h"

static void a_returned_key_makes_a_strong_edge(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q insert into t values (1) returning id");
	server(x, "T id|23", "D 7", "C INSERT 0 1", "Z I");
	client(x, "Q select 'a', 7 from t");
	server(x, "T n|20", "D 4711", "C SELECT 1", "Z I");
	client(x, "P |select $1, $2", "B ||x|4711", "E |0", "S");
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->seen[1].raw.edge_count, 1);
	assert_int_equal(x->seen[1].edges[0].from_seq, 0);
	assert_int_equal(x->seen[1].edges[0].value, 1);
	assert_true(x->seen[1].edges[0].is_strong);
	assert_int_equal(x->seen[2].raw.edge_count, 1);
	assert_int_equal(x->seen[2].edges[0].from_seq, 1);
	assert_int_equal(x->seen[2].edges[0].value, MATCH_EDGE_BIND | 1);
	assert_false(x->seen[2].edges[0].is_strong);
	talk_end(x);
}

static void small_numbers_and_large_results_make_no_edges(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q select a from t");
	server(x, "D 5", "C SELECT 1", "Z I");
	client(x, "Q select b from t");
	for (int i = 0; i < 17; i++)
		wire_row(&x->s, "123456");
	server(x, "C SELECT 17", "Z I");
	client(x, "Q select 5, 123456");
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->seen[2].raw.edge_count, 0);
	talk_end(x);
}

static void values_are_the_same_in_text_and_binary(void **state)
{
	(void)state;
	static const struct {
		uint32_t oid;
		const char *binary;
		size_t n;
		const char *text;
	} cases[] = {
		{ 20, "\0\0\0\0\0\0\x12\x67", 8, "4711" },
		{ 23, "\0\0\x12\x67", 4, "4711" },
		{ 21, "\x12\x67", 2, "4711" },
		{ 26, "\xff\xff\xff\xff", 4, "4294967295" },
		{ 23, "\xff\xff\xff\xfe", 4, "-2" },
		{ 2950, "\x12\x34\x56\x78\x9a\xbc\xde\xf0\x12\x34\x56\x78\x9a\xbc\xde\xf0", 16,
			"12345678-9ABC-def0-1234-56789abcdef0" },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct pg_scalar a = pg_scalar_of(
			(struct slice){ cases[i].binary, cases[i].n }, true, cases[i].oid);
		struct pg_scalar b = pg_scalar_of(slice_of(cases[i].text), false, 0);

		assert_int_not_equal(a.kind, 0);
		assert_int_equal(a.kind, b.kind);
		assert_true(a.a == b.a && a.b == b.b);
	}
	/* Four bytes of no known type may be anything. */
	assert_int_equal(pg_scalar_of((struct slice){ "\0\0\x12\x67", 4 }, true, 0).kind, 0);
}

static void a_generated_small_number_counts(void **state)
{
	(void)state;
	static const char *const makers[] = { "Q select nextval('s')", "Q select LASTVAL()",
		"Q select currval('s')", "Q insert into t values (1) RETURNING id" };

	for (size_t i = 0; i < LENGTH(makers); i++) {
		struct talk *x = talk_begin();

		client(x, makers[i]);
		server(x, "T id|20", "D 7", "C SELECT 1", "Z I");
		client(x, "P |select $1", "B ||7", "E ", "S");
		talk_close(x, FLOW_CLOSED);
		assert_int_equal(x->seen[1].raw.edge_count, 1);
		assert_true(x->seen[1].edges[0].is_strong);
		talk_end(x);
	}
}

static void a_uuid_of_a_quiet_result_is_a_weak_edge(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q select id from t");
	server(x, "T id|2950", "D 12345678-9abc-def0-1234-56789abcdef0", "C SELECT 1", "Z I");
	client(x, "Q select 1 from u where t_id = '12345678-9ABC-DEF0-1234-56789ABCDEF0'");
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->seen[1].raw.edge_count, 1);
	assert_int_equal(x->seen[1].edges[0].value, 1);
	assert_false(x->seen[1].edges[0].is_strong);
	talk_end(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_returned_key_makes_a_strong_edge),
		cmocka_unit_test(small_numbers_and_large_results_make_no_edges),
		cmocka_unit_test(values_are_the_same_in_text_and_binary),
		cmocka_unit_test(a_generated_small_number_counts),
		cmocka_unit_test(a_uuid_of_a_quiet_result_is_a_weak_edge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
