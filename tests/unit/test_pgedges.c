#include "tests/lib/talk.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_returned_key_makes_a_strong_edge),
		cmocka_unit_test(small_numbers_and_large_results_make_no_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
