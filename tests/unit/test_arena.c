#include "tests/lib/unit.h"

#include "core/base/arena.h"

static void memory_is_zeroed_and_aligned(void **state)
{
	(void)state;
	struct arena a;
	static const char zeros[64] = { 0 };

	arena_init(&a, 1 << 20);
	for (size_t size = 0; size < 64; size++) {
		char *p = arena_take(&a, size);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		assert_memory_equal(p, zeros, size);
		memset(p, 0xff, size);
	}
	arena_reset(&a);
	char *p = arena_take(&a, 64);
	assert_memory_equal(p, zeros, 64);
	arena_free(&a);
}

static void refuses_past_its_cap(void **state)
{
	(void)state;
	struct arena a;

	arena_init(&a, 1000);
	assert_non_null(arena_take(&a, 900));
	assert_null(arena_take(&a, 200));
	assert_null(arena_take(&a, SIZE_MAX));
	assert_int_equal(a.refused, 2);
	arena_reset(&a);
	assert_non_null(arena_take(&a, 1000));
	arena_free(&a);
}

static void a_zeroed_arena_refuses(void **state)
{
	(void)state;
	struct arena a = { 0 };

	assert_null(arena_take(&a, 1));
	arena_reset(&a);
	arena_free(&a);
	arena_free(&a);
}

static void copies_end_with_nul(void **state)
{
	(void)state;
	struct arena a;

	arena_init(&a, 4096);
	struct slice s = arena_copy(&a, (struct slice){ "abcdef", 3 });
	assert_int_equal(s.n, 3);
	assert_string_equal(s.p, "abc");
	assert_string_equal(arena_copy(&a, (struct slice){ NULL, 0 }).p, "");
	assert_string_equal(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
	assert_null(arena_printf(&a, "%5000d", 1));
	assert_null(arena_copy(&a, (struct slice){ "x", SIZE_MAX }).p);
	arena_free(&a);
}

static void blocks_larger_than_any_before_are_given(void **state)
{
	(void)state;
	struct arena a;

	arena_init(&a, 10 << 20);
	char *first = arena_take(&a, 10);
	memcpy(first, "stays", 6);
	char *large = arena_take(&a, 5 << 20);
	assert_non_null(large);
	memset(large, 1, 5 << 20);
	assert_string_equal(first, "stays");
	assert_true(a.used_bytes >= (5 << 20) + 10);
	arena_reset(&a);
	assert_int_equal(a.used_bytes, 0);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed_and_aligned),
		cmocka_unit_test(refuses_past_its_cap),
		cmocka_unit_test(a_zeroed_arena_refuses),
		cmocka_unit_test(copies_end_with_nul),
		cmocka_unit_test(blocks_larger_than_any_before_are_given),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
