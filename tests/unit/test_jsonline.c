#include "tests/lib/unit.h"

#include "core/format/jsonline.h"

/* "name=value;" for each member, with a '*' when its name is where it was before. */
static const char *walk(struct jsonline *j, const char *line)
{
	static char text[1000];
	struct jsonline_member m;
	enum step step = STEP_FAIL;
	size_t n = 0;

	text[0] = '\0';
	if (jsonline_open(j, slice_of(line)))
		while ((step = jsonline_next(j, &m)) == STEP_ITEM)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%.*s%s=%.*s;",
				(int)m.name.n, m.name.p, m.is_repeat ? "*" : "", (int)m.value.n,
				m.value.p);
	return step == STEP_END ? text : "no object";
}

static void a_name_in_its_place_is_a_repeat(void **state)
{
	struct jsonline j = { 0 };

	(void)state;
	assert_string_equal(walk(&j, "{\"a\":1,\"line_number\":\"x\"}"), "a=1;line_number=x;");
	assert_string_equal(walk(&j, "{\"a\":2,\"line_number\":\"y\"}"), "a*=2;line_number*=y;");
	assert_string_equal(walk(&j, "{ \"a\" : 3 , \"line_numbes\":4}"), "a=3;line_numbes=4;");
	assert_string_equal(walk(&j, "{\"line_number\":5,\"a\":6}"), "line_number=5;a=6;");
	jsonline_free(&j);
}

static void names_alike_at_their_ends_are_told_apart(void **state)
{
	struct jsonline j = { 0 };

	(void)state;
	walk(&j, "{\"abcdefgh_ijklmnop\":1}");
	assert_string_equal(walk(&j, "{\"abcdefgh_ijklmnoq\":1}"), "abcdefgh_ijklmnoq=1;");
	assert_string_equal(walk(&j, "{\"Xbcdefgh_ijklmnoq\":1}"), "Xbcdefgh_ijklmnoq=1;");
	assert_string_equal(walk(&j, "{\"Xbcdefgh_Yjklmnoq\":1}"), "Xbcdefgh_Yjklmnoq=1;");
	jsonline_free(&j);
}

static void what_cannot_be_remembered_is_read_as_before(void **state)
{
	static const char *const lines[][2] = {
		{ "{\"\\u0061\":1}", "a=1;" },
		{ "{\"a_name_that_is_longer_than_what_is_kept\":1}",
			"a_name_that_is_longer_than_what_is_kept=1;" },
		{ "{\"a\"  :1}", "a=1;" },
		{ "{\"\":1}", "=1;" },
	};
	struct jsonline j = { 0 };

	(void)state;
	for (size_t i = 0; i < LENGTH(lines); i++) {
		assert_string_equal(walk(&j, lines[i][0]), lines[i][1]);
		const char *again = walk(&j, lines[i][0]);
		assert_true(strlen(again) - strlen(lines[i][1]) <= 1);
	}
	jsonline_free(&j);
}

static void members_past_the_memory_are_given_all_the_same(void **state)
{
	struct jsonline j = { 0 };
	char line[1000] = "{";
	struct jsonline_member m;

	(void)state;
	for (unsigned i = 0; i < JSONLINE_PLACES_MAX + 8; i++)
		snprintf(line + strlen(line), 16, "%s\"m%u\":%u", i ? "," : "", i, i);
	strcat(line, "}");
	for (int round = 0; round < 2; round++) {
		assert_true(jsonline_open(&j, slice_of(line)));
		for (unsigned i = 0; i < JSONLINE_PLACES_MAX + 8; i++) {
			assert_int_equal(jsonline_next(&j, &m), STEP_ITEM);
			assert_int_equal(m.index, i);
			assert_int_equal(m.is_repeat, round == 1 && i < JSONLINE_PLACES_MAX);
		}
		assert_int_equal(jsonline_next(&j, &m), STEP_END);
	}
	jsonline_free(&j);
}

static void a_quote_or_backslash_is_found_at_every_offset(void **state)
{
	struct jsonline j = { 0 };

	(void)state;
	for (int n = 0; n < 24; n++) {
		char line[80], wanted[80];

		snprintf(line, sizeof(line), "{\"k\":\"%.*s\"}", n, "abcdefghijklmnopqrstuvwxyz");
		snprintf(wanted, sizeof(wanted), "k%s=%.*s;", n ? "*" : "", n,
			"abcdefghijklmnopqrstuvwxyz");
		assert_string_equal(walk(&j, line), wanted);
		snprintf(line, sizeof(line), "{\"k\":\"%.*s\\\"#\"}", n,
			"abcdefghijklmnopqrstuvwxyz");
		snprintf(wanted, sizeof(wanted), "k*=%.*s\"#;", n, "abcdefghijklmnopqrstuvwxyz");
		assert_string_equal(walk(&j, line), wanted);
	}
	jsonline_free(&j);
}

static void what_is_no_json_is_refused(void **state)
{
	static const char *const lines[] = { "", "[1]", "{\"a\":}", "{\"a\":01x}", "{\"a\":1",
		"{\"a\":\"1}", "{\"a\" 1}", "{\"a\":1}}", "{\"a\":-}", "{a:1}" };

	(void)state;
	for (size_t i = 0; i < LENGTH(lines); i++) {
		struct jsonline j = { 0 };

		assert_string_equal(walk(&j, lines[i]), "no object");
		jsonline_free(&j);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_in_its_place_is_a_repeat),
		cmocka_unit_test(names_alike_at_their_ends_are_told_apart),
		cmocka_unit_test(what_cannot_be_remembered_is_read_as_before),
		cmocka_unit_test(members_past_the_memory_are_given_all_the_same),
		cmocka_unit_test(a_quote_or_backslash_is_found_at_every_offset),
		cmocka_unit_test(what_is_no_json_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
