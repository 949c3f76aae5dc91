#include "tests/lib/unit.h"

#include "capture/budget.h"

static void a_budget_is_read(void **state)
{
	struct budget b;
	struct err e = { 0 };

	(void)state;
	assert_true(budget_parse(&b, "cpu=2%,mem=64M,disk=1.5G", &e));
	assert_true(b.cpu_share > 0.0199 && b.cpu_share < 0.0201);
	assert_int_equal(b.mem_bytes, 64 << 20);
	assert_int_equal(b.disk_bytes, INT64_C(1536) << 20);
	assert_true(budget_parse(&b, "disk=4096,cpu=0.5", &e));
	assert_true(b.cpu_share == 0.5);
	assert_int_equal(b.disk_bytes, 4096);
}

static void what_is_no_budget_is_refused(void **state)
{
	static const char *const texts[] = { "", "cpu", "cpu=", "cpu=0", "cpu=-1%", "cpu=2%%",
		"cpu=2%,cpu=3%", "mem=1M", "disk=4095", "mem=64X", "disk=-1", "disk=1Gx", "ram=64M",
		"cpu=2%,", "disk=1e300", "cpu=nan", "disk=nan", "cpu=inf" };

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		struct budget b;
		struct err e = { 0 };

		if (budget_parse(&b, texts[i], &e))
			fail_msg("'%s' was taken", texts[i]);
		assert_int_equal(e.kind, ERR_USAGE);
	}

	struct budget b;
	struct err e = { 0 };
	assert_false(budget_parse(&b, "cpu=2%,,", &e));
	assert_string_equal(e.what, "--budget: cannot read ''");
}

static void the_worst_is_judged_first(void **state)
{
	struct budget b = { .cpu_share = 0.02, .mem_bytes = 100, .disk_bytes = 1000 };

	(void)state;
	assert_int_equal(budget_judge(&b, 0.001, 50, 10), BUDGET_CALM);
	assert_int_equal(budget_judge(&b, 0.01, 50, 10), BUDGET_FINE);
	assert_int_equal(budget_judge(&b, 0.021, 50, 10), BUDGET_OVER_CPU);
	assert_int_equal(budget_judge(&b, 0.5, 101, 10), BUDGET_OVER_MEM);
	assert_int_equal(budget_judge(&b, 0.5, 101, 1000), BUDGET_DISK_FULL);
}

static void the_parts_of_a_memory_budget_fit_into_it(void **state)
{
	(void)state;
	for (int64_t mem = BUDGET_MEM_MIN; mem < INT64_C(1) << 34; mem *= 2)
		for (size_t interfaces = 1; interfaces <= 4; interfaces++) {
			struct budget b = { .mem_bytes = mem };
			struct budget_limits l = budget_limits(&b, interfaces);

			assert_true(l.ring_bytes && l.reorder_bytes && l.request_bytes);
			assert_true(l.ring_bytes * interfaces + l.reorder_bytes + l.request_bytes +
					    l.waiting_bytes <=
				    (size_t)mem / 8 * 7);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_budget_is_read),
		cmocka_unit_test(what_is_no_budget_is_refused),
		cmocka_unit_test(the_worst_is_judged_first),
		cmocka_unit_test(the_parts_of_a_memory_budget_fit_into_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
