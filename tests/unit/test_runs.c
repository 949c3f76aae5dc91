/* Schedules and logged runs of one job. */
#include "tests/lib/unit.h"

#include "correlate/runs.h"

#define MIN_NS (60 * NS_PER_S)

static void every(struct condition_list *l, const char *name, const char *dialect, int first,
	int step, int count, int64_t late_ns)
{
	struct condition *c = condition_get(l, "job", name, dialect);

	assert_non_null(c);
	for (int i = 0; i < count; i++) {
		int64_t ns = (first + i * step) * MIN_NS + late_ns;

		assert_true(condition_add_time(c, ns, ns, false));
	}
}

static const struct condition *find(const struct condition_list *l, const char *id)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->items[i].id, id) == 0)
			return &l->items[i];
	return NULL;
}

static void twins_are_paired_by_their_times(void **state)
{
	struct condition_list l;

	(void)state;
	condition_list_init(&l);
	every(&l, "report", "cron", 0, 60, 10, 0);
	every(&l, "report#2", "cron", 7, 60, 10, 0);
	/* The log tells them the other way round, a second late. */
	every(&l, "report", "event", 7, 60, 10, NS_PER_S);
	every(&l, "report#2", "event", 0, 60, 9, NS_PER_S);
	runs_name_twins(&l);
	condition_list_finish(&l, 0, 600 * MIN_NS);
	assert_int_equal(l.count, 2);
	assert_int_equal(find(&l, "job:report")->items[0].start_ns, NS_PER_S);
	assert_int_equal(find(&l, "job:report#2")->items[0].start_ns, 7 * MIN_NS + NS_PER_S);
	assert_int_equal(find(&l, "job:report")->scheduled, 10);
	condition_list_free(&l);
}

static void what_no_schedule_explains_gets_a_free_name(void **state)
{
	struct condition_list l;

	(void)state;
	condition_list_init(&l);
	every(&l, "report", "cron", 0, 60, 10, 0);
	every(&l, "report", "event", 23, 60, 10, NS_PER_S);
	every(&l, "report#2", "event", 0, 60, 10, NS_PER_S);
	every(&l, "other", "event", 0, 60, 10, NS_PER_S);
	runs_name_twins(&l);
	condition_list_finish(&l, 0, 600 * MIN_NS);
	assert_int_equal(l.count, 3);
	assert_int_equal(find(&l, "job:report")->items[0].start_ns, NS_PER_S);
	assert_int_equal(find(&l, "job:report#2")->items[0].start_ns, 23 * MIN_NS + NS_PER_S);
	condition_list_free(&l);
}

static void a_schedule_fills_what_the_log_does_not_reach(void **state)
{
	struct condition_list l;

	(void)state;
	condition_list_init(&l);
	every(&l, "report", "kubernetes", 0, 60, 10, 0);
	every(&l, "report", "event", 300, 60, 5, NS_PER_S);
	struct condition *log = condition_get(&l, "job", "report", "event");
	log->from_ns = 300 * MIN_NS + NS_PER_S; /* of the first run: its schedule is no other one */
	log->confirmed = 5;
	runs_name_twins(&l);
	condition_list_finish(&l, 0, 600 * MIN_NS);
	assert_int_equal(l.count, 1);
	assert_int_equal(l.items[0].count, 10);
	assert_int_equal(l.items[0].confirmed, 5);
	assert_int_equal(l.items[0].scheduled, 10);
	assert_int_equal(l.items[0].items[4].start_ns, 240 * MIN_NS);
	assert_int_equal(l.items[0].items[5].start_ns, 300 * MIN_NS + NS_PER_S);
	assert_true(l.items[0].from_ns == INT64_MIN);
	condition_list_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twins_are_paired_by_their_times),
		cmocka_unit_test(what_no_schedule_explains_gets_a_free_name),
		cmocka_unit_test(a_schedule_fills_what_the_log_does_not_reach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
