#include "tests/lib/unit.h"

#include <errno.h>

#include "core/base/err.h"

static void says_kind_place_and_hint(void **state)
{
	(void)state;
	struct err e = { 0 };
	char *text;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	assert_false(err_set(&e, ERR_INPUT, "no three-digit status in '%s'", "abc"));
	assert_false(err_in(&e, "line %d", 2));
	assert_false(err_in(&e, "access.log"));
	assert_false(err_hint(&e, "give --format"));
	err_print(&e, to);
	fclose(to);
	assert_int_equal(e.kind, 3);
	assert_string_equal(text, "reprod: access.log: line 2: no three-digit status in 'abc'\n"
				  "hint: give --format\n");
	free(text);
}

static void an_operating_system_error_names_it(void **state)
{
	(void)state;
	struct err e = { 0 };

	err_os(&e, ERR_ENV, ENOSPC, "could not write '%s'", "out.rcap");
	assert_int_equal(e.os_errno, ENOSPC);
	assert_string_equal(e.what, "could not write 'out.rcap': No space left on device");
}

static void a_new_failure_forgets_the_old_place(void **state)
{
	(void)state;
	struct err e = { 0 };

	err_set(&e, ERR_INPUT, "one");
	err_in(&e, "place");
	err_hint(&e, "hint");
	err_set(&e, ERR_ENV, "two");
	assert_string_equal(e.where, "");
	assert_string_equal(e.hint, "");
}

static void texts_too_long_are_cut(void **state)
{
	(void)state;
	struct err e = { 0 };
	char long_text[2000];

	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	err_os(&e, ERR_ENV, EIO, "%s", long_text);
	assert_int_equal(strlen(e.what), sizeof(e.what) - 1);
	for (int i = 0; i < 10; i++)
		err_in(&e, "a place of some length that comes %d times", i);
	assert_true(strlen(e.where) < sizeof(e.where));
	assert_memory_equal(e.where, "a place of some length that comes 9 times: a place", 50);
	err_in(&e, "%s", long_text);
	assert_int_equal(strlen(e.where), sizeof(e.where) - 1);
}

static void a_shown_value_stays_one_line(void **state)
{
	(void)state;
	struct err e = { 0 };
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	assert_non_null(to);
	err_set(&e, ERR_INPUT, "'%s' is not a route", "a\nb\r\x1b[2J\x7f\xc3\xa9");
	err_in(&e, "x\ny");
	err_hint(&e, "see '%s'", "\b");
	err_print(&e, to);
	fclose(to);
	assert_string_equal(
		text, "reprod: x?y: 'a?b??[2J?\xc3\xa9' is not a route\nhint: see '?'\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_kind_place_and_hint),
		cmocka_unit_test(an_operating_system_error_names_it),
		cmocka_unit_test(a_new_failure_forgets_the_old_place),
		cmocka_unit_test(texts_too_long_are_cut),
		cmocka_unit_test(a_shown_value_stays_one_line),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
