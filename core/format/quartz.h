/*
 * quartz.h - Quartz's cron expressions: "0 15 10 ? * 6L 2026-2028".
 *
 * Seconds, minutes, hours, day of month, month, day of week (Sunday is 1) and perhaps a
 * year; exactly one day field is "?". L, L-3, LW, 15W, 6L, 6#3, names, steps, ranges that
 * wrap ("22-2"). A list with L, W or # is refused, as Quartz refuses it or reads it in
 * part. quartz_next() searches as CronExpression.getTimeAfter() of Quartz 2.3.2 does with
 * Java's GregorianCalendar: of an hour that the clock repeats it uses the second only.
 */
#ifndef REPROD_QUARTZ_H
#define REPROD_QUARTZ_H

#include "core/base/err.h"
#include "core/format/zone.h"

enum { QUARTZ_YEAR_FIRST = 1970, QUARTZ_YEARS = 230 };

struct quartz {
	uint64_t second, minute; /* bit per value, from 0 */
	uint32_t hour, dom, month; /* dom and month from bit 1 */
	uint8_t dow; /* Sunday is bit 1 */
	uint8_t years[QUARTZ_YEARS]; /* from QUARTZ_YEAR_FIRST */
	bool is_by_weekday; /* the day of the month is "?" */
	bool is_last_dom, is_near_weekday, is_last_dow;
	int last_offset; /* "L-3" */
	int nth_dow; /* "6#3"; 0: none */
};

bool quartz_parse(struct slice text, struct quartz *ret, struct err *e) MUST_USE;
/* The first time after after_s; false when there is none any more. */
bool quartz_next(const struct quartz *q, const struct zone *zone, int64_t after_s, int64_t *ret_s);

#endif
