/*
 * Files of schedules to conditions: dialects, zones, spans, notes. Clock changes are those of
 * America/New_York in 2026: 03-08 and 11-01. What each dialect's search does is tested beside
 * it (test_cronrun.c, test_oncalendar.c, test_robfig.c, test_quartz.c).
 */
#include "tests/lib/unit.h"

#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "correlate/schedule.h"

struct fixture {
	struct condition_list list;
	struct reach_list reaches;
	struct notes notes;
	char folder[32];
	char file[64];
	struct err e;
	bool is_read;
};

static int64_t at(const char *text)
{
	int64_t ns;

	assert_true(clock_parse(slice_of(text), &ns));
	return ns;
}

/* Writes text to a file of that name and reads it; "DIALECT:" may stand before the name. */
static void load(struct fixture *f, const char *name, const char *text, const char *zone,
	const char *from, const char *to)
{
	const char *colon = strchr(name, ':');
	char given[96];

	*f = (struct fixture){ .folder = "/tmp/reprod-plan-XXXXXX" };
	condition_list_init(&f->list);
	notes_init(&f->notes);
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->file, sizeof(f->file), "%s/%s", f->folder, colon ? colon + 1 : name);
	assert_true(file_write(f->file, slice_of(text), true, &f->e));
	snprintf(
		given, sizeof(given), "%.*s%s", colon ? (int)(colon - name + 1) : 0, name, f->file);
	const struct schedule_target target = { &f->list, &f->reaches, &f->notes, zone, at(from),
		at(to), NULL };
	f->is_read = schedule_read(&target, NULL, given, &f->e);
	unlink(f->file);
	rmdir(f->folder);
}

static void unload(struct fixture *f)
{
	condition_list_free(&f->list);
	notes_free(&f->notes);
}

static void has_starts(const struct condition *c, const char *const *times, size_t count)
{
	assert_int_equal(c->count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(c->items[i].start_ns, at(times[i]));
}

static bool notes_hold(const struct fixture *f, const char *text)
{
	for (size_t i = 0; i < f->notes.count; i++)
		if (strstr(f->notes.items[i], text))
			return true;
	return false;
}

static const char *condition_id(const struct fixture *f, size_t i)
{
	return i < f->list.count ? f->list.items[i].id : "";
}

static void each_dialect_is_told_by_its_text_and_expands(void **state)
{
	static const struct {
		const char *name, *text, *dialect, *id;
		const char *times[4];
	} cases[] = {
		{ "tab", "30 9 * * 1 /opt/a.sh\n", "cron", "job:a.sh", { "2026-11-30T14:30:00Z" } },
		{ "r.timer", "[Unit]\n[Timer]\nOnCalendar=Mon 09:30\n", "systemd", "job:r",
			{ "2026-11-30T14:30:00Z" } },
		{ "x.json",
			"{\"kind\": \"CronJob\", \"metadata\": {\"name\": \"n\", \"namespace\": \"shop\"},"
			" \"spec\": {\"schedule\": \"30 9 * * *\"}}",
			"kubernetes", "job:shop/n", { "2026-11-30T14:30:00Z" } },
		{ "x.yaml",
			"apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: n\nspec:\n"
			"  schedule: \"30 14 * * *\"\n  timeZone: Etc/UTC\n",
			"kubernetes", "job:n", { "2026-11-30T14:30:00Z" } },
		{ "jobs.csv",
			"jobid,schedule,command,jobname,active\n"
			"1,30 9 * * *,\"SELECT 'hunter2', \"\"a\"\";\nVACUUM\",nightly,t\n",
			"pg_cron", "job:nightly", { "2026-11-30T14:30:00Z" } },
		{ "q.properties", "# jobs\nreport.cron=0 30 9 ? * MON-FRI\n", "quartz",
			"job:report.cron", { "2026-11-30T14:30:00Z" } },
		{ "quartz:q.txt", "report\t0 30 9 ? * 2#5\n", "quartz", "job:report",
			{ "2026-11-30T14:30:00Z" } },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct fixture f;

		load(&f, cases[i].name, cases[i].text, "America/New_York", "2026-11-30T12:00:00Z",
			"2026-11-30T20:00:00Z");
		if (!f.is_read)
			fail_msg("%s: %s: %s", cases[i].name, f.e.where, f.e.what);
		assert_int_equal(f.list.count, 1);
		assert_string_equal(condition_id(&f, 0), cases[i].id);
		assert_string_equal(f.list.items[0].dialect, cases[i].dialect);
		assert_string_equal(f.reaches.items[0].dialect, cases[i].dialect);
		assert_int_equal(f.reaches.items[0].read, 1);
		assert_int_equal(f.reaches.items[0].from_ns, INT64_MIN);
		has_starts(&f.list.items[0], cases[i].times, 1);
		assert_int_equal(f.notes.count, 0);
		unload(&f);
	}
}

/* What each does with 02:30, which 2026-03-08 has not, and 01:30, which 2026-11-01 has
 * twice. */
static void clock_changes_differ_by_dialect(void **state)
{
	static const struct {
		const char *name, *skipped, *twice;
		const char *after_gap, *of_two; /* NULL: it does not run that day */
	} cases[] = {
		{ "tab", "30 2 * * * x\n", "30 1 * * * x\n", "2026-03-08T07:00:00Z",
			"2026-11-01T05:30:00Z" },
		{ "x.timer", "[Timer]\nOnCalendar=02:30\n", "[Timer]\nOnCalendar=01:30\n", NULL,
			"2026-11-01T05:30:00Z" },
		{ "x.yaml", "kind: CronJob\nmetadata: {name: x}\nspec: {schedule: 30 2 * * *}\n",
			"kind: CronJob\nmetadata: {name: x}\nspec: {schedule: 30 1 * * *}\n", NULL,
			"2026-11-01T05:30:00Z" },
		{ "x.csv", "jobid,schedule\n1,30 2 * * *\n", "jobid,schedule\n1,30 1 * * *\n", NULL,
			"2026-11-01T05:30:00Z" },
		{ "x.properties", "x=0 30 2 * * ?\n", "x=0 30 1 * * ?\n", NULL,
			"2026-11-01T06:30:00Z" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct fixture f;

		load(&f, cases[i].name, cases[i].skipped, "America/New_York",
			"2026-03-08T05:00:00Z", "2026-03-09T03:00:00Z");
		assert_true(f.is_read);
		has_starts(&f.list.items[0], &cases[i].after_gap, cases[i].after_gap != NULL);
		unload(&f);
		load(&f, cases[i].name, cases[i].twice, "America/New_York", "2026-11-01T04:00:00Z",
			"2026-11-02T04:00:00Z");
		assert_true(f.is_read);
		assert_true(f.list.items[0].count >= 1);
		assert_int_equal(f.list.items[0].items[0].start_ns, at(cases[i].of_two));
		unload(&f);
	}
}

static void an_unknown_start_is_a_span(void **state)
{
	static const struct {
		const char *name, *text;
		const char *start, *end;
	} cases[] = {
		{ "tab", "6~15 14 * * * x\n", "2026-11-30T14:06:00Z", "2026-11-30T14:15:00Z" },
		{ "tab", "0 13~16 * * * x\n", "2026-11-30T13:00:00Z", "2026-11-30T16:00:00Z" },
		/* A delay below 45 minutes, in whole ones. */
		{ "tab", "RANDOM_DELAY=45\n0 14 * * * x\n", "2026-11-30T14:00:00Z",
			"2026-11-30T14:44:00Z" },
		/* AccuracySec= is a minute unless said. */
		{ "x.timer", "[Timer]\nOnCalendar=14:00\n", "2026-11-30T14:00:00Z",
			"2026-11-30T14:01:00Z" },
		{ "x.timer",
			"[Timer]\nOnCalendar=14:00\nAccuracySec=1us\nRandomizedDelaySec=1h 30min\n",
			"2026-11-30T14:00:00Z", "2026-11-30T15:30:00.000001Z" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct fixture f;

		load(&f, cases[i].name, cases[i].text, "UTC", "2026-11-30T12:00:00Z",
			"2026-11-30T20:00:00Z");
		assert_true(f.is_read);
		assert_int_equal(f.list.items[0].count, 1);
		assert_int_equal(f.list.items[0].items[0].start_ns, at(cases[i].start));
		assert_int_equal(f.list.items[0].items[0].end_ns, at(cases[i].end));
		assert_false(f.list.items[0].items[0].has_end);
		unload(&f);
	}
}

static void what_has_no_times_is_said(void **state)
{
	static const struct {
		const char *name, *text, *note;
	} cases[] = {
		{ "tab", "@reboot x\n", "@reboot" },
		{ "tab", "0 0 1~28 * * x\n", "random day" },
		{ "x.timer", "[Timer]\nOnBootSec=5min\n", "OnBootSec" },
		{ "x.yaml", "kind: CronJob\nmetadata: {name: x}\nspec: {schedule: '@every 1h'}\n",
			"interval" },
		{ "x.yaml",
			"kind: CronJob\nmetadata: {name: x}\nspec: {schedule: 0 * * * *, suspend: true}\n",
			"suspended" },
		{ "x.csv", "jobid,schedule,active\n1,30 seconds,t\n", "interval" },
		{ "x.csv", "jobid,schedule,active\n1,0 * * * *,f\n", "not active" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct fixture f;

		load(&f, cases[i].name, cases[i].text, "UTC", "2026-11-30T12:00:00Z",
			"2026-11-30T20:00:00Z");
		assert_true(f.is_read);
		assert_int_equal(f.list.count, 1);
		assert_int_equal(f.list.items[0].count, 0);
		if (!notes_hold(&f, cases[i].note))
			fail_msg("no note of '%s' for: %s", cases[i].note, cases[i].text);
		unload(&f);
	}
}

static void utc_is_assumed_and_said(void **state)
{
	struct fixture f;

	(void)state;
	load(&f, "tab", "*/15 * * * * /bin/a.sh\n", NULL, "2026-11-30T12:00:01Z",
		"2026-11-30T13:00:00Z");
	assert_true(f.is_read && notes_hold(&f, "read in UTC; --zone"));
	assert_int_equal(f.list.items[0].count, 4);
	condition_list_finish(&f.list, at("2026-11-30T12:00:01Z"), at("2026-11-30T13:00:00Z"));
	assert_int_equal(f.list.items[0].period_ns, 900 * NS_PER_S);
	assert_true(f.list.items[0].is_regular);
	/* A tenth of the period, as its end is unknown. */
	assert_int_equal(f.list.items[0].items[0].until_ns - f.list.items[0].items[0].start_ns,
		90 * NS_PER_S);
	unload(&f);
	/* A zone in every line leaves nothing to assume. */
	load(&f, "x.timer", "[Timer]\nOnCalendar=hourly UTC\n", NULL, "2026-11-30T12:00:00Z",
		"2026-11-30T13:00:00Z");
	assert_true(f.is_read && !notes_hold(&f, "read in UTC"));
	unload(&f);
}

static void twins_are_numbered_and_bad_entries_counted(void **state)
{
	struct fixture f;

	(void)state;
	load(&f, "tab", "0 * * * * /a/run.sh 1\n99 * * * * x\n30 * * * * /b/run.sh 2\n", "UTC",
		"2026-11-30T12:00:00Z", "2026-11-30T14:00:00Z");
	assert_true(f.is_read);
	assert_int_equal(f.reaches.items[0].read, 2);
	assert_int_equal(f.reaches.items[0].bad, 1);
	assert_non_null(strstr(f.reaches.items[0].first_bad.where, "tab: line 2"));
	assert_string_equal(condition_id(&f, 0), "job:run.sh");
	assert_string_equal(condition_id(&f, 1), "job:run.sh#2");
	unload(&f);
}

static void a_file_without_a_schedule_is_refused_or_said(void **state)
{
	static const struct {
		const char *name, *text;
	} refused[] = {
		{ "tab", "this is no crontab at all\n" },
		{ "x.timer", "[Timer]\nOnCalendar=whenever\n" },
		{ "x.json", "{\"kind\": \"CronJob\"" },
		{ "x.yaml", "kind: CronJob\n  metadata: [\n" },
		{ "quartz:q", "a = 0 0 12 * * *\n" },
		{ "pg_cron:x.csv", "a,b\n1,2\n" },
	};
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < LENGTH(refused); i++) {
		load(&f, refused[i].name, refused[i].text, "UTC", "2026-11-30T12:00:00Z",
			"2026-11-30T14:00:00Z");
		assert_false(f.is_read);
		assert_int_equal(f.e.kind, ERR_INPUT);
		assert_true(f.e.what[0]);
		unload(&f);
	}
	load(&f, "empty", "", "UTC", "2026-11-30T12:00:00Z", "2026-11-30T14:00:00Z");
	assert_true(f.is_read && notes_hold(&f, "no schedule in"));
	unload(&f);
}

static void an_unknown_zone_is_refused(void **state)
{
	static const char *const zones[] = { "Mars/Base", "../../etc/passwd", "/etc/localtime",
		"" };

	(void)state;
	for (size_t i = 0; i < LENGTH(zones); i++) {
		struct fixture f;

		load(&f, "tab", "0 * * * * x\n", zones[i], "2026-11-30T12:00:00Z",
			"2026-11-30T14:00:00Z");
		assert_false(f.is_read);
		assert_int_equal(f.e.kind, ERR_USAGE);
		unload(&f);
	}
}

static void a_log_says_when_and_the_schedule_how_often(void **state)
{
	struct fixture f;

	(void)state;
	load(&f, "x.timer", "[Timer]\nOnCalendar=*:0/10\nUnit=refresh.service\n", "UTC",
		"2026-11-30T12:00:00Z", "2026-11-30T13:00:00Z");
	assert_true(f.is_read);
	struct condition *log = condition_get(&f.list, "job", "refresh", "event");
	for (int i = 0; i < 4; i++)
		assert_true(condition_add_time(log, at("2026-11-30T12:00:05Z") + i * 600 * NS_PER_S,
			at("2026-11-30T12:00:45Z") + i * 600 * NS_PER_S, true));
	condition_list_finish(&f.list, at("2026-11-30T12:00:00Z"), at("2026-11-30T13:00:00Z"));
	assert_int_equal(f.list.count, 1);
	assert_int_equal(f.list.items[0].count, 4);
	assert_int_equal(f.list.items[0].scheduled, 7);
	/* Logged end plus min(60 s, a tenth of the period). */
	assert_int_equal(f.list.items[0].items[0].until_ns, at("2026-11-30T12:01:45Z"));
	unload(&f);
}

static void several_timers_are_told_apart(void **state)
{
	static const char cat[] =
		"# /lib/systemd/system/a.timer\n[Timer]\nOnCalendar=hourly\n"
		"OnCalendar=*:30\n\n"
		"# /etc/systemd/system/a.timer.d/late.conf\n[Timer]\nOnCalendar=\n"
		"OnCalendar=*:15\n\n"
		"# /lib/systemd/system/b.timer\n[Unit]\nDescription=B\n[Timer]\n"
		"OnCalendar=*:45\nUnit=other.service\n";
	static const char show[] =
		"Id=a.timer\nUnit=a.service\nAccuracyUSec=1min\nRandomizedDelayUSec=0\n"
		"TimersCalendar={ OnCalendar=*-*-* *:15:00 ; next_elapse=n/a }\n\n"
		"Unit=other.service\nTimersCalendar={ OnCalendar=*-*-* *:45:00 ; next_elapse=n/a }\n"
		"Id=b.timer\n";
	static const char *const texts[] = { cat, show };

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		static const char *const first[] = { "2026-11-30T12:15:00Z" };
		static const char *const second[] = { "2026-11-30T12:45:00Z" };
		struct fixture f;

		load(&f, "timers.txt", texts[i], "UTC", "2026-11-30T12:05:00Z",
			"2026-11-30T13:00:00Z");
		assert_true(f.is_read);
		assert_int_equal(f.list.count, 2);
		assert_string_equal(condition_id(&f, 0), "job:a");
		assert_string_equal(condition_id(&f, 1), "job:other");
		has_starts(&f.list.items[0], first, 1);
		has_starts(&f.list.items[1], second, 1);
		unload(&f);
	}
}

static void lists_of_cronjobs_and_psqls_tables_are_read(void **state)
{
	static const char json[] =
		"{\"kind\": \"List\", \"items\": ["
		"{\"kind\": \"CronJob\", \"metadata\": {\"name\": \"a\", \"namespace\": \"x\","
		"  \"creationTimestamp\": \"2026-11-01T00:07:30Z\"},"
		" \"spec\": {\"schedule\": \"@every 1h\"}},"
		"{\"kind\": \"Pod\"},"
		"{\"kind\": \"CronJob\", \"metadata\": {\"name\": \"b\", \"namespace\": \"x\"},"
		" \"spec\": {\"schedule\": \"CRON_TZ=Asia/Kolkata 0 18 * * *\","
		"  \"concurrencyPolicy\": \"Forbid\", \"startingDeadlineSeconds\": 5}}]}";
	static const char table[] = " jobid | schedule  | jobname | active \n"
				    "-------+-----------+---------+--------\n"
				    "     1 | 0 13 $ *  * |         | t\n"
				    "     2 | 0 13 * * * | b       | t\n(2 rows)\n\n";
	static const char *const every[] = { "2026-11-30T12:07:30Z", "2026-11-30T13:07:30Z" };
	static const char *const india[] = { "2026-11-30T12:30:00Z" };
	static const char *const last[] = { "2026-11-30T13:00:00Z" };
	struct fixture f;

	(void)state;
	load(&f, "x.json", json, "UTC", "2026-11-30T12:00:00Z", "2026-11-30T14:00:00Z");
	assert_true(f.is_read);
	assert_int_equal(f.list.count, 2);
	has_starts(&f.list.items[0], every, 2);
	has_starts(&f.list.items[1], india, 1);
	assert_true(notes_hold(&f, "Forbid") && notes_hold(&f, "startingDeadlineSeconds"));
	unload(&f);
	load(&f, "table", table, NULL, "2026-11-30T12:00:00Z", "2026-11-30T14:00:00Z");
	assert_true(f.is_read);
	assert_int_equal(f.list.count, 2);
	assert_string_equal(condition_id(&f, 0), "job:pg_cron-1");
	has_starts(&f.list.items[0], last, 1);
	has_starts(&f.list.items[1], last, 1);
	/* GMT is what pg_cron goes by unless told otherwise. */
	assert_int_equal(f.notes.count, 0);
	unload(&f);
}

static void six_hundred_days_are_quick_and_bounded(void **state)
{
	struct fixture f;

	(void)state;
	load(&f, "tab", "* * * * * x\n7 3 * * * y\n", "Europe/Berlin", "2025-01-01T00:00:00Z",
		"2026-08-24T00:00:00Z");
	assert_true(f.is_read);
	assert_int_equal(f.list.items[0].count, CONDITION_TIMES_MAX);
	assert_int_equal(f.list.items[1].count, 600);
	assert_int_equal(f.list.items[0].refused, 1);
	unload(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_dialect_is_told_by_its_text_and_expands),
		cmocka_unit_test(clock_changes_differ_by_dialect),
		cmocka_unit_test(an_unknown_start_is_a_span),
		cmocka_unit_test(what_has_no_times_is_said),
		cmocka_unit_test(utc_is_assumed_and_said),
		cmocka_unit_test(twins_are_numbered_and_bad_entries_counted),
		cmocka_unit_test(a_file_without_a_schedule_is_refused_or_said),
		cmocka_unit_test(an_unknown_zone_is_refused),
		cmocka_unit_test(a_log_says_when_and_the_schedule_how_often),
		cmocka_unit_test(several_timers_are_told_apart),
		cmocka_unit_test(lists_of_cronjobs_and_psqls_tables_are_read),
		cmocka_unit_test(six_hundred_days_are_quick_and_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
