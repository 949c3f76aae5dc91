#include "tests/lib/unit.h"

#include "core/base/rng.h"

/* xoshiro256** of the state that splitmix64 makes from seed 0; the first word of
 * that state, 0xe220a8397b1dcdaf, is the published first output of splitmix64. */
static void the_state_is_splitmix64_s(void **state)
{
	(void)state;
	struct rng r;

	rng_seed(&r, 0);
	assert_true(r.s[0] == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(r.s[1] == UINT64_C(0x6e789e6aa1b965f4));
	r = (struct rng){ { 1, 2, 3, 4 } };
	/* The reference implementation's first values from the state 1, 2, 3, 4. */
	assert_true(rng_u64(&r) == 11520);
	assert_true(rng_u64(&r) == 0);
	assert_true(rng_u64(&r) == 1509978240);
	assert_true(rng_u64(&r) == UINT64_C(1215971899390074240));
}

static void same_seed_same_numbers(void **state)
{
	(void)state;
	struct rng a, b, c;
	unsigned same = 0;

	rng_seed(&a, 7);
	rng_seed(&b, 7);
	rng_seed(&c, 8);
	for (int i = 0; i < 1000; i++) {
		uint64_t v = rng_u64(&a);

		assert_true(v == rng_u64(&b));
		same += v == rng_u64(&c);
	}
	assert_int_equal(same, 0);
}

static void below_is_even_and_in_range(void **state)
{
	(void)state;
	struct rng r;
	unsigned counts[6] = { 0 };

	rng_seed(&r, 1);
	for (int i = 0; i < 60000; i++)
		counts[rng_below(&r, 6)]++;
	/* 10000 expected, sigma 91: five sigma. */
	for (int i = 0; i < 6; i++)
		assert_in_range(counts[i], 9540, 10460);
	assert_int_equal(rng_below(&r, 1), 0);
	for (int i = 0; i < 1000; i++) {
		double u = rng_unit(&r);

		assert_true(u >= 0 && u < 1);
	}
}

static void a_shuffle_keeps_the_items(void **state)
{
	(void)state;
	struct rng r;
	uint32_t items[50];
	uint64_t seen = 0;
	unsigned moved = 0;

	for (uint32_t i = 0; i < 50; i++)
		items[i] = i;
	rng_seed(&r, 3);
	rng_shuffle_u32(&r, items, 50);
	for (uint32_t i = 0; i < 50; i++) {
		seen |= UINT64_C(1) << items[i];
		moved += items[i] != i;
	}
	assert_true(seen == (UINT64_C(1) << 50) - 1);
	assert_true(moved > 40);
	rng_shuffle_u32(&r, items, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_state_is_splitmix64_s),
		cmocka_unit_test(same_seed_same_numbers),
		cmocka_unit_test(below_is_even_and_in_range),
		cmocka_unit_test(a_shuffle_keeps_the_items),
	};

	return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
