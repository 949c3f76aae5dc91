/*
 * Calendar expressions against systemd's own answers: systemd-analyze calendar (package
 * systemd; needs no running systemd) is asked for the next times in each zone, and ours must
 * be the same. The year has both clock changes; expressions with many times start a day
 * before each.
 */
#include "tests/lib/unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/format/oncalendar.h"

static const char *const zones[] = { "America/New_York", "Europe/Berlin", "Australia/Lord_Howe",
	"America/Santiago", "Asia/Kolkata", "Africa/Casablanca", "Europe/Dublin", "UTC" };

static const bool has_summer[] = { true, true, true, true, false, true, true, false };

/* At most a few hundred times a year: asked for from its first day. */
static const char *const rare[] = {
	"daily",
	"weekly",
	"monthly",
	"quarterly",
	"semiannually",
	"yearly",
	"annually",
	"02:30",
	"01:30",
	"00:00",
	"02:00",
	"03:00:00",
	"2:15:30",
	"Mon 02:30",
	"Sun 02:30",
	"Sun 01:30:15",
	"Mon..Fri 09:00",
	"Mon,Wed,Fri 01:00",
	"Sat,Sun 00:30",
	"Sat..Sun 02:00",
	"Monday..Thursday 5:05",
	"Sun *-*-* 01:45",
	"*-*-1 02:00",
	"*-*-1,15 02:30",
	"*-*-1..7 00:00",
	"*-*-2/3 02:30",
	"*-02-29 12:00",
	"*-02-30 12:00",
	"*-*-31 00:00",
	"*-*~1 02:30",
	"*-*~1",
	"*-*~7/1 01:30",
	"*-*~1..3",
	"*-02~03 00:00",
	"Mon *-*~7/1 08:00",
	"Sun *-3,10,11-1..7 02:30",
	"Fri *-*-13 13:13",
	"2026-*-1 00:00",
	"2026..2028-03-01",
	"2026/2-06-15 04:00",
	"26-12-31 23:59:59",
	"12-25",
	"*-12-24..26 10:00",
	"3-29 02:30:00",
	"11-1 01:30:00",
	"*-10-25 02:59:59",
	"*-4-5 01:45",
	"2026-07-04",
	"@1774828800",
	"2026-11-01 01:30 America/New_York",
	"daily Europe/London",
	"Sun 02:30 America/Sao_Paulo",
	"01:30 UTC",
	"Mon *-*-* 00:00 Asia/Tokyo",
	"*-*-* 2,3:30",
	"*-1..3,6-* 23:59",
	"*:59:59.5 UTC",
};

static const char *const frequent[] = {
	"minutely",
	"hourly",
	"*:0/30",
	"*:0/15",
	"*:15,45",
	"*:*:0/20",
	"*:0/7",
	"0/2:00",
	"1/3:30",
	"*-*-* *:00",
	"0..6:0/20",
	"1..3:10..50/10",
	"Sun 0..4:0/15",
	"*-*-* 01,02,03:00,30",
	"02:0/5",
	"01:0/10:30",
	"*:*:30.25",
	"*:0/30:10..50/13.5",
	"hourly Europe/Paris",
	"*:0/20 America/St_Johns",
	"*:30 Pacific/Chatham",
};

static const char *const changes[] = { "2026-02-14 20:00:00", "2026-03-07 21:00:00",
	"2026-03-21 21:00:00", "2026-03-28 20:00:00", "2026-04-04 10:00:00", "2026-09-05 21:00:00",
	"2026-10-03 10:00:00", "2026-10-24 20:00:00", "2026-10-31 21:00:00" };

struct asking {
	FILE *answer;
	bool is_over;
	char line[512];
};

static void ask(struct asking *a, const char *zone, const char *base, int times,
	const char *const *texts, size_t count)
{
	char command[8192];
	size_t n = (size_t)snprintf(command, sizeof(command),
		"TZ='%s' LC_ALL=C systemd-analyze calendar --iterations=%d --base-time='%s UTC'",
		zone, times, base);

	for (size_t i = 0; i < count; i++)
		n += (size_t)snprintf(command + n, sizeof(command) - n, " '%s'", texts[i]);
	assert_true(n + 12 < sizeof(command));
	strcat(command, " 2>&1");
	*a = (struct asking){ .answer = popen(command, "r") };
	assert_non_null(a->answer);
}

static bool next_line(struct asking *a)
{
	a->is_over = a->is_over || !fgets(a->line, sizeof(a->line), a->answer);
	return !a->is_over;
}

static int64_t utc_of(const char *line)
{
	char text[32];
	int64_t ns;
	const char *year = strstr(line, " 2");

	assert_non_null(year);
	snprintf(text, sizeof(text), "%.10sT%.8sZ", year + 1, year + 12);
	assert_true(clock_parse(slice_of(text), &ns));
	return ns / NS_PER_S;
}

/* The heading of the next expression. False where systemd gave up on it: then it tells none
 * of its times. */
static bool next_heading(struct asking *a)
{
	while (next_line(a))
		if (strstr(a->line, "Normalized form") || strstr(a->line, "Failed to"))
			return strstr(a->line, "Normalized form") != NULL;
	fail_msg("systemd-analyze ended early");
	return false;
}

/* The next time of this expression, -1 behind the last. Zones other than UTC get a line of
 * their own for it. */
static int64_t next_answer(struct asking *a, bool is_utc)
{
	while (next_line(a) && a->line[0] != '\n') {
		bool is_time = strstr(a->line, "Next elapse:") || strstr(a->line, "Iter. #");

		if (strstr(a->line, "(in UTC)") || (is_utc && is_time && strstr(a->line, "UTC")))
			return utc_of(a->line);
	}
	return -1;
}

struct ours {
	struct zone host, own;
	struct arena arena;
	struct oncalendar c;
	int64_t us;
};

static void ours_open(struct ours *o, const char *zone_name, const char *text, const char *base)
{
	struct err e = { 0 };
	char when[32];

	arena_init(&o->arena, 1 << 20);
	assert_true(zone_open(&o->host, zone_name, &e));
	if (!oncalendar_parse(slice_of(text), &o->host, &o->arena, &o->c, &e))
		fail_msg("%s: %s", text, e.what);
	assert_true(zone_open(&o->own, o->c.zone ? o->c.zone : zone_name, &e));
	snprintf(when, sizeof(when), "%.10sT%.8sZ", base, base + 11);
	assert_true(clock_parse(slice_of(when), &o->us));
	o->us /= 1000;
}

static void ours_close(struct ours *o)
{
	zone_close(&o->own);
	zone_close(&o->host);
	arena_free(&o->arena);
}

static enum calendar_answer ours_next(struct ours *o)
{
	return oncalendar_next(&o->c, &o->own, o->us, &o->us);
}

static void compare_stuck(struct ours *o, const char *text, int times)
{
	enum calendar_answer answer = CALENDAR_TIME;

	for (int i = 0; i < times && answer == CALENDAR_TIME; i++)
		answer = ours_next(o);
	if (answer != CALENDAR_STUCK)
		fail_msg("systemd gives up on '%s', ours does not", text);
}

static void compare_times(
	struct asking *a, struct ours *o, const char *text, const char *zone_name, int times)
{
	bool is_utc = strcmp(zone_name, "UTC") == 0;

	for (int i = 0; i < times; i++) {
		int64_t theirs = next_answer(a, is_utc);
		enum calendar_answer answer = ours_next(o);

		/* Where they end, ours end as well. */
		if (theirs < 0) {
			assert_int_equal(answer, CALENDAR_NEVER);
			return;
		}
		if (answer != CALENDAR_TIME || o->us / 1000000 != theirs)
			fail_msg("'%s' in %s, time %d: ours %lld, systemd's %lld", text, zone_name,
				i + 1, (long long)(o->us / 1000000), (long long)theirs);
	}
}

static void compare_all(
	const char *zone, const char *base, int times, const char *const *texts, size_t count)
{
	struct asking a;
	struct ours o;

	ask(&a, zone, base, times, texts, count);
	for (size_t i = 0; i < count; i++) {
		ours_open(&o, zone, texts[i], base);
		if (next_heading(&a))
			compare_times(&a, &o, texts[i], zone, times);
		else
			compare_stuck(&o, texts[i], times);
		ours_close(&o);
	}
	pclose(a.answer);
}

static void a_year_of_times_equals_systemd_in_eight_zones(void **state)
{
	(void)state;
	for (size_t z = 0; z < LENGTH(zones); z++)
		compare_all(zones[z], "2026-01-01 00:00:00", 380, rare, 50);
}

/* systemd-analyze forks for each time of an expression with a zone: fewer of them. */
static void expressions_with_a_zone_of_their_own_equal_systemd(void **state)
{
	(void)state;
	for (size_t b = 0; b < LENGTH(changes); b++)
		compare_all("America/New_York", changes[b], 9, rare + 50, LENGTH(rare) - 50);
}

static void changes_of_the_clock_equal_systemd_in_six_zones(void **state)
{
	(void)state;
	for (size_t z = 0; z < LENGTH(zones); z++)
		for (size_t b = 0; has_summer[z] && b < LENGTH(changes); b++)
			compare_all(zones[z], changes[b], 28, frequent, 18);
	for (size_t b = 0; b < LENGTH(changes); b++)
		compare_all("Asia/Kolkata", changes[b], 12, frequent + 18, LENGTH(frequent) - 18);
}

/* The exit code of "systemd-analyze VERB 'TEXT'". */
static int systemd_takes(const char *verb, const char *text)
{
	char command[256];

	snprintf(command, sizeof(command),
		"TZ=Europe/Berlin systemd-analyze %s '%s' >/dev/null 2>&1", verb, text);
	int status = system(command);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void what_systemd_refuses_is_refused(void **state)
{
	static const char *const texts[] = { "", "whenever", "25:00", "10:60", "10:00:60", "Mon..",
		"..Mon", "Fri..Mon 10:00", "Mon Tue", "2026-13-01", "2026-00-01", "*-*-32",
		"*-*~29", "*-*-0", "10", "10:", "10:00:", "10:00:00 11", "*-*-* ", "*:0/0",
		"*:0/60", "*:1/59", "*:5..3", "*:*:0..0.5", "*:*:10..50/13.5", "1-1-1", "1969-1-1",
		"2200-1-1", "*~1-1", "*-*~1~1", "@x", "@1 10:00", "10:00 Europe/Nowhere",
		"10:00 CEST", "10:00 cet", "Mon,Tue,", "Mon, 10:00", "Mon-Fri 10:00", "Mond 10:00",
		"1,2,3-4 5:6", "1.5-1", "10:00:00.1234567", "10:00:00.", "weekly UTC",
		"hourly,daily", "Mon-10-12", "*-*-1.. 10:00", "10..12/5:00" };

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		struct arena arena = { 0 };
		struct oncalendar c;
		struct zone host;
		struct err e = { 0 };

		arena_init(&arena, 1 << 16);
		assert_true(zone_open(&host, "Europe/Berlin", &e));
		bool ours = oncalendar_parse(slice_of(texts[i]), &host, &arena, &c, &e);
		bool theirs = systemd_takes("calendar", texts[i]);
		if (ours != theirs)
			fail_msg("'%s' is %s by systemd", texts[i], theirs ? "taken" : "refused");
		zone_close(&host);
		arena_free(&arena);
	}
}

static void spans_of_time_are_systemds(void **state)
{
	static const struct {
		const char *text;
		int64_t us; /* -1: refused */
	} cases[] = {
		{ "1h 30min", 5400000000 },
		{ "90", 90000000 },
		{ "1.5 s", 1500000 },
		{ "5m", 300000000 },
		{ "12h", 43200000000 },
		{ "2days1h", 176400000000 },
		{ "250ms", 250000 },
		{ "1us", 1 },
		{ "1w", 604800000000 },
		{ "1M", 2629800000000 },
		{ " 10sec ", 10000000 },
		{ "", -1 },
		{ "x", -1 },
		{ "5 lightyears", -1 },
		{ "-5", -1 },
		{ "1h 30parsec", -1 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		int64_t us = -1;

		if (!oncalendar_span(slice_of(cases[i].text), &us))
			us = -1;
		assert_int_equal(us, cases[i].us);
		assert_int_equal(systemd_takes("timespan", cases[i].text), cases[i].us >= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_year_of_times_equals_systemd_in_eight_zones),
		cmocka_unit_test(expressions_with_a_zone_of_their_own_equal_systemd),
		cmocka_unit_test(changes_of_the_clock_equal_systemd_in_six_zones),
		cmocka_unit_test(what_systemd_refuses_is_refused),
		cmocka_unit_test(spans_of_time_are_systemds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
