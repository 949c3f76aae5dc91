#include "tests/lib/unit.h"

#include <math.h>

#include "correlate/remote_histogram.h"

static const int64_t t0 = INT64_C(1796040000) * NS_PER_S, step = 15 * NS_PER_S;

struct world {
	struct series series;
	struct remote_histograms h;
	struct remote_group *g;
};

static void begin(struct world *w)
{
	series_init(&w->series, 0);
	remote_histograms_init(&w->h, &w->series, step);
	w->g = remote_histograms_group(&w->h, SLICE("instance=a"), SLICE("r"));
	assert_non_null(w->g);
}

static void end(struct world *w)
{
	remote_histograms_free(&w->h);
	series_free(&w->series);
}

/* Counts in (0, .1], (.1, 1], (1, inf). */
static void feed(struct world *w, int at, double a, double b, double c)
{
	const struct remote_bucket buckets[] = { { 0, .1, a, 0 }, { .1, 1, b, 0 },
		{ 1, INFINITY, c, 0 } };

	assert_true(remote_histograms_feed(&w->h, w->g, t0 + at * step, buckets, 3));
}

static void what_was_added_in_a_step_is_counted_in_it(void **state)
{
	struct world w;
	int64_t low, high;

	(void)state;
	begin(&w);
	feed(&w, 0, 1000, 50, 7);
	feed(&w, 1, 1010, 52, 7);
	feed(&w, 2, 1010, 52, 8);
	assert_int_equal(w.h.requests, 13);
	assert_true(series_finish(&w.series));
	const struct series_route *r = w.series.routes[0];
	assert_int_equal(r->count, 3);
	assert_int_equal(w.series.tick_ns, step);
	assert_int_equal(series_tick_ns(&w.series, series_cell_tick(r->cells[0])), t0);
	assert_int_equal(series_cell_count(r->cells[0]), 10);
	assert_int_equal(series_cell_count(r->cells[1]), 2);
	series_edges(r, series_cell_bin(r->cells[0]), &low, &high);
	assert_int_equal(low, 0);
	assert_int_equal(high, 100000);
	assert_int_equal(series_tick_ns(&w.series, series_cell_tick(r->cells[2])), t0 + step);
	series_edges(r, series_cell_bin(r->cells[2]), &low, &high);
	assert_int_equal(low, 1000000);
	assert_true(high == INT64_MAX);
	end(&w);
}

static void a_fall_is_a_restart(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	feed(&w, 0, 1000, 50, 7);
	feed(&w, 1, 4, 51, 0);
	assert_int_equal(w.h.resets, 1);
	assert_int_equal(w.h.requests, 55);
	feed(&w, 2, 5, 51, 0);
	assert_int_equal(w.h.resets, 1);
	assert_int_equal(w.h.requests, 56);
	end(&w);
}

static void what_was_added_over_a_missing_step_has_no_time(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	feed(&w, 0, 1000, 50, 7);
	feed(&w, 2, 1100, 50, 7);
	feed(&w, 3, 1101, 50, 7);
	assert_int_equal(w.h.requests, 1);
	assert_int_equal(w.h.unplaced, 1);
	end(&w);
}

static void halved_resolution_is_no_restart(void **state)
{
	const struct remote_bucket fine[] = { { 1, 2, 10, 0 }, { 2, 4, 20, 0 }, { 8, 16, 5, 0 } };
	const struct remote_bucket coarse[] = { { 1, 4, 33, 0 }, { 4, 16, 5, 0 } };
	const struct remote_bucket other[] = { { 1, 3, 30, 0 }, { 3, 16, 90, 0 } };
	struct world w;

	(void)state;
	begin(&w);
	assert_true(remote_histograms_feed(&w.h, w.g, t0, fine, 3));
	assert_true(remote_histograms_feed(&w.h, w.g, t0 + step, coarse, 2));
	assert_int_equal(w.h.resets, 0);
	assert_int_equal(w.h.requests, 3);
	assert_true(remote_histograms_feed(&w.h, w.g, t0 + 2 * step, other, 2));
	assert_int_equal(w.h.changed, 1);
	assert_int_equal(w.h.requests, 3);
	end(&w);
}

static void fractions_wait_for_the_rest(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	w.h.scale = 15; /* a rate a second */
	for (int i = 0; i < 100; i++)
		feed(&w, i, 0.01, 0, 0);
	assert_int_equal(w.h.requests, 15);
	end(&w);
}

static void groups_of_one_route_add_up(void **state)
{
	struct world w;
	const struct remote_bucket before = { 0, 1, 5, 0 }, after = { 0, 1, 6, 0 };

	(void)state;
	begin(&w);
	struct remote_group *other = remote_histograms_group(&w.h, SLICE("instance=b"), SLICE("r"));
	assert_ptr_not_equal(other, w.g);
	assert_ptr_equal(other->route, w.g->route);
	assert_ptr_equal(remote_histograms_group(&w.h, SLICE("instance=b"), SLICE("r")), other);
	for (int i = 0; i < 2; i++) {
		struct remote_group *g = i ? other : w.g;

		assert_true(remote_histograms_feed(&w.h, g, t0, &before, 1));
		assert_true(remote_histograms_feed(&w.h, g, t0 + step, &after, 1));
	}
	assert_int_equal(w.series.routes[0]->requests, 2);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_added_in_a_step_is_counted_in_it),
		cmocka_unit_test(a_fall_is_a_restart),
		cmocka_unit_test(what_was_added_over_a_missing_step_has_no_time),
		cmocka_unit_test(halved_resolution_is_no_restart),
		cmocka_unit_test(fractions_wait_for_the_rest),
		cmocka_unit_test(groups_of_one_route_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
