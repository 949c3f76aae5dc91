#include "tests/lib/unit.h"

#include "core/format/crontab.h"

static struct crontab_line parse(const char *text, bool has_user, struct arena *arena)
{
	struct crontab_line line;
	const char *zone = NULL;
	struct err e = { 0 };

	assert_int_equal(
		crontab_parse(slice_of(text), has_user, arena, &zone, &line, &e), STEP_ITEM);
	return line;
}

/* Minutes of the hour, hours, days that a field spelling means. */
static void fields_expand_as_cronie_reads_them(void **state)
{
	static const struct {
		const char *text;
		uint64_t minute;
		uint32_t hour;
	} cases[] = {
		{ "7 3 * * * x", 1 << 7, 1 << 3 },
		{ "*/20 * * * * x", UINT64_C(1) | UINT64_C(1) << 20 | UINT64_C(1) << 40, 0xffffff },
		{ "1,2,5-7 0 * * * x", 0xe6, 1 },
		{ "10-20/5 22-23 * * * x",
			UINT64_C(1) << 10 | UINT64_C(1) << 15 | UINT64_C(1) << 20, 0xc00000 },
		{ "50/5 0 * * * x", UINT64_C(1) << 50 | UINT64_C(1) << 55, 1 },
		{ "@hourly x", 1, 0xffffff },
		{ "@daily x", 1, 1 },
		{ "\t30\t4 * * *   x  ", UINT64_C(1) << 30, 1 << 4 },
		{ "-30 4 * * * x", UINT64_C(1) << 30, 1 << 4 },
	};
	struct arena arena = { 0 };

	(void)state;
	arena_init(&arena, 1 << 16);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct crontab_line line = parse(cases[i].text, false, &arena);

		assert_true(line.minute == cases[i].minute);
		assert_int_equal(line.hour, cases[i].hour);
	}
	arena_free(&arena);
}

static void day_fields_are_or_unless_one_has_a_star(void **state)
{
	struct arena arena = { 0 };

	(void)state;
	arena_init(&arena, 1 << 16);
	struct crontab_line line = parse("0 0 13 * fri x", false, &arena);
	assert_true(crontab_is_due(&line, 0, 0, 13, 1, 1));
	assert_true(crontab_is_due(&line, 0, 0, 2, 1, 5));
	assert_false(crontab_is_due(&line, 0, 0, 2, 1, 4));
	/* "every second day" and Monday: both must fit (January 2025: the 13th and 27th). */
	line = parse("0 0 */2 * 1 x", false, &arena);
	assert_true(crontab_is_due(&line, 0, 0, 13, 1, 1));
	assert_false(crontab_is_due(&line, 0, 0, 6, 1, 1));
	assert_false(crontab_is_due(&line, 0, 0, 3, 1, 5));
	line = parse("0 0 * jan,Dec 7 x", false, &arena);
	assert_true(crontab_is_due(&line, 0, 0, 5, 12, 0));
	assert_false(crontab_is_due(&line, 0, 0, 5, 11, 0));
	arena_free(&arena);
}

static void jobs_are_named_without_their_secrets(void **state)
{
	static const char *const cases[][2] = {
		{ "/usr/local/bin/refresh-totals --password=hunter2", "refresh-totals" },
		{ "sh /opt/jobs/nightly.sh", "nightly.sh" },
		{ "PGPASSWORD=hunter2 psql -h db -U u -f /opt/refresh.sql", "refresh.sql" },
		{ "psql -d shop -f/opt/refresh.sql", "refresh.sql" },
		{ "psql \"postgres://u:hunter2@db/shop\" --file=/opt/refresh.sql", "refresh.sql" },
		{ "/usr/bin/flock -n /tmp/x.lock /usr/bin/python3 /opt/report.py --token hunter2",
			"report.py" },
		{ "flock -n /run/x.lock backup.sh", "backup.sh" },
		{ "psql -c 'select pw(1)'", "psql" },
		{ "python3.11 /opt/a/b.py", "b.py" },
		{ "backup; rm x", "backup" },
	};
	struct arena arena = { 0 };

	(void)state;
	arena_init(&arena, 1 << 16);
	for (size_t i = 0; i < LENGTH(cases); i++)
		assert_string_equal(crontab_job_name(slice_of(cases[i][0]), &arena), cases[i][1]);
	arena_free(&arena);
}

static void a_system_crontab_has_a_user_column(void **state)
{
	struct arena arena = { 0 };

	(void)state;
	arena_init(&arena, 1 << 16);
	assert_string_equal(parse("17 * * * * root /bin/tidy", true, &arena).name, "tidy");
	assert_string_equal(parse("@daily postgres /bin/tidy", true, &arena).name, "tidy");
	arena_free(&arena);
}

static void comments_and_environment_are_skipped_and_the_zone_kept(void **state)
{
	struct arena arena = { 0 };
	struct crontab_line line;
	const char *zone = NULL;
	struct err e = { 0 };

	(void)state;
	arena_init(&arena, 1 << 16);
	assert_int_equal(
		crontab_parse(SLICE("# 1 2 3 4 5 x"), false, &arena, &zone, &line, &e), STEP_END);
	assert_int_equal(crontab_parse(SLICE("   "), false, &arena, &zone, &line, &e), STEP_END);
	assert_int_equal(
		crontab_parse(SLICE("MAILTO = a@b"), false, &arena, &zone, &line, &e), STEP_END);
	assert_null(zone);
	assert_int_equal(
		crontab_parse(SLICE("CRON_TZ=\"Europe/Berlin\""), false, &arena, &zone, &line, &e),
		STEP_END);
	assert_int_equal(
		crontab_parse(SLICE("0 2 * * * x"), false, &arena, &zone, &line, &e), STEP_ITEM);
	assert_string_equal(line.zone, "Europe/Berlin");
	arena_free(&arena);
}

static void what_is_no_schedule_is_refused_with_a_reason(void **state)
{
	static const char *const bad[] = { "60 * * * * x", "* 24 * * * x", "* * 0 * * x",
		"* * * 13 * x", "* * * * 8 x", "5-3 * * * * x", "*/0 * * * * x", "a * * * * x",
		"* * * *", "@sometimes x", "1, * * * * x", "* * * * *", "9999999999 * * * * x" };
	struct arena arena = { 0 };

	(void)state;
	arena_init(&arena, 1 << 16);
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct crontab_line line;
		const char *zone = NULL;
		struct err e = { 0 };

		assert_int_equal(crontab_parse(slice_of(bad[i]), false, &arena, &zone, &line, &e),
			STEP_FAIL);
		assert_int_equal(e.kind, ERR_INPUT);
		assert_true(e.what[0]);
	}
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_expand_as_cronie_reads_them),
		cmocka_unit_test(day_fields_are_or_unless_one_has_a_star),
		cmocka_unit_test(jobs_are_named_without_their_secrets),
		cmocka_unit_test(a_system_crontab_has_a_user_column),
		cmocka_unit_test(comments_and_environment_are_skipped_and_the_zone_kept),
		cmocka_unit_test(what_is_no_schedule_is_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
