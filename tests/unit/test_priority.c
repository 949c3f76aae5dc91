#include "tests/lib/unit.h"

#include <sched.h>
#include <time.h>

#include "core/base/clock.h"
#include "replay/priority.h"

static int policy(void)
{
	return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

static void what_was_raised_is_put_back(void **state)
{
	struct priority p;
	struct rlimit before, after;
	int policy_before = sched_getscheduler(0), nice_before = getpriority(PRIO_PROCESS, 0);

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_RTTIME, &before), 0);
	priority_raise(&p);
	assert_int_equal(
		policy() == SCHED_RR || getpriority(PRIO_PROCESS, 0) < nice_before, p.is_raised);
	priority_restore(&p);
	assert_int_equal(getrlimit(RLIMIT_RTTIME, &after), 0);
	assert_true(after.rlim_cur == before.rlim_cur);
	assert_int_equal(policy(), policy_before & ~SCHED_RESET_ON_FORK);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), nice_before);
	assert_false(p.is_raised);
}

/* With a limit below the shipped 5 s; where real time is not permitted nothing is lost. */
static void a_loop_that_never_sleeps_loses_the_real_time(void **state)
{
	struct clock clock = { 0 };
	struct rlimit limit;
	struct priority p;
	int64_t until_ns;

	(void)state;
	priority_raise(&p);
	if (policy() == SCHED_RR) {
		assert_int_equal(getrlimit(RLIMIT_RTTIME, &limit), 0);
		assert_true(limit.rlim_cur <= 5000000);
		limit.rlim_cur = 50000;
		assert_int_equal(setrlimit(RLIMIT_RTTIME, &limit), 0);
		until_ns = clock_mono_ns(&clock) + 5 * NS_PER_S;
		while (policy() == SCHED_RR && clock_mono_ns(&clock) < until_ns)
			;
	}
	assert_int_equal(policy(), SCHED_OTHER);
	priority_restore(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_raised_is_put_back),
		cmocka_unit_test(a_loop_that_never_sleeps_loses_the_real_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
