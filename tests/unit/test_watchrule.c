#include "tests/lib/unit.h"

#include "capture/watchrule.h"

static const int64_t noon_ns = INT64_C(1796126400) * NS_PER_S; /* 2026-12-01T12:00:00Z */

static void a_rule_fires_when_its_quantile_is_over_the_limit(void **state)
{
	struct watch_rules r = { 0 };
	struct err e = { 0 };
	char why[400];
	uint32_t orders, others;

	(void)state;
	assert_true(watch_rules_add(&r, "FROM  Orders:p90>50ms", &e));
	orders = watch_rules_of_route(&r, SLICE("SELECT * FROM orders WHERE id = ?"));
	others = watch_rules_of_route(&r, SLICE("SELECT * FROM carts"));
	assert_int_equal(orders, 1);
	assert_int_equal(others, 0);
	assert_false(watch_rules_fire(&r, noon_ns, why, sizeof why));
	for (int i = 0; i < 100; i++)
		watch_rules_count(&r, orders, 80000);
	assert_false(watch_rules_fire(&r, noon_ns + 9 * NS_PER_S, why, sizeof why));
	assert_true(watch_rules_fire(&r, noon_ns + 10 * NS_PER_S, why, sizeof why));
	assert_non_null(strstr(why, "n=100"));
	/* The next window begins empty. */
	for (int i = 0; i < 100; i++)
		watch_rules_count(&r, orders, i < 92 ? 40000 : 80000);
	assert_false(watch_rules_fire(&r, noon_ns + 20 * NS_PER_S, why, sizeof why));
	watch_rules_free(&r);
}

static void a_window_waits_for_enough_requests_but_not_for_ever(void **state)
{
	struct watch_rules r = { 0 };
	struct err e = { 0 };
	char why[400];

	(void)state;
	assert_true(watch_rules_add(&r, ":p99>50ms", &e));
	assert_false(watch_rules_fire(&r, noon_ns, why, sizeof why));
	for (int i = 0; i < 50; i++)
		watch_rules_count(&r, 1, 80000);
	assert_false(watch_rules_fire(&r, noon_ns + 60 * NS_PER_S, why, sizeof why));
	assert_int_equal(r.items[0].window.total, 50);
	/* After ten minutes 50 requests carry no p99 either. */
	assert_false(watch_rules_fire(&r, noon_ns + 600 * NS_PER_S, why, sizeof why));
	assert_int_equal(r.items[0].window.total, 0);
	watch_rules_free(&r);
}

static void a_schedule_fires_once_in_its_minute(void **state)
{
	struct watch_rules r = { 0 };
	struct err e = { 0 };
	char why[400];

	(void)state;
	assert_false(watch_rules_schedule(&r, "* * * * * *", &e));
	assert_true(watch_rules_schedule(&r, "*/10 12 * * *", &e));
	assert_true(watch_rules_fire(&r, noon_ns, why, sizeof why));
	assert_string_equal(why, "schedule */10 12 * * *");
	assert_false(watch_rules_fire(&r, noon_ns + NS_PER_S, why, sizeof why));
	assert_false(watch_rules_fire(&r, noon_ns + 60 * NS_PER_S, why, sizeof why));
	assert_true(watch_rules_fire(&r, noon_ns + 605 * NS_PER_S, why, sizeof why));
	assert_false(watch_rules_fire(&r, noon_ns + 3600 * NS_PER_S, why, sizeof why));
	watch_rules_free(&r);
}

static void what_is_no_rule_is_refused(void **state)
{
	static const char *const texts[] = { "", "x", "x:p99", "x:p42>5ms", "x:p99>", "x:p99>-1s",
		"x:p99>0ms", "x:99>5ms" };

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		struct watch_rules r = { 0 };
		struct err e = { 0 };

		if (watch_rules_add(&r, texts[i], &e))
			fail_msg("'%s' was taken", texts[i]);
		assert_int_equal(e.kind, ERR_USAGE);
		watch_rules_free(&r);
	}
}

static void rules_have_a_cap(void **state)
{
	struct watch_rules r = { 0 };
	struct err e = { 0 };

	(void)state;
	for (int i = 0; i < WATCH_RULES_MAX; i++)
		assert_true(watch_rules_add(&r, ":p50>1ms", &e));
	assert_false(watch_rules_add(&r, ":p50>1ms", &e));
	assert_int_equal(e.kind, ERR_USAGE);
	watch_rules_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_fires_when_its_quantile_is_over_the_limit),
		cmocka_unit_test(a_window_waits_for_enough_requests_but_not_for_ever),
		cmocka_unit_test(a_schedule_fires_once_in_its_minute),
		cmocka_unit_test(what_is_no_rule_is_refused),
		cmocka_unit_test(rules_have_a_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
