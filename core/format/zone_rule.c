#include "core/format/zone_rule.h"

#include <ctype.h>

#include "core/base/clock.h"

static bool eat(struct slice *s, char c)
{
	if (!s->n || *s->p != c)
		return false;
	s->p++;
	s->n--;
	return true;
}

static bool eat_number(struct slice *s, int max, int *ret)
{
	size_t digits = 0;

	for (*ret = 0; s->n && digits < 4 && isdigit((unsigned char)*s->p); digits++) {
		*ret = *ret * 10 + (*s->p - '0');
		s->p++;
		s->n--;
	}
	return digits && *ret <= max;
}

static bool eat_abbreviation(struct slice *s, char text[8])
{
	bool is_quoted = eat(s, '<');
	size_t n = 0;

	while (s->n && (is_quoted ? *s->p != '>' : isalpha((unsigned char)*s->p))) {
		if (n < 7)
			text[n++] = *s->p;
		s->p++;
		s->n--;
	}
	text[n] = '\0';
	return n && (!is_quoted || eat(s, '>'));
}

/* [+-]hh[:mm[:ss]] */
static bool eat_time(struct slice *s, int64_t *ret_s)
{
	bool is_negative = eat(s, '-');
	int part[3] = { 0 };

	if (!is_negative)
		(void)eat(s, '+');
	if (!eat_number(s, 167, &part[0]))
		return false;
	for (int i = 1; i < 3 && eat(s, ':'); i++)
		if (!eat_number(s, 59, &part[i]))
			return false;
	*ret_s = part[0] * 3600 + part[1] * 60 + part[2];
	if (is_negative)
		*ret_s = -*ret_s;
	return true;
}

static bool eat_date(struct slice *s, struct zone_date *d)
{
	d->kind = eat(s, 'M') ? 'M' : eat(s, 'J') ? 'J' : 'D';
	if (d->kind == 'M') {
		if (!eat_number(s, 12, &d->month) || !eat(s, '.') || !eat_number(s, 5, &d->week) ||
			!eat(s, '.') || !eat_number(s, 6, &d->day) || !d->month || !d->week)
			return false;
	} else if (!eat_number(s, 365, &d->day) || (d->kind == 'J' && !d->day)) {
		return false;
	}
	d->at_s = 7200;
	return !eat(s, '/') || eat_time(s, &d->at_s);
}

bool zone_rule_parse(struct slice text, struct zone_rule *r)
{
	*r = (struct zone_rule){ 0 };
	if (!eat_abbreviation(&text, r->abbreviation[0]) || !eat_time(&text, &r->offset_s[0]))
		return false;
	/* POSIX counts west of Greenwich. */
	r->offset_s[0] = -r->offset_s[0];
	if (!text.n)
		return true;
	r->has_summer = true;
	if (!eat_abbreviation(&text, r->abbreviation[1]))
		return false;
	r->offset_s[1] = r->offset_s[0] + 3600;
	if (text.n && *text.p != ',') {
		if (!eat_time(&text, &r->offset_s[1]))
			return false;
		r->offset_s[1] = -r->offset_s[1];
	}
	return eat(&text, ',') && eat_date(&text, &r->start) && eat(&text, ',') &&
	       eat_date(&text, &r->end) && !text.n;
}

static bool is_leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t days_of(const struct zone_date *d, int year)
{
	if (d->kind == 'J')
		return clock_days(year, 1, 1) + d->day - 1 + (is_leap(year) && d->day >= 60);
	if (d->kind == 'D')
		return clock_days(year, 1, 1) + d->day;
	int64_t first = clock_days(year, d->month, 1);
	int64_t next =
		d->month == 12 ? clock_days(year + 1, 1, 1) : clock_days(year, d->month + 1, 1);
	/* 1970-01-01 was a Thursday. */
	int64_t weekday = ((first + 4) % 7 + 7) % 7;
	int64_t day = first + (d->day - weekday + 7) % 7 + 7 * (d->week - 1);

	while (day >= next)
		day -= 7;
	return day;
}

int64_t zone_rule_change(const struct zone_rule *r, int year, bool is_start)
{
	const struct zone_date *d = is_start ? &r->start : &r->end;

	return days_of(d, year) * 86400 + d->at_s - r->offset_s[!is_start];
}
