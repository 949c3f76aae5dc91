#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "recipes/inside.h"

static const struct span spans[] = { { 1000000000, 2000000000 }, { 5000000000, 6000000000 } };

static uint64_t inside_count(int64_t start_ns, int64_t end_ns, double *ret_weight)
{
	struct inside_request q = { start_ns, end_ns, false };
	struct judge_set set = { 0 };
	struct err e = { 0 };
	uint64_t n;

	assert_true(inside_collect(&set, &q, 1, spans, 2, &e));
	n = set.count;
	*ret_weight = n ? set.items[0].weight_s : 0;
	judge_set_free(&set);
	return n;
}

static uint64_t outside_count(int64_t start_ns, int64_t end_ns, int64_t guard_ns)
{
	struct inside_request q = { start_ns, end_ns, false };
	struct span around = { 0, 8000000000 };
	struct judge_set set = { 0 };
	struct err e = { 0 };
	uint64_t n;

	assert_true(outside_collect(&set, &q, 1, spans, 2, guard_ns, &around, 1, &e));
	n = set.count;
	judge_set_free(&set);
	return n;
}

static void a_request_is_inside_when_it_was_in_flight_there(void **state)
{
	static const struct {
		double start, end;
		uint64_t inside, outside;
		double weight;
	} cases[] = {
		{ 0.1, 0.2, 0, 1, 0 },
		{ 0.9, 1.2, 1, 0, 0.2 },
		{ 1.9, 2.5, 1, 0, 1.0 },
		{ 0.5, 3.0, 1, 0, 1.0 },
		{ 1.2, 1.3, 1, 0, 0.3 }, /* the gap before it is its own */
		{ 0.5, 7.0, 2, 0, 1.0 },
		{ 2.0, 2.1, 0, 1, 0 },
		{ 0.9, 1.0, 0, 1, 0 },
		{ 1.5, 1.5, 1, 0, 0.500001 },
		{ 6.5, 9.0, 0, 1, 0 },
		{ 8.5, 9.0, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		int64_t start = llround(cases[i].start * 1e9), end = llround(cases[i].end * 1e9);
		double weight;

		assert_int_equal(inside_count(start, end, &weight), cases[i].inside);
		assert_true(fabs(weight - cases[i].weight) < 1e-9);
		assert_int_equal(outside_count(start, end, 0), cases[i].outside);
	}
}

static void what_drains_behind_an_occurrence_is_neither(void **state)
{
	double weight;

	(void)state;
	assert_int_equal(inside_count(2100000000, 2200000000, &weight), 0);
	assert_int_equal(outside_count(2100000000, 2200000000, 300000000), 0);
	assert_int_equal(outside_count(2400000000, 2500000000, 300000000), 1);
}

static void requests_in_flight_together_share_the_instants(void **state)
{
	/* One of 0.6 s; three at once from 0.6 to 0.9; one that comes after a gap. */
	static const struct inside_request q[] = { { 1000000000, 1600000000, false },
		{ 1600000000, 1900000000, false }, { 1600000000, 1900000000, false },
		{ 1600000000, 1900000000, false }, { 1950000000, 2500000000, false } };
	static const double weights[] = { 0.6, 0.1, 0.1, 0.1, 0.1 };
	struct judge_set set = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_true(inside_collect(&set, q, LENGTH(q), spans, 2, &e));
	assert_int_equal(set.count, LENGTH(q));
	for (size_t i = 0; i < LENGTH(q); i++)
		assert_true(fabs(set.items[i].weight_s - weights[i]) < 1e-9);
	judge_set_free(&set);
}

static void a_short_hiccup_of_many_sessions_weighs_little(void **state)
{
	struct inside_request q[1000];
	struct judge_set set = { 0 };
	struct err e = { 0 };
	size_t n = 0;

	/* 0.1 ms each 10 ms, and eight sessions caught for 30 ms once. */
	for (int i = 0; i < 100; i++) {
		int64_t at = spans[0].from_ns + i * 10 * NS_PER_MS;

		for (int k = 0; k < (i == 50 ? 8 : 1); k++)
			q[n++] = (struct inside_request){ at,
				at + (i == 50 ? 30 * NS_PER_MS : NS_PER_MS / 10), false };
	}
	(void)state;
	assert_true(inside_collect(&set, q, n, spans, 1, &e) && judge_set_seal(&set, &e));
	assert_true(judge_set_quantile(&set, 0.5) < 0.2 && judge_set_quantile(&set, 0.9) < 0.2);
	assert_true(judge_set_quantile(&set, 0.99) > 29);
	judge_set_free(&set);
}

static void unanswered_requests_count_at_their_age(void **state)
{
	struct inside_request q = { 1100000000, 4100000000, true };
	struct judge_set set = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_true(inside_collect(&set, &q, 1, spans, 2, &e) && judge_set_seal(&set, &e));
	assert_int_equal(set.censored, 1);
	assert_true(fabs(judge_set_quantile(&set, 0.5) - 3000) < 1e-6);
	judge_set_free(&set);
}

static void spans_that_touch_are_joined(void **state)
{
	struct span s[] = { { 5, 9 }, { 1, 3 }, { 3, 4 }, { 6, 7 } };

	(void)state;
	assert_int_equal(spans_join(s, 4), 2);
	assert_true(s[0].from_ns == 1 && s[0].to_ns == 4 && s[1].from_ns == 5 && s[1].to_ns == 9);
}

static void slices_are_equal_and_cover_all(void **state)
{
	struct span s[7], whole = { 100, 10000000100 };

	(void)state;
	span_slice(whole, s, 7);
	assert_true(s[0].from_ns == 100 && s[6].to_ns == whole.to_ns);
	for (int i = 1; i < 7; i++)
		assert_true(s[i].from_ns == s[i - 1].to_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_inside_when_it_was_in_flight_there),
		cmocka_unit_test(what_drains_behind_an_occurrence_is_neither),
		cmocka_unit_test(requests_in_flight_together_share_the_instants),
		cmocka_unit_test(a_short_hiccup_of_many_sessions_weighs_little),
		cmocka_unit_test(unanswered_requests_count_at_their_age),
		cmocka_unit_test(spans_that_touch_are_joined),
		cmocka_unit_test(slices_are_equal_and_cover_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
