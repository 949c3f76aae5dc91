#include "core/format/quartz.h"
#include "core/format/wall.h"

enum { YEAR_LAST = QUARTZ_YEAR_FIRST + QUARTZ_YEARS - 1, SATURDAY = 7, SUNDAY = 1 };

/* java.util.GregorianCalendar, lenient: fields may be out of range until they settle. */
struct calendar {
	const struct zone *zone;
	struct wall w;
	int64_t s; /* UTC, once settled */
};

/* Java takes the offset of the last change at whose new wall time the clock has arrived
 * (sun.util.calendar.ZoneInfo, WALL_TIME): the later hour of two, and in a gap the time
 * moved on by its length. */
static void settle(struct calendar *c)
{
	int64_t count = wall_count(&c->w), from_s;
	const struct zone_type *t = zone_at(c->zone, count + 86400, &from_s, NULL);

	while (from_s != INT64_MIN && from_s + t->offset_ns / NS_PER_S > count)
		t = zone_at(c->zone, from_s - 1, &from_s, NULL);
	c->s = count - t->offset_ns / NS_PER_S;
	c->w = wall_of(c->s + zone_offset_s(c->zone, c->s));
}

static int weekday_of(const struct calendar *c)
{
	int64_t days =
		wall_count(&(struct wall){ c->w.year, c->w.month, c->w.day, 0, 0, 0 }) / 86400;

	return wall_weekday(days) + 1;
}

/* The lowest set bit that is not below from; -1 when there is none. */
static int at_least(uint64_t bits, int from)
{
	for (int v = from; v < 64; v++)
		if (bits >> v & 1)
			return v;
	return -1;
}

static void set_hour(struct calendar *c, int hour)
{
	c->w.hour = hour;
	settle(c);
	/* A gap ate it. */
	if (c->w.hour != hour && hour != 24)
		c->w.hour = hour + 1;
}

static void set_midnight(struct calendar *c, int month, int day)
{
	c->w = (struct wall){ c->w.year, month, day, 0, 0, 0 };
}

/* Each step leaves the calendar where it is and is true, or moves it on. */
static bool step_time(const struct quartz *q, struct calendar *c)
{
	int second = at_least(q->second, c->w.second);

	c->w.minute += second < 0;
	c->w.second = second < 0 ? at_least(q->second, 0) : second;
	settle(c);
	int minute = at_least(q->minute, c->w.minute);
	if (minute != c->w.minute) {
		int hour = c->w.hour + (minute < 0);

		c->w.second = 0;
		c->w.minute = minute < 0 ? at_least(q->minute, 0) : minute;
		set_hour(c, hour);
		return false;
	}
	int hour = at_least(q->hour, c->w.hour);
	if (hour == c->w.hour)
		return true;
	c->w.second = c->w.minute = 0;
	c->w.day += hour < 0;
	set_hour(c, hour < 0 ? at_least(q->hour, 0) : hour);
	return false;
}

/* The weekday nearest to that day, within its month. */
static int near_weekday(const struct calendar *c, int day)
{
	struct calendar t = *c;
	int last = wall_month_days(c->w.year, c->w.month);

	set_midnight(&t, c->w.month, day);
	settle(&t);
	int weekday = weekday_of(&t);
	if (weekday == SATURDAY)
		return day == 1 ? day + 2 : day - 1;
	if (weekday == SUNDAY)
		return day == last ? day - 2 : day + 1;
	return day;
}

static bool is_past(const struct calendar *c, int day, int64_t after_s)
{
	struct calendar t = *c;

	t.w.day = day;
	settle(&t);
	return t.s < after_s;
}

/* The day of this month, or 0 for the next one's first day to look at in *ret_next. */
static int choose_dom(
	const struct quartz *q, const struct calendar *c, int64_t after_s, int *ret_next)
{
	int last = wall_month_days(c->w.year, c->w.month);
	int first = q->is_last_dom ? 1 : at_least(q->dom, 0);
	int day = q->is_last_dom ? last - q->last_offset : first;

	*ret_next = first;
	if (q->is_near_weekday) {
		day = near_weekday(c, day);
		return is_past(c, day, after_s) ? 0 : day;
	}
	if (!q->is_last_dom)
		day = at_least(q->dom, c->w.day);
	return day < c->w.day || day > last ? 0 : day;
}

static int days_until(const struct quartz *q, int weekday, int wanted)
{
	if (!q->is_last_dow && !q->nth_dow) {
		int next = at_least(q->dow, weekday);

		wanted = next < 0 ? wanted : next;
	}
	return (wanted - weekday + 7) % 7;
}

static int choose_dow(const struct quartz *q, const struct calendar *c)
{
	int last = wall_month_days(c->w.year, c->w.month);
	int day = c->w.day + days_until(q, weekday_of(c), at_least(q->dow, 0));

	if (q->nth_dow) {
		int week = (day + 6) / 7;

		day = week > q->nth_dow ? last + 1 : day + (q->nth_dow - week) * 7;
	}
	while (q->is_last_dow && day + 7 <= last)
		day += 7;
	return day > last ? 0 : day;
}

static bool step_day(const struct quartz *q, struct calendar *c, int64_t after_s)
{
	int next = 1;
	int day = q->is_by_weekday ? choose_dow(q, c) : choose_dom(q, c, after_s, &next);

	if (day == c->w.day)
		return true;
	set_midnight(c, day ? c->w.month : c->w.month + 1, day ? day : next);
	return false;
}

static bool step_month(const struct quartz *q, struct calendar *c)
{
	int month = at_least(q->month, c->w.month);

	if (month == c->w.month)
		return true;
	c->w.year += month < 0;
	set_midnight(c, month < 0 ? at_least(q->month, 0) : month, 1);
	return false;
}

static bool step_year(const struct quartz *q, struct calendar *c)
{
	int year = c->w.year < QUARTZ_YEAR_FIRST ? QUARTZ_YEAR_FIRST : c->w.year;

	while (year <= YEAR_LAST && !q->years[year - QUARTZ_YEAR_FIRST])
		year++;
	if (year == c->w.year)
		return true;
	c->w.year = year;
	set_midnight(c, 1, 1);
	return false;
}

bool quartz_next(const struct quartz *q, const struct zone *zone, int64_t after_s, int64_t *ret_s)
{
	struct calendar c = { .zone = zone };

	after_s++;
	c.w = wall_of(after_s + zone_offset_s(zone, after_s));
	for (settle(&c); c.w.year <= YEAR_LAST; settle(&c)) {
		if (!step_time(q, &c) || !step_day(q, &c, after_s) || !step_month(q, &c) ||
			!step_year(q, &c))
			continue;
		*ret_s = c.s;
		return true;
	}
	return false;
}
