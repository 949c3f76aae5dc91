/* Stamps and durations as web servers write them. */
#include "core/base/clock.h"
#include "core/format/accesslog_private.h"

static const int64_t day_ns = INT64_C(86400) * NS_PER_S;

static bool take_digits(struct slice *s, size_t n, int64_t most, int64_t *ret)
{
	*ret = 0;
	if (s->n < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (s->p[i] < '0' || s->p[i] > '9')
			return false;
		*ret = *ret * 10 + (s->p[i] - '0');
	}
	*s = (struct slice){ s->p + n, s->n - n };
	return *ret <= most;
}

static bool take_byte(struct slice *s, char c)
{
	if (!s->n || *s->p != c)
		return false;
	*s = (struct slice){ s->p + 1, s->n - 1 };
	return true;
}

/* ".123" as nanoseconds; without a point it is 0 and whole seconds fine. */
static bool take_fraction(struct slice *s, int64_t *ret_ns, int64_t *ret_fineness_ns)
{
	int64_t unit = NS_PER_S;

	*ret_ns = 0;
	*ret_fineness_ns = NS_PER_S;
	if (!take_byte(s, '.') && !take_byte(s, ','))
		return true;
	size_t before = s->n;
	for (; s->n && *s->p >= '0' && *s->p <= '9'; s->p++, s->n--) {
		unit /= 10;
		*ret_ns += unit * (*s->p - '0');
	}
	*ret_fineness_ns = unit > 0 ? unit : 1;
	return s->n < before;
}

/* "+0200", "+02:00", "Z"; nothing: a local time. */
static bool take_zone(struct slice *s, int64_t *ret_offset_ns, bool *ret_is_zoneless)
{
	int64_t hours, minutes = 0;

	*ret_offset_ns = 0;
	*ret_is_zoneless = false;
	take_byte(s, ' ');
	if (!s->n) {
		*ret_is_zoneless = true;
		return true;
	}
	if (take_byte(s, 'Z'))
		return true;
	bool is_west = *s->p == '-';
	if (!take_byte(s, '+') && !take_byte(s, '-'))
		return false;
	if (!take_digits(s, 2, 23, &hours))
		return false;
	take_byte(s, ':');
	if (s->n && !take_digits(s, 2, 59, &minutes))
		return false;
	*ret_offset_ns = (hours * 3600 + minutes * 60) * NS_PER_S * (is_west ? -1 : 1);
	return true;
}

static bool month_of(struct slice *s, int64_t *ret)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	if (s->n < 3)
		return false;
	for (int m = 0; m < 12; m++)
		if (memcmp(s->p, names + 3 * m, 3) == 0) {
			*ret = m + 1;
			*s = (struct slice){ s->p + 3, s->n - 3 };
			return true;
		}
	return false;
}

/* Both ways to write a date end in hh:mm:ss, a fraction and a zone. */
static bool finish_time(struct slice s, int64_t year, int64_t month, int64_t day, int64_t *ret_ns,
	int64_t *ret_fineness_ns, bool *ret_is_zoneless)
{
	int64_t hour, minute, second, fraction_ns, offset_ns;

	if (month < 1 || month > 12 || day < 1 || day > 31)
		return false;
	if (!take_digits(&s, 2, 23, &hour) || !take_byte(&s, ':') ||
		!take_digits(&s, 2, 59, &minute) || !take_byte(&s, ':') ||
		!take_digits(&s, 2, 60, &second))
		return false;
	if (!take_fraction(&s, &fraction_ns, ret_fineness_ns) ||
		!take_zone(&s, &offset_ns, ret_is_zoneless) || s.n)
		return false;
	/* Nanoseconds since 1970 end in 2262. */
	if (year < 1970 || year > 2261)
		return false;
	*ret_ns = clock_days((int)year, (int)month, (int)day) * day_ns +
		  (hour * 3600 + minute * 60 + second) * NS_PER_S + fraction_ns - offset_ns;
	return true;
}

/* "10/Oct/2000:13:55:36 -0700", also with a fraction. */
static bool parse_clf(
	struct slice s, int64_t *ret_ns, int64_t *ret_fineness_ns, bool *ret_is_zoneless)
{
	int64_t day, month, year;

	return take_digits(&s, 2, 31, &day) && take_byte(&s, '/') && month_of(&s, &month) &&
	       take_byte(&s, '/') && take_digits(&s, 4, 9999, &year) && take_byte(&s, ':') &&
	       finish_time(s, year, month, day, ret_ns, ret_fineness_ns, ret_is_zoneless);
}

/* ISO 8601: "2026-11-30T12:00:00.123Z", "2026-11-30 12:00:00". */
static bool parse_iso(
	struct slice s, int64_t *ret_ns, int64_t *ret_fineness_ns, bool *ret_is_zoneless)
{
	int64_t day, month, year;

	return take_digits(&s, 4, 9999, &year) && (take_byte(&s, '-') || take_byte(&s, '/')) &&
	       take_digits(&s, 2, 12, &month) && (take_byte(&s, '-') || take_byte(&s, '/')) &&
	       take_digits(&s, 2, 31, &day) && (take_byte(&s, 'T') || take_byte(&s, ' ')) &&
	       finish_time(s, year, month, day, ret_ns, ret_fineness_ns, ret_is_zoneless);
}

/* A decimal number of units; also "1.5e-05". */
static bool parse_number(struct slice s, int64_t unit_ns, int64_t *ret_ns, int64_t *ret_fineness_ns)
{
	int64_t whole = 0, digit_ns = unit_ns, part_ns = 0;
	bool has_digit = false;

	for (; s.n && *s.p >= '0' && *s.p <= '9'; s.p++, s.n--) {
		has_digit = true;
		if (__builtin_mul_overflow(whole, 10, &whole) ||
			__builtin_add_overflow(whole, *s.p - '0', &whole))
			return false;
	}
	if (take_byte(&s, '.') || take_byte(&s, ','))
		for (; s.n && *s.p >= '0' && *s.p <= '9'; s.p++, s.n--) {
			has_digit = true;
			digit_ns /= 10;
			part_ns += digit_ns * (*s.p - '0');
		}
	if (!has_digit || __builtin_mul_overflow(whole, unit_ns, ret_ns) ||
		__builtin_add_overflow(*ret_ns, part_ns, ret_ns))
		return false;
	*ret_fineness_ns = digit_ns > 0 ? digit_ns : 1;
	if (!s.n)
		return true;
	int64_t exponent = 0;
	if ((!take_byte(&s, 'e') && !take_byte(&s, 'E')) || !take_byte(&s, '-') || !s.n ||
		s.n > 2 || !take_digits(&s, s.n, 99, &exponent))
		return false;
	/* Digits below a nanosecond were lost already: no duration is that fine. */
	for (; exponent; exponent--)
		*ret_ns /= 10;
	return true;
}

bool accesslog_parse_time(struct slice text, int64_t unit_ns, int64_t *ret_ns,
	int64_t *ret_fineness_ns, bool *ret_is_zoneless)
{
	while (text.n && (*text.p == '[' || *text.p == ' '))
		text = (struct slice){ text.p + 1, text.n - 1 };
	while (text.n && (text.p[text.n - 1] == ']' || text.p[text.n - 1] == ' '))
		text.n--;
	*ret_is_zoneless = false;
	if (text.n > 2 && text.p[2] == '/')
		return parse_clf(text, ret_ns, ret_fineness_ns, ret_is_zoneless);
	if (text.n > 4 && (text.p[4] == '-' || text.p[4] == '/'))
		return parse_iso(text, ret_ns, ret_fineness_ns, ret_is_zoneless);
	return parse_number(text, unit_ns ? unit_ns : NS_PER_S, ret_ns, ret_fineness_ns);
}

struct suffix {
	const char *text;
	int64_t ns;
};

/* A unit behind the number goes before the field's own. */
bool accesslog_parse_duration(struct slice text, int64_t unit_ns, int64_t *ret_ns)
{
	static const struct suffix suffixes[] = {
		{ "ns", 1 },
		{ "\xc2\xb5s", NS_PER_US },
		{ "us", NS_PER_US },
		{ "ms", NS_PER_MS },
		{ "s", NS_PER_S },
	};
	int64_t fineness_ns;

	for (size_t i = 0; i < LENGTH(suffixes); i++) {
		size_t n = strlen(suffixes[i].text);

		if (text.n > n && memcmp(text.p + text.n - n, suffixes[i].text, n) == 0)
			return parse_number((struct slice){ text.p, text.n - n }, suffixes[i].ns,
				ret_ns, &fineness_ns);
	}
	return parse_number(text, unit_ns ? unit_ns : NS_PER_S, ret_ns, &fineness_ns);
}
