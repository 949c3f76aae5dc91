#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "recipes/inside.h"
#include "recipes/judge.h"

/* Blocks of log-normal latencies around a median, each request weighing its time. */
static void fill(struct judge_set *set, struct rng *rng, int runs, int blocks, int each,
	double median_ms, double sigma)
{
	struct err e = { 0 };

	for (int r = 0; r < runs; r++) {
		judge_set_run(set);
		for (int b = 0; b < blocks; b++) {
			assert_true(judge_set_block(set, &e));
			for (int i = 0; i < each; i++) {
				double z = sqrt(-2 * log(1 - rng_unit(rng))) *
					   cos(2 * M_PI * rng_unit(rng));
				double ms = median_ms * exp(sigma * z);

				assert_true(judge_set_add(
					set, set->block_count - 1, ms, ms / 1000, &e));
			}
		}
	}
	assert_true(judge_set_seal(set, &e));
}

struct scene {
	struct judge_set inside, outside, quiet, arm;
	struct rng rng;
};

static void scene_free(struct scene *s)
{
	judge_set_free(&s->inside);
	judge_set_free(&s->outside);
	judge_set_free(&s->quiet);
	judge_set_free(&s->arm);
}

static struct judge_effect scene_judge(const struct scene *s, double q)
{
	struct judge_terms t = { .production_inside = &s->inside,
		.production_outside = &s->outside,
		.reference_quiet = &s->quiet,
		.arm_inside = &s->arm,
		.q = q,
		.seed = 7 };

	return judge_effect(&t);
}

/* Production b -> s, a lab whose quiet time is l0 and that shows arm inside. */
static struct judge_effect play(uint64_t seed, double b, double s, double l0, double arm,
	double sigma, int runs, int blocks)
{
	struct scene scene = { 0 };
	struct judge_effect f;

	rng_seed(&scene.rng, seed);
	fill(&scene.inside, &scene.rng, 1, blocks, 60, s, sigma);
	fill(&scene.outside, &scene.rng, 1, 10, 300, b, sigma);
	fill(&scene.quiet, &scene.rng, runs, blocks, 300, l0, sigma);
	fill(&scene.arm, &scene.rng, runs, blocks, 60, arm, sigma);
	f = scene_judge(&scene, 0.5);
	scene_free(&scene);
	return f;
}

static void the_worked_examples_give_their_numbers(void **state)
{
	(void)state;
	assert_true(fabs(judge_e(990, 4, 1000, 4) - 1.00) < 0.005);
	assert_true(fabs(judge_e(4.3, 4, 1000, 4) - 0.01) < 0.005);
	assert_true(fabs(judge_e(1010, 12, 1000, 4) - 0.80) < 0.005);
}

static void the_worked_examples_are_judged_as_told(void **state)
{
	struct judge_effect f;

	(void)state;
	f = play(1, 4, 1000, 4, 990, 0.2, 1, 5);
	assert_int_equal(f.verdict, VERDICT_REPRODUCED);
	assert_true(fabs(f.e.value - 1.0) < 0.05);
	f = play(2, 4, 1000, 4, 4.3, 0.2, 1, 5);
	assert_int_equal(f.verdict, VERDICT_NOT);
	assert_true(fabs(f.e.value) < 0.05);
	f = play(3, 4, 1000, 12, 1010, 0.2, 1, 5);
	assert_int_equal(f.verdict, VERDICT_REPRODUCED);
	assert_true(fabs(f.e.value - 0.8) < 0.05);
}

static void a_slower_lab_alone_is_not_a_slowdown(void **state)
{
	struct judge_effect f = play(4, 4, 1000, 12, 12.5, 0.2, 1, 5);

	(void)state;
	assert_int_equal(f.verdict, VERDICT_NOT);
}

static void a_spike_of_1_5_is_unsure_until_its_interval_is_narrow(void **state)
{
	struct judge_effect wide = play(5, 4, 6, 4, 5.7, 1.0, 1, 5);
	struct judge_effect narrow = play(5, 4, 6, 4, 5.9, 0.1, 4, 12);

	(void)state;
	assert_int_equal(wide.verdict, VERDICT_UNSURE);
	assert_non_null(wide.reason);
	assert_int_equal(narrow.verdict, VERDICT_REPRODUCED);
	assert_true(narrow.e.high - narrow.e.low < wide.e.high - wide.e.low || isnan(wide.e.low));
}

static void a_slowdown_that_production_itself_hardly_shows_is_unsure(void **state)
{
	struct judge_effect f = play(6, 4, 4.4, 4, 4.4, 0.1, 2, 8);

	(void)state;
	assert_int_equal(f.verdict, VERDICT_UNSURE);
	assert_non_null(strstr(f.reason, "low(s/b)"));
}

static void pairs_of_the_same_are_quiet(void **state)
{
	int loud = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct judge_effect f = play(100 + seed, 4, 40, 5, 5, 0.6, 1, 5);

		loud += f.verdict != VERDICT_NOT;
	}
	assert_int_equal(loud, 0);
}

/* Log-normal quiet time in blocks that differ among themselves, too: a lab at rest. */
static struct interval control_of(
	uint64_t seed, int runs, double sigma, double between, double drift)
{
	struct judge_terms t = { .q = 0.9, .seed = seed };
	struct judge_set inside = { 0 }, outside = { 0 }, quiet = { 0 };
	struct interval e;
	struct err err = { 0 };
	struct rng rng;

	rng_seed(&rng, seed);
	fill(&inside, &rng, 1, 5, 60, 8, sigma);
	fill(&outside, &rng, 1, 10, 120, 4, sigma);
	for (int run = 0; run < runs; run++) {
		judge_set_run(&quiet);
		for (int b = 0; b < 5; b++) {
			double z =
				sqrt(-2 * log(1 - rng_unit(&rng))) * cos(2 * M_PI * rng_unit(&rng));
			double ms = 5 * exp(between * z);

			if (2 * (5 * run + b) >= 5 * runs)
				ms *= drift;
			assert_true(judge_set_block(&quiet, &err));
			for (int i = 0; i < 120; i++) {
				double y = sqrt(-2 * log(1 - rng_unit(&rng))) *
					   cos(2 * M_PI * rng_unit(&rng));
				double one = ms * exp(sigma * y);

				assert_true(judge_set_add(
					&quiet, quiet.block_count - 1, one, one / 1000, &err));
			}
		}
	}
	assert_true(judge_set_seal(&quiet, &err));
	t.production_inside = &inside;
	t.production_outside = &outside;
	t.reference_quiet = &quiet;
	assert_true(judge_control(&t, &e, &err));
	judge_set_free(&inside);
	judge_set_free(&outside);
	judge_set_free(&quiet);
	return e;
}

/* Production doubles; blocks of the lab differ by 20 % among themselves. */
static void a_lab_at_rest_is_quiet_against_itself(void **state)
{
	(void)state;
	for (int runs = 1; runs <= 2; runs++) {
		int loud = 0, known = 0;

		for (uint64_t seed = 0; seed < 60; seed++) {
			struct interval e = control_of(400 + seed, runs, 0.5, 0.2, 1);

			known += !isnan(e.low);
			loud += judge_is_loud(e);
		}
		assert_int_equal(known, 60);
		assert_in_range(loud, 0, 3);
	}
}

static void a_lab_that_drifts_as_far_as_production_did_is_loud(void **state)
{
	int loud = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++)
		loud += judge_is_loud(control_of(600 + seed, 2, 0.3, 0.05, seed % 2 ? 3 : 1.0 / 3));
	assert_in_range(loud, 19, 20);
}

static void quiet_time_in_fewer_than_five_pieces_is_unsure(void **state)
{
	struct scene s = { 0 };
	struct judge_effect f;

	(void)state;
	rng_seed(&s.rng, 12);
	fill(&s.inside, &s.rng, 1, 5, 60, 1000, 0.2);
	fill(&s.outside, &s.rng, 1, 10, 60, 4, 0.2);
	fill(&s.quiet, &s.rng, 1, 4, 60, 4, 0.2);
	fill(&s.arm, &s.rng, 1, 5, 60, 990, 0.2);
	f = scene_judge(&s, 0.9);
	assert_int_equal(f.verdict, VERDICT_UNSURE);
	assert_non_null(strstr(f.reason, "the reference arm has fewer than five"));
	fill(&s.quiet, &s.rng, 1, 1, 60, 4, 0.2);
	assert_int_equal(scene_judge(&s, 0.9).verdict, VERDICT_REPRODUCED);
	judge_set_free(&s.outside);
	fill(&s.outside, &s.rng, 1, 4, 60, 4, 0.2);
	f = scene_judge(&s, 0.9);
	assert_int_equal(f.verdict, VERDICT_UNSURE);
	assert_non_null(strstr(f.reason, "production has fewer than five pieces"));
	scene_free(&s);
}

static void fewer_than_five_occurrences_are_unsure(void **state)
{
	(void)state;
	assert_int_equal(play(8, 4, 1000, 4, 990, 0.2, 1, 4).verdict, VERDICT_UNSURE);
	assert_int_equal(play(8, 4, 1000, 4, 990, 0.2, 1, 5).verdict, VERDICT_REPRODUCED);
}

static void empty_arms_are_unsure_and_never_no(void **state)
{
	struct scene s = { 0 };
	struct judge_effect f;

	(void)state;
	rng_seed(&s.rng, 9);
	fill(&s.inside, &s.rng, 1, 5, 60, 1000, 0.2);
	fill(&s.outside, &s.rng, 1, 10, 60, 4, 0.2);
	fill(&s.quiet, &s.rng, 1, 5, 60, 4, 0.2);
	fill(&s.arm, &s.rng, 1, 5, 0, 4, 0.2);
	f = scene_judge(&s, 0.9);
	assert_int_equal(f.verdict, VERDICT_UNSURE);
	assert_non_null(strstr(f.reason, "in flight"));
	scene_free(&s);
}

static void without_quiet_time_the_lab_serves_only_in_the_same_environment(void **state)
{
	struct scene s = { 0 };
	struct judge_terms t = { .production_inside = &s.inside,
		.reference_quiet = &s.quiet,
		.arm_inside = &s.arm,
		.q = 0.5,
		.seed = 3 };

	(void)state;
	rng_seed(&s.rng, 10);
	fill(&s.inside, &s.rng, 1, 5, 60, 1000, 0.2);
	fill(&s.quiet, &s.rng, 1, 5, 60, 4, 0.2);
	fill(&s.arm, &s.rng, 1, 5, 60, 990, 0.2);
	assert_int_equal(judge_effect(&t).verdict, VERDICT_UNSURE);
	t.is_same_environment = true;
	assert_int_equal(judge_effect(&t).verdict, VERDICT_REPRODUCED);
	scene_free(&s);
}

static void the_rule_reaches_every_verdict(void **state)
{
	static const struct {
		double low, high, ratio;
		enum verdict verdict;
	} cases[] = {
		{ 0.5, 1.2, 1.2, VERDICT_REPRODUCED },
		{ 0.49, 1.2, 9, VERDICT_UNSURE },
		{ -0.1, 0.49, 9, VERDICT_NOT },
		{ -0.1, 0.5, 9, VERDICT_UNSURE },
		{ 0.9, 1.1, 1.19, VERDICT_UNSURE },
		{ NAN, 1.1, 9, VERDICT_UNSURE },
		{ 0.9, 1.1, NAN, VERDICT_UNSURE },
	};
	const char *reason;

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct interval e = { 1, cases[i].low, cases[i].high };

		assert_int_equal(judge_rule(e, cases[i].ratio, &reason), cases[i].verdict);
	}
}

static void the_quantile_needs_five_requests_above_it(void **state)
{
	struct judge_set set = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_true(judge_set_block(&set, &e));
	for (int i = 1; i <= 600; i++) {
		assert_true(judge_set_add(&set, 0, i, 1, &e));
		if (i == 9 || i == 11 || i == 49 || i == 50 || i == 499 || i == 500) {
			assert_true(judge_set_seal(&set, &e));
			assert_true(judge_pick_quantile(&set) == (i == 9           ? 0
									 : i < 50  ? 0.5
									 : i < 500 ? 0.9
										   : 0.99));
		}
	}
	judge_set_free(&set);
}

static int by_start(const void *a, const void *b)
{
	const struct inside_request *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Eight closed-loop clients at a total rate; every 8 s the first second of which is a
 * stall of all of them. The job's window is wider than the stall by half a second. */
static size_t stalls(
	struct inside_request *to, size_t max, double rate, bool has_job, struct rng *rng)
{
	size_t n = 0;

	for (int client = 0; client < 8; client++) {
		double t = 0.001 * client;

		while (t < 48 && n < max) {
			double service = 0.002 * exp(0.4 * (rng_unit(rng) - 0.5));
			double phase = fmod(t, 8) - 4;
			double end = t + service;

			if (has_job && phase >= 0 && phase < 1)
				end = t + (1 - phase) + service;
			to[n++] = (struct inside_request){ (int64_t)(t * 1e9), (int64_t)(end * 1e9),
				false };
			t = end + -log(1 - rng_unit(rng)) * fmax(8 / rate - 0.002, 0.0005);
		}
	}
	qsort(to, n, sizeof(to[0]), by_start);
	return n;
}

static void a_stall_is_seen_alike_at_any_rate(void **state)
{
	static const double rates[] = { 100, 1000, 2000 };
	struct inside_request *requests = calloc(300000, sizeof(*requests));
	struct span spans[6], whole = { 0, 48 * NS_PER_S }, around[10];
	struct err e = { 0 };

	(void)state;
	assert_non_null(requests);
	span_slice(whole, around, 10);
	for (int i = 0; i < 6; i++)
		spans[i] = (struct span){ (4 + 8 * i) * NS_PER_S,
			(4 + 8 * i) * NS_PER_S + 3 * NS_PER_S / 2 };
	for (size_t k = 0; k < LENGTH(rates); k++) {
		struct scene s = { 0 };
		struct judge_effect f;
		double q;
		size_t n;

		rng_seed(&s.rng, 20 + k);
		n = stalls(requests, 300000, rates[k], true, &s.rng);
		assert_true(inside_collect(&s.inside, requests, n, spans, 6, &e));
		assert_true(outside_collect(
			&s.outside, requests, n, spans, 6, NS_PER_S / 2, around, 10, &e));
		n = stalls(requests, 300000, rates[k], false, &s.rng);
		assert_true(outside_collect(&s.quiet, requests, n, spans, 6, 0, around, 10, &e));
		n = stalls(requests, 300000, rates[k], true, &s.rng);
		assert_true(inside_collect(&s.arm, requests, n, spans, 6, &e));
		assert_true(judge_set_seal(&s.inside, &e) && judge_set_seal(&s.outside, &e) &&
			    judge_set_seal(&s.quiet, &e) && judge_set_seal(&s.arm, &e));
		q = judge_pick_quantile(&s.inside);
		assert_true(q > 0);
		f = scene_judge(&s, q);
		assert_true(f.s_ms > 800 && f.s_ms < 1010);
		assert_true(f.b_ms < 5);
		assert_int_equal(f.verdict, VERDICT_REPRODUCED);

		judge_set_free(&s.arm);
		n = stalls(requests, 300000, rates[k], false, &s.rng);
		assert_true(inside_collect(&s.arm, requests, n, spans, 6, &e));
		assert_true(judge_set_seal(&s.arm, &e));
		assert_int_equal(scene_judge(&s, q).verdict, VERDICT_NOT);
		scene_free(&s);
	}
	free(requests);
}

static void the_same_seed_gives_the_same_interval(void **state)
{
	struct judge_effect a = play(30, 4, 100, 4, 90, 0.5, 2, 6);
	struct judge_effect b = play(30, 4, 100, 4, 90, 0.5, 2, 6);

	(void)state;
	assert_true(a.e.low == b.e.low && a.e.high == b.e.high && a.ratio.low == b.ratio.low);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_worked_examples_give_their_numbers),
		cmocka_unit_test(the_worked_examples_are_judged_as_told),
		cmocka_unit_test(a_slower_lab_alone_is_not_a_slowdown),
		cmocka_unit_test(a_spike_of_1_5_is_unsure_until_its_interval_is_narrow),
		cmocka_unit_test(a_slowdown_that_production_itself_hardly_shows_is_unsure),
		cmocka_unit_test(pairs_of_the_same_are_quiet),
		cmocka_unit_test(a_lab_at_rest_is_quiet_against_itself),
		cmocka_unit_test(a_lab_that_drifts_as_far_as_production_did_is_loud),
		cmocka_unit_test(quiet_time_in_fewer_than_five_pieces_is_unsure),
		cmocka_unit_test(fewer_than_five_occurrences_are_unsure),
		cmocka_unit_test(empty_arms_are_unsure_and_never_no),
		cmocka_unit_test(without_quiet_time_the_lab_serves_only_in_the_same_environment),
		cmocka_unit_test(the_rule_reaches_every_verdict),
		cmocka_unit_test(the_quantile_needs_five_requests_above_it),
		cmocka_unit_test(a_stall_is_seen_alike_at_any_rate),
		cmocka_unit_test(the_same_seed_gives_the_same_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
