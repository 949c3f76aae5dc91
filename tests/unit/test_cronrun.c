/*
 * Runs of crontab lines against a model of the daemon's main loop that wakes each minute of
 * a year, in seven zones. cronie 1.7.2 itself was asked when this was written: its cron.c,
 * entry.c and env.c, compiled with a clock of ours in place of time() and sleep(), ran 63
 * lines (most of the ones below among them) over 2026 in eight zones, 3.0 million minutes
 * with a start, and 30 lines with several CRON_TZ around both clock changes in six zones;
 * cron_run() and cron_run_zoned() gave the same minutes, all of them. Debian's cron
 * 3.0pl1-162 was read: its loop is the same, CRON_TZ it ignores.
 */
#include "tests/lib/unit.h"

#include "core/base/clock.h"
#include "core/format/cronrun.h"
#include "core/format/wall.h"

enum { DAY_MIN = 1440, YEAR_MIN = 365 * DAY_MIN, START_MIN = 29453760 /* 2026-01-01 UTC */ };

static const char *const zones[] = { "America/New_York", "Europe/Berlin", "Australia/Lord_Howe",
	"America/Santiago", "Asia/Kolkata", "Africa/Casablanca", "Africa/Cairo" };

static const char *const lines[] = { "30 2 * * *", "30 1 * * *", "0 0 * * *", "*/30 * * * *",
	"0 0 */2 * 1", "0 0 1-7 * mon", "*/7 1-3 * * *", "0 23 * * *", "0 0,23 * * sun",
	"15 2 * * *", "45 1 * * 7", "0 3 * * *", "0 2 * * *", "59 1,2 * * *", "*/10 2 * * *",
	"5 */2 * * *", "0,30 0-4 29 3 *", "17 * * * *", "10 2 8 3 *", "0 12 31 * *", "0 5 29 2 *",
	"1-59/13 0-3 * 3,4,10,11 0", "20 0 * 9 6" };

static struct cron_fields parse(const char *text)
{
	struct slice rest = slice_of(text);
	struct cron_fields f;
	struct err e = { 0 };

	assert_true(cron_fields_parse(CRON_CRONIE, &rest, &f, &e));
	return f;
}

/* A minute of the year has a mark when the line runs in it. */
struct marks {
	bool at[YEAR_MIN];
	size_t late; /* outside */
};

static bool mark(void *data, int64_t start_s, int64_t end_s)
{
	struct marks *m = data;
	int64_t minute = start_s / 60 - START_MIN;

	assert_int_equal(start_s, end_s);
	if (minute >= 0 && minute < YEAR_MIN)
		m->at[minute] = true;
	else
		m->late++;
	return true;
}

static int64_t clock_of(const struct zone *z, int64_t minute)
{
	return (minute * 60 + zone_offset_s(z, minute * 60)) / 60;
}

static bool is_due(const struct cron_fields *f, int64_t local)
{
	return (f->minute >> local % 60 & 1) && (f->hour >> local / 60 % 24 & 1) &&
	       cron_fields_fit_day(f, local / DAY_MIN);
}

/* The daemon sleeps to the next minute, and compares what the clock shows with the last
 * minute it has done. */
static bool wake(const struct cron_fields *f, int64_t now, int64_t *done)
{
	bool is_wild = f->is_minute_star || f->is_hour_star, is_run = false;
	int64_t ahead = now - *done;

	if (ahead == 1 || ahead > 180 || ahead < -180) {
		*done = now;
		return is_due(f, now);
	}
	if (ahead <= 0)
		return is_wild && is_due(f, now);
	if (is_wild) {
		*done = now;
		return is_due(f, now);
	}
	while (*done < now)
		is_run |= is_due(f, ++*done);
	return is_run;
}

static void runs_of_a_year_equal_the_daemons_loop(void **state)
{
	static struct marks model, ours;

	(void)state;
	for (size_t z = 0; z < LENGTH(zones); z++)
		for (size_t i = 0; i < LENGTH(lines); i++) {
			struct cron_fields f = parse(lines[i]);
			const struct cron_span span = { START_MIN * INT64_C(60),
				(START_MIN + YEAR_MIN) * INT64_C(60) - 1, 0, mark, &ours };
			struct zone zone;
			struct err e = { 0 };

			assert_true(zone_open(&zone, zones[z], &e));
			int64_t done = clock_of(&zone, START_MIN - 1);
			for (int64_t m = 0; m < YEAR_MIN; m++)
				model.at[m] = wake(&f, clock_of(&zone, START_MIN + m), &done);
			memset(&ours, 0, sizeof(ours));
			cron_run(&f, &zone, &span);
			for (int64_t m = 0; m < YEAR_MIN; m++)
				if (model.at[m] != ours.at[m])
					fail_msg("'%s' in %s at minute %lld: %s in the model",
						lines[i], zones[z], (long long)(START_MIN + m),
						model.at[m] ? "runs" : "does not run");
			assert_int_equal(ours.late, 0);
			zone_close(&zone);
		}
}

struct told {
	char text[600];
};

static bool tell(void *data, int64_t start_s, int64_t end_s)
{
	struct told *t = data;
	char start[CLOCK_TEXT_MAX], end[CLOCK_TEXT_MAX];
	size_t n = strlen(t->text);

	clock_text(start_s * NS_PER_S, start);
	clock_text(end_s * NS_PER_S, end);
	/* Day and minute. */
	snprintf(t->text + n, sizeof(t->text) - n, "%s%.5sT%.5s", n ? " " : "", start + 5,
		start + 11);
	n = strlen(t->text);
	if (end_s != start_s)
		snprintf(t->text + n, sizeof(t->text) - n, "..%.5s", end + 11);
	return true;
}

static int64_t at(const char *text)
{
	int64_t ns;

	assert_true(clock_parse(slice_of(text), &ns));
	return ns / NS_PER_S;
}

static void clock_changes_are_as_the_manual_says(void **state)
{
	static const struct {
		const char *line, *zone, *host; /* of its own; NULL: none */
		const char *from, *to;
		int delay_min;
		const char *runs;
	} cases[] = {
		/* The skipped half hour runs at once after the jump, the repeated one once. */
		{ "30 2 * * *", NULL, "America/New_York", "2026-03-08T00:00:00Z",
			"2026-03-09T06:00:00Z", 0, "03-08T07:00" },
		{ "30 1 * * *", NULL, "America/New_York", "2026-11-01T00:00:00Z",
			"2026-11-02T05:00:00Z", 0, "11-01T05:30" },
		/* A star in minute or hour follows the clock. */
		{ "*/30 2 * * *", NULL, "America/New_York", "2026-03-08T00:00:00Z",
			"2026-03-09T06:00:00Z", 0, "03-09T06:00" },
		{ "*/30 1 * * *", NULL, "America/New_York", "2026-11-01T00:00:00Z",
			"2026-11-02T05:00:00Z", 0,
			"11-01T05:00 11-01T05:30 11-01T06:00 11-01T06:30" },
		/* What was missed several times counts once. */
		{ "0,30 2 * * *", NULL, "America/New_York", "2026-03-08T00:00:00Z",
			"2026-03-09T00:00:00Z", 0, "03-08T07:00" },
		/* A change of 30 minutes. */
		{ "15 2 * * *", NULL, "Australia/Lord_Howe", "2026-10-03T12:00:00Z",
			"2026-10-04T12:00:00Z", 0, "10-03T15:30" },
		/* With CRON_TZ nothing is caught up, and what is repeated runs twice ... */
		{ "30 2 * * *", "America/New_York", "UTC", "2026-03-08T00:00:00Z",
			"2026-03-09T07:00:00Z", 0, "03-09T06:30" },
		{ "30 1 * * *", "America/New_York", "UTC", "2026-11-01T00:00:00Z",
			"2026-11-02T05:00:00Z", 0, "11-01T05:30 11-01T06:30" },
		/* ... and it is lost in the hour that the host's clock repeats. */
		{ "30 6 * * *", "UTC", "America/New_York", "2026-10-31T00:00:00Z",
			"2026-11-02T12:00:00Z", 0, "10-31T06:30 11-02T06:30" },
		{ "30 * * * *", "UTC", "America/New_York", "2026-11-01T05:00:00Z",
			"2026-11-01T08:00:00Z", 0, "11-01T05:30 11-01T06:30 11-01T07:30" },
		/* Spans: to the last minute at which it may start. */
		{ "6~15 4 * * *", NULL, "UTC", "2026-11-30T00:00:00Z", "2026-11-30T12:00:00Z", 0,
			"11-30T04:06..04:15" },
		{ "0 4 * * *", NULL, "UTC", "2026-11-30T04:20:00Z", "2026-11-30T12:00:00Z", 44,
			"11-30T04:00..04:44" },
		{ "15 2 * * *", NULL, "America/New_York", "2026-03-08T00:00:00Z",
			"2026-03-08T12:00:00Z", 59, "03-08T07:00..07:14" },
		{ "20~40 * * * *", NULL, "Australia/Lord_Howe", "2026-10-03T15:00:00Z",
			"2026-10-03T16:00:00Z", 0, "10-03T14:50..15:10 10-03T15:30..15:40" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct told told = { 0 };
		struct cron_fields f = parse(cases[i].line);
		const struct cron_span span = { at(cases[i].from), at(cases[i].to),
			cases[i].delay_min, tell, &told };
		struct zone host, own;
		struct err e = { 0 };

		assert_true(zone_open(&host, cases[i].host, &e));
		assert_true(zone_open(&own, cases[i].zone, &e));
		if (cases[i].zone)
			cron_run_zoned(&f, &own, &host, &span);
		else
			cron_run(&f, &host, &span);
		assert_string_equal(told.text, cases[i].runs);
		zone_close(&own);
		zone_close(&host);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_of_a_year_equal_the_daemons_loop),
		cmocka_unit_test(clock_changes_are_as_the_manual_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
