/* Metrics with a known truth. SIM_RUNS=400 repeats the simulations for figures. */
#include "tests/lib/unit.h"

#include <math.h>

#include "core/base/rng.h"
#include "correlate/metric.h"

static const int64_t t0 = INT64_C(1796040000) / 86400 * 86400 * NS_PER_S;

/* A route's buckets and spikes without the requests behind them. */
struct stage {
	struct view view;
	struct spike_list spikes;
	struct metric_list metrics;
	struct rng rng;
};

static void stage_init(struct stage *w, uint64_t seed, double span_s, double bucket_s)
{
	*w = (struct stage){ 0 };
	rng_seed(&w->rng, seed);
	metric_list_init(&w->metrics);
	w->view.buckets.width_ns = (int64_t)(bucket_s * 1e9);
	w->view.buckets.count = (size_t)(span_s / bucket_s);
	w->view.buckets.items = calloc(w->view.buckets.count, sizeof(struct bucket));
	w->spikes.items = calloc(SPIKES_MAX, sizeof(struct spike));
	assert_non_null(w->view.buckets.items);
	assert_non_null(w->spikes.items);
	for (size_t i = 0; i < w->view.buckets.count; i++)
		w->view.buckets.items[i] =
			(struct bucket){ .start_ns = t0 + (int64_t)i * w->view.buckets.width_ns,
				.n = 100 };
}

static void stage_free(struct stage *w)
{
	free(w->view.buckets.items);
	spike_list_free(&w->spikes);
	metric_list_free(&w->metrics);
}

static double normal(struct rng *r)
{
	return sqrt(-2 * log(1 - rng_unit(r))) * cos(2 * M_PI * rng_unit(r));
}

static double wait(struct rng *r, double mean)
{
	return -mean * log(1 - rng_unit(r));
}

static void add_spike(struct stage *w, double at_s, double length_s)
{
	assert_true(w->spikes.count < SPIKES_MAX);
	w->spikes.items[w->spikes.count++] = (struct spike){ .start_ns = t0 + (int64_t)(at_s * 1e9),
		.end_ns = t0 + (int64_t)((at_s + length_s) * 1e9) };
}

static double busy_at(double t)
{
	return 0.5 - 0.5 * cos(2 * M_PI * t / 86400);
}

/* Every second one is followed by more within minutes. */
static void add_clumps(struct stage *w, double span_s, double mean_s, double length_s, bool by_day)
{
	for (double t = wait(&w->rng, mean_s); t + length_s < span_s;
		t += length_s + wait(&w->rng, rng_unit(&w->rng) < 0.5 ? length_s : mean_s))
		if (!by_day || rng_unit(&w->rng) < busy_at(t) * busy_at(t))
			add_spike(w, t, length_s);
}

/* An AR(1) process of coefficient rho a step. */
static struct metric *add_walk(
	struct stage *w, double span_s, double step_s, double rho, double day)
{
	struct metric *m = metric_get(&w->metrics, "walk", NULL);
	double x = normal(&w->rng) / sqrt(1 - rho * rho);

	for (double t = 0; t < span_s; t += step_s) {
		x = rho * x + normal(&w->rng);
		assert_true(metric_add(&w->metrics, m, t0 + (int64_t)(t * 1e9),
			x * sqrt(1 - rho * rho) + day * busy_at(t)));
	}
	return m;
}

static struct metric_result tested(struct stage *w, const struct metric *m)
{
	struct metric_result r;

	metric_list_finish(&w->metrics);
	assert_true(metric_test(&r, &w->view, &w->spikes, m, 1));
	return r;
}

/* ---- how often chance convicts */

struct null_case {
	const char *what;
	double span_s, bucket_s, mean_s, length_s, rho, day;
	bool by_day;
};

static const struct null_case nulls[] = {
	{ "7 days, AR(.99) a minute", 7 * 86400, 60, 5400, 180, 0.99, 0, false },
	{ "7 days, metric and spikes diurnal", 7 * 86400, 60, 2700, 180, 0.9, 3, true },
	{ "1 day, AR(.9) a minute", 86400, 60, 2700, 180, 0.9, 0, false },
	{ "2 hours, AR(.98) a second", 7200, 10, 400, 20, 0.98, 0, false },
	{ "60 s, AR(.9) a second", 60, 1, 8, 1, 0.9, 0, false },
};

static void chance_convicts_as_often_as_promised(void **state)
{
	const char *wanted = getenv("SIM_RUNS");
	int runs = wanted ? atoi(wanted) : 20;

	(void)state;
	for (size_t k = 0; k < LENGTH(nulls); k++) {
		const struct null_case *c = &nulls[k];
		int at_5 = 0, at_1 = 0, at_01 = 0, evaluable = 0;

		for (int i = 0; i < runs; i++) {
			struct stage w;

			stage_init(&w, 1000 * k + (uint64_t)i, c->span_s, c->bucket_s);
			add_clumps(&w, c->span_s, c->mean_s, c->length_s, c->by_day);
			struct metric_result r =
				tested(&w, add_walk(&w, c->span_s, c->bucket_s, c->rho, c->day));
			evaluable += r.is_evaluable;
			at_5 += r.p <= 0.05;
			at_1 += r.p <= 0.01;
			at_01 += r.p <= 0.00125;
			stage_free(&w);
		}
		if (wanted)
			print_message("# %s: %d evaluable of %d; p <= .05: %.3f, <= .01: %.3f, "
				      "<= .00125: %.4f\n",
				c->what, evaluable, runs, (double)at_5 / runs, (double)at_1 / runs,
				(double)at_01 / runs);
		/* At 5 %, five and more of 20 come up in one case of 400. */
		assert_true(at_5 <= (wanted ? runs : 4));
	}
}

/* ---- what is there is found */

static void a_metric_that_moves_first_is_found_with_its_lag(void **state)
{
	const char *wanted = getenv("SIM_RUNS");
	int runs = wanted ? atoi(wanted) : 5, found = 0, right = 0, strong = 0;

	(void)state;
	for (int i = 0; i < runs; i++) {
		struct stage w;
		double span = 3 * 86400;

		stage_init(&w, 7000 + (uint64_t)i, span, 60);
		struct metric *m = add_walk(&w, span, 60, 0.9, 1);
		add_clumps(&w, span, 3600, 120, false);
		/* Up by two deviations for two minutes, three minutes before each. */
		for (size_t k = 0; k < w.spikes.count; k++)
			for (int64_t t = 0; t < 2; t++) {
				int64_t at =
					(w.spikes.items[k].start_ns - t0) / (60 * NS_PER_S) - 3 + t;

				if (at >= 0)
					m->points[at].value += 2;
			}
		struct metric_result r = tested(&w, m);
		found += r.is_evaluable && r.p <= 0.05 && r.effect > 0;
		strong += r.p <= 0.00125;
		right += fabs(r.lag_s - 180) <= 60;
		assert_true(r.inside > r.outside);
		stage_free(&w);
	}
	if (wanted)
		print_message("# found %d, at p <= .00125 %d, lag right %d of %d\n", found, strong,
			right, runs);
	assert_true(found >= runs * 9 / 10 && right >= runs * 9 / 10);
}

static void a_metric_that_only_follows_the_hour_has_no_effect(void **state)
{
	(void)state;
	for (int days = 1; days <= 7; days += 6) {
		struct stage w;

		stage_init(&w, 2, days * 86400, 60);
		struct metric *m = add_walk(&w, days * 86400, 60, 0.5, 20);
		add_clumps(&w, days * 86400, 2700, 180, true);
		struct metric_result r = tested(&w, m);
		/* One day cannot tell the hour from anything else. */
		assert_int_equal(r.is_deseasoned, days > 1);
		assert_true(days == 1 ? r.effect > 0.3 : fabs(r.effect) < 0.15);
		stage_free(&w);
	}
}

static void what_follows_the_spikes_has_a_negative_lag(void **state)
{
	struct stage w;
	double span = 86400;

	(void)state;
	stage_init(&w, 3, span, 60);
	struct metric *m = add_walk(&w, span, 60, 0.5, 0);
	for (double t = 1000; t < span - 600; t += 1800 + 600 * rng_unit(&w.rng)) {
		add_spike(&w, t, 120);
		for (int i = 0; i < 2; i++)
			m->points[(int)(t / 60) + 4 + i].value -= 4;
	}
	struct metric_result r = tested(&w, m);
	assert_true(r.p < 0.002);
	assert_true(r.effect < -0.5);
	assert_true(r.lag_s <= -180 && r.lag_s >= -300);
	stage_free(&w);
}

static void the_smallest_effect_is_between_nothing_and_what_was_seen(void **state)
{
	struct stage w;
	double span = 86400;

	(void)state;
	stage_init(&w, 4, span, 60);
	struct metric *m = add_walk(&w, span, 60, 0.5, 0);
	for (double t = 1000; t < span - 600; t += 1800 + 600 * rng_unit(&w.rng)) {
		add_spike(&w, t, 120);
		m->points[(int)(t / 60)].value += 5;
		m->points[(int)(t / 60) + 1].value += 5;
	}
	struct metric_result r = tested(&w, m);
	assert_true(r.effect > 0.7);
	assert_true(r.smallest_effect > 0.05 && r.smallest_effect < r.effect);
	assert_true(r.episodes > 35 && r.in_spikes >= 2 * r.episodes && r.used == 1440);
	stage_free(&w);
}

/* ---- what cannot be told */

static void stale_points_are_unknown_not_old(void **state)
{
	struct stage w;
	double span = 14400;

	(void)state;
	stage_init(&w, 5, span, 60);
	add_clumps(&w, span, 900, 120, false);
	struct metric *m = metric_get(&w.metrics, "x", NULL);
	for (int i = 0; i < 60; i++)
		assert_true(metric_add(&w.metrics, m, t0 + i * 60 * NS_PER_S, i % 7));
	/* A last value is good for three gaps. */
	assert_int_equal(tested(&w, m).used, 62);
	stage_free(&w);
}

static void cells_without_requests_are_no_evidence(void **state)
{
	struct stage w;

	(void)state;
	stage_init(&w, 6, 14400, 60);
	add_clumps(&w, 14400, 900, 120, false);
	struct metric *m = add_walk(&w, 14400, 60, 0.5, 0);
	for (size_t i = 0; i < 100; i++)
		w.view.buckets.items[i].n = 0;
	assert_int_equal(tested(&w, m).used, 140);
	stage_free(&w);
}

static void what_never_changes_or_has_no_spikes_is_not_evaluable(void **state)
{
	struct stage w;

	(void)state;
	stage_init(&w, 6, 14400, 60);
	struct metric *m = add_walk(&w, 14400, 60, 0.5, 0);
	assert_false(tested(&w, m).is_evaluable);
	add_clumps(&w, 14400, 900, 120, false);
	assert_true(tested(&w, m).is_evaluable);
	for (size_t i = 0; i < m->count; i++)
		m->points[i].value = 3;
	struct metric_result r = tested(&w, m);
	assert_false(r.is_evaluable);
	assert_true(r.p == 1 && isnan(r.effect));
	stage_free(&w);
}

static void the_same_seed_gives_the_same_numbers(void **state)
{
	struct metric_result r[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct stage w;

		stage_init(&w, 8, 86400, 60);
		add_clumps(&w, 86400, 2700, 180, false);
		r[i] = tested(&w, add_walk(&w, 86400, 60, 0.9, 0));
		stage_free(&w);
	}
	assert_true(r[0].p == r[1].p && r[0].effect == r[1].effect && r[0].shifts == r[1].shifts);
}

/* ---- points */

static void counters_become_rates_over_resets_and_holes(void **state)
{
	static const double values[] = { 0, 60, 120, 5, 65, 125, 4000, 4060 };
	static const int minutes[] = { 2, 0, 1, 3, 4, 5, 90, 91 };
	struct metric_list list;

	(void)state;
	metric_list_init(&list);
	struct metric *m = metric_get(&list, "x_total", "1/s");
	assert_true(metric_add(&list, m, 7, 7));
	for (size_t i = 0; i < LENGTH(values); i++)
		assert_true(metric_add(
			&list, m, minutes[i] * 60 * NS_PER_S + 60 * NS_PER_S, values[i]));
	metric_make_rates(&list, m, 1);
	/* In order of time: 60, 120, 0 (reset), 5, 65, 125, hole, 4000, 4060. */
	static const double rates[] = { 7, 1, 5.0 / 60, 1, 1, 1 };
	assert_int_equal(m->count, LENGTH(rates));
	assert_int_equal(list.points, LENGTH(rates));
	for (size_t i = 0; i < LENGTH(rates); i++)
		assert_true(fabs(m->points[i].value - rates[i]) < 1e-9);
	metric_list_free(&list);
}

static void points_of_one_time_are_kept_once(void **state)
{
	struct metric_list list;

	(void)state;
	metric_list_init(&list);
	struct metric *m = metric_get(&list, "x", NULL);
	assert_ptr_equal(m, metric_get(&list, "x", NULL));
	for (int i = 0; i < 20; i++)
		assert_true(metric_add(&list, m, (i % 10) * NS_PER_S, i));
	metric_list_finish(&list);
	assert_int_equal(m->count, 10);
	assert_int_equal(list.repeated, 10);
	assert_int_equal(m->gap_ns, NS_PER_S);
	assert_true(m->points[3].value == 13);
	metric_list_free(&list);
}

static void metrics_beyond_the_cap_are_counted(void **state)
{
	struct metric_list list;
	char name[16];

	(void)state;
	metric_list_init(&list);
	struct metric *first = metric_get(&list, "first", NULL);
	for (int i = 1; i < METRICS_MAX; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		assert_non_null(metric_get(&list, name, NULL));
	}
	assert_null(metric_get(&list, "late", NULL));
	assert_int_equal(list.refused, 1);
	/* Whoever held one still holds it. */
	assert_ptr_equal(first, metric_get(&list, "first", NULL));
	metric_list_free(&list);
}

static void traffic_is_requests_a_second_of_whole_buckets(void **state)
{
	struct stage w;
	struct metric m;

	(void)state;
	stage_init(&w, 9, 600, 10);
	w.view.buckets.items[3].n = 250;
	assert_true(metric_of_traffic(&m, &w.view));
	assert_string_equal(m.id, "traffic");
	assert_int_equal(m.count, 58);
	assert_true(m.points[2].value == 25 && m.points[0].value == 10);
	metric_free(&m);
	stage_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chance_convicts_as_often_as_promised),
		cmocka_unit_test(a_metric_that_moves_first_is_found_with_its_lag),
		cmocka_unit_test(a_metric_that_only_follows_the_hour_has_no_effect),
		cmocka_unit_test(what_follows_the_spikes_has_a_negative_lag),
		cmocka_unit_test(the_smallest_effect_is_between_nothing_and_what_was_seen),
		cmocka_unit_test(stale_points_are_unknown_not_old),
		cmocka_unit_test(cells_without_requests_are_no_evidence),
		cmocka_unit_test(what_never_changes_or_has_no_spikes_is_not_evaluable),
		cmocka_unit_test(the_same_seed_gives_the_same_numbers),
		cmocka_unit_test(counters_become_rates_over_resets_and_holes),
		cmocka_unit_test(points_of_one_time_are_kept_once),
		cmocka_unit_test(metrics_beyond_the_cap_are_counted),
		cmocka_unit_test(traffic_is_requests_a_second_of_whole_buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
