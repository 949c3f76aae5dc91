#include "tests/lib/unit.h"

#include <math.h>

#include "capture/probe.h"

static void a_difference_has_its_interval_and_its_smallest_effect(void **state)
{
	double off[] = { 1, 2, 3, 4, 5 }, on[] = { 2, 2, 5, 5, 6 };
	struct probe_effect e = probe_compare(off, on, 5);

	/* d = 1 0 2 1 1: mean 1, deviation 0.70711, error 0.31623; t(4) 2.776 and 0.941 */
	(void)state;
	assert_int_equal(e.pairs, 5);
	assert_true(fabs(e.mean - 1) < 1e-9);
	assert_true(fabs(e.low - (1 - 2.776 * 0.316228)) < 1e-5);
	assert_true(fabs(e.high - (1 + 2.776 * 0.316228)) < 1e-5);
	assert_true(fabs(e.smallest - 3.717 * 0.316228) < 1e-5);
}

static void pairs_without_a_value_are_left_out(void **state)
{
	double off[] = { 1, NAN, 3 }, on[] = { 2, 2, NAN };
	struct probe_effect e = probe_compare(off, on, 3);

	(void)state;
	assert_int_equal(e.pairs, 1);
	assert_true(e.mean == 1);
	assert_true(isnan(e.low) && isnan(e.smallest));
}

static void fill(struct probe *p, double own_on, double host_on)
{
	p->pairs = PROBE_PAIRS;
	for (size_t i = 0; i < PROBE_PAIRS; i++)
		for (int on = 0; on < 2; on++)
			p->windows[i][on] = (struct probe_window){ .span_ns = NS_PER_S,
				.own_cpu_ns = (int64_t)((on ? own_on : 0) * 1e9),
				.host_cpu_ns =
					(int64_t)((0.5 + (on ? host_on : 0) + (double)i / 1000) *
						  1e9) };
}

static void a_breach_is_own_cpu_or_the_hosts_beyond_chance(void **state)
{
	struct probe p = { 0 };

	(void)state;
	fill(&p, 0.01, 0.01);
	assert_false(probe_is_over(&p, 0.02));
	assert_false(probe_is_over(&p, 0));
	fill(&p, 0.03, 0.01);
	assert_true(probe_is_over(&p, 0.02));
	fill(&p, 0.01, 0.05);
	assert_true(probe_is_over(&p, 0.02));
}

static void cpu_is_told_for_a_request_of_those_seen(void **state)
{
	struct probe p = { .pairs = 6 };
	struct json *j;

	/* 100 and 104 requests of a sixteenth are 1,600 and 1,664; pair 5 saw none. */
	(void)state;
	for (size_t i = 0; i < 6; i++)
		for (int on = 0; on < 2; on++) {
			struct probe_window *w = &p.windows[i][on];

			*w = (struct probe_window){ .span_ns = NS_PER_S,
				.host_cpu_ns = on ? 166400000 + (int64_t)i * 1664000 : 80000000,
				.requests = i == 5 ? 0
					    : on   ? 104
						   : 100 };
			for (int k = 0; k < 200; k++)
				assert_true(hist_add(&w->latency_us, (on ? 200 : 100) + (int)i, 1));
		}
	j = probe_json(&p);
	assert_int_equal(json_int(json_get(j, "pairs"), 0), 6);
	assert_int_equal(json_int(json_get(j, "requests_seen"), 0), 5 * 204);
	assert_true(fabs(json_number(json_path(j, "host_cpu_us_per_request.off"), 0) - 50) < 1e-9);
	assert_true(fabs(json_number(json_path(j, "host_cpu_us_per_request.on"), 0) - 102) < 1e-9);
	/* Differences of 50 to 54: mean 52, deviation 1.5811, error 0.70711, t(4). */
	assert_true(fabs(json_number(json_path(j, "host_cpu_us_per_request.low"), 0) -
			    (52 - 2.776 * 0.707107)) < 1e-4);
	assert_true(fabs(json_number(json_path(j, "host_cpu_us_per_request.smallest"), 0) -
			    3.717 * 0.707107) < 1e-4);
	assert_int_equal(json_int(json_path(j, "p99_change.pairs"), 0), 6);
	assert_true(fabs(json_number(json_path(j, "p99_change.ratio"), 0) - 2) < 0.05);
	assert_true(json_number(json_path(j, "p99_change.smallest"), 0) > 1);
	json_free(j);
	probe_free(&p);
}

static void ten_pairs_have_their_quantile_too(void **state)
{
	double off[PROBE_PAIRS] = { 0 }, on[PROBE_PAIRS];

	(void)state;
	for (size_t i = 0; i < PROBE_PAIRS; i++)
		on[i] = i % 2;
	struct probe_effect e = probe_compare(off, on, PROBE_PAIRS);

	/* deviation 0.52705, error 0.16667, t(9) 2.262 and 0.883 */
	assert_true(fabs(e.low - (0.5 - 2.262 / 6)) < 1e-4);
	assert_true(fabs(e.smallest - (2.262 + 0.883) / 6) < 1e-4);
}

static void the_host_is_read(void **state)
{
	static const char *const interfaces[] = { "lo" };
	struct probe p = { .interfaces = interfaces, .interface_count = 1, .target_pid = 1 };
	struct probe_reading r;

	(void)state;
	probe_read(&p, 5, &r);
	assert_int_equal(r.mono_ns, 5);
	assert_true(r.host_cpu_ns > 0);
	assert_true(r.own_cpu_ns > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_difference_has_its_interval_and_its_smallest_effect),
		cmocka_unit_test(pairs_without_a_value_are_left_out),
		cmocka_unit_test(a_breach_is_own_cpu_or_the_hosts_beyond_chance),
		cmocka_unit_test(cpu_is_told_for_a_request_of_those_seen),
		cmocka_unit_test(ten_pairs_have_their_quantile_too),
		cmocka_unit_test(the_host_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
