#include "tests/lib/unit.h"

#include "core/base/table.h"

enum { MANY = 5000 };

static char keys[MANY][8];

static struct slice key(size_t i)
{
	snprintf(keys[i], sizeof(keys[i]), "k%zu", i);
	return slice_of(keys[i]);
}

static void finds_what_was_put(void **state)
{
	(void)state;
	struct table t;

	table_init(&t, MANY);
	for (size_t i = 0; i < MANY; i++)
		assert_true(table_put(&t, key(i), keys[i]));
	for (size_t i = 0; i < MANY; i++)
		assert_ptr_equal(table_get(&t, key(i)), keys[i]);
	assert_null(table_get(&t, SLICE("absent")));
	assert_int_equal(t.count, MANY);
	table_free(&t);
}

static void iterates_in_insertion_order(void **state)
{
	(void)state;
	struct table t;
	struct slice k;
	void *value;
	size_t expected = 0;

	table_init(&t, MANY);
	for (size_t i = 0; i < 100; i++)
		assert_true(table_put(&t, key(i), keys[i]));
	for (size_t i = 0; i < 100; i += 2)
		assert_ptr_equal(table_remove(&t, key(i)), keys[i]);
	for (size_t i = 100; i < 300; i++)
		assert_true(table_put(&t, key(i), keys[i]));
	for (size_t at = 0; table_next(&t, &at, &k, &value);) {
		expected += expected < 100 && expected % 2 == 0;
		assert_ptr_equal(value, keys[expected]);
		assert_true(slice_same(k, key(expected)));
		expected++;
	}
	assert_int_equal(expected, 300);
	table_free(&t);
}

static void refuses_past_its_cap_but_overwrites(void **state)
{
	(void)state;
	struct table t;
	int a, b;

	table_init(&t, 2);
	assert_true(table_put(&t, SLICE("a"), &a));
	assert_true(table_put(&t, SLICE("b"), &a));
	assert_false(table_put(&t, SLICE("c"), &a));
	assert_true(table_put(&t, SLICE("a"), &b));
	assert_ptr_equal(table_get(&t, SLICE("a")), &b);
	assert_ptr_equal(table_remove(&t, SLICE("b")), &a);
	assert_true(table_put(&t, SLICE("c"), &a));
	assert_int_equal(t.count, 2);
	table_free(&t);
	struct table zeroed = { 0 };
	assert_false(table_put(&zeroed, SLICE("a"), &a));
	table_free(&zeroed);
}

static void coming_and_going_does_not_grow_it(void **state)
{
	(void)state;
	struct table t;

	table_init(&t, 100);
	for (size_t round = 0; round < 20; round++)
		for (size_t i = 0; i < MANY; i++) {
			assert_true(table_put(&t, key(i), keys[i]));
			if (i >= 10)
				assert_non_null(table_remove(&t, key(i - 10)));
			if (i == MANY - 1)
				for (size_t j = MANY - 10; j < MANY; j++)
					assert_non_null(table_remove(&t, key(j)));
		}
	assert_int_equal(t.count, 0);
	assert_true(t.index_size <= 256);
	table_free(&t);
}

static void keys_are_bytes(void **state)
{
	(void)state;
	struct table t;
	int a, b, c;

	table_init(&t, 10);
	assert_true(table_put(&t, SLICE("x\0y"), &a));
	assert_true(table_put(&t, SLICE("x\0z"), &b));
	assert_true(table_put(&t, (struct slice){ NULL, 0 }, &c));
	assert_ptr_equal(table_get(&t, SLICE("x\0y")), &a);
	assert_ptr_equal(table_get(&t, SLICE("")), &c);
	assert_null(table_get(&t, SLICE("x")));
	table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_was_put),
		cmocka_unit_test(iterates_in_insertion_order),
		cmocka_unit_test(refuses_past_its_cap_but_overwrites),
		cmocka_unit_test(coming_and_going_does_not_grow_it),
		cmocka_unit_test(keys_are_bytes),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
