#include "tests/lib/talk.h"

/* A pool's connection that was seen from its start prepares and describes "s". */
static struct talk *pool_connection(struct talk *first, const char *parse, const char *columns)
{
	struct talk *x = first ? talk_begin_beside(first) : talk_begin();

	client(x, parse, "D S|s", "S");
	server(x, "1", "t 23", columns, "Z I");
	return x;
}

/* One that was joined late runs it, its portal described; the last request seen. */
static const struct seen *run_unknown(
	struct talk *first, struct talk *x, const char *bind, const char *columns)
{
	client(x, bind, "D P|", "E ", "S");
	server(x, "2", columns, "D 1", "C SELECT 1", "Z I");
	return &first->seen[first->count - 1];
}

static struct talk *late_connection(struct talk *first)
{
	struct talk *x = talk_late_beside(first, -1);

	server(x, "C SELECT 1", "Z I");
	return x;
}

static void the_text_comes_from_another_connection(void **state)
{
	(void)state;
	struct talk *x = pool_connection(NULL, "P s|select a from t where b = $1", "T a|23");
	struct talk *y = late_connection(x);
	const struct seen *seen = run_unknown(x, y, "B |s|7", "T a|23");

	assert_string_equal(seen->text, "select a from t where b = $1");
	assert_int_equal(seen->raw.flags & REQUEST_TEXT_UNKNOWN, 0);
	talk_end(y);
	talk_end(x);
}

static void another_shape_is_another_statement(void **state)
{
	(void)state;
	static const struct {
		const char *bind, *columns;
	} cases[] = {
		{ "B |s|7", "T b|23" }, /* another name */
		{ "B |s|7", "T a|20" }, /* another type */
		{ "B |s|7", "T a|23|b|23" }, /* one column more */
		{ "B |s|7|8", "T a|23" }, /* one parameter more */
		{ "B |other|7", "T a|23" },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct talk *x = pool_connection(NULL, "P s|select a", "T a|23");
		struct talk *y = late_connection(x);

		assert_true(run_unknown(x, y, cases[i].bind, cases[i].columns)->raw.flags &
			    REQUEST_TEXT_UNKNOWN);
		talk_end(y);
		talk_end(x);
	}
}

static void without_a_description_nothing_is_guessed(void **state)
{
	(void)state;
	struct talk *x = pool_connection(NULL, "P s|select a", "T a|23");
	struct talk *y = late_connection(x);

	client(y, "B |s|7", "E ", "S");
	server(y, "2", "D 1", "C SELECT 1", "Z I");
	assert_true(x->seen[x->count - 1].raw.flags & REQUEST_TEXT_UNKNOWN);
	talk_end(y);
	talk_end(x);
}

static void a_contested_name_is_believed_no_more(void **state)
{
	(void)state;
	struct talk *x = pool_connection(NULL, "P s|select a", "T a|23");
	struct talk *y = late_connection(x), *z;

	assert_string_equal(run_unknown(x, y, "B |s|7", "T a|23")->text, "select a");
	z = pool_connection(x, "P s|select a /* of another service */", "T a|23");
	assert_true(run_unknown(x, y, "B |s|7", "T a|23")->raw.flags & REQUEST_TEXT_UNKNOWN);
	talk_end(z);
	talk_end(y);
	talk_end(x);
}

static void a_refused_parse_teaches_nobody(void **state)
{
	(void)state;
	struct talk *x = talk_begin(), *y = late_connection(x);

	client(x, "P s|select nonsense", "D S|s", "S");
	server(x, "E 42601", "Z I");
	assert_true(run_unknown(x, y, "B |s|7", "T a|23")->raw.flags & REQUEST_TEXT_UNKNOWN);
	talk_end(y);
	talk_end(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_comes_from_another_connection),
		cmocka_unit_test(another_shape_is_another_statement),
		cmocka_unit_test(without_a_description_nothing_is_guessed),
		cmocka_unit_test(a_contested_name_is_believed_no_more),
		cmocka_unit_test(a_refused_parse_teaches_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
