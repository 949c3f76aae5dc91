#include "tests/lib/unit.h"

#include <math.h>

#include "core/base/quantile.h"

static void assert_near(double got, double wanted, double relative)
{
	if (!(fabs(got - wanted) <= relative * fabs(wanted)))
		fail_msg("got %.15g, wanted %.15g", got, wanted);
}

/* The sum itself, for small n. */
static double slow_cdf(unsigned n, double p, int k)
{
	double sum = 0;

	for (int i = 0; i <= k; i++) {
		double term = 1;

		for (int j = 0; j < i; j++)
			term *= (double)(n - (unsigned)j) / (j + 1) * p;
		sum += term * pow(1 - p, n - (unsigned)i);
	}
	return sum;
}

static void ranks_are_nearest_ranks(void **state)
{
	(void)state;
	static const struct {
		uint64_t n;
		double q;
		uint64_t rank;
	} cases[] = { { 1, 0.5, 1 }, { 100, 0.99, 99 }, { 101, 0.99, 100 }, { 100, 0.07, 7 },
		{ 100, 0, 1 }, { 100, 1, 100 }, { 10, 0.9, 9 }, { 3, 0.5, 2 }, { 4, 0.5, 2 },
		{ 1000000, 0.999, 999000 }, { 100, 0.29, 29 }, { 1000, 0.57, 570 } };

	for (size_t i = 0; i < LENGTH(cases); i++)
		assert_int_equal(quantile_rank(cases[i].n, cases[i].q), cases[i].rank);
}

static void the_binomial_is_the_sum_of_its_terms(void **state)
{
	(void)state;
	static const double ps[] = { 0.01, 0.3, 0.5, 0.9, 0.99 };

	for (unsigned n = 1; n <= 60; n += 7)
		for (size_t i = 0; i < LENGTH(ps); i++)
			for (int k = 0; k < (int)n; k++) {
				double wanted = slow_cdf(n, ps[i], k);

				if (wanted > 1e-12)
					assert_near(
						quantile_binomial_cdf(n, ps[i], k), wanted, 1e-9);
			}
	assert_true(quantile_binomial_cdf(10, 0.5, -1) == 0);
	assert_true(quantile_binomial_cdf(10, 0.5, 10) == 1);
	assert_near(quantile_binomial_cdf(1000000, 0.5, 500000), 0.5003989, 1e-6);
	assert_near(exp(quantile_ln_choose(10, 3)), 120, 1e-12);
}

static void a_p99_has_both_bounds_from_368_values(void **state)
{
	(void)state;
	uint64_t low, high;

	quantile_interval(367, 0.99, 0.95, &low, &high);
	assert_int_not_equal(low, 0);
	assert_int_equal(high, 0);
	quantile_interval(368, 0.99, 0.95, &low, &high);
	assert_int_not_equal(low, 0);
	assert_int_equal(high, 368);
}

/* David and Nagaraja's median intervals; ranks of n = 10 and 20 as in every table. */
static void intervals_of_a_median(void **state)
{
	(void)state;
	uint64_t low, high;

	quantile_interval(10, 0.5, 0.95, &low, &high);
	assert_int_equal(low, 2);
	assert_int_equal(high, 9);
	quantile_interval(20, 0.5, 0.95, &low, &high);
	assert_int_equal(low, 6);
	assert_int_equal(high, 15);
	quantile_interval(5, 0.5, 0.95, &low, &high);
	assert_int_equal(low, 0);
	assert_int_equal(high, 0);
	quantile_interval(1000000, 0.99, 0.95, &low, &high);
	assert_in_range(low, 989800, 989810);
	assert_in_range(high, 990190, 990200);
}

static void values_are_sorted_and_picked(void **state)
{
	(void)state;
	double values[] = { 5, NAN, 1, 4, 2, 3 };

	quantile_sort(values, 6);
	assert_true(values[0] == 1 && values[4] == 5 && isnan(values[5]));
	assert_true(quantile_of(values, 5, 0.5) == 3);
	assert_true(quantile_of(values, 5, 0.99) == 5);
	assert_true(isnan(quantile_of(values, 0, 0.5)));
	quantile_sort(NULL, 0);
}

static void few_values_carry_no_p99(void **state)
{
	(void)state;
	assert_false(quantile_is_estimable(99, 0.99));
	assert_true(quantile_is_estimable(100, 0.99));
	assert_true(quantile_is_estimable(1000, 0.999));
	assert_false(quantile_is_estimable(999, 0.999));
	assert_true(quantile_is_estimable(2, 0.5));
	assert_false(quantile_is_estimable(0, 0));
	assert_false(quantile_is_estimable(1000, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_are_nearest_ranks),
		cmocka_unit_test(the_binomial_is_the_sum_of_its_terms),
		cmocka_unit_test(a_p99_has_both_bounds_from_368_values),
		cmocka_unit_test(intervals_of_a_median),
		cmocka_unit_test(values_are_sorted_and_picked),
		cmocka_unit_test(few_values_carry_no_p99),
	};

	return cmocka_run_group_tests_name("quantile", tests, NULL, NULL);
}
