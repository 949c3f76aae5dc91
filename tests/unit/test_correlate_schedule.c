/* Expansion in America/New_York, whose clocks changed on 2026-03-08 and 2026-11-01. */
#include "tests/lib/unit.h"

#include <unistd.h>

#include "core/base/clock.h"
#include "correlate/schedule.h"

static int64_t at(const char *text)
{
	int64_t ns;

	assert_true(clock_parse(slice_of(text), &ns));
	return ns;
}

static bool load(struct condition_list *list, const char *text, const char *zone, const char *from,
	const char *to, struct schedule_report *report, struct err *e)
{
	char path[] = "/tmp/reprod-cron-XXXXXX";
	int fd = mkstemp(path);

	condition_list_init(list);
	*report = (struct schedule_report){ 0 };
	*e = (struct err){ 0 };
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	bool ok = schedule_load(list, path, zone, at(from), at(to), report, e);
	unlink(path);
	return ok;
}

static void clock_changes_follow_vixie_cron(void **state)
{
	static const struct {
		const char *line, *from, *to;
		const char *times[6];
	} cases[] = {
		/* The skipped half hour runs at once after the jump. */
		{ "30 2 * * * x", "2026-03-08T00:00:00Z", "2026-03-09T05:00:00Z",
			{ "2026-03-08T07:00:00Z" } },
		/* The repeated one runs once. */
		{ "30 1 * * * x", "2026-11-01T00:00:00Z", "2026-11-02T05:00:00Z",
			{ "2026-11-01T05:30:00Z" } },
		/* With a star it runs in both hours. */
		{ "*/30 1 * * * x", "2026-11-01T04:00:00Z", "2026-11-01T08:00:00Z",
			{ "2026-11-01T05:00:00Z", "2026-11-01T05:30:00Z", "2026-11-01T06:00:00Z",
				"2026-11-01T06:30:00Z" } },
		{ "0 12 * * * x", "2026-07-01T00:00:00Z", "2026-07-02T00:00:00Z",
			{ "2026-07-01T16:00:00Z" } },
		{ "0 12 * * * x", "2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z",
			{ "2026-12-01T17:00:00Z" } },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct condition_list list;
		struct schedule_report report;
		struct err e;
		size_t n = 0;

		if (!load(&list, cases[i].line, "America/New_York", cases[i].from, cases[i].to,
			    &report, &e))
			fail_msg("%s", e.what);
		while (n < 6 && cases[i].times[n])
			n++;
		assert_int_equal(list.count, 1);
		assert_int_equal(list.items[0].count, n);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(list.items[0].items[k].start_ns, at(cases[i].times[k]));
		condition_list_free(&list);
	}
}

static void utc_is_assumed_and_said(void **state)
{
	struct condition_list list;
	struct schedule_report report;
	struct err e;

	(void)state;
	assert_true(load(&list, "*/15 * * * * /bin/a.sh\n", NULL, "2026-11-30T12:00:01Z",
		"2026-11-30T13:00:00Z", &report, &e));
	assert_true(report.is_utc_assumed);
	assert_int_equal(list.items[0].count, 4);
	condition_list_finish(&list, at("2026-11-30T12:00:01Z"), at("2026-11-30T13:00:00Z"));
	assert_int_equal(list.items[0].period_ns, 900 * NS_PER_S);
	assert_true(list.items[0].is_regular);
	/* A tenth of the period, as its end is unknown. */
	assert_int_equal(
		list.items[0].items[0].until_ns - list.items[0].items[0].start_ns, 90 * NS_PER_S);
	condition_list_free(&list);
}

static void twins_are_numbered_and_bad_lines_counted(void **state)
{
	struct condition_list list;
	struct schedule_report report;
	struct err e;

	(void)state;
	assert_true(load(&list,
		"0 * * * * /a/run.sh 1\n99 * * * * x\n30 * * * * /b/run.sh 2\n@reboot y\n", NULL,
		"2026-11-30T12:00:00Z", "2026-11-30T14:00:00Z", &report, &e));
	assert_int_equal(report.lines, 3);
	assert_int_equal(report.bad, 1);
	assert_int_equal(report.unscheduled, 1);
	assert_non_null(strstr(report.first_bad.where, "line 2"));
	assert_string_equal(list.items[0].id, "job:run.sh");
	assert_string_equal(list.items[1].id, "job:run.sh#2");
	condition_list_free(&list);
	assert_false(load(&list, "this is no crontab at all\n", NULL, "2026-11-30T12:00:00Z",
		"2026-11-30T14:00:00Z", &report, &e));
	assert_int_equal(e.kind, ERR_INPUT);
	condition_list_free(&list);
}

static void an_unknown_zone_is_refused(void **state)
{
	static const char *const zones[] = { "Mars/Base", "../../etc/passwd", "/etc/localtime",
		"" };

	(void)state;
	for (size_t i = 0; i < LENGTH(zones); i++) {
		struct condition_list list;
		struct schedule_report report;
		struct err e;

		assert_false(load(&list, "0 * * * * x\n", zones[i], "2026-11-30T12:00:00Z",
			"2026-11-30T14:00:00Z", &report, &e));
		assert_int_equal(e.kind, ERR_USAGE);
		condition_list_free(&list);
	}
}

static void a_log_says_when_and_the_schedule_how_often(void **state)
{
	struct condition_list list;
	struct schedule_report report;
	struct err e;

	(void)state;
	assert_true(load(&list, "*/10 * * * * /bin/refresh\n", "UTC", "2026-11-30T12:00:00Z",
		"2026-11-30T13:00:00Z", &report, &e));
	struct condition *log = condition_get(&list, "job", "refresh", "event");
	for (int i = 0; i < 4; i++)
		assert_true(condition_add_time(log, at("2026-11-30T12:00:05Z") + i * 600 * NS_PER_S,
			at("2026-11-30T12:00:45Z") + i * 600 * NS_PER_S, true));
	condition_list_finish(&list, at("2026-11-30T12:00:00Z"), at("2026-11-30T13:00:00Z"));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].count, 4);
	assert_int_equal(list.items[0].scheduled, 7);
	/* Logged end plus min(60 s, a tenth of the period). */
	assert_int_equal(list.items[0].items[0].until_ns, at("2026-11-30T12:01:45Z"));
	condition_list_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clock_changes_follow_vixie_cron),
		cmocka_unit_test(utc_is_assumed_and_said),
		cmocka_unit_test(twins_are_numbered_and_bad_lines_counted),
		cmocka_unit_test(an_unknown_zone_is_refused),
		cmocka_unit_test(a_log_says_when_and_the_schedule_how_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
