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
		cmocka_unit_test(the_host_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
