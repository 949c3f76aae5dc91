#include "tests/lib/unit.h"

#include <math.h>
#include <unistd.h>

#include "core/base/json.h"

static struct json *parse(const char *text)
{
	struct err e = { 0 };
	struct json *j = json_parse(slice_of(text), "test", &e);

	assert_non_null(j);
	return j;
}

static void getters_answer_the_fallback_for_what_is_not_there(void **state)
{
	(void)state;
	struct json *j = parse("{\"a\": {\"b\": [1, 2.5, \"x\", true, null]}}");
	struct json *list = json_path(j, "a.b");

	assert_int_equal(json_int(json_at(list, 0), -1), 1);
	assert_true(json_number(json_at(list, 1), -1) == 2.5);
	assert_int_equal(json_int(json_at(list, 1), -1), 2);
	assert_string_equal(json_text(json_at(list, 2), "-"), "x");
	assert_true(json_is_true(json_at(list, 3), false));
	assert_int_equal(json_type(json_at(list, 4)), JSON_NULL_VALUE);
	assert_int_equal(json_count(list), 5);
	assert_null(json_at(list, 5));
	assert_null(json_at(j, 0));
	assert_null(json_path(j, "a.b.c"));
	assert_null(json_path(j, ""));
	assert_null(json_get(NULL, "a"));
	assert_int_equal(json_type(NULL), JSON_MISSING);
	assert_int_equal(json_count(NULL), 0);
	assert_string_equal(json_text(json_at(list, 0), "-"), "-");
	assert_int_equal(json_int(json_at(list, 2), 7), 7);
	assert_true(json_is_true(json_at(list, 0), true));
	json_free(j);
	json_free(NULL);
}

static void bad_text_is_told_with_its_place_but_not_quoted(void **state)
{
	(void)state;
	static const char *const cases[] = { "", "{", "{\"a\": 1,}", "{\"a\": 1, \"a\": 2}",
		"[1] x", "nul", "\"secret", "{\"a\": \"s3cret\" \"b\"}", "01", "[\"\xff\"]" };

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct err e = { 0 };

		assert_null(json_parse(slice_of(cases[i]), "R.json", &e));
		assert_int_equal(e.kind, ERR_INPUT);
		assert_memory_equal(e.where, "R.json: line 1, column ", 23);
		assert_memory_equal(e.what, "not valid JSON: ", 16);
		assert_null(strstr(e.what, "cret"));
	}
}

static void a_fault_has_its_line(void **state)
{
	(void)state;
	struct err e = { 0 };

	assert_null(json_parse(SLICE("{\n  \"a\": 1,\n  \"b\": ?\n}"), "R.json", &e));
	assert_memory_equal(e.where, "R.json: line 3, ", 16);
}

static void order_and_unknown_fields_survive(void **state)
{
	(void)state;
	static const char text[] = "{\n"
				   "  \"z\": 1,\n"
				   "  \"a\": {\n"
				   "    \"n\": 0.1,\n"
				   "    \"big\": 1764500000.123456,\n"
				   "    \"list\": [1, 2, 3],\n"
				   "    \"maps\": [\n"
				   "      {\n"
				   "        \"x\": null\n"
				   "      }\n"
				   "    ]\n"
				   "  },\n"
				   "  \"t\": \"a\\\"\\\\\\n\\u0001\xc3\xa4\",\n"
				   "  \"none\": {},\n"
				   "  \"empty\": []\n"
				   "}\n";
	struct json *j = parse(text);
	struct buf b = { 0 };

	json_write(j, true, &b);
	assert_string_equal(buf_text(&b), text);
	buf_reset(&b);
	json_write(json_get(j, "a"), false, &b);
	assert_string_equal(buf_text(&b), "{\"n\": 0.1, \"big\": 1764500000.123456, "
					  "\"list\": [1, 2, 3], \"maps\": [{\"x\": null}]}\n");
	json_free(j);
	buf_free(&b);
}

static void what_is_set_is_written(void **state)
{
	(void)state;
	struct json *j = json_object(), *list = json_array();
	struct buf b = { 0 };

	json_set_text(j, "text", "plain");
	json_set_text(j, "null", NULL);
	json_set_text(j, "broken", "a\xff\xc3(\xed\xa0\x80z");
	json_set_slice(j, "nul", SLICE("a\0b"));
	json_set_int(j, "int", INT64_MIN);
	json_set_number(j, "third", 1.0 / 3);
	json_set_number(j, "nan", NAN);
	json_set_number(j, "inf", -INFINITY);
	json_set_number(j, "whole", 4);
	json_set_bool(j, "yes", true);
	json_set_time(j, "at", INT64_C(1796040000250000000));
	json_append_text(list, "x");
	json_append_int(list, 3);
	json_append_number(list, 0.25);
	json_set(j, "list", list);
	json_set_int(j, "int", 5);
	json_write(j, false, &b);
#define BAD "\xef\xbf\xbd"
	assert_string_equal(buf_text(&b),
		"{\"text\": \"plain\", \"null\": null, \"broken\": \"a" BAD BAD "(" BAD BAD BAD
		"z\", \"nul\": \"a" BAD "b\", \"int\": 5, \"third\": 0.333333333, \"nan\": null, "
		"\"inf\": null, \"whole\": 4, \"yes\": true, \"at\": \"2026-11-30T12:00:00.250Z\", "
		"\"list\": [\"x\", 3, 0.25]}\n");
	json_free(j);
	buf_free(&b);
}

static void setters_adopt_the_value_even_when_they_fail(void **state)
{
	(void)state;
	struct json *list = json_array();

	json_set(list, "no map", json_object());
	json_set(NULL, "nothing", json_object());
	json_append(NULL, json_object());
	json_set(list, "null", NULL);
	assert_int_equal(json_count(list), 0);
	json_free(list);
}

static void members_are_walked_in_order(void **state)
{
	(void)state;
	struct json *j = parse("{\"c\": 1, \"a\": 2, \"b\": 3}"), *value;
	struct json_walk w = json_walk_of(j);
	const char *key;
	char order[4] = "";

	for (int64_t i = 1; (key = json_walk_next(&w, &value)); i++) {
		strcat(order, key);
		assert_int_equal(json_int(value, 0), i);
	}
	assert_string_equal(order, "cab");
	assert_string_equal(json_key_at(j, 2, &value), "b");
	assert_int_equal(json_int(value, 0), 3);
	assert_null(json_key_at(j, 3, &value));
	assert_null(value);
	struct json_walk none = json_walk_of(NULL);
	assert_null(json_walk_next(&none, NULL));
	json_free(j);
}

static void a_copy_is_deep(void **state)
{
	(void)state;
	struct json *j = parse("{\"a\": {\"b\": 1}}");
	struct json *copy = json_copy(j);

	json_set_int(json_get(j, "a"), "b", 2);
	assert_int_equal(json_int(json_path(copy, "a.b"), 0), 1);
	json_free(j);
	json_cleanup(&copy);
	assert_null(copy);
}

static void files_are_saved_and_loaded(void **state)
{
	(void)state;
	char path[64];
	struct err e = { 0 };
	struct json *j = parse("{\"a\": 1}");

	snprintf(path, sizeof(path), "/tmp/rt-json-%d", (int)getpid());
	assert_true(json_save(j, path, false, &e));
	assert_false(json_save(j, path, false, &e));
	assert_int_equal(e.kind, ERR_USAGE);
	assert_true(json_save(j, path, true, &e));
	json_free(j);
	j = json_load(path, 1000, &e);
	assert_int_equal(json_int(json_get(j, "a"), 0), 1);
	json_free(j);
	assert_null(json_load(path, 3, &e));
	assert_int_equal(e.kind, ERR_INPUT);
	unlink(path);
	assert_null(json_load(path, 1000, &e));
	assert_int_equal(e.kind, ERR_INPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(getters_answer_the_fallback_for_what_is_not_there),
		cmocka_unit_test(bad_text_is_told_with_its_place_but_not_quoted),
		cmocka_unit_test(a_fault_has_its_line),
		cmocka_unit_test(order_and_unknown_fields_survive),
		cmocka_unit_test(what_is_set_is_written),
		cmocka_unit_test(setters_adopt_the_value_even_when_they_fail),
		cmocka_unit_test(members_are_walked_in_order),
		cmocka_unit_test(a_copy_is_deep),
		cmocka_unit_test(files_are_saved_and_loaded),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
