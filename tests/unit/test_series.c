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

static void order_of_arrival_does_not_matter(void **state)
{
	enum { N = 50000 };
	struct series s[3];

	(void)state;
	for (int k = 0; k < 3; k++) {
		series_init(&s[k], 0);
		struct series_route *r = series_route(&s[k], SLICE("a"), 0);
		/* In order, backwards, and as two files one behind the other. */
		for (int64_t i = 0; i < N; i++) {
			int64_t at = k == 0      ? i
				     : k == 1    ? N - 1 - i
				     : i < N / 2 ? 2 * i
						 : 2 * (i - N / 2) + 1;

			assert_true(series_add(&s[k], r, t0 + at * 7 * NS_PER_MS,
				(at * 7919 % 997 + 1) * NS_PER_MS, false));
		}
		assert_true(series_finish(&s[k]));
	}
	const struct series_route *first = s[0].routes[0];
	for (int k = 1; k < 3; k++) {
		const struct series_route *r = s[k].routes[0];
		int64_t shift =
			series_tick(&s[0], s[0].first_ns) - series_tick(&s[k], s[k].first_ns);

		assert_int_equal(r->count, first->count);
		for (size_t i = 0; i < r->count; i++)
			assert_int_equal(
				r->cells[i].word + ((uint64_t)shift << 32), first->cells[i].word);
	}
	for (int k = 0; k < 3; k++)
		series_free(&s[k]);
}

static void widened_ticks_divide_a_minute(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 30000);
	struct series_route *r = series_route(&s, SLICE("a"), 0);
	for (int64_t i = 0; i < 100000; i++)
		assert_true(series_add(&s, r, t0 + i * 11 * NS_PER_MS,
			(i * 7919 % 9973 + 1) * 50 * NS_PER_US, false));
	assert_true(series_finish(&s));
	assert_int_equal(60 * NS_PER_S % s.tick_ns, 0);
	assert_true(s.tick_ns > SERIES_TICK_NS && s.bin_step > 1);
	assert_int_equal(total_count(r), 100000);
	series_free(&s);
}

static void counted_requests_are_known_to_their_range(void **state)
{
	struct series s;
	int64_t low, high;

	(void)state;
	series_init(&s, 0);
	struct series_route *r = series_route(&s, SLICE("a"), 0);
	assert_true(series_add(&s, r, t0, NS_PER_MS, false));
	assert_true(series_add_counted(&s, r, t0, 60 * NS_PER_S, 0, 5000, 90));
	assert_true(series_add_counted(&s, r, t0, 60 * NS_PER_S, 5000, 10000, 0));
	assert_true(
		series_add_counted(&s, r, t0 + 60 * NS_PER_S, 60 * NS_PER_S, 5000, 10000, 3000000));
	assert_true(series_add_counted(&s, r, t0, 60 * NS_PER_S, 10000000, INT64_MAX, 2));
	assert_true(series_finish(&s));
	assert_int_equal(s.tick_ns, 60 * NS_PER_S);
	assert_int_equal(r->requests, 3000093);
	assert_int_equal(total_count(r), 3000093);
	/* 1 ms, the middle of 0 to 5 ms, and above 10 s; then three cells full of 5 to 10 ms. */
	assert_int_equal(r->count, 6);
	assert_int_equal(series_cell_tick(r->cells[3]), 1);
	series_edges(r, series_cell_bin(r->cells[3]), &low, &high);
	assert_int_equal(low, 5000);
	assert_int_equal(high, 10000);
	series_edges(r, series_cell_bin(r->cells[2]), &low, &high);
	assert_int_equal(low, 10000000);
	assert_true(high == INT64_MAX);
	series_edges(r, series_bin(1000), &low, &high);
	assert_true(low == high && low >= 992 && low <= 1008);
	series_free(&s);
}

static void a_range_within_one_bin_is_a_value(void **state)
{
	struct series s;
	int64_t low, high;

	(void)state;
	series_init(&s, 0);
	struct series_route *r = series_route(&s, SLICE("a"), 0);
	assert_true(series_add_counted(&s, r, t0, NS_PER_S, 5000, 5001, 7));
	assert_true(series_add_counted(&s, r, t0, NS_PER_S, 0, 0, 1));
	assert_int_equal(r->edge_count, 0);
	series_edges(r, series_bin(5001), &low, &high);
	assert_int_equal(low, high);
	series_free(&s);
}

static void absurd_counts_are_refused(void **state)
{
	static const int64_t bad[][4] = { { 86401 * NS_PER_S, 0, 5, 1 }, { -1, 0, 5, 1 },
		{ 1, -1, 5, 1 }, { 1, 6, 5, 1 }, { 1, INT64_MAX, INT64_MAX, 1 },
		{ 1, 0, 5, INT64_C(1) << 40 } };
	struct series s;

	(void)state;
	series_init(&s, 0);
	struct series_route *r = series_route(&s, SLICE("a"), 0);
	for (size_t i = 0; i < LENGTH(bad); i++)
		assert_false(series_add_counted(
			&s, r, t0, bad[i][0], bad[i][1], bad[i][2], (uint64_t)bad[i][3]));
	assert_int_equal(r->requests, 0);
	assert_true(s.refused >= LENGTH(bad));
	series_free(&s);
}

static void gaps_are_sorted_joined_and_bounded(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 0);
	assert_true(series_add_gap(&s, t0 + 50, t0 + 60));
	assert_true(series_add_gap(&s, t0 + 10, t0 + 20));
	assert_true(series_add_gap(&s, t0 + 20, t0 + 30));
	assert_true(series_add_gap(&s, t0 + 5, t0 + 5));
	series_finish(&s);
	assert_int_equal(s.gap_count, 2);
	assert_true(series_is_gap(&s, t0 + 29, t0 + 31));
	assert_false(series_is_gap(&s, t0 + 30, t0 + 50));
	assert_true(series_is_gap(&s, t0, t0 + 100));
	assert_false(series_is_gap(&s, t0 + 60, t0 + 100));
	for (int64_t i = 0; i < 20000; i++)
		assert_true(series_add_gap(
			&s, t0 + i * i * NS_PER_MS, t0 + (i * i + 1) * NS_PER_MS / 2 * 2));
	series_finish(&s);
	assert_true(s.gap_count <= SERIES_GAPS_MAX && s.gaps_joined > 0);
	for (size_t i = 1; i < s.gap_count; i++)
		assert_true(s.gaps[i - 1].to_ns < s.gaps[i].from_ns);
	series_free(&s);
}

/* Of each kind of minute, what the sessions of its slow requests say. */
static void slow_requests_are_told_by_connection(void **state)
{
	struct series s;
	uint32_t above = series_bin(100000);

	(void)state;
	series_init(&s, 0);
	struct series_route *r = series_route(&s, SLICE("a"), 0);
	for (int64_t i = 0; i < 600; i++) {
		/* Fast ones of many all the time. */
		series_add_from(
			&s, r, t0 + i * NS_PER_S, 10 * NS_PER_MS, false, (uint32_t)i % 9 + 1);
		/* Minute 1: one connection is slow, minute 2: another too, but not as slow. */
		if (i >= 60 && i < 180)
			series_add_from(&s, r, t0 + i * NS_PER_S, NS_PER_S, false, 77);
		if (i == 150)
			series_add_from(&s, r, t0 + i * NS_PER_S, NS_PER_S / 2, false, 78);
	}
	assert_true(series_finish(&s));
	int64_t minute = 60 * NS_PER_S / s.tick_ns;
	assert_int_equal(series_sessions(&s, r, 0, minute, above), 0);
	assert_int_equal(series_sessions(&s, r, minute, 2 * minute, above), 1);
	assert_int_equal(series_sessions(&s, r, 2 * minute, 3 * minute, above), 2);
	assert_int_equal(series_sessions(&s, r, 3 * minute, 4 * minute, above), 0);
	assert_int_equal(series_sessions(&s, r, 0, minute, 0), 2);
	/* One without a session: any could be of another. */
	assert_true(series_add(&s, r, t0 + 61 * NS_PER_S, NS_PER_S, false));
	assert_int_equal(series_sessions(&s, r, minute, 2 * minute, above), 0);
	series_free(&s);
}

static void memory_of_connections_is_bounded(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 0);
	for (int k = 0; k < 150; k++) {
		char text[16];

		snprintf(text, sizeof(text), "r%d", k);
		struct series_route *r = series_route(&s, slice_of(text), 0);
		for (int64_t i = 0; i < 5000; i++)
			assert_true(series_add_from(&s, r, t0 + i * 60 * NS_PER_S, NS_PER_S, false,
				k == 3 ? 5 : (uint32_t)i + 1));
	}
	assert_true(series_finish(&s));
	assert_true(s.slow_held <= SERIES_SLOW_MAX && s.slow_ns > 60 * NS_PER_S);
	int64_t all = series_tick(&s, s.last_ns) + 1;
	assert_int_equal(series_sessions(&s, s.routes[3], 0, all, 0), 1);
	assert_int_equal(series_sessions(&s, s.routes[4], 0, all, 0), 2);
	series_free(&s);
}

static void a_floor_only_rises(void **state)
{
	struct series_route r = { 0 };

	(void)state;
	series_set_floor(&r, 250000);
	series_set_floor(&r, 1000);
	assert_int_equal(r.floor_us, 250000);
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
		cmocka_unit_test(order_of_arrival_does_not_matter),
		cmocka_unit_test(widened_ticks_divide_a_minute),
		cmocka_unit_test(counted_requests_are_known_to_their_range),
		cmocka_unit_test(a_range_within_one_bin_is_a_value),
		cmocka_unit_test(absurd_counts_are_refused),
		cmocka_unit_test(gaps_are_sorted_joined_and_bounded),
		cmocka_unit_test(slow_requests_are_told_by_connection),
		cmocka_unit_test(memory_of_connections_is_bounded),
		cmocka_unit_test(a_floor_only_rises),
		cmocka_unit_test(freeing_twice_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
