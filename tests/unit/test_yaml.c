#include "core/base/buf.h"
#include "core/base/yaml.h"
#include "tests/lib/unit.h"

static enum step first_of(struct slice text, struct err *e)
{
	struct yaml_stream *y = yaml_open(text);
	struct json *document;

	assert_non_null(y);
	enum step step = yaml_next(y, &document, e);
	json_free(document);
	yaml_close(y);
	return step;
}

static void many_open_brackets_are_refused_before_they_are_parsed(void **state)
{
	struct buf text = { 0 };
	struct err e = { 0 };

	(void)state;
	for (int i = 0; i < 200000; i++)
		buf_add_byte(&text, i % 2 ? '[' : '{');
	assert_int_equal(first_of(buf_slice(&text), &e), STEP_FAIL);
	assert_non_null(strstr(e.what, "brackets"));
	assert_int_equal(e.kind, ERR_INPUT);
	buf_free(&text);
}

static void many_closed_brackets_are_read(void **state)
{
	struct buf text = { 0 };
	struct err e = { 0 };

	(void)state;
	for (int i = 0; i < 3000; i++)
		buf_addf(&text, "- [{a: b}]\n");
	assert_int_equal(first_of(buf_slice(&text), &e), STEP_ITEM);
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_open_brackets_are_refused_before_they_are_parsed),
		cmocka_unit_test(many_closed_brackets_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
