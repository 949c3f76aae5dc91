#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recipes/ablate.h"

#define JOB 1u
#define DATA 2u
#define CONCURRENCY 4u

/* Plays a world: an arm reproduces when it holds all of some set. */
static void play(struct ablate *a, const uint32_t *sufficient, size_t count)
{
	for (size_t i = 0; i < a->count; i++) {
		a->arms[i].has_verdict = true;
		a->arms[i].verdict = VERDICT_NOT;
		for (size_t k = 0; k < count; k++) {
			if ((a->arms[i].on & sufficient[k]) == sufficient[k])
				a->arms[i].verdict = VERDICT_REPRODUCED;
		}
	}
}

static void answer(struct ablate *a, uint32_t on, enum verdict v)
{
	for (size_t i = 0; i < a->count; i++) {
		if (a->arms[i].on == on)
			a->arms[i].verdict = v;
	}
}

static void three_conditions_are_eight_arms(void **state)
{
	struct ablate a;

	(void)state;
	ablate_start(&a, 3, DATA | CONCURRENCY, 0, DATA);
	assert_int_equal(a.count, 2);
	ablate_add_factors(&a);
	assert_int_equal(a.count, 8);
	ablate_add_factors(&a);
	assert_int_equal(a.count, 8);
}

static void needed_conditions_are_named_and_no_others(void **state)
{
	const uint32_t truth = JOB | DATA;
	uint32_t sets[8];
	struct ablate a;

	(void)state;
	ablate_start(&a, 3, DATA | CONCURRENCY, 0, DATA);
	ablate_add_factors(&a);
	play(&a, &truth, 1);
	assert_int_equal(ablate_necessary(&a), JOB | DATA);
	assert_int_equal(ablate_unknown(&a), 0);
	assert_int_equal(ablate_minimal(&a, sets, 8), 1);
	assert_int_equal(sets[0], JOB | DATA);
}

static void either_of_two_is_told_as_two_sets(void **state)
{
	const uint32_t truth[] = { JOB, CONCURRENCY };
	uint32_t sets[8];
	struct ablate a;

	(void)state;
	ablate_start(&a, 3, DATA, 0, DATA);
	ablate_add_factors(&a);
	play(&a, truth, 2);
	assert_int_equal(ablate_necessary(&a), 0);
	assert_int_equal(ablate_unknown(&a), 0);
	assert_int_equal(ablate_minimal(&a, sets, 8), 2);
	assert_int_equal(sets[0] | sets[1], JOB | CONCURRENCY);
}

static void unsure_is_unknown_and_never_necessary(void **state)
{
	const uint32_t truth = JOB | DATA;
	struct ablate a;

	(void)state;
	ablate_start(&a, 3, DATA | CONCURRENCY, 0, DATA);
	ablate_add_factors(&a);
	play(&a, &truth, 1);
	answer(&a, JOB | CONCURRENCY, VERDICT_UNSURE);
	assert_int_equal(ablate_necessary(&a), JOB);
	assert_int_equal(ablate_unknown(&a), DATA);
}

static void arms_never_run_are_unknown(void **state)
{
	struct ablate a;

	(void)state;
	ablate_start(&a, 3, DATA | CONCURRENCY, 0, DATA);
	for (size_t i = 0; i < a.count; i++) {
		a.arms[i].has_verdict = true;
		a.arms[i].verdict = a.arms[i].on == 7 ? VERDICT_REPRODUCED : VERDICT_NOT;
	}
	assert_int_equal(ablate_necessary(&a), JOB);
	assert_int_equal(ablate_unknown(&a), DATA | CONCURRENCY);
}

static void nothing_is_necessary_when_the_reference_reproduces_alone(void **state)
{
	const uint32_t truth = DATA;
	struct ablate a;

	(void)state;
	ablate_start(&a, 3, DATA | CONCURRENCY, 0, DATA);
	ablate_add_factors(&a);
	play(&a, &truth, 1);
	assert_int_equal(ablate_necessary(&a), 0);
	assert_int_equal(ablate_unknown(&a), 0);
}

static void nothing_is_necessary_when_all_on_does_not_reproduce(void **state)
{
	struct ablate a;

	(void)state;
	ablate_start(&a, 3, DATA | CONCURRENCY, 0, DATA);
	ablate_add_factors(&a);
	play(&a, NULL, 0);
	assert_int_equal(ablate_necessary(&a), 0);
	assert_int_equal(ablate_minimal(&a, (uint32_t[1]){ 0 }, 1), 0);
}

static void what_lives_in_the_snapshot_is_void_without_it(void **state)
{
	const uint32_t stats = 1u;
	struct ablate a;

	(void)state;
	ablate_start(&a, 3, DATA | CONCURRENCY, stats, DATA);
	ablate_add_factors(&a);
	assert_int_equal(a.count, 6);
	assert_int_equal(ablate_effective(&a, stats | CONCURRENCY), CONCURRENCY);
	assert_ptr_equal(ablate_find(&a, stats | CONCURRENCY), ablate_find(&a, CONCURRENCY));
}

static void the_needed_set_alone_is_tried_when_it_is_new(void **state)
{
	const uint32_t truth = 1u | 2u;
	struct ablate a;
	uint32_t sets[8];

	(void)state;
	ablate_start(&a, 5, 2u | 4u, 0, 2u);
	ablate_add_factors(&a);
	play(&a, &truth, 1);
	assert_true(ablate_add_necessary(&a));
	assert_false(ablate_add_necessary(&a));
	play(&a, &truth, 1);
	assert_int_equal(ablate_minimal(&a, sets, 8), 1);
	assert_int_equal(sets[0], truth);
}

static void a_part_of_what_did_not_reproduce_follows(void **state)
{
	const uint32_t truth = JOB | DATA;
	struct ablate a;

	(void)state;
	ablate_start(&a, 3, DATA | CONCURRENCY, 0, DATA);
	ablate_add_without(&a);
	assert_int_equal(a.count, 4);
	assert_null(ablate_implied(&a, JOB));
	play(&a, &truth, 1);
	assert_int_equal(ablate_implied(&a, JOB)->on, JOB | CONCURRENCY);
	assert_int_equal(ablate_implied(&a, 0)->verdict, VERDICT_NOT);
	assert_null(ablate_implied(&a, JOB | DATA));
	assert_null(ablate_implied(&a, JOB | DATA | CONCURRENCY));
	answer(&a, JOB | CONCURRENCY, VERDICT_UNSURE);
	assert_null(ablate_implied(&a, JOB));
}

static void the_order_is_the_seed_s(void **state)
{
	struct ablate a, b;

	(void)state;
	ablate_start(&a, 4, 2u | 4u, 0, 2u);
	ablate_add_factors(&a);
	b = a;
	ablate_shuffle(&a, 2, 5);
	ablate_shuffle(&b, 2, 5);
	for (size_t i = 0; i < a.count; i++)
		assert_int_equal(a.arms[i].on, b.arms[i].on);
	assert_int_equal(a.arms[0].on, 6);
	assert_int_equal(a.arms[1].on, 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_conditions_are_eight_arms),
		cmocka_unit_test(needed_conditions_are_named_and_no_others),
		cmocka_unit_test(either_of_two_is_told_as_two_sets),
		cmocka_unit_test(unsure_is_unknown_and_never_necessary),
		cmocka_unit_test(arms_never_run_are_unknown),
		cmocka_unit_test(nothing_is_necessary_when_the_reference_reproduces_alone),
		cmocka_unit_test(nothing_is_necessary_when_all_on_does_not_reproduce),
		cmocka_unit_test(what_lives_in_the_snapshot_is_void_without_it),
		cmocka_unit_test(the_needed_set_alone_is_tried_when_it_is_new),
		cmocka_unit_test(a_part_of_what_did_not_reproduce_follows),
		cmocka_unit_test(the_order_is_the_seed_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
