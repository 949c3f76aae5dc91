/* Rhythms with a known truth. SIM_RUNS=300 repeats the simulations for figures. */
#include "tests/lib/unit.h"

#include <math.h>

#include "core/base/rng.h"
#include "correlate/period.h"

/* 2026-10-11, two weeks before clocks in Europe change; a multiple of no period but days. */
static const int64_t t0 = INT64_C(1791676800) * NS_PER_S;

enum { ROOM = 4000 };

struct onsets {
	int64_t at[ROOM];
	size_t count;
	struct rng rng;
};

static double wait(struct rng *r, double mean)
{
	return -mean * log(1 - rng_unit(r));
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void add(struct onsets *o, double at_s)
{
	assert_true(o->count < ROOM);
	o->at[o->count++] = t0 + (int64_t)(at_s * 1e9);
}

static double busy_at(double t)
{
	return 0.5 - 0.5 * cos(2 * M_PI * t / 86400);
}

/* Spikes of no schedule; every third one is followed by others within minutes. */
static void add_noise(struct onsets *o, double span_s, double per_day, bool by_day)
{
	for (double t = wait(&o->rng, 86400 / per_day); t < span_s;
		t += wait(&o->rng, 86400 / per_day))
		if (!by_day || rng_unit(&o->rng) < 2 * busy_at(t) * busy_at(t)) {
			add(o, t);
			for (double s = t; rng_unit(&o->rng) < 0.33 && s + 300 < span_s;)
				add(o, s += 20 + 280 * rng_unit(&o->rng));
		}
}

static void add_job(struct onsets *o, double span_s, double every_s, double share, double late_s)
{
	double phase = every_s * rng_unit(&o->rng);

	for (double t = phase; t < span_s; t += every_s)
		if (rng_unit(&o->rng) < share)
			add(o, t + late_s * rng_unit(&o->rng));
}

static bool find(struct period *p, struct onsets *o, double span_s, const char *zone)
{
	qsort(o->at, o->count, sizeof(*o->at), by_time);
	return period_find_in(
		p, o->at, o->count, SERIES_TICK_NS, t0, t0 + (int64_t)(span_s * 1e9), zone);
}

static int runs_wanted(int usual)
{
	const char *wanted = getenv("SIM_RUNS");

	return wanted ? atoi(wanted) : usual;
}

/* ---- what is there */

struct planted {
	const char *what;
	double every_s, share, late_s, span_s, noise_per_day;
	double least; /* share of runs that must name the period */
};

static const struct planted cases[] = {
	{ "60 min, hits .9, 1 day", 3600, 0.9, 20, 86400, 4, 0.98 },
	{ "60 min, hits .5, 1 day", 3600, 0.5, 20, 86400, 4, 0.88 },
	{ "60 min, hits .3, 2 days", 3600, 0.3, 20, 2 * 86400, 4, 0.85 },
	{ "daily, 7 days", 86400, 0.95, 60, 7 * 86400, 2, 0.85 },
	{ "15 min, 1 day", 900, 0.9, 10, 86400, 4, 0.98 },
	{ "6 h, 7 days", 21600, 0.95, 60, 7 * 86400, 2, 0.98 },
	{ "8 s, 1 min", 8, 1, 0.1, 60, 4, 0.98 },
};

static void usual_periods_are_named(void **state)
{
	int runs = runs_wanted(12);

	(void)state;
	for (size_t k = 0; k < LENGTH(cases); k++) {
		const struct planted *c = &cases[k];
		int right = 0, found = 0, confirmed = 0, loops = 0;

		for (int i = 0; i < runs; i++) {
			struct onsets o = { 0 };
			struct period p;

			rng_seed(&o.rng, 100 * k + (uint64_t)i);
			add_job(&o, c->span_s, c->every_s, c->share, c->late_s);
			add_noise(&o, c->span_s, c->noise_per_day, false);
			found += find(&p, &o, c->span_s, NULL);
			bool is_right = p.score <= -3 && p.period_ns == (int64_t)(c->every_s * 1e9);
			right += is_right;
			confirmed += is_right && p.is_confirmed;
			loops += p.score <= -3 && p.is_interval;
		}
		if (getenv("SIM_RUNS"))
			print_message("# %s: right %d, other %d (loops %d), confirmed %d of %d\n",
				c->what, right, found - right, loops, confirmed, runs);
		if (right < (int)floor(runs * (c->least - 0.1)))
			fail_msg("%s: %d of %d", c->what, right, runs);
	}
}

static void a_loop_that_sleeps_is_no_schedule(void **state)
{
	/* Its own run time makes a loop miss the usual period. */
	static const double every_s[] = { 303.4, 61.2, 1000, 8.37 };
	int runs = runs_wanted(8);

	(void)state;
	for (size_t k = 0; k < LENGTH(every_s); k++) {
		double span = 60 * every_s[k];
		int right = 0, confirmed = 0;

		for (int i = 0; i < runs; i++) {
			struct onsets o = { 0 };
			struct period p;

			rng_seed(&o.rng, 900 * k + (uint64_t)i);
			add_job(&o, span, every_s[k], 0.8, every_s[k] / 60);
			add_noise(&o, span, 4, false);
			right += find(&p, &o, span, NULL) && p.is_interval &&
				 fabs((double)p.period_ns / 1e9 - every_s[k]) < every_s[k] / 200;
			confirmed += p.is_confirmed;
		}
		if (getenv("SIM_RUNS"))
			print_message("# loop of %.4g s: right %d, confirmed %d of %d\n",
				every_s[k], right, confirmed, runs);
		assert_true(right >= runs * 8 / 10);
	}
}

static void an_hour_of_daylight_saving_names_the_clock(void **state)
{
	static const struct {
		const char *truth, *given, *said;
		int64_t change_s; /* since t0; and by how much the UTC time moves then */
		double moves_s;
	} clocks[] = {
		{ "Europe", NULL, "Europe/Berlin", 14 * 86400 + 3600, 3600 },
		{ "Europe, zone given", "Europe/Paris", "Europe/Paris", 14 * 86400 + 3600, 3600 },
		{ "UTC", NULL, "UTC", 0, 0 },
		{ "UTC, another given", "Europe/Berlin", "UTC", 0, 0 },
	};
	double span = 28 * 86400;

	(void)state;
	for (size_t k = 0; k < LENGTH(clocks); k++) {
		struct onsets o = { 0 };
		struct period p;

		rng_seed(&o.rng, k);
		for (int day = 0; day < 28; day++) {
			double t = day * 86400 + 5400;

			t += t >= (double)clocks[k].change_s ? clocks[k].moves_s : 0;
			add(&o, t + 20 * rng_unit(&o.rng));
		}
		add_noise(&o, span, 1, false);
		assert_true(find(&p, &o, span, clocks[k].given));
		assert_int_equal(p.period_ns, 86400 * NS_PER_S);
		assert_string_equal(p.zone, clocks[k].said);
		if (!p.is_zone_told || !p.is_confirmed)
			fail_msg("%s: told %d, confirmed %d, p %g, %zu of %zu, width %ld s",
				clocks[k].truth, p.is_zone_told, p.is_confirmed, p.held_out_p,
				p.held_out_hit, p.held_out_cycles, (long)(p.width_ns / NS_PER_S));
	}
}

static void without_a_change_the_given_clock_is_used_and_none_is_told(void **state)
{
	struct onsets o = { 0 };
	struct period p;

	(void)state;
	for (int day = 0; day < 10; day++)
		add(&o, day * 86400 + 5400);
	assert_true(find(&p, &o, 10 * 86400, "America/New_York"));
	assert_string_equal(p.zone, "America/New_York");
	assert_false(p.is_zone_told);
	/* 01:30 UTC is 21:30 there. */
	assert_int_equal(p.phase_ns, (21 * 3600 + 1800) * NS_PER_S);
}

static void what_stopped_is_found_but_not_confirmed(void **state)
{
	struct onsets o = { 0 };
	struct period p;

	(void)state;
	rng_seed(&o.rng, 5);
	for (double t = 100; t < 43200; t += 3600)
		add(&o, t);
	for (double t = 43200; t < 86400; t += wait(&o.rng, 5000))
		add(&o, t);
	assert_true(find(&p, &o, 86400, NULL));
	assert_int_equal(p.period_ns, 3600 * NS_PER_S);
	assert_false(p.is_confirmed);
	assert_true(p.held_out_p > 0.05);
}

/* ---- what is not there */

static void chance_makes_no_rhythm(void **state)
{
	static const struct {
		const char *what;
		double span_s, per_day;
		bool by_day;
	} nulls[] = {
		{ "uniform, 1 day", 86400, 40, false },
		{ "uniform, 7 days", 7 * 86400, 20, false },
		{ "diurnal, 7 days", 7 * 86400, 30, true },
		{ "diurnal, 14 days", 14 * 86400, 12, true },
		{ "uniform, 10 min", 600, 6 * 24 * 20, false },
	};
	int runs = runs_wanted(12);

	(void)state;
	for (size_t k = 0; k < LENGTH(nulls); k++) {
		int found = 0, confirmed = 0;

		for (int i = 0; i < runs; i++) {
			struct onsets o = { 0 };
			struct period p;

			rng_seed(&o.rng, 50000 + 1000 * k + (uint64_t)i);
			add_noise(&o, nulls[k].span_s, nulls[k].per_day, nulls[k].by_day);
			found += find(&p, &o, nulls[k].span_s, NULL);
			confirmed += p.is_confirmed;
		}
		if (getenv("SIM_RUNS"))
			print_message("# null %s: found %d, confirmed %d of %d\n", nulls[k].what,
				found, confirmed, runs);
		assert_true(found <= (runs < 100 ? 1 : runs / 50));
	}
}

static void busy_hours_are_no_daily_schedule(void **state)
{
	struct onsets o = { 0 };
	struct period p;

	(void)state;
	rng_seed(&o.rng, 6);
	for (int day = 0; day < 14; day++)
		for (int i = 0; i < 10; i++)
			add(&o, day * 86400 + 12 * 3600 + 3 * 3600 * rng_unit(&o.rng));
	assert_false(find(&p, &o, 14 * 86400, NULL));
}

static void few_onsets_make_no_rhythm(void **state)
{
	struct onsets o = { 0 };
	struct period p;

	(void)state;
	for (int i = 0; i < 3; i++)
		add(&o, i * 3600);
	assert_false(find(&p, &o, 4 * 3600, NULL));
	o.count = 0;
	assert_false(find(&p, &o, 4 * 3600, NULL));
}

/* A route on which no bucket can be a spike. */
static void a_quiet_route_is_folded_by_its_slow_requests(void **state)
{
	int runs = runs_wanted(3), right = 0;

	(void)state;
	for (int i = 0; i < runs; i++) {
		struct series s;
		struct view v;
		struct spike_list none = { 0 };
		struct period p;
		struct rng rng;

		rng_seed(&rng, 70 + (uint64_t)i);
		series_init(&s, 0);
		struct series_route *r = series_route(&s, SLICE("GET /report"), 0);
		for (double t = 0; t < 2 * 86400; t += wait(&rng, 12)) {
			double cycle = floor((t - 420) / 3600), in = t - 420 - cycle * 3600;
			bool bites = fmod(cycle * 0.618034 + 10, 1) < 0.5 && in < 180;
			double ms = 20 * exp(0.4 * (rng_unit(&rng) + rng_unit(&rng) - 1));

			ms *= bites ? 10 : rng_unit(&rng) < 0.0005 ? 20 : 1;
			assert_true(series_add(
				&s, r, t0 + (int64_t)(t * 1e9), (int64_t)(ms * 1e6), false));
		}
		assert_true(series_finish(&s));
		assert_true(view_init(&v, &s, s.routes[0], 60 * NS_PER_S));
		right += period_find(&p, &v, &none, NULL, 1) && p.is_by_counts &&
			 p.period_ns == 3600 * NS_PER_S && p.is_confirmed;
		view_free(&v);
		series_free(&s);
	}
	if (getenv("SIM_RUNS"))
		print_message("# by counts: right %d of %d\n", right, runs);
	assert_true(right * 10 >= runs * 9);
}

static void five_thousand_onsets_take_no_time(void **state)
{
	struct onsets o = { 0 };
	struct period p;

	(void)state;
	rng_seed(&o.rng, 8);
	for (int i = 0; i < ROOM; i++)
		add(&o, 14 * 86400 * rng_unit(&o.rng));
	assert_false(find(&p, &o, 14 * 86400, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual_periods_are_named),
		cmocka_unit_test(a_loop_that_sleeps_is_no_schedule),
		cmocka_unit_test(an_hour_of_daylight_saving_names_the_clock),
		cmocka_unit_test(without_a_change_the_given_clock_is_used_and_none_is_told),
		cmocka_unit_test(what_stopped_is_found_but_not_confirmed),
		cmocka_unit_test(chance_makes_no_rhythm),
		cmocka_unit_test(busy_hours_are_no_daily_schedule),
		cmocka_unit_test(few_onsets_make_no_rhythm),
		cmocka_unit_test(a_quiet_route_is_folded_by_its_slow_requests),
		cmocka_unit_test(five_thousand_onsets_take_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
