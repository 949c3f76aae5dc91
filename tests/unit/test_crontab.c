#include "tests/lib/unit.h"

#include "core/base/clock.h"
#include "core/format/crontab.h"

static struct crontab_line parse(const char *text, bool has_user, struct arena *arena)
{
	struct crontab_line line;
	struct crontab_env env = { 0 };
	struct err e = { 0 };

	assert_int_equal(
		crontab_parse(slice_of(text), has_user, arena, &env, &line, &e), STEP_ITEM);
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

		assert_true(line.fields.minute == cases[i].minute);
		assert_int_equal(line.fields.hour, cases[i].hour);
	}
	arena_free(&arena);
}

static bool is_due(const struct crontab_line *line, int month, int day)
{
	return cron_fields_fit_day(&line->fields, clock_days(2025, month, day));
}

static void day_fields_are_or_unless_one_has_a_star(void **state)
{
	struct arena arena = { 0 };

	(void)state;
	arena_init(&arena, 1 << 16);
	/* 2025: 13 January is a Monday, 3 January a Friday. */
	struct crontab_line line = parse("0 0 13 * fri x", false, &arena);
	assert_true(is_due(&line, 1, 13));
	assert_true(is_due(&line, 1, 3));
	assert_false(is_due(&line, 1, 2));
	/* "every second day" and Monday: both must fit (the 13th and 27th). */
	line = parse("0 0 */2 * 1 x", false, &arena);
	assert_true(is_due(&line, 1, 13));
	assert_false(is_due(&line, 1, 6));
	assert_false(is_due(&line, 1, 3));
	line = parse("0 0 * jan,Dec 7 x", false, &arena);
	assert_true(is_due(&line, 12, 7));
	assert_false(is_due(&line, 11, 9));
	arena_free(&arena);
}

static void a_tilde_is_one_unknown_value_of_its_range(void **state)
{
	static const struct {
		const char *text;
		int minute, minute_width, hour, hour_width;
	} cases[] = {
		{ "6~15 3 * * * x", 6, 9, 3, 0 },
		{ "~ 3 * * * x", 0, 59, 3, 0 },
		{ "~10 1~4 * * * x", 0, 10, 1, 3 },
		{ "50~ ~ * * * x", 50, 9, 0, 23 },
	};
	struct arena arena = { 0 };

	(void)state;
	arena_init(&arena, 1 << 16);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct cron_fields f = parse(cases[i].text, false, &arena).fields;

		assert_true(f.minute == UINT64_C(1) << cases[i].minute);
		assert_int_equal(f.minute_width[cases[i].minute], cases[i].minute_width);
		assert_int_equal(f.hour, 1 << cases[i].hour);
		assert_int_equal(f.hour_width[cases[i].hour], cases[i].hour_width);
		assert_false(f.is_minute_star || f.is_hour_star || f.is_random_day);
	}
	assert_true(parse("0 0 1~28 * * x", false, &arena).fields.is_random_day);
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
		{ "flock -n /run/l psql -f /opt/purge.sql", "purge.sql" },
		{ "timeout 60 flock -w 0.5 /var/lock/purge.lck refresh-totals --key=a/b",
			"refresh-totals" },
		{ "flock -n 9 || exit 1", "flock" },
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
	assert_true(slice_is(crontab_user_word(SLICE("17 * * * * root /bin/tidy")), "root"));
	assert_int_equal(crontab_user_word(SLICE("17 * * * * /bin/tidy")).n, 0);
	assert_int_equal(crontab_user_word(SLICE("MAILTO=root")).n, 0);
	arena_free(&arena);
}

static void comments_are_skipped_and_cronies_environment_is_kept(void **state)
{
	static const char *const skipped[] = { "# 1 2 3 4 5 x", "   ", "MAILTO = a@b",
		"CRON_TZ=\"Europe/Berlin\"", "'RANDOM_DELAY' = 45", "" };
	struct arena arena = { 0 };
	struct crontab_line line;
	struct crontab_env env = { 0 };
	struct err e = { 0 };

	(void)state;
	arena_init(&arena, 1 << 16);
	for (size_t i = 0; i < LENGTH(skipped); i++)
		assert_int_equal(
			crontab_parse(slice_of(skipped[i]), false, &arena, &env, &line, &e),
			STEP_END);
	assert_int_equal(
		crontab_parse(SLICE("0 2 * * * x"), false, &arena, &env, &line, &e), STEP_ITEM);
	assert_string_equal(line.env.zone, "Europe/Berlin");
	assert_int_equal(line.env.random_delay_min, 45);
	/* What cronie calls bad, and what takes a zone back. */
	assert_int_equal(crontab_parse(SLICE("RANDOM_DELAY=1441"), false, &arena, &env, &line, &e),
		STEP_END);
	assert_int_equal(
		crontab_parse(SLICE("CRON_TZ="), false, &arena, &env, &line, &e), STEP_END);
	assert_int_equal(crontab_parse(SLICE("-*/5 * * * * -n x"), false, &arena, &env, &line, &e),
		STEP_ITEM);
	assert_string_equal(line.env.zone, "");
	assert_int_equal(line.env.random_delay_min, 0);
	assert_string_equal(line.name, "x");
	arena_free(&arena);
}

static void what_is_no_schedule_is_refused_with_a_reason(void **state)
{
	static const char *const bad[] = { "60 * * * * x", "* 24 * * * x", "* * 0 * * x",
		"* * * 13 * x", "* * * * 8 x", "5-3 * * * * x", "*/0 * * * * x", "a * * * * x",
		"* * * *", "@sometimes x", "1, * * * * x", "* * * * *", "9999999999 * * * * x",
		"50/5 0 * * * x", "6~15/3 * * * * x", "15~6 * * * * x", "* * * * monday x",
		"? * * * * x" };
	struct arena arena = { 0 };

	(void)state;
	arena_init(&arena, 1 << 16);
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct crontab_line line;
		struct crontab_env env = { 0 };
		struct err e = { 0 };

		assert_int_equal(
			crontab_parse(slice_of(bad[i]), false, &arena, &env, &line, &e), STEP_FAIL);
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
		cmocka_unit_test(a_tilde_is_one_unknown_value_of_its_range),
		cmocka_unit_test(jobs_are_named_without_their_secrets),
		cmocka_unit_test(a_system_crontab_has_a_user_column),
		cmocka_unit_test(comments_are_skipped_and_cronies_environment_is_kept),
		cmocka_unit_test(what_is_no_schedule_is_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
