/*
 * Spikes in simulated traffic with a known truth. Small by default; for figures
 *	SIM_RUNS=9 build/release/tests/test_correlate_spike
 * plays nine days (or nine seeds) in every cell and prints what it saw.
 */
#include "tests/lib/simtraffic.h"
#include "tests/lib/unit.h"

#include <math.h>

#include "correlate/tested.h"

/* What was found in one route's traffic, and what there was. */
struct found {
	size_t spikes, shifts; /* shifts: longer than 30 minutes, or for good */
	size_t planted, hit; /* episodes, and those that a spike touches */
	size_t outside; /* spikes that touch no slow time */
	double duty, truth; /* share of the time */
	double baseline_ms, swing;
	uint64_t anecdotes;
};

static const double day = 86400;

static int64_t at_ns(double at_s)
{
	return SIM_START_NS + (int64_t)(at_s * 1e9);
}

static bool is_covered(const struct spike_list *list, int64_t from_ns, int64_t to_ns)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].start_ns < to_ns && list->items[i].end_ns > from_ns)
			return true;
	return false;
}

static bool touches_slow(const struct spike *k, const struct simtraffic *t)
{
	for (int64_t ns = k->start_ns - 10 * NS_PER_S; ns < k->end_ns; ns += NS_PER_S)
		if (simtraffic_is_slow(t, (double)(ns - SIM_START_NS) / 1e9))
			return true;
	return false;
}

static void compare(struct found *f, const struct spike_list *list, const struct simtraffic *t)
{
	for (size_t i = 0; i < list->count; i++) {
		bool is_shift = list->items[i].kind == SPIKE_LEVEL_SHIFT;

		f->spikes += !is_shift;
		f->shifts += is_shift;
		f->outside += !touches_slow(&list->items[i], t);
	}
	for (double at = t->slow_from_s; t->slow_s > 0 && at + t->slow_s <= t->span_s;
		at += t->slow_every_s > 0 ? t->slow_every_s : t->span_s) {
		f->planted++;
		f->hit += is_covered(list, at_ns(at), at_ns(at + t->slow_s));
		f->truth += t->slow_s / t->span_s;
	}
}

/* One route laid out by whole minutes. */
struct world {
	struct series series;
	struct condition_list none;
	struct analysis analysis;
	const struct tested_route *route; /* NULL: not even looked at */
};

static void world_look(struct world *w)
{
	assert_true(series_finish(&w->series));
	w->analysis = (struct analysis){
		.series = &w->series, .conditions = &w->none, .bucket_ns = 60 * NS_PER_S
	};
	assert_true(tested_open(&w->analysis, NULL));
	w->route = w->analysis.route_count ? &w->analysis.routes[0] : NULL;
}

static void world_free(struct world *w)
{
	for (size_t i = 0; i < w->analysis.route_count; i++)
		tested_close(&w->analysis.routes[i]);
	free(w->analysis.routes);
	series_free(&w->series);
}

static struct found play(const struct simtraffic *t, uint64_t seed)
{
	struct found f = { 0 };
	struct world w = { 0 };

	series_init(&w.series, 0);
	simtraffic_play(&w.series, "GET /a", t, seed);
	world_look(&w);
	if (w.route) {
		compare(&f, &w.route->spikes, t);
		f.baseline_ms = w.route->view.base.segments[0].p99_ms;
		f.swing = w.route->view.base.season.swing;
		f.duty = w.route->spikes.duty;
		f.anecdotes = w.route->spikes.anecdotes;
	}
	world_free(&w);
	return f;
}

static bool has_figures(void)
{
	return getenv("SIM_RUNS") != NULL;
}

static const double rates[] = { 5, 20, 100, 1000 };

static void heavy_tails_alone_are_no_spike(void **state)
{
	double days = (double)sim_runs(1);

	(void)state;
	for (size_t i = 0; i < LENGTH(rates); i++) {
		struct simtraffic t = { .rate_per_min = rates[i],
			.span_s = (has_figures() || rates[i] < 500 ? days : 0.25) * day,
			.tail_share = 1.0 / 5000,
			.tail_times = 100 };
		struct found f = play(&t, 1 + i);

		if (has_figures())
			print_message("# %g/min for %g days: %zu spikes, %zu shifts\n", rates[i],
				t.span_s / day, f.spikes, f.shifts);
		assert_int_equal(f.spikes + f.shifts, 0);
	}
}

/* For one hour of three, at each rate; the tail is nowhere else. */
static void an_hour_of_anecdotes_is_no_spike(void **state)
{
	size_t runs = sim_runs(1), spikes = 0;
	uint64_t anecdotes = 0;

	(void)state;
	for (size_t i = 0; i < LENGTH(rates) * runs; i++) {
		struct simtraffic t = { .rate_per_min = rates[i % 4] * (i % 4 == 3 ? 3 : 1),
			.span_s = 10800,
			.slow_from_s = 3600,
			.slow_s = 3600,
			.slow_share = 1.0 / 5000,
			.slow_times = 100 };
		struct found f = play(&t, 10 + i);

		spikes += f.spikes + f.shifts;
		anecdotes += f.anecdotes;
	}
	if (has_figures())
		print_message("# %zu storms: %zu spikes, %llu anecdotes\n", 4 * runs, spikes,
			(unsigned long long)anecdotes);
	assert_int_equal(spikes, 0);
	assert_true(anecdotes > 0);
}

static struct simtraffic slow_for(double rate, double times, double duty, bool is_block)
{
	struct simtraffic t = { .rate_per_min = rate,
		.span_s = rate > 500 ? 10800 : day,
		.tail_share = 1.0 / 5000,
		.tail_times = 100,
		.slow_times = times,
		.slow_from_s = 77,
		.slow_s = 180,
		.slow_every_s = 180 / duty };

	if (is_block) {
		t.slow_from_s = t.span_s / 4;
		t.slow_s = duty * t.span_s;
		t.slow_every_s = 0;
	}
	return t;
}

static void check_duty(const struct simtraffic *t, uint64_t seed)
{
	struct found f = play(t, seed);
	/* Five requests a minute: three minutes hold fifteen, of which half may be slow. */
	double enough = t->rate_per_min < 10 ? 0.7 : 0.95;

	if (has_figures())
		print_message("# %g/min x%g %s of %4.1f %%: %zu of %zu found, %zu others, "
			      "duty %4.1f %%\n",
			t->rate_per_min, t->slow_times, t->slow_every_s > 0 ? "pieces" : "block ",
			100 * f.truth, f.hit, f.planted, f.outside, 100 * f.duty);
	assert_true(f.planted > 0);
	if ((double)f.hit < enough * (double)f.planted || f.duty > 1.5 * f.truth ||
		f.duty < f.truth / 1.5 || f.outside > 1 + f.planted / 50)
		fail_msg("%g/min x%g, %g s every %g s: %zu of %zu, %zu others, %g of %g",
			t->rate_per_min, t->slow_times, t->slow_s, t->slow_every_s, f.hit,
			f.planted, f.outside, f.duty, f.truth);
}

static void what_holds_a_share_of_the_time_is_found_and_told(void **state)
{
	static const double duties[] = { 0.01, 0.05, 0.1, 0.2, 0.3 };

	(void)state;
	for (size_t i = 0; i < LENGTH(rates); i++)
		for (size_t d = 0; d < LENGTH(duties); d++)
			for (uint64_t run = 0; run < sim_runs(1); run++)
				for (int kind = 0; kind < 4; kind++) {
					struct simtraffic t = slow_for(
						rates[i], kind & 1 ? 10 : 5, duties[d], kind & 2);

					/* A quarter of the cells, in turn, is enough each day. */
					if (!has_figures() && (kind + (int)(i + d)) % 2)
						continue;
					/* One episode of three minutes. */
					if (rates[i] > 500 && duties[d] < 0.02)
						t.span_s = 18000;
					check_duty(&t, 100 * run + i);
				}
}

static void a_daily_wave_is_no_spike_and_hides_no_job(void **state)
{
	(void)state;
	for (uint64_t run = 0; run < sim_runs(1); run++)
		for (int has_job = 0; has_job < 2; has_job++) {
			struct simtraffic t = { .rate_per_min = 60,
				.span_s = 4 * day,
				.day_times = 3,
				.slow_from_s = has_job ? 9.5 * 3600 : 0,
				.slow_every_s = has_job ? day : 0,
				.slow_s = has_job ? 1200 : 0,
				.slow_times = 4 };
			struct found f = play(&t, 20 + run);

			if (has_figures())
				print_message("# swing %.2f, %zu of %zu jobs, %zu spikes outside, "
					      "%zu shifts\n",
					f.swing, f.hit, f.planted, f.outside, f.shifts);
			assert_true(f.swing > 2.6 && f.swing < 3.4);
			assert_int_equal(f.hit, f.planted);
			assert_int_equal(f.outside, 0);
			assert_int_equal(f.shifts, 0);
			assert_true(!has_job || fabs(f.duty / f.truth - 1) < 0.25);
		}
}

/* Every tenth minute a fifth of the requests takes ten times as long. */
static void a_fifth_of_a_minute_is_hit_as_often_as_it_can_be(void **state)
{
	static const double floor[] = { 0.01, 0.41, 0.99 };

	(void)state;
	for (size_t i = 1; i < LENGTH(rates); i++) {
		struct simtraffic t = { .rate_per_min = rates[i],
			.span_s = rates[i] > 500 ? 20000 : day * (double)sim_runs(1),
			.slow_every_s = 600,
			.slow_s = 60,
			.slow_share = 0.2,
			.slow_times = 10,
			.tail_share = 1.0 / 5000,
			.tail_times = 100 };
		struct found f = play(&t, 30 + i);

		if (has_figures())
			print_message("# %g/min: %zu of %zu minutes, %zu others\n", rates[i], f.hit,
				f.planted, f.outside);
		assert_true((double)f.hit >= floor[i - 1] * (double)f.planted);
		assert_true(f.outside <= 1 + f.planted / 50);
	}
}

static void a_step_is_told_beside_a_daily_wave(void **state)
{
	struct simtraffic t = { .rate_per_min = 60,
		.span_s = 4 * day,
		.day_times = 3,
		.step_s = 2.3 * day,
		.step_times = 3 };
	struct world w = { 0 };

	(void)state;
	series_init(&w.series, 0);
	simtraffic_play(&w.series, "GET /a", &t, 5);
	world_look(&w);
	assert_true(w.route->view.base.has_shift);
	assert_true(fabs((double)(w.route->view.base.shift_ns - at_ns(t.step_s)) / 1e9) < 600);
	assert_true(w.route->view.base.season.swing > 2 && w.route->view.base.season.swing < 4);
	world_free(&w);
}

static void add(struct world *w, double at_s, double ms, uint32_t session)
{
	struct series_route *r = series_route(&w->series, SLICE("GET /a"), 0);

	assert_non_null(r);
	assert_true(
		series_add_from(&w->series, r, at_ns(at_s), (int64_t)(ms * 1e6), false, session));
}

/* Two hours at one a second; six slow ones in the half hour before the end or sooner. */
static void play_six(struct world *w, double at_s, uint32_t sessions)
{
	series_init(&w->series, 0);
	for (int i = 0; i < 7200; i++)
		if (i < 5000 || at_s < 5000 || i < at_s + 8)
			add(w, i, 20 + i % 7, 1 + (uint32_t)i % 9);
	for (uint32_t i = 0; i < 6; i++)
		add(w, at_s + i, 900 + i, 100 + i % sessions);
	world_look(w);
}

static void what_one_connection_suffered_is_an_anecdote(void **state)
{
	(void)state;
	for (uint32_t sessions = 1; sessions <= 2; sessions++) {
		struct world w = { 0 };

		play_six(&w, 3000, sessions);
		assert_int_equal(w.route->spikes.count, sessions == 1 ? 0 : 1);
		assert_int_equal(w.route->spikes.anecdotes, sessions == 1 ? 6 : 0);
		assert_true(sessions == 2 || w.route->spikes.one_connection > 0);
		world_free(&w);
	}
}

static void anecdotes_are_listed_with_their_exact_time(void **state)
{
	struct world w = { 0 };

	(void)state;
	play_six(&w, 3000, 1);
	assert_int_equal(w.route->spikes.anecdote_count, 6);
	for (int i = 0; i < 6; i++) {
		assert_true(w.route->spikes.anecdote[i].start_ns == at_ns(3000 + i));
		assert_true(w.route->spikes.anecdote[i].ms == 900 + i);
	}
	world_free(&w);
}

static void a_spike_that_nobody_saw_end_is_unfinished(void **state)
{
	struct world w = { 0 };

	(void)state;
	play_six(&w, 3000, 6);
	assert_int_equal(w.route->spikes.items[0].kind, SPIKE_SPIKE);
	world_free(&w);
	w = (struct world){ 0 };
	play_six(&w, 7000, 6);
	assert_int_equal(w.route->spikes.count, 1);
	assert_int_equal(w.route->spikes.items[0].kind, SPIKE_UNFINISHED);
	world_free(&w);
}

static void requests_without_an_answer_are_a_spike_without_an_end(void **state)
{
	struct world w = { 0 };

	(void)state;
	series_init(&w.series, 0);
	for (int i = 0; i < 7200; i++)
		add(&w, i, 20 + i % 7, 0);
	for (int i = 0; i < 8; i++)
		assert_true(series_add_unanswered(&w.series,
			series_route(&w.series, SLICE("GET /a"), 0), at_ns(7100 + i),
			(100 - i) * NS_PER_S));
	world_look(&w);
	assert_int_equal(w.route->spikes.count, 1);
	assert_int_equal(w.route->spikes.items[0].kind, SPIKE_UNFINISHED);
	world_free(&w);
}

static void time_in_a_gap_is_no_evidence(void **state)
{
	struct world w = { 0 };

	(void)state;
	series_init(&w.series, 0);
	assert_true(series_add_gap(&w.series, at_ns(2990), at_ns(3060)));
	for (int i = 0; i < 7200; i++)
		add(&w, i, i >= 3000 && i < 3040 ? 900 : 20 + i % 7, 0);
	world_look(&w);
	const struct view *v = &w.route->view;
	struct span gap = { series_tick(&w.series, at_ns(3000)),
		series_tick(&w.series, at_ns(3050)) };
	struct span half = { series_tick(&w.series, at_ns(3020)),
		series_tick(&w.series, at_ns(3100)) };
	assert_int_equal(w.route->spikes.count, 0);
	assert_true(view_sum(v, gap).n == 0 && view_observed(v, gap) == 0);
	assert_true(fabs(view_observed(v, half) - 0.5) < 0.01);
	assert_int_equal(v->buckets.items[50].state, BUCKET_GAP);
	assert_int_equal(v->buckets.items[52].state, BUCKET_LOW);
	world_free(&w);
}

/* A log that tells only what took 100 ms: three a minute, and in some minutes thirty. */
static void below_a_logs_floor_only_rates_are_told(void **state)
{
	struct simtraffic t = { .rate_per_min = 3, .span_s = day, .median_ms = 150 };
	struct simtraffic more = { .rate_per_min = 30, .span_s = 300, .median_ms = 500 };
	struct world w = { 0 };
	struct series_route *r;
	struct rng rng;

	(void)state;
	series_init(&w.series, 0);
	r = series_route(&w.series, SLICE("GET /a"), 0);
	series_set_floor(r, 100000);
	simtraffic_play(&w.series, "GET /a", &t, 1);
	rng_seed(&rng, 2);
	for (double at = 40000; at < 40300; at += sim_wait(&rng, 60 / more.rate_per_min))
		add(&w, at, more.median_ms * exp(0.4 * sim_normal(&rng)), 0);
	world_look(&w);
	const struct view *v = &w.route->view;
	assert_true(v->base.is_floored && v->base.count == 1);
	assert_true(isnan(v->base.segments[0].p99_ms) && v->base.segments[0].limit_ms > 100);
	for (size_t i = 0; i < v->buckets.count; i++)
		assert_true(isnan(v->buckets.items[i].p99_ms) && v->buckets.items[i].is_floored);
	assert_int_equal(w.route->spikes.count, 1);
	assert_true(llabs(w.route->spikes.items[0].start_ns - at_ns(40000)) < 30 * NS_PER_S);
	assert_true(llabs(w.route->spikes.items[0].end_ns - at_ns(40300)) < 30 * NS_PER_S);
	world_free(&w);
}

static void a_coarse_histogram_gives_a_range_and_no_number(void **state)
{
	struct world w = { 0 };
	struct series_route *r;

	(void)state;
	series_init(&w.series, 0);
	r = series_route(&w.series, SLICE("GET /a"), 0);
	for (int minute = 0; minute < 120; minute++) {
		bool is_slow = minute == 60 || minute == 61;

		assert_true(series_add_counted(&w.series, r, at_ns(60.0 * minute), 60 * NS_PER_S, 0,
			100000, is_slow ? 900 : 999));
		assert_true(series_add_counted(&w.series, r, at_ns(60.0 * minute), 60 * NS_PER_S,
			250000, 500000, is_slow ? 100 : 1));
	}
	world_look(&w);
	const struct bucket *b = &w.route->view.buckets.items[30];
	assert_true(b->is_interval && isnan(b->p99_ms));
	assert_true(b->p99_low_ms == 0 && b->p99_high_ms == 100);
	b = &w.route->view.buckets.items[60];
	assert_true(b->p99_low_ms == 250 && b->p99_high_ms == 500);
	assert_int_equal(w.route->spikes.count, 1);
	assert_true(isnan(w.route->spikes.items[0].p99_ms));
	world_free(&w);
}

static void three_requests_have_a_largest_and_no_p99(void **state)
{
	struct world w = { 0 };

	(void)state;
	series_init(&w.series, 0);
	add(&w, 1, 1, 0);
	add(&w, 2, 1, 0);
	add(&w, 3, 9000, 0);
	world_look(&w);
	assert_null(w.route);
	struct bucket b = { 0 };
	bucket_measure(&b, &w.series, w.series.routes[0], 0, 100000);
	assert_true(b.n == 3 && isnan(b.p99_ms) && b.max_ms == 9000);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heavy_tails_alone_are_no_spike),
		cmocka_unit_test(an_hour_of_anecdotes_is_no_spike),
		cmocka_unit_test(what_holds_a_share_of_the_time_is_found_and_told),
		cmocka_unit_test(a_daily_wave_is_no_spike_and_hides_no_job),
		cmocka_unit_test(a_fifth_of_a_minute_is_hit_as_often_as_it_can_be),
		cmocka_unit_test(a_step_is_told_beside_a_daily_wave),
		cmocka_unit_test(what_one_connection_suffered_is_an_anecdote),
		cmocka_unit_test(anecdotes_are_listed_with_their_exact_time),
		cmocka_unit_test(a_spike_that_nobody_saw_end_is_unfinished),
		cmocka_unit_test(requests_without_an_answer_are_a_spike_without_an_end),
		cmocka_unit_test(time_in_a_gap_is_no_evidence),
		cmocka_unit_test(below_a_logs_floor_only_rates_are_told),
		cmocka_unit_test(a_coarse_histogram_gives_a_range_and_no_number),
		cmocka_unit_test(three_requests_have_a_largest_and_no_p99),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
