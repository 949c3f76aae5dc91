#include "correlate/input_field.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"

enum { DIGITS_MAX = 19, DECIMALS_MAX = 18, MINUTE_TEXT = 16 };

static const int64_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
	1000000000, 10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000,
	1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000 };
static const double longest_ns = 240 * 86400e9;
/* How far lines may be out of order in the hour that a clock shows twice. */
static const int64_t disorder_ns = 300 * NS_PER_S;

/* Digits with at most one point among them: all of them as one number, and how many stand
 * behind the point. False for anything else, also for more digits than fit. */
static bool take_decimal(struct slice text, int64_t *ret_digits, unsigned *ret_decimals)
{
	const char *p = text.p, *end = text.p + text.n, *point = NULL;
	uint64_t v = 0;

	if (text.n > DIGITS_MAX + 1)
		return false;
	for (; p < end; p++) {
		unsigned digit = (unsigned)(unsigned char)*p - '0';

		if (digit <= 9)
			v = v * 10 + digit;
		else if ((*p == '.' || *p == ',') && !point)
			point = p;
		else
			return false;
	}
	size_t count = text.n - (point ? 1 : 0);
	*ret_digits = (int64_t)v;
	*ret_decimals = point ? (unsigned)(end - point - 1) : 0;
	return count && count <= DIGITS_MAX && v <= INT64_MAX && *ret_decimals <= DECIMALS_MAX;
}

/* Digits with decimals, in units of a power of ten of nanoseconds, rounded. */
static bool scale(int64_t digits, unsigned decimals, int64_t unit_ns, int64_t *ret_ns)
{
	if (unit_ns >= powers[decimals])
		return !__builtin_mul_overflow(digits, unit_ns / powers[decimals], ret_ns);
	int64_t divisor = powers[decimals] / unit_ns;
	*ret_ns = digits / divisor + (digits % divisor >= divisor / 2);
	return true;
}

/* "1.5e3" and what has more digits than fit; not what else strtod() knows. */
static bool take_double(struct slice text, double *ret)
{
	char copy[64], *end;

	if (!text.n || text.n >= sizeof(copy))
		return false;
	for (size_t i = 0; i < text.n; i++) {
		copy[i] = text.p[i] == ',' ? '.' : text.p[i];
		if (!strchr("0123456789.eE+-", copy[i]))
			return false;
	}
	copy[text.n] = '\0';
	*ret = strtod(copy, &end);
	return !*end && end != copy && isfinite(*ret);
}

bool field_latency(struct slice text, int64_t unit_ns, int64_t *ret_ns)
{
	int64_t digits;
	unsigned decimals;
	double v;

	if (take_decimal(text, &digits, &decimals) && scale(digits, decimals, unit_ns, ret_ns))
		return *ret_ns <= (int64_t)longest_ns;
	if (!take_double(text, &v) || !(v >= 0) || !(v * (double)unit_ns <= longest_ns))
		return false;
	*ret_ns = (int64_t)llround(v * (double)unit_ns);
	return true;
}

bool field_is_error(struct slice status)
{
	if (status.n == 3)
		return status.p[0] >= '5' && status.p[0] <= '9';
	return status.n == 5 && !slice_is(status, "00000");
}

/* ---- times */

static int64_t epoch_unit(struct field_clock *c, double v)
{
	int64_t unit = v < 1e11 ? NS_PER_S : v < 1e14 ? NS_PER_MS : v < 1e17 ? NS_PER_US : 1;

	c->scaled += unit != NS_PER_S;
	return unit;
}

static bool take_epoch(struct field_clock *c, struct slice text, int64_t *ret_ns)
{
	int64_t digits;
	unsigned decimals;
	double v;

	if (take_decimal(text, &digits, &decimals)) {
		double whole = (double)(digits / powers[decimals]);

		return scale(digits, decimals, epoch_unit(c, whole), ret_ns);
	}
	if (!take_double(text, &v) || !(v > -9e9 && v < 9e18))
		return false;
	/* A double of seconds is exact to some tenths of a microsecond. */
	v *= (double)epoch_unit(c, v);
	if (!(fabs(v) <= (double)CLOCK_FAR_NS))
		return false;
	*ret_ns = (int64_t)llround(v / 1e3) * NS_PER_US;
	return true;
}

/* "2026-11-30T12:00" as the last time, then ":05.25Z". */
static bool take_same_minute(const struct field_clock *c, struct slice text, int64_t *ret_ns)
{
	const char *p = text.p + MINUTE_TEXT;
	size_t n = text.n - MINUTE_TEXT;
	int64_t digits;
	unsigned decimals;

	if (!c->has_minute || n < 4 || p[n - 1] != 'Z' || p[0] != ':' || p[3] == ',' ||
		memcmp(text.p, c->minute, MINUTE_TEXT) != 0 ||
		!take_decimal((struct slice){ p + 1, n - 2 }, &digits, &decimals) ||
		n - 2 != (decimals ? 3 + decimals : 2) || digits >= 60 * powers[decimals])
		return false;
	return scale(digits, decimals, NS_PER_S, ret_ns) && (*ret_ns += c->minute_ns, true);
}

static void keep_minute(struct field_clock *c, struct slice text)
{
	char first[MINUTE_TEXT + 4];

	memcpy(first, text.p, MINUTE_TEXT);
	memcpy(first + MINUTE_TEXT, ":00Z", 4);
	c->has_minute = clock_parse((struct slice){ first, sizeof(first) }, &c->minute_ns);
	memcpy(c->minute, text.p, MINUTE_TEXT);
}

/* Zones as Postgres and ClickHouse print them: "+00", "+0100", " UTC". */
static bool take_zoned(struct slice text, int64_t *ret_ns)
{
	char copy[64];
	size_t n = text.n;

	if (clock_parse(text, ret_ns))
		return true;
	if (n < 19 || n + 4 > sizeof(copy))
		return false;
	memcpy(copy, text.p, n);
	if (n > 4 &&
		(memcmp(copy + n - 4, " UTC", 4) == 0 || memcmp(copy + n - 4, " GMT", 4) == 0)) {
		copy[n - 4] = 'Z';
		n -= 3;
	} else if (copy[n - 3] == '+' || copy[n - 3] == '-') {
		memcpy(copy + n, ":00", 3);
		n += 3;
	} else if (copy[n - 5] == '+' || copy[n - 5] == '-') {
		memmove(copy + n - 1, copy + n - 2, 2);
		copy[n - 2] = ':';
		n++;
	} else {
		return false;
	}
	return clock_parse((struct slice){ copy, n }, ret_ns);
}

static bool take_local(struct field_clock *c, struct slice text, int64_t *ret_ns, struct err *e)
{
	char copy[64];
	int64_t local_ns;

	if (text.n + 1 > sizeof(copy))
		return err_set(e, ERR_INPUT, "'%.40s...' is not a time", text.p);
	memcpy(copy, text.p, text.n);
	copy[text.n] = 'Z';
	if (!clock_parse((struct slice){ copy, text.n + 1 }, &local_ns))
		return err_set(e, ERR_INPUT, "'%.*s' is not a time", (int)text.n, text.p);
	if (!c->zone) {
		err_set(e, ERR_INPUT, "the time '%.*s' has no zone", (int)text.n, text.p);
		return err_hint(e,
			"--zone NAME says which; or write RFC 3339 with Z or +hh:mm, or epoch seconds");
	}
	c->local++;
	*ret_ns = zone_local_to_utc(c->zone, local_ns, c->last_ns - disorder_ns);
	return true;
}

static bool read_time(struct field_clock *c, struct slice text, int64_t *ret_ns, struct err *e)
{
	bool is_dated = text.n >= 19 && text.p[4] == '-' && text.p[7] == '-';

	if (is_dated && take_same_minute(c, text, ret_ns))
		return true;
	if (is_dated) {
		if (!take_zoned(text, ret_ns) && !take_local(c, text, ret_ns, e))
			return false;
		if (text.p[text.n - 1] == 'Z')
			keep_minute(c, text);
		return true;
	}
	return take_epoch(c, text, ret_ns) ||
	       err_set(e, ERR_INPUT, "'%.*s' is not a time", (int)(text.n < 40 ? text.n : 40),
		       text.p ? text.p : "");
}

bool field_time(struct field_clock *c, struct slice text, int64_t *ret_ns, struct err *e)
{
	if (!read_time(c, text, ret_ns, e))
		return false;
	if (*ret_ns > CLOCK_FAR_NS || *ret_ns < -CLOCK_FAR_NS)
		return err_set(e, ERR_INPUT, "the time '%.*s' is before 1843 or after 2096",
			(int)(text.n < 40 ? text.n : 40), text.p);
	c->last_ns = *ret_ns;
	return true;
}
