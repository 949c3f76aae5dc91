#include "core/model/sqldate.h"

#include "core/model/token_permute.h"

enum { TWEAK_DAY = 0x64, TWEAK_YEAR_DAY = 0x79, TWEAK_SECOND = 0x73, TWEAK_FRACTION = 0x66 };
enum { SECONDS_PER_DAY = 86400, FRACTION_MAX = 9 };

/* Days since 0000-03-01, as in Howard Hinnant, "chrono-Compatible Low-Level Date
 * Algorithms"; 730425 of them lie before 2000-01-01. */
int64_t sqldate_day(int64_t year, unsigned month, unsigned day)
{
	year -= month <= 2;
	int64_t era = (year >= 0 ? year : year - 399) / 400;
	unsigned in_era = (unsigned)(year - era * 400);
	unsigned in_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	unsigned day_of_era = in_era * 365 + in_era / 4 - in_era / 100 + in_year;
	return era * 146097 + day_of_era - 730425;
}

void sqldate_civil(int64_t day, int64_t *ret_year, unsigned *ret_month, unsigned *ret_day)
{
	day += 730425;
	int64_t era = (day >= 0 ? day : day - 146096) / 146097;
	unsigned in_era = (unsigned)(day - era * 146097);
	unsigned year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	unsigned in_year = in_era - (365 * year + year / 4 - year / 100);
	unsigned month = (5 * in_year + 2) / 153;
	*ret_day = in_year - (153 * month + 2) / 5 + 1;
	*ret_month = month < 10 ? month + 3 : month - 9;
	*ret_year = (int64_t)year + era * 400 + (*ret_month <= 2);
}

/* A fixed number of digits, or -1. */
static int read_digits(struct slice s, size_t at, size_t n)
{
	int v = 0;

	if (at + n > s.n)
		return -1;
	for (size_t i = at; i < at + n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return -1;
		v = 10 * v + (s.p[i] - '0');
	}
	return v;
}

static bool has_byte(struct slice s, size_t at, char c)
{
	return at < s.n && s.p[at] == c;
}

static bool is_zone(struct slice s)
{
	if (s.n && s.p[0] == ' ')
		s = (struct slice){ s.p + 1, s.n - 1 };
	if (s.n == 0 || slice_is(s, "Z") || slice_is(s, "z") || slice_is(s, "UTC") ||
		slice_is(s, "GMT"))
		return true;
	if (s.p[0] != '+' && s.p[0] != '-')
		return false;
	size_t at = 1;
	if (read_digits(s, at, 2) < 0)
		return false;
	for (at = 3; at < s.n; at += 2) {
		if (s.p[at] == ':')
			at++;
		if (read_digits(s, at, 2) < 0)
			return false;
	}
	return s.n <= 9;
}

static bool read_time(struct slice s, size_t at, struct sqldate *d)
{
	int hour = read_digits(s, at, 2), minute = read_digits(s, at + 3, 2), second = 0;

	if (hour < 0 || hour > 23 || !has_byte(s, at + 2, ':') || minute < 0 || minute > 59)
		return false;
	d->has_time = true;
	d->time_at = at;
	at += 5;
	if (has_byte(s, at, ':')) {
		second = read_digits(s, at + 1, 2);
		if (second < 0 || second > 59)
			return false;
		d->has_seconds = true;
		at += 3;
	}
	d->second = hour * 3600 + minute * 60 + second;
	d->tail_at = at;
	if (d->has_seconds && has_byte(s, at, '.'))
		for (at++; at < s.n && read_digits(s, at, 1) >= 0; at++)
			;
	/* More digits than a clock has would be something else in a date's clothes. */
	if (at > d->tail_at + 1 + FRACTION_MAX)
		return false;
	return is_zone((struct slice){ s.p + at, s.n - at });
}

bool sqldate_read(struct slice value, struct sqldate *ret)
{
	*ret = (struct sqldate){ .tail_at = 10 };
	if (value.n < 5 || value.n > 40)
		return false;
	if (value.p[2] == ':')
		return read_time(value, 0, ret);
	int year = read_digits(value, 0, 4), month = read_digits(value, 5, 2);
	int day = read_digits(value, 8, 2);
	if (year < 1 || month < 1 || month > 12 || day < 1 || !has_byte(value, 4, '-') ||
		!has_byte(value, 7, '-'))
		return false;
	int64_t back_year;
	unsigned back_month, back_day;
	ret->has_date = true;
	ret->day = sqldate_day(year, (unsigned)month, (unsigned)day);
	sqldate_civil(ret->day, &back_year, &back_month, &back_day);
	if ((int)back_day != day)
		return false;
	if (value.n == 10)
		return true;
	return (value.p[10] == ' ' || value.p[10] == 'T') && read_time(value, 11, ret);
}

static void write_digits(char *p, size_t n, unsigned v)
{
	for (; n > 0; n--, v /= 10)
		p[n - 1] = (char)('0' + v % 10);
}

static bool write_day(char *p, int64_t day)
{
	int64_t year;
	unsigned month, of_month;

	sqldate_civil(day, &year, &month, &of_month);
	if (year < 1 || year > 9999)
		return false;
	write_digits(p, 4, (unsigned)year);
	write_digits(p + 5, 2, month);
	write_digits(p + 8, 2, of_month);
	return true;
}

void sqldate_shift(struct slice value, int64_t days, struct buf *out)
{
	struct sqldate d;
	size_t at = out->n;

	buf_add_slice(out, value);
	if (out->is_full || !sqldate_read(value, &d) || !d.has_date || days > 4000000 ||
		days < -4000000)
		return;
	write_day(out->p + at, d.day + days);
}

/* 1900 to 2099 are one domain; elsewhere the year stays and its days change. */
static int64_t permute_day(const struct token_key *k, int64_t day)
{
	const int64_t from = sqldate_day(1900, 1, 1), to = sqldate_day(2100, 1, 1);
	int64_t year;
	unsigned month, of_month;

	if (day >= from && day < to)
		return from + (int64_t)token_permute_number(
				      k, TWEAK_DAY, (uint64_t)(to - from), (uint64_t)(day - from));
	sqldate_civil(day, &year, &month, &of_month);
	int64_t first = sqldate_day(year, 1, 1), next = sqldate_day(year + 1, 1, 1);
	return first + (int64_t)token_permute_number(k, TWEAK_YEAR_DAY, (uint64_t)(next - first),
			       (uint64_t)(day - first));
}

void sqldate_token(const struct token_key *k, struct slice value, struct buf *out)
{
	struct sqldate d;
	size_t at = out->n;

	buf_add_slice(out, value);
	if (out->is_full || !sqldate_read(value, &d))
		return;
	char *p = out->p + at;
	if (d.has_date)
		write_day(p, permute_day(k, d.day));
	if (!d.has_time)
		return;
	unsigned unit = d.has_seconds ? 1 : 60;
	unsigned second = unit * (unsigned)token_permute_number(k, TWEAK_SECOND + unit,
					 SECONDS_PER_DAY / unit, (unsigned)d.second / unit);
	write_digits(p + d.time_at, 2, second / 3600);
	write_digits(p + d.time_at + 3, 2, second / 60 % 60);
	if (d.has_seconds)
		write_digits(p + d.time_at + 6, 2, second % 60);
	size_t from = d.tail_at + 1, n = 0;
	uint64_t v = 0, size = 1;
	if (has_byte(value, d.tail_at, '.'))
		for (; n < FRACTION_MAX && read_digits(value, from + n, 1) >= 0; n++, size *= 10)
			v = 10 * v + (uint64_t)(value.p[from + n] - '0');
	if (n)
		write_digits(
			p + from, n, (unsigned)token_permute_number(k, TWEAK_FRACTION, size, v));
}
