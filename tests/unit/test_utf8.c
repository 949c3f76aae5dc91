#include "tests/lib/unit.h"

#include "core/base/hex.h"
#include "core/base/json.h"
#include "core/base/utf8.h"

static const struct {
	const char *bytes;
	size_t n, length;
} cases[] = {
	{ "a", 1, 1 },
	{ "\0", 1, 1 },
	{ "\x80", 1, 0 },
	{ "\xc1\xbf", 2, 0 }, /* overlong */
	{ "\xc2\x80", 2, 2 },
	{ "\xc2", 1, 0 }, /* cut */
	{ "\xe0\x9f\xbf", 3, 0 },
	{ "\xe0\xa0\x80", 3, 3 },
	{ "\xed\x9f\xbf", 3, 3 },
	{ "\xed\xa0\x80", 3, 0 }, /* a surrogate */
	{ "\xf0\x8f\xbf\xbf", 4, 0 },
	{ "\xf0\x90\x80\x80", 4, 4 },
	{ "\xf4\x8f\xbf\xbf", 4, 4 },
	{ "\xf4\x90\x80\x80", 4, 0 }, /* above U+10FFFF */
	{ "\xf5\x80\x80\x80", 4, 0 },
};

static void a_character_is_told_from_other_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		assert_int_equal(utf8_length(cases[i].bytes, cases[i].n), cases[i].length);
		assert_int_equal(
			utf8_is((struct slice){ cases[i].bytes, cases[i].n }), cases[i].length > 0);
	}
}

static void every_code_point_is_written_as_it_is_read(void **state)
{
	char bytes[UTF8_MAX];

	(void)state;
	for (uint32_t code = 0; code <= 0x10ffff; code++) {
		size_t n = (size_t)(utf8_put(bytes, code) - bytes);
		bool is_surrogate = code >= 0xd800 && code < 0xe000;

		assert_int_equal(utf8_length(bytes, n), is_surrogate ? 0 : n);
	}
	assert_memory_equal((utf8_put(bytes, 0x20ac), bytes), "\xe2\x82\xac", 3);
	assert_memory_equal((utf8_put(bytes, 0x1f600), bytes), "\xf0\x9f\x98\x80", 4);
}

static void hexadecimal_digits_have_a_value(void **state)
{
	uint32_t v;

	(void)state;
	for (int c = 0; c < 256; c++) {
		char text[] = { (char)c, 0 }, *end;
		long wanted = strtol(text, &end, 16);

		assert_int_equal(hex_value((char)c), end > text ? wanted : -1);
	}
	assert_true(hex_value4("20aC", &v));
	assert_int_equal(v, 0x20ac);
	assert_false(hex_value4("20g0", &v));
}

static void a_string_alone_is_json_whatever_its_bytes(void **state)
{
	CLEANUP(buf_free) struct buf b = { 0 };

	(void)state;
	buf_init(&b, 100);
	json_write_string(SLICE("a\"\\\n\xff\xe2\x82\xac"), &b);
	assert_string_equal(buf_text(&b), "\"a\\\"\\\\\\u000a\xef\xbf\xbd\xe2\x82\xac\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_character_is_told_from_other_bytes),
		cmocka_unit_test(every_code_point_is_written_as_it_is_read),
		cmocka_unit_test(hexadecimal_digits_have_a_value),
		cmocka_unit_test(a_string_alone_is_json_whatever_its_bytes),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
