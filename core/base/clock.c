#include "core/base/clock.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>

enum { S_PER_DAY = 86400 };

static int64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t clock_mono_ns(const struct clock *c)
{
	return c->is_fake ? c->fake_mono_ns : read_clock(CLOCK_MONOTONIC);
}

int64_t clock_real_mono_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall_ns(const struct clock *c)
{
	return c->is_fake ? c->fake_wall_ns : read_clock(CLOCK_REALTIME);
}

bool clock_sleep_until(struct clock *c, int64_t mono_ns)
{
	if (c->is_fake) {
		if (mono_ns > c->fake_mono_ns) {
			c->fake_wall_ns += mono_ns - c->fake_mono_ns;
			c->fake_mono_ns = mono_ns;
		}
		return true;
	}
	if (mono_ns < 0)
		return true;
	struct timespec t = { .tv_sec = mono_ns / NS_PER_S, .tv_nsec = mono_ns % NS_PER_S };
	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != EINTR;
}

/* Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": eras of 400 years from 1 March. */
int64_t clock_days(int year, int month, int day)
{
	int64_t y = (int64_t)year - (month <= 2);
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

	return era * 146097 + day_of_era - 719468;
}

void clock_civil(int64_t days, int *ret_year, int *ret_month, int *ret_day)
{
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t day_of_era = z - era * 146097;
	int64_t year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t month = (5 * day_of_year + 2) / 153;

	*ret_day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
	*ret_month = (int)(month < 10 ? month + 3 : month - 9);
	*ret_year = (int)(year_of_era + era * 400 + (*ret_month <= 2));
}

/* Toward minus infinity, so that times before 1970 keep a positive fraction. */
static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

const char *clock_text(int64_t wall_ns, char text[CLOCK_TEXT_MAX])
{
	int64_t seconds = floor_div(wall_ns, NS_PER_S);
	int64_t days = floor_div(seconds, S_PER_DAY);
	int in_day = (int)(seconds - days * S_PER_DAY);
	/* seconds * NS_PER_S is below the range in the first part of its first second. */
	int64_t fraction = (wall_ns % NS_PER_S + NS_PER_S) % NS_PER_S;
	int year, month, day;

	clock_civil(days, &year, &month, &day);
	int n = snprintf(text, CLOCK_TEXT_MAX, "%04d-%02d-%02dT%02d:%02d:%02d", year, month, day,
		in_day / 3600, in_day / 60 % 60, in_day % 60);
	char *end = text + n;
	size_t left = CLOCK_TEXT_MAX - (size_t)n;
	if (fraction % NS_PER_US)
		snprintf(end, left, ".%09dZ", (int)fraction);
	else if (fraction % NS_PER_MS)
		snprintf(end, left, ".%06dZ", (int)(fraction / NS_PER_US));
	else if (fraction)
		snprintf(end, left, ".%03dZ", (int)(fraction / NS_PER_MS));
	else
		snprintf(end, left, "Z");
	return text;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool eat_char(struct slice *s, char c)
{
	if (!s->n || *s->p != c)
		return false;
	s->p++;
	s->n--;
	return true;
}

/* Exactly `digits` digits, in [low, high]. */
static bool eat_number(struct slice *s, size_t digits, int low, int high, int *ret)
{
	int v = 0;

	if (s->n < digits)
		return false;
	for (size_t i = 0; i < digits; i++) {
		if (!is_digit(s->p[i]))
			return false;
		v = v * 10 + (s->p[i] - '0');
	}
	s->p += digits;
	s->n -= digits;
	*ret = v;
	return v >= low && v <= high;
}

/* ".25" as nanoseconds; digits past the ninth are cut. Absent is 0. */
static bool eat_fraction(struct slice *s, int64_t *ret_ns)
{
	int64_t unit = NS_PER_S / 10;

	*ret_ns = 0;
	if (!eat_char(s, '.'))
		return true;
	if (!s->n || !is_digit(*s->p))
		return false;
	for (; s->n && is_digit(*s->p); s->p++, s->n--, unit /= 10)
		*ret_ns += unit * (*s->p - '0');
	return true;
}

static bool eat_zone(struct slice *s, int *ret_offset_s)
{
	int hours, minutes;

	*ret_offset_s = 0;
	if (eat_char(s, 'Z') || eat_char(s, 'z'))
		return true;
	int sign = eat_char(s, '+') ? 1 : eat_char(s, '-') ? -1 : 0;
	if (!sign || !eat_number(s, 2, 0, 23, &hours) || !eat_char(s, ':') ||
		!eat_number(s, 2, 0, 59, &minutes))
		return false;
	*ret_offset_s = sign * (hours * 3600 + minutes * 60);
	return true;
}

static int month_length(int year, int month)
{
	static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && is_leap ? 29 : lengths[month - 1];
}

/* Seconds and a fraction to nanoseconds, when an int64 holds them. */
static bool join_time(int64_t seconds, int64_t fraction_ns, int64_t *ret_ns)
{
	int64_t ns;

	if (__builtin_mul_overflow(seconds, NS_PER_S, &ns) ||
		__builtin_add_overflow(ns, fraction_ns, &ns))
		return false;
	*ret_ns = ns;
	return true;
}

static bool parse_epoch(struct slice s, int64_t *ret_wall_ns)
{
	bool is_negative = eat_char(&s, '-');
	int64_t seconds = 0, fraction;

	if (!s.n || !is_digit(*s.p))
		return false;
	for (; s.n && is_digit(*s.p); s.p++, s.n--)
		if (__builtin_mul_overflow(seconds, 10, &seconds) ||
			__builtin_add_overflow(seconds, *s.p - '0', &seconds))
			return false;
	if (!eat_fraction(&s, &fraction) || s.n)
		return false;
	/* Part of a second whose beginning does not fit: its text could not be read back. */
	if (is_negative && fraction && seconds >= INT64_MAX / NS_PER_S)
		return false;
	return join_time(
		is_negative ? -seconds : seconds, is_negative ? -fraction : fraction, ret_wall_ns);
}

/* RFC 3339, section 5.6. Second 60 is the first of the next minute: leap seconds are ignored. */
static bool parse_rfc3339(struct slice s, int64_t *ret_wall_ns)
{
	int year, month, day, hour, minute, second, offset_s;
	int64_t fraction;

	if (!eat_number(&s, 4, 0, 9999, &year) || !eat_char(&s, '-') ||
		!eat_number(&s, 2, 1, 12, &month) || !eat_char(&s, '-') ||
		!eat_number(&s, 2, 1, month_length(year, month), &day))
		return false;
	if (!eat_char(&s, 'T') && !eat_char(&s, 't') && !eat_char(&s, ' '))
		return false;
	if (!eat_number(&s, 2, 0, 23, &hour) || !eat_char(&s, ':') ||
		!eat_number(&s, 2, 0, 59, &minute) || !eat_char(&s, ':') ||
		!eat_number(&s, 2, 0, 60, &second))
		return false;
	if (!eat_fraction(&s, &fraction) || !eat_zone(&s, &offset_s) || s.n)
		return false;
	int64_t seconds = clock_days(year, month, day) * S_PER_DAY + hour * 3600 + minute * 60 +
			  second - offset_s;
	return join_time(seconds, fraction, ret_wall_ns);
}

bool clock_parse(struct slice text, int64_t *ret_wall_ns)
{
	if (text.n > 4 && is_digit(text.p[0]) && text.p[4] == '-')
		return parse_rfc3339(text, ret_wall_ns);
	return parse_epoch(text, ret_wall_ns);
}

struct unit {
	const char *name;
	int64_t ns;
};

static const struct unit *find_unit(struct slice name)
{
	static const struct unit units[] = {
		{ "ns", 1 },
		{ "us", NS_PER_US },
		{ "ms", NS_PER_MS },
		{ "s", NS_PER_S },
		{ "m", 60 * NS_PER_S },
		{ "min", 60 * NS_PER_S },
		{ "h", 3600 * NS_PER_S },
		{ "d", S_PER_DAY * NS_PER_S },
	};

	for (size_t i = 0; i < LENGTH(units); i++)
		if (slice_is(name, units[i].name))
			return &units[i];
	return NULL;
}

static struct slice eat_letters(struct slice *s)
{
	struct slice word = { s->p, 0 };

	while (word.n < s->n && word.p[word.n] >= 'a' && word.p[word.n] <= 'z')
		word.n++;
	s->p += word.n;
	s->n -= word.n;
	return word;
}

/* One "1.5h"; adds to *total. */
static bool eat_duration_part(struct slice *s, bool is_alone, int64_t *total)
{
	int64_t whole = 0, fraction_ns, part;

	if (!s->n || !is_digit(*s->p))
		return false;
	for (; s->n && is_digit(*s->p); s->p++, s->n--)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
			__builtin_add_overflow(whole, *s->p - '0', &whole))
			return false;
	if (!eat_fraction(s, &fraction_ns))
		return false;
	struct slice word = eat_letters(s);
	const struct unit *unit = word.n ? find_unit(word) : NULL;
	int64_t unit_ns = unit ? unit->ns : NS_PER_S;
	if (!unit && (word.n || !is_alone || s->n))
		return false;
	/* A fraction of a day in nanoseconds times 86400 still fits; rounding is below 1 ns. */
	int64_t small = (int64_t)((double)fraction_ns / 1e9 * (double)unit_ns + 0.5);
	return !__builtin_mul_overflow(whole, unit_ns, &part) &&
	       !__builtin_add_overflow(part, small, &part) &&
	       !__builtin_add_overflow(*total, part, total);
}

bool clock_parse_duration(struct slice text, int64_t *ret_ns)
{
	int64_t total = 0;
	bool is_first = true;

	do {
		if (!eat_duration_part(&text, is_first, &total))
			return false;
		is_first = false;
	} while (text.n);
	*ret_ns = total;
	return true;
}

const char *clock_duration_text(int64_t ns, char text[CLOCK_TEXT_MAX])
{
	const char *sign = ns < 0 ? "-" : "";
	double s = (double)(ns == INT64_MIN ? INT64_MAX : ns < 0 ? -ns : ns) / 1e9;
	/* Limits lie where rounding would print the next unit's 1. */
	long long whole = (long long)(s + 0.5);

	if (s == 0)
		snprintf(text, CLOCK_TEXT_MAX, "0 s");
	else if (s < 0.9995e-6)
		snprintf(text, CLOCK_TEXT_MAX, "%s%.0f ns", sign, s * 1e9);
	else if (s < 0.9995e-3)
		snprintf(text, CLOCK_TEXT_MAX, "%s%.3g us", sign, s * 1e6);
	else if (s < 0.9995)
		snprintf(text, CLOCK_TEXT_MAX, "%s%.3g ms", sign, s * 1e3);
	else if (s < 59.95)
		snprintf(text, CLOCK_TEXT_MAX, "%s%.1f s", sign, s);
	else if (whole < 3600)
		snprintf(text, CLOCK_TEXT_MAX, "%s%lld min %lld s", sign, whole / 60, whole % 60);
	else if (whole < S_PER_DAY)
		snprintf(text, CLOCK_TEXT_MAX, "%s%lld h %lld min", sign, whole / 3600,
			whole / 60 % 60);
	else
		snprintf(text, CLOCK_TEXT_MAX, "%s%lld d %lld h", sign, whole / S_PER_DAY,
			whole / 3600 % 24);
	return text;
}
