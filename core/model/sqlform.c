#include "core/model/sqlvalue.h"
#include "core/model/sqlword.h"

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t count_digits(struct slice s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += is_digit(s.p[i]);
	return n;
}

/* Names of the catalog and keys of documents: words joined by _ . - and few digits,
 * so that identifiers made of data (a mail address, a uuid, an account) do not pass. */
static bool is_name(struct slice s)
{
	if (s.n == 0 || s.n > 63 || count_digits(s) > 4)
		return false;
	if (count_digits(s) == s.n)
		return true; /* an index into a JSON array */
	for (size_t i = 0; i < s.n; i++)
		if (!is_letter(s.p[i]) && !is_digit(s.p[i]) && !strchr("_.-\"", s.p[i]))
			return false;
	return true;
}

static bool is_path(struct slice s)
{
	if (s.n < 2 || s.p[0] != '{' || s.p[s.n - 1] != '}')
		return is_name(s);
	for (size_t from = 1, i = 1; i < s.n; i++) {
		if (s.p[i] != ',' && i != s.n - 1)
			continue;
		if (!is_name((struct slice){ s.p + from, i - from }))
			return false;
		from = i + 1;
	}
	return true;
}

/* Every run of letters is in the set; the rest is digits and marks of the list. */
static bool is_of_words(struct slice s, uint32_t set, const char *marks, size_t digits_max)
{
	if (s.n == 0 || s.n > 64 || count_digits(s) > digits_max)
		return false;
	for (size_t i = 0; i < s.n;) {
		size_t n = 0;

		while (i + n < s.n && is_letter(s.p[i + n]))
			n++;
		if (n && !(word_sets((struct slice){ s.p + i, n }) & set))
			return false;
		if (n == 0 && !is_digit(s.p[i]) && !strchr(marks, s.p[i]))
			return false;
		i += n ? n : 1;
	}
	return true;
}

static bool has_long_number(struct slice s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		n = is_digit(s.p[i]) ? n + 1 : 0;
		if (n > 8)
			return true;
	}
	return false;
}

/* "3 days", "1 year 2 mons", "01:30:00"; a bare number is a value like any other. */
static size_t digits_from(const char *p, const char *end)
{
	const char *at = p;

	while (at < end && is_digit(*at))
		at++;
	return (size_t)(at - p);
}

/* [+-]hours:minutes[:seconds[.fraction]] */
static bool is_clock(const char *p, const char *end)
{
	size_t hours, colons = 0;

	p += p < end && (*p == '+' || *p == '-');
	hours = digits_from(p, end);
	for (p += hours; p < end && *p == ':' && colons < 2; p += 3, colons++)
		if (digits_from(p + 1, end) != 2)
			return false;
	if (colons == 2 && p < end && *p == '.')
		p += 1 + digits_from(p + 1, end);
	return hours > 0 && hours <= 4 && colons > 0 && p == end;
}

/* [+-]number[unit], or years-months: at most one sign inside, so that an address or a
 * telephone number is none. */
static bool is_amount(const char *p, const char *end)
{
	size_t signs = 0;

	p += p < end && (*p == '+' || *p == '-' || *p == '@');
	for (; p < end; p++)
		signs += !is_digit(*p) && !is_letter(*p);
	return signs <= 1;
}

static bool is_interval(struct slice s)
{
	const char *at = s.p, *end = s.p + s.n;
	bool has_unit = false;

	if (!is_of_words(s, WORDS_UNIT, " .:+-@", 16))
		return false;
	while (at < end) {
		const char *blank = memchr(at, ' ', (size_t)(end - at));
		const char *stop = blank ? blank : end;
		bool is_time = memchr(at, ':', (size_t)(stop - at)) != NULL;

		if (is_time ? !is_clock(at, stop) : !is_amount(at, stop))
			return false;
		for (has_unit |= is_time; at < stop; at++)
			has_unit |= is_letter(*at);
		at = stop + 1;
	}
	return has_unit;
}

/* ISO 8601 durations: P1Y2M3DT4H5M6S */
static bool is_iso_duration(struct slice s)
{
	if (s.n < 2 || s.n > 32 || s.p[0] != 'P')
		return false;
	for (size_t i = 1; i < s.n; i++)
		if (!is_digit(s.p[i]) && !strchr("YMWDTHS.-", s.p[i]))
			return false;
	return true;
}

static bool is_setting(struct slice s)
{
	static const char *const units[] = { "", "B", "kB", "MB", "GB", "TB", "us", "ms", "s",
		"min", "h", "d" };
	size_t n = 0;

	if (s.n == 1 && !is_letter(s.p[0]))
		return true; /* COPY's delimiter */
	if (s.n == 0 || word_sets(s) & (WORDS_SETTING | WORDS_BOOLEAN))
		return true;
	while (n < s.n && (is_digit(s.p[n]) || (n == 0 && s.p[n] == '-') || s.p[n] == '.'))
		n++;
	if (n > 0 && n <= 8)
		for (size_t i = 0; i < LENGTH(units); i++)
			if (slice_is((struct slice){ s.p + n, s.n - n }, units[i]))
				return true;
	return n == 0 && is_of_words(s, WORDS_SETTING, " ,_-$\"\\", 4);
}

static bool is_zone(struct slice s)
{
	static const char *const areas[] = { "Africa/", "America/", "Antarctica/", "Arctic/",
		"Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/", "Etc/", "US/",
		"Canada/", "Brazil/" };

	if (word_sets(s) & WORDS_ZONE)
		return true;
	if (s.n && s.n <= 9 && (s.p[0] == '+' || s.p[0] == '-' || is_digit(s.p[0])))
		return is_of_words(s, 0, "+-:", 6);
	for (size_t i = 0; i < LENGTH(areas); i++) {
		size_t n = strlen(areas[i]);

		if (s.n > n && s.n < 40 && memcmp(s.p, areas[i], n) == 0) {
			for (; n < s.n; n++)
				if (!is_letter(s.p[n]) && !is_digit(s.p[n]) &&
					!strchr("_/+-", s.p[n]))
					return false;
			return count_digits(s) <= 2;
		}
	}
	return false;
}

/* Template patterns of to_char and names of encodings. */
static bool is_format(struct slice s)
{
	if (word_sets(s) & WORDS_SETTING || slice_is(s, "bf") || slice_is(s, "md5") ||
		slice_is(s, "xdes"))
		return true;
	if (s.n == 0 || s.n > 48)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!strchr("YMDHISWQJCTZOFPAXNUGLV0249 .,:/-_\"", s.p[i]) &&
			!strchr("ymdhisfm", s.p[i]))
			return false;
	return count_digits(s) <= 16;
}

/* Limits and lengths; the largest bigint stands for "all". */
static bool is_count(struct slice s)
{
	return (count_digits(s) == s.n && s.n <= 10) || slice_is(s, "9223372036854775807");
}

bool sqlform_keeps(uint8_t rule, struct slice plain)
{
	/* strchr() finds the NUL of its list, and no form has one. */
	if (plain.n && memchr(plain.p, '\0', plain.n))
		return false;
	switch (rule) {
	case RULE_COUNT:
		return is_count(plain);
	case RULE_UNIT:
		return word_sets(plain) & WORDS_UNIT;
	case RULE_INTERVAL:
		return !has_long_number(plain) && (is_iso_duration(plain) || is_interval(plain));
	case RULE_NAME:
		return is_name(plain);
	case RULE_PATH:
		return is_path(plain);
	case RULE_SETTING:
		return is_setting(plain);
	case RULE_BOOLEAN:
		return word_sets(plain) & WORDS_BOOLEAN;
	case RULE_DATE:
		return word_sets(plain) & WORDS_SPECIAL_DATE;
	case RULE_FORMAT:
		return is_format(plain);
	case RULE_ZONE:
		return is_zone(plain);
	default:
		return false;
	}
}
