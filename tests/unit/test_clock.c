#include "tests/lib/unit.h"

#include "core/base/clock.h"

struct time_case {
	const char *text;
	int64_t ns;
	const char *back; /* NULL: as it came */
};

static void times_are_read_and_written(void **state)
{
	(void)state;
	static const struct time_case cases[] = {
		{ "1970-01-01T00:00:00Z", 0, NULL },
		{ "2026-11-30T12:00:00.250Z", INT64_C(1796040000250000000), NULL },
		{ "2026-11-30T12:00:00.000250Z", INT64_C(1796040000000250000), NULL },
		{ "2026-11-30T12:00:00.000000001Z", INT64_C(1796040000000000001), NULL },
		{ "2026-11-30 13:30:00+01:30", INT64_C(1796040000000000000),
			"2026-11-30T12:00:00Z" },
		{ "2026-11-30t04:00:00.5-08:00", INT64_C(1796040000500000000),
			"2026-11-30T12:00:00.500Z" },
		{ "2024-02-29T23:59:59.9999999999Z", INT64_C(1709251199999999999),
			"2024-02-29T23:59:59.999999999Z" },
		{ "2016-12-31T23:59:60Z", INT64_C(1483228800000000000), "2017-01-01T00:00:00Z" },
		{ "1969-12-31T23:59:59.750Z", -250000000, NULL },
		{ "1796040000", INT64_C(1796040000000000000), "2026-11-30T12:00:00Z" },
		{ "1796040000.25", INT64_C(1796040000250000000), "2026-11-30T12:00:00.250Z" },
		{ "-1.5", -1500000000, "1969-12-31T23:59:58.500Z" },
		{ "-9223372036", INT64_C(-9223372036000000000), "1677-09-21T00:12:44Z" },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		char text[CLOCK_TEXT_MAX];
		int64_t ns = -1;

		assert_true(clock_parse(slice_of(cases[i].text), &ns));
		assert_true(ns == cases[i].ns);
		assert_string_equal(
			clock_text(ns, text), cases[i].back ? cases[i].back : cases[i].text);
	}
}

static void every_instant_has_a_text(void **state)
{
	char text[CLOCK_TEXT_MAX];

	(void)state;
	assert_string_equal(clock_text(INT64_MIN, text), "1677-09-21T00:12:43.145224192Z");
	assert_string_equal(clock_text(INT64_MAX, text), "2262-04-11T23:47:16.854775807Z");
}

static void what_is_no_time_is_refused(void **state)
{
	(void)state;
	static const char *const cases[] = { "", "Z", "2026-11-30T12:00:00",
		"2026-11-30T12:00:00 Z", "2026-11-30", "2026-13-01T00:00:00Z",
		"2026-02-29T00:00:00Z", "2026-00-01T00:00:00Z", "2026-11-31T00:00:00Z",
		"2026-11-30T24:00:00Z", "2026-11-30T12:60:00Z", "2026-11-30T12:00:61Z",
		"2026-11-30T12:00:00+0100", "2026-11-30T12:00:00+24:00", "2026-11-30T12:00:00.Z",
		"2026-11-30T12:00:00Zx", "2026-11-30X12:00:00Z", "26-11-30T12:00:00Z",
		"0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1764500000000",
		"99999999999999999999", "12.", ".5", "1e9", "+5", "nan", " 5", "5 ",
		"-9223372036.4" };

	for (size_t i = 0; i < LENGTH(cases); i++) {
		int64_t ns;

		if (clock_parse(slice_of(cases[i]), &ns))
			fail_msg("'%s' was taken for a time", cases[i]);
	}
}

static void every_day_of_eight_centuries_comes_back(void **state)
{
	(void)state;
	int64_t days = clock_days(1600, 1, 1);
	int previous = 31;

	for (; days < clock_days(2400, 1, 1); days++) {
		int y, m, d;

		clock_civil(days, &y, &m, &d);
		assert_int_equal(clock_days(y, m, d), days);
		assert_true(d == previous + 1 || d == 1);
		previous = d;
	}
	assert_int_equal(clock_days(1970, 1, 1), 0);
	assert_int_equal(clock_days(2000, 3, 1), 11017);
}

static void durations_are_read(void **state)
{
	(void)state;
	static const struct time_case good[] = { { "15m", 900 * NS_PER_S, NULL },
		{ "90s", 90 * NS_PER_S, NULL }, { "250ms", 250 * NS_PER_MS, NULL },
		{ "1h30m", 5400 * NS_PER_S, NULL }, { "2d", 172800 * NS_PER_S, NULL },
		{ "7", 7 * NS_PER_S, NULL }, { "0.5", NS_PER_S / 2, NULL },
		{ "1.5h", 5400 * NS_PER_S, NULL }, { "10us", 10000, NULL }, { "3ns", 3, NULL },
		{ "0", 0, NULL } };
	static const char *const bad[] = { "", "m", "-1s", "1x", "1h30", "5 s", "1.s", "s5",
		"99999999999d", "1hh", "1H" };
	int64_t ns;

	for (size_t i = 0; i < LENGTH(good); i++) {
		assert_true(clock_parse_duration(slice_of(good[i].text), &ns));
		assert_true(ns == good[i].ns);
	}
	for (size_t i = 0; i < LENGTH(bad); i++)
		if (clock_parse_duration(slice_of(bad[i]), &ns))
			fail_msg("'%s' was taken for a duration", bad[i]);
}

static void durations_are_told_to_people(void **state)
{
	(void)state;
	static const struct time_case cases[] = { { "0 s", 0, NULL }, { "999 ns", 999, NULL },
		{ "12.3 us", 12345, NULL }, { "812 ms", 812 * NS_PER_MS, NULL },
		{ "1.0 s", 999999999, NULL }, { "4.2 s", 4200 * NS_PER_MS, NULL },
		{ "1 min 0 s", 59970 * NS_PER_MS, NULL }, { "3 min 20 s", 200 * NS_PER_S, NULL },
		{ "1 h 0 min", INT64_C(3599600) * NS_PER_MS, NULL },
		{ "1 d 1 h", 90000 * NS_PER_S, NULL }, { "-2.0 s", -2 * NS_PER_S, NULL } };

	for (size_t i = 0; i < LENGTH(cases); i++) {
		char text[CLOCK_TEXT_MAX];

		assert_string_equal(clock_duration_text(cases[i].ns, text), cases[i].text);
	}
}

static void a_fake_clock_moves_by_sleeping(void **state)
{
	(void)state;
	struct clock c = { .is_fake = true, .fake_mono_ns = 5, .fake_wall_ns = 1000 };

	assert_true(clock_sleep_until(&c, 105));
	assert_int_equal(clock_mono_ns(&c), 105);
	assert_int_equal(clock_wall_ns(&c), 1100);
	assert_true(clock_sleep_until(&c, 50));
	assert_int_equal(clock_mono_ns(&c), 105);
}

static void a_real_clock_sleeps(void **state)
{
	(void)state;
	struct clock c = { 0 };
	int64_t start = clock_mono_ns(&c);

	assert_true(clock_sleep_until(&c, start + 5 * NS_PER_MS));
	assert_true(clock_mono_ns(&c) >= start + 5 * NS_PER_MS);
	assert_true(clock_wall_ns(&c) > INT64_C(1700000000) * NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_read_and_written),
		cmocka_unit_test(every_instant_has_a_text),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(every_day_of_eight_centuries_comes_back),
		cmocka_unit_test(durations_are_read),
		cmocka_unit_test(durations_are_told_to_people),
		cmocka_unit_test(a_fake_clock_moves_by_sleeping),
		cmocka_unit_test(a_real_clock_sleeps),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
