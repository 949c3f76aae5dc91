#include <ctype.h>
#include <stdlib.h>

#include "core/format/oncalendar.h"

/* systemd.time(7), "Parsing Time Spans"; without a unit seconds are meant. */
static const struct unit {
	const char *name;
	double us;
} units[] = {
	{ "us", 1 },
	{ "usec", 1 },
	{ "\xc2\xb5s", 1 },
	{ "\xce\xbcs", 1 },
	{ "ms", 1e3 },
	{ "msec", 1e3 },
	{ "s", 1e6 },
	{ "sec", 1e6 },
	{ "second", 1e6 },
	{ "seconds", 1e6 },
	{ "m", 60e6 },
	{ "min", 60e6 },
	{ "minute", 60e6 },
	{ "minutes", 60e6 },
	{ "h", 3600e6 },
	{ "hr", 3600e6 },
	{ "hour", 3600e6 },
	{ "hours", 3600e6 },
	{ "d", 86400e6 },
	{ "day", 86400e6 },
	{ "days", 86400e6 },
	{ "w", 604800e6 },
	{ "week", 604800e6 },
	{ "weeks", 604800e6 },
	{ "M", 2629800e6 },
	{ "month", 2629800e6 },
	{ "months", 2629800e6 },
	{ "y", 31557600e6 },
	{ "year", 31557600e6 },
	{ "years", 31557600e6 },
};

static void skip_blanks(struct slice *s)
{
	while (s->n && isspace((unsigned char)*s->p)) {
		s->p++;
		s->n--;
	}
}

static size_t count_while(struct slice s, bool is_number)
{
	size_t n = 0;

	while (n < s.n &&
		(is_number ? isdigit((unsigned char)s.p[n]) || s.p[n] == '.'
			   : !isdigit((unsigned char)s.p[n]) && !isspace((unsigned char)s.p[n])))
		n++;
	return n;
}

static double unit_of(struct slice word)
{
	if (!word.n)
		return 1e6;
	for (size_t i = 0; i < LENGTH(units); i++)
		if (slice_is(word, units[i].name))
			return units[i].us;
	return 0;
}

bool oncalendar_span(struct slice text, int64_t *ret_us)
{
	double us = 0;

	skip_blanks(&text);
	if (!text.n)
		return false;
	while (text.n) {
		char digits[32] = { 0 };
		size_t n = count_while(text, true);

		if (!n || n >= sizeof(digits) || *text.p == '.')
			return false;
		memcpy(digits, text.p, n);
		text = (struct slice){ text.p + n, text.n - n };
		skip_blanks(&text);
		n = count_while(text, false);
		double unit = unit_of((struct slice){ text.p, n });
		us += strtod(digits, NULL) * unit;
		if (unit <= 0 || us > 1e17)
			return false;
		text = (struct slice){ text.p + n, text.n - n };
		skip_blanks(&text);
	}
	*ret_us = (int64_t)us;
	return true;
}
