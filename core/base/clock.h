/*
 * clock.h - time: a monotonic and a wall clock read together, and text forms.
 *
 * Times are int64 nanoseconds: since 1970-01-01 UTC (wall, leap seconds ignored)
 * or since an arbitrary start (mono). A test sets clock.is_fake and the two
 * values; then reading returns them and clock_sleep_until() sets them.
 */
#ifndef REPROD_CLOCK_H
#define REPROD_CLOCK_H

#include "core/base/base.h"

struct clock {
	bool is_fake;
	int64_t fake_mono_ns;
	int64_t fake_wall_ns;
};

int64_t clock_mono_ns(const struct clock *c);
int64_t clock_wall_ns(const struct clock *c);
/* The real monotonic clock, for the deadlines of what lives outside of us. */
int64_t clock_real_mono_ns(void);
/* Sleep to an absolute monotonic instant; false when a signal came first. */
bool clock_sleep_until(struct clock *c, int64_t mono_ns);

/* Further from 1970 than this (1843 to 2096) no time is used: differences fit. */
#define CLOCK_FAR_NS INT64_C(4000000000000000000)

#define CLOCK_TEXT_MAX 40

/* RFC 3339 in UTC with as many of 0, 3, 6 or 9 decimals as the value needs,
 * "2026-11-30T12:00:00.250Z". Returns text. */
const char *clock_text(int64_t wall_ns, char text[CLOCK_TEXT_MAX]);
/* RFC 3339 with zone (Z or +hh:mm; a blank may stand for T), or epoch seconds
 * with decimals. A time without a zone is refused. */
bool clock_parse(struct slice text, int64_t *ret_wall_ns) MUST_USE;
/* Civil date arithmetic (proleptic Gregorian): days since 1970-01-01. */
int64_t clock_days(int year, int month, int day);
void clock_civil(int64_t days, int *ret_year, int *ret_month, int *ret_day);
/* "15m", "90s", "250ms", "1h30m", "2d"; a bare number is seconds. */
bool clock_parse_duration(struct slice text, int64_t *ret_ns) MUST_USE;
/* A duration for people: "812 ms", "4.2 s", "3 min 20 s". Returns text. */
const char *clock_duration_text(int64_t ns, char text[CLOCK_TEXT_MAX]);

#endif
