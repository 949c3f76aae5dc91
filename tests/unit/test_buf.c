#include "tests/lib/unit.h"

#include "core/base/buf.h"
#include "core/base/cursor.h"

static void is_text_from_the_start(void **state)
{
	(void)state;
	struct buf b = { 0 };

	assert_string_equal(buf_text(&b), "");
	buf_add_text(&b, "one ");
	buf_addf(&b, "%d %s", 2, "three");
	buf_add_byte(&b, '!');
	assert_string_equal(buf_text(&b), "one 2 three!");
	buf_eat(&b, 4);
	assert_string_equal(buf_text(&b), "2 three!");
	buf_eat(&b, 100);
	assert_string_equal(buf_text(&b), "");
	buf_free(&b);
	buf_free(&b);
}

static void refuses_past_its_maximum_until_reset(void **state)
{
	(void)state;
	struct buf b;

	buf_init(&b, 10);
	buf_add_text(&b, "12345678");
	buf_add_text(&b, "abc");
	assert_true(b.is_full);
	assert_string_equal(buf_text(&b), "12345678");
	buf_add_text(&b, "9");
	assert_string_equal(buf_text(&b), "12345678");
	assert_null(buf_room(&b, 1));
	buf_reset(&b);
	assert_false(b.is_full);
	buf_add_text(&b, "1234567890");
	assert_false(b.is_full);
	buf_addf(&b, "%s", "");
	assert_false(b.is_full);
	buf_addf(&b, "%d", 1);
	assert_true(b.is_full);
	assert_string_equal(buf_text(&b), "1234567890");
	buf_free(&b);
}

static void room_is_filled_by_the_caller(void **state)
{
	(void)state;
	struct buf b = { 0 };

	for (int i = 0; i < 1000; i++) {
		char *p = buf_room(&b, 100);

		assert_non_null(p);
		memset(p, 'x', 100);
		b.n += 100;
	}
	assert_int_equal(strlen(buf_text(&b)), 100000);
	buf_free(&b);
}

static void formatted_text_longer_than_what_is_free(void **state)
{
	(void)state;
	struct buf b = { 0 };

	for (int i = 1; i < 300; i++)
		buf_addf(&b, "%*d", i, i);
	assert_int_equal(b.n, 299 * 300 / 2);
	assert_memory_equal(b.p + b.n - 4, " 299", 4);
	buf_free(&b);
}

static void integers_come_back(void **state)
{
	(void)state;
	static const uint64_t values[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX,
		UINT64_MAX };
	struct buf b = { 0 };

	buf_add_u16le(&b, 0x1234);
	buf_add_u32le(&b, 0x12345678);
	buf_add_u64le(&b, UINT64_C(0x123456789abcdef0));
	assert_memory_equal(b.p, "\x34\x12\x78\x56\x34\x12\xf0\xde\xbc\x9a\x78\x56\x34\x12", 14);
	for (size_t i = 0; i < LENGTH(values); i++) {
		buf_add_varint(&b, values[i]);
		buf_add_svarint(&b, (int64_t)values[i]);
		buf_add_svarint(&b, -(int64_t)(values[i] >> 1));
	}
	buf_add_counted(&b, SLICE("hello"));
	struct cursor c = cursor_of(b.p, b.n);
	assert_int_equal(cursor_u16le(&c), 0x1234);
	assert_int_equal(cursor_u32le(&c), 0x12345678);
	assert_true(cursor_u64le(&c) == UINT64_C(0x123456789abcdef0));
	for (size_t i = 0; i < LENGTH(values); i++) {
		assert_true(cursor_varint(&c) == values[i]);
		assert_true(cursor_svarint(&c) == (int64_t)values[i]);
		assert_true(cursor_svarint(&c) == -(int64_t)(values[i] >> 1));
	}
	assert_true(slice_is(cursor_counted(&c), "hello"));
	assert_int_equal(cursor_left(&c), 0);
	assert_false(c.is_short);
	buf_free(&b);
}

static void a_counted_slice_that_does_not_fit_leaves_no_length(void **state)
{
	(void)state;
	struct buf b;

	buf_init(&b, 12);
	buf_add_counted(&b, SLICE("hello"));
	assert_true(b.is_full);
	assert_int_equal(b.n, 0);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_text_from_the_start),
		cmocka_unit_test(refuses_past_its_maximum_until_reset),
		cmocka_unit_test(room_is_filled_by_the_caller),
		cmocka_unit_test(formatted_text_longer_than_what_is_free),
		cmocka_unit_test(integers_come_back),
		cmocka_unit_test(a_counted_slice_that_does_not_fit_leaves_no_length),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
