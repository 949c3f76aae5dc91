#include "tests/lib/unit.h"

#include "replay/heap.h"
#include "replay/schedule.h"

#define MS NS_PER_MS

static const struct replay_window two[] = { { 1000 * MS, 2000 * MS }, { 5000 * MS, 6000 * MS } };

static void windows_lie_end_to_end(void **state)
{
	struct schedule s = { two, 2, 1, false };
	static const struct {
		int64_t t, at;
		bool is_inside;
	} cases[] = { { 0, 0, false }, { 1000, 0, true }, { 1999, 999, true },
		{ 2000, 1000, false }, { 4000, 1000, false }, { 5000, 1000, true },
		{ 5500, 1500, true }, { 6000, 2000, false }, { 9000, 2000, false } };

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		bool is_inside;

		assert_int_equal(schedule_at(&s, cases[i].t * MS, &is_inside), cases[i].at * MS);
		assert_int_equal(is_inside, cases[i].is_inside);
	}
	assert_int_equal(schedule_length(&s), 2000 * MS);
}

static void speed_divides_offsets_and_length(void **state)
{
	struct schedule s = { two, 2, 4, false };
	bool is_inside;

	(void)state;
	assert_int_equal(schedule_at(&s, 5400 * MS, &is_inside), 350 * MS);
	assert_int_equal(schedule_length(&s), 500 * MS);
}

static void outside_a_transaction_due_is_absolute(void **state)
{
	struct schedule s = { two, 2, 1, false };
	struct schedule_turn t = { .offset_ns = 700 * MS,
		.think_ns = 5 * MS,
		.has_previous = true,
		.previous_end_ns = 100 * MS };

	(void)state;
	assert_int_equal(schedule_due(&s, &t), 700 * MS);
	/* Also when the previous reply came later than that: the wait is the session's queue. */
	t.previous_end_ns = 900 * MS;
	assert_int_equal(schedule_due(&s, &t), 700 * MS);
}

static void inside_a_transaction_due_is_reply_plus_think_time(void **state)
{
	struct schedule s = { two, 2, 1, false };
	/* Captured 3 s into a lock wait; here the previous reply was quick. */
	struct schedule_turn t = { .offset_ns = 3100 * MS,
		.think_ns = 7 * MS,
		.is_chained = true,
		.has_previous = true,
		.previous_end_ns = 100 * MS };

	(void)state;
	assert_int_equal(schedule_due(&s, &t), 107 * MS);
	t.think_ns = -1;
	assert_int_equal(schedule_due(&s, &t), 100 * MS);
	t.has_previous = false;
	assert_int_equal(schedule_due(&s, &t), 3100 * MS);
}

static void think_time_is_not_divided_by_speed(void **state)
{
	struct schedule s = { two, 2, 10, false };
	struct schedule_turn t = { .think_ns = 50 * MS,
		.is_chained = true,
		.has_previous = true,
		.previous_end_ns = 10 * MS };

	(void)state;
	assert_int_equal(schedule_due(&s, &t), 60 * MS);
}

static void closed_loop_keeps_think_time_everywhere(void **state)
{
	struct schedule s = { two, 2, 1, true };
	struct schedule_turn t = { .offset_ns = 700 * MS,
		.think_ns = 5 * MS,
		.has_previous = true,
		.previous_end_ns = 100 * MS };

	(void)state;
	assert_int_equal(schedule_due(&s, &t), 105 * MS);
}

static void lateness_is_ours_and_queue_the_sessions(void **state)
{
	(void)state;
	struct schedule_lag lag = schedule_lag(100, 50, 103);
	assert_int_equal(lag.queue_ns, 0);
	assert_int_equal(lag.lateness_ns, 3);
	lag = schedule_lag(100, 400, 405);
	assert_int_equal(lag.queue_ns, 300);
	assert_int_equal(lag.lateness_ns, 5);
	lag = schedule_lag(100, 50, 99);
	assert_int_equal(lag.lateness_ns, 0);
}

static void timers_come_in_order_and_can_move(void **state)
{
	struct timer timers[100] = { 0 };
	struct heap h;
	int64_t last = -1;
	size_t n = 0;

	(void)state;
	assert_true(heap_init(&h, LENGTH(timers)));
	for (size_t i = 0; i < LENGTH(timers); i++)
		heap_set(&h, &timers[i], (int64_t)(i * 7919 % 1000));
	for (size_t i = 0; i < LENGTH(timers); i += 3)
		heap_set(&h, &timers[i], (int64_t)(i * 104729 % 1000));
	for (size_t i = 0; i < LENGTH(timers); i += 5)
		heap_remove(&h, &timers[i]);
	for (struct timer *t; (t = heap_first(&h)); n++) {
		assert_true(t->wake_ns >= last);
		last = t->wake_ns;
		heap_remove(&h, t);
		assert_int_equal(t->place, 0);
	}
	assert_int_equal(n, 80);
	heap_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_lie_end_to_end),
		cmocka_unit_test(speed_divides_offsets_and_length),
		cmocka_unit_test(outside_a_transaction_due_is_absolute),
		cmocka_unit_test(inside_a_transaction_due_is_reply_plus_think_time),
		cmocka_unit_test(think_time_is_not_divided_by_speed),
		cmocka_unit_test(closed_loop_keeps_think_time_everywhere),
		cmocka_unit_test(lateness_is_ours_and_queue_the_sessions),
		cmocka_unit_test(timers_come_in_order_and_can_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
