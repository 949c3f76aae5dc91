/*
 * wall.h - what a clock on the wall shows, and the count of its seconds.
 *
 * A count is the seconds since 1970-01-01 00:00 on that wall, as if no zone were: a
 * zone's offset makes UTC of it. Fields may be out of range when they are counted
 * (month 13, second -1): they carry over. Proleptic Gregorian, no leap seconds.
 */
#ifndef REPROD_WALL_H
#define REPROD_WALL_H

#include "core/base/base.h"

struct wall {
	int year, month, day; /* month and day from 1 */
	int hour, minute, second;
};

int64_t wall_count(const struct wall *w);
struct wall wall_of(int64_t count);
/* Sunday is 0; of a day since 1970-01-01. */
int wall_weekday(int64_t days);
int wall_month_days(int year, int month);

#endif
