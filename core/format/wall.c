#include "core/format/wall.h"

#include "core/base/clock.h"

int64_t wall_count(const struct wall *w)
{
	int months = w->month - 1;
	int years = months / 12 - (months % 12 < 0);
	int64_t days = clock_days(w->year + years, months - years * 12 + 1, 1) + w->day - 1;

	return days * 86400 + w->hour * 3600 + w->minute * 60 + w->second;
}

struct wall wall_of(int64_t count)
{
	int64_t days = count / 86400 - (count % 86400 < 0);
	int in_day = (int)(count - days * 86400);
	struct wall w = {
		.hour = in_day / 3600, .minute = in_day / 60 % 60, .second = in_day % 60
	};

	clock_civil(days, &w.year, &w.month, &w.day);
	return w;
}

int wall_weekday(int64_t days)
{
	/* 1970-01-01 was a Thursday. */
	return (int)(((days + 4) % 7 + 7) % 7);
}

int wall_month_days(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && is_leap);
}
