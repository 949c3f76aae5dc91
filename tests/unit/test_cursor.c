#include "tests/lib/unit.h"

#include "core/base/cursor.h"

static void reads_big_endian(void **state)
{
	(void)state;
	struct cursor c =
		cursor_of("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f", 15);

	assert_int_equal(cursor_u8(&c), 1);
	assert_int_equal(cursor_u16be(&c), 0x0203);
	assert_int_equal(cursor_u32be(&c), 0x04050607);
	assert_true(cursor_u64be(&c) == UINT64_C(0x08090a0b0c0d0e0f));
	assert_int_equal(cursor_left(&c), 0);
	assert_false(c.is_short);
}

static void short_is_for_good(void **state)
{
	(void)state;
	struct cursor c = cursor_of("\x01\x02\x03", 3);

	assert_int_equal(cursor_u32be(&c), 0);
	assert_true(c.is_short);
	assert_int_equal(cursor_u8(&c), 0);
	assert_int_equal(cursor_bytes(&c, 0).n, 0);
	assert_int_equal(cursor_left(&c), 0);
}

static void nothing_at_all_is_short_too(void **state)
{
	(void)state;
	struct cursor c = cursor_of(NULL, 0);

	cursor_skip(&c, 0);
	assert_false(c.is_short);
	assert_int_equal(cursor_varint(&c), 0);
	assert_true(c.is_short);
	struct cursor zeroed = { 0 };
	assert_int_equal(cursor_u8(&zeroed), 0);
	assert_true(zeroed.is_short);
}

static void a_string_needs_its_nul(void **state)
{
	(void)state;
	struct cursor c = cursor_of("ab\0\0cd", 6);

	assert_true(slice_is(cursor_cstring(&c), "ab"));
	assert_int_equal(cursor_cstring(&c).n, 0);
	assert_false(c.is_short);
	assert_null(cursor_cstring(&c).p);
	assert_true(c.is_short);
}

static void a_varint_of_more_than_64_bits_is_damage(void **state)
{
	(void)state;
	struct cursor good = cursor_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
	struct cursor bad = cursor_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
	struct cursor endless = cursor_of("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12);

	assert_true(cursor_varint(&good) == UINT64_MAX);
	cursor_varint(&bad);
	assert_true(bad.is_short);
	cursor_varint(&endless);
	assert_true(endless.is_short);
}

static void a_length_beyond_the_end_is_short(void **state)
{
	(void)state;
	struct cursor c = cursor_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01zz", 12);

	assert_null(cursor_counted(&c).p);
	assert_true(c.is_short);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_big_endian),
		cmocka_unit_test(short_is_for_good),
		cmocka_unit_test(nothing_at_all_is_short_too),
		cmocka_unit_test(a_string_needs_its_nul),
		cmocka_unit_test(a_varint_of_more_than_64_bits_is_damage),
		cmocka_unit_test(a_length_beyond_the_end_is_short),
	};

	return cmocka_run_group_tests_name("cursor", tests, NULL, NULL);
}
