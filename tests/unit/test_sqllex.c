#include "tests/lib/unit.h"

#include "core/model/sqllex.h"

static char letter_of(enum sql_kind kind)
{
	return "wnsbd#$op"[kind];
}

/* Kinds as letters, with "!" behind when the text does not lex. */
static void kinds_of(const char *text, char *to)
{
	struct sqllex lex;
	struct sql_token t;
	enum step step;

	sqllex_init(&lex, slice_of(text));
	while ((step = sqllex_next(&lex, &t)) == STEP_ITEM)
		*to++ = letter_of(t.kind);
	if (step == STEP_FAIL)
		*to++ = '!';
	*to = '\0';
}

static void tells_the_kinds_of_tokens(void **state)
{
	static const struct {
		const char *text, *kinds;
	} cases[] = {
		{ "", "" },
		{ " \t\n", "" },
		{ "select a, \"B c\" from t;", "wwpnwwp" },
		{ "1 1.5 .5 1e5 1.5e-3 0xFF 1_000", "#######" },
		{ "1..2", "#p#" },
		{ "a.b", "wpw" },
		{ "$1 $23", "$$" },
		{ "'it''s' E'it\\'s' N'x' U&'\\0041' B'01' X'ff'", "ssssbb" },
		{ "e'a' 'b'", "ss" },
		{ "E'a'\n'b\\'c'", "ss" },
		{ "U&\"d\\0061t\"", "n" },
		{ "$$a$$ $x$ $y$ $x$", "dd" },
		{ "a$1", "w" },
		{ "$a", "!" },
		{ "$$a", "!" },
		{ "'a", "!" },
		{ "\"a", "!" },
		{ "/* a", "!" },
		{ "/* /* */", "!" },
		{ "/* /* */ */ 1", "#" },
		{ "-- a\n1", "#" },
		{ "1 -- a", "#" },
		{ "a--1\n+2", "wo#" },
		{ "a::int", "wow" },
		{ "a := 5", "wo#" },
		{ "x[1:2]", "wp#p#p" },
		{ "->> #>> @> ||", "oooo" },
		{ "a*-1", "woo#" },
		{ "@-1", "o#" },
		{ "1AND 2", "#w#" },
		{ "1abc", "!" },
		{ "123abc456def", "!" },
		{ "$1abc", "!" },
		{ "0x", "!" },
		{ "\\d t", "!" },
		{ "a \x01 b", "w!" },
		{ "E'\\", "!" },
		{ "q'a'", "ws" },
		{ "\xc3\xa9t\xc3\xa9", "w" },
		{ "a/*b*/c", "ww" },
		{ "?", "o" },
		{ "1e", "!" },
	};
	char got[64];
	(void)state;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		kinds_of(cases[i].text, got);
		if (strcmp(got, cases[i].kinds) != 0)
			fail_msg("%s: %s, not %s", cases[i].text, got, cases[i].kinds);
	}
}

static void a_nul_does_not_lex(void **state)
{
	static const char *const around[] = { "a", "'a", "\"a", "-- a", "/* a", "$$a" };
	char text[16];
	(void)state;

	for (size_t i = 0; i < LENGTH(around); i++) {
		struct sqllex lex;
		struct sql_token t;
		enum step step;
		size_t n = strlen(around[i]);

		memcpy(text, around[i], n);
		text[n] = '\0';
		memcpy(text + n + 1, "'\"*/$$", 6);
		sqllex_init(&lex, (struct slice){ text, n + 7 });
		while ((step = sqllex_next(&lex, &t)) == STEP_ITEM)
			;
		assert_int_equal(step, STEP_FAIL);
	}
}

static void tokens_are_slices_of_the_text(void **state)
{
	const char *text = "select/**/'a''b' ,$q$x$q$";
	struct sqllex lex;
	struct sql_token t;
	(void)state;

	sqllex_init(&lex, slice_of(text));
	assert_int_equal(sqllex_next(&lex, &t), STEP_ITEM);
	assert_true(slice_is(t.text, "select"));
	assert_true(sql_word_is(&t, "select"));
	assert_false(sql_word_is(&t, "selec"));
	assert_false(sql_word_is(&t, "selects"));
	assert_false(t.has_gap);
	assert_int_equal(sqllex_next(&lex, &t), STEP_ITEM);
	assert_true(slice_is(t.text, "'a''b'"));
	assert_true(t.has_gap);
	assert_ptr_equal(t.text.p, text + 10);
	assert_int_equal(sqllex_next(&lex, &t), STEP_ITEM);
	assert_int_equal(sqllex_next(&lex, &t), STEP_ITEM);
	assert_true(slice_is(t.text, "$q$x$q$"));
	assert_false(t.has_gap);
	assert_int_equal(sqllex_next(&lex, &t), STEP_END);
	assert_int_equal(sqllex_next(&lex, &t), STEP_END);
}

static void backslashes_escape_where_the_server_says_so(void **state)
{
	struct sqllex lex;
	struct sql_token t;
	(void)state;

	sqllex_init(&lex, SLICE("'a\\'b'"));
	assert_int_equal(sqllex_next(&lex, &t), STEP_ITEM);
	assert_true(slice_is(t.text, "'a\\'"));
	sqllex_init(&lex, SLICE("'a\\'b'"));
	lex.is_backslash_escape = true;
	assert_int_equal(sqllex_next(&lex, &t), STEP_ITEM);
	assert_true(slice_is(t.text, "'a\\'b'"));
}

static void scripts_split_at_semicolons_of_the_top(void **state)
{
	static const char *const statements[] = {
		"SELECT ';'",
		"DO $$ a; b; $$",
		"CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)",
		"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN a THEN 1 END; SELECT 2; END",
		"BEGIN",
		"UPDATE t SET a = 1",
	};
	struct slice rest =
		SLICE(" ;; SELECT ';' ; -- x;\nDO $$ a; b; $$;"
		      "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2);\n"
		      "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN a THEN 1 END; "
		      "SELECT 2; END; BEGIN; UPDATE t SET a = 1 /* last */ ");
	struct slice one;
	(void)state;

	for (size_t i = 0; i < LENGTH(statements); i++) {
		assert_int_equal(sql_split_next(&rest, &one), STEP_ITEM);
		if (!slice_is(one, statements[i]))
			fail_msg("'%.*s' is not '%s'", (int)one.n, one.p, statements[i]);
	}
	assert_int_equal(sql_split_next(&rest, &one), STEP_END);
	rest = SLICE("SELECT 1; \\d t\n SELECT 2");
	assert_int_equal(sql_split_next(&rest, &one), STEP_ITEM);
	assert_int_equal(sql_split_next(&rest, &one), STEP_FAIL);
}

static void a_run_of_operators_has_an_end(void **state)
{
	char text[300];
	struct sqllex lex;
	struct sql_token t;
	(void)state;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "+-"[i % 2];
	sqllex_init(&lex, (struct slice){ text, 256 });
	for (size_t i = 0; i < 256; i++)
		assert_int_equal(sqllex_next(&lex, &t), STEP_ITEM);
	assert_int_equal(sqllex_next(&lex, &t), STEP_END);
	sqllex_init(&lex, (struct slice){ text, 257 });
	assert_int_equal(sqllex_next(&lex, &t), STEP_FAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_the_kinds_of_tokens),
		cmocka_unit_test(a_nul_does_not_lex),
		cmocka_unit_test(tokens_are_slices_of_the_text),
		cmocka_unit_test(backslashes_escape_where_the_server_says_so),
		cmocka_unit_test(a_run_of_operators_has_an_end),
		cmocka_unit_test(scripts_split_at_semicolons_of_the_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
