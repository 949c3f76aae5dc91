#include "tests/lib/unit.h"

#include <math.h>

#include "core/model/series.h"

static const int64_t t0 = INT64_C(1796040000) * NS_PER_S;

static uint64_t total_count(const struct series_route *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += series_cell_count(r->cells[i]);
	return n;
}

static void bins_tell_a_latency_within_one_percent(void **state)
{
	(void)state;
	for (int64_t us = 1; us < INT64_C(1) << 41; us = us * 5 / 4 + 1) {
		double told = series_bin_us(series_bin(us));

		assert_true(series_bin(us) < SERIES_BINS);
		assert_true(fabs(told - (double)us) <= 0.008 * (double)us + 0.5);
		assert_true(series_bin(us) <= series_bin(us + us / 40 + 1));
	}
	assert_int_equal(series_bin(-5), 0);
	assert_true(series_bin(INT64_MAX) < SERIES_BINS);
}

static void counts_what_was_added_by_tick_and_bin(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 0);
	struct series_route *r = series_route(&s, SLICE("a"), 7);
	for (int i = 0; i < 200000; i++)
		assert_true(series_add(&s, r, t0 + 5 * NS_PER_MS, 3 * NS_PER_MS, i % 2));
	assert_true(series_add(&s, r, t0 - 25 * NS_PER_MS, 9 * NS_PER_S, false));
	assert_true(series_finish(&s));
	assert_int_equal(total_count(r), 200001);
	assert_int_equal(r->errors, 100000);
	/* 200,000 alike in one place are one cell. */
	assert_int_equal(r->count, 2);
	assert_int_equal(series_cell_tick(r->cells[0]), series_tick(&s, t0 - 25 * NS_PER_MS));
	assert_int_equal(r->top[0].latency_us, 9000000);
	assert_int_equal(s.first_ns, t0 - 25 * NS_PER_MS);
	assert_int_equal(s.last_ns, t0 - 25 * NS_PER_MS + 9 * NS_PER_S);
	series_free(&s);
}

static void at_the_cap_ticks_grow_and_no_request_is_lost(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 20000);
	struct series_route *a = series_route(&s, SLICE("a"), 0);
	struct series_route *b = series_route(&s, SLICE("b"), 0);
	for (int64_t i = 0; i < 300000; i++)
		assert_true(series_add(&s, i % 3 ? a : b, t0 + i * 20 * NS_PER_MS,
			(i % 977 + 1) * 50 * NS_PER_US, false));
	assert_true(series_finish(&s));
	assert_true(s.tick_ns > SERIES_TICK_NS);
	assert_true(s.cells_held <= 40000);
	assert_int_equal(total_count(a), 200000);
	assert_int_equal(total_count(b), 100000);
	assert_int_equal(s.refused, 0);
	series_free(&s);
}

static void ticks_are_bounded_over_a_month(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 0);
	struct series_route *r = series_route(&s, SLICE("a"), 0);
	for (int64_t i = 0; i < 3000; i++)
		assert_true(series_add(&s, r, t0 + i * 900 * NS_PER_S, NS_PER_MS, false));
	assert_true(series_finish(&s));
	assert_true((s.last_ns - s.first_ns) / s.tick_ns < SERIES_TICKS_MAX);
	assert_int_equal(total_count(r), 3000);
	series_free(&s);
}

static void times_years_away_are_refused_and_counted(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 0);
	struct series_route *r = series_route(&s, SLICE("a"), 0);
	assert_true(series_add(&s, r, t0, NS_PER_MS, false));
	assert_false(series_add(&s, r, t0 + INT64_C(400) * 86400 * NS_PER_S, NS_PER_MS, false));
	assert_false(series_add(&s, r, t0, -1, false));
	assert_int_equal(s.refused, 2);
	assert_int_equal(r->requests, 1);
	series_free(&s);
}

static void routes_are_found_again_by_text(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 0);
	struct series_route *a = series_route(&s, SLICE("SELECT 1"), 0x1234);
	assert_ptr_equal(series_route(&s, SLICE("SELECT 1"), 0x1234), a);
	assert_int_equal(a->fingerprint, 0x1234);
	assert_true(series_route(&s, SLICE("SELECT 2"), 0)->fingerprint != 0);
	for (int i = 0; i < SERIES_ROUTES_MAX + 5; i++) {
		char text[32];

		snprintf(text, sizeof(text), "route %d", i);
		if (!series_route(&s, slice_of(text), 0))
			assert_int_equal(s.route_count, SERIES_ROUTES_MAX);
	}
	series_free(&s);
}

static void freeing_twice_is_harmless(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 0);
	assert_false(series_finish(&s));
	series_free(&s);
	series_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bins_tell_a_latency_within_one_percent),
		cmocka_unit_test(counts_what_was_added_by_tick_and_bin),
		cmocka_unit_test(at_the_cap_ticks_grow_and_no_request_is_lost),
		cmocka_unit_test(ticks_are_bounded_over_a_month),
		cmocka_unit_test(times_years_away_are_refused_and_counted),
		cmocka_unit_test(routes_are_found_again_by_text),
		cmocka_unit_test(freeing_twice_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
