#include "core/format/oncalendar.h"

#include <ctype.h>
#include <limits.h>

#include "core/format/wall.h"

enum { US_PER_S = 1000000, TEXT_MAX_BYTES = 4096 };

/* What is still to be read, and where parts go. */
struct reader {
	const char *p; /* ends with NUL */
	struct arena *arena;
	struct oncalendar *to;
};

static const struct bounds {
	int from, to;
} bounds[CALENDAR_FIELDS] = {
	{ 1970, 2199 },
	{ 1, 12 },
	{ 1, 31 },
	{ 0, 23 },
	{ 0, 59 },
	{ 0, 60 * US_PER_S - 1 },
};

/* Words for a whole expression; -1 is every value. Lists are given as bits from 0. */
static const struct shorthand {
	const char *word;
	uint16_t months;
	int8_t day, hour, minute;
	bool is_weekly;
} shorthands[] = {
	{ "minutely", 0, -1, -1, -1, false },
	{ "hourly", 0, -1, -1, 0, false },
	{ "daily", 0, -1, 0, 0, false },
	{ "monthly", 0, 1, 0, 0, false },
	{ "weekly", 0, -1, 0, 0, true },
	{ "yearly", 1 << 1, 1, 0, 0, false },
	{ "annually", 1 << 1, 1, 0, 0, false },
	{ "anually", 1 << 1, 1, 0, 0, false },
	{ "quarterly", 1 << 1 | 1 << 4 | 1 << 7 | 1 << 10, 1, 0, 0, false },
	{ "biannually", 1 << 1 | 1 << 7, 1, 0, 0, false },
	{ "bi-annually", 1 << 1 | 1 << 7, 1, 0, 0, false },
	{ "semiannually", 1 << 1 | 1 << 7, 1, 0, 0, false },
	{ "semi-annually", 1 << 1 | 1 << 7, 1, 0, 0, false },
};

static bool add_parts(struct reader *r, int field, const struct calendar_part *parts, size_t count)
{
	struct calendar_part *own = arena_take(r->arena, count * sizeof(*own));

	if (!own)
		return false;
	memcpy(own, parts, count * sizeof(*own));
	r->to->fields[field] = (struct calendar_field){ own, count };
	return true;
}

static bool add_value(struct reader *r, int field, int value)
{
	struct calendar_part part = { value, -1, 0 };

	return value < 0 || add_parts(r, field, &part, 1);
}

static bool add_months(struct reader *r, unsigned bits)
{
	struct calendar_part parts[12];
	size_t n = 0;

	for (int month = 1; month <= 12; month++)
		if (bits >> month & 1)
			parts[n++] = (struct calendar_part){ month, -1, 0 };
	return !n || add_parts(r, CALENDAR_MONTH, parts, n);
}

static const struct shorthand *find_shorthand(const char *text)
{
	for (size_t i = 0; i < LENGTH(shorthands); i++)
		if (strcasecmp(text, shorthands[i].word) == 0)
			return &shorthands[i];
	return NULL;
}

static bool use_shorthand(struct reader *r, const struct shorthand *s)
{
	if (s->is_weekly)
		r->to->weekdays = 1;
	return add_months(r, s->months) && add_value(r, CALENDAR_DAY, s->day) &&
	       add_value(r, CALENDAR_HOUR, s->hour) && add_value(r, CALENDAR_MINUTE, s->minute) &&
	       add_value(r, CALENDAR_US, 0);
}

static int eat_weekday(struct reader *r)
{
	static const char *const names[] = { "Monday", "Tuesday", "Wednesday", "Thursday", "Friday",
		"Saturday", "Sunday" };

	for (int i = 0; i < 7; i++) {
		size_t n = strlen(names[i]);

		if (strncasecmp(r->p, names[i], n) != 0)
			n = strncasecmp(r->p, names[i], 3) == 0 ? 3 : 0;
		if (!n)
			continue;
		r->p += n;
		return *r->p == '\0' || strchr("-., ", *r->p) ? i : -1;
	}
	return -1;
}

/* "Mon,Wed..Fri " in front; a comma may end it. */
static bool read_weekdays(struct reader *r)
{
	int range_from = -1;

	while (isalpha((unsigned char)*r->p)) {
		int day = eat_weekday(r);

		if (day < 0 || range_from > day)
			return false;
		for (int d = range_from < 0 ? day : range_from; d <= day; d++)
			r->to->weekdays |= (uint8_t)(1 << d);
		bool is_range = strncmp(r->p, "..", 2) == 0 || *r->p == '-';
		if ((is_range && range_from >= 0) || (*r->p == '.' && !is_range))
			return false;
		range_from = is_range ? day : -1;
		r->p += *r->p == '.' ? 2 : *r->p == '-' || *r->p == ',';
		if (*r->p == ' ' || *r->p == '\0')
			break;
		if (!isalpha((unsigned char)*r->p))
			return false;
	}
	r->p += strspn(r->p, " ");
	return range_from < 0;
}

/* A seventh decimal rounds. */
static int64_t eat_decimals(struct reader *r)
{
	int64_t us = 0;
	int digits = 0;

	for (; digits < 6; digits++) {
		bool is_digit = isdigit((unsigned char)*r->p);

		us = us * 10 + (is_digit ? *r->p - '0' : 0);
		r->p += is_digit;
	}
	us += *r->p >= '5' && *r->p <= '9';
	while (isdigit((unsigned char)*r->p))
		r->p++;
	return us;
}

static bool eat_value(struct reader *r, bool is_us, int32_t *ret)
{
	int64_t v = 0;

	if (!isdigit((unsigned char)*r->p))
		return false;
	for (; isdigit((unsigned char)*r->p) && v <= INT_MAX; r->p++)
		v = v * 10 + (*r->p - '0');
	if (is_us && v <= INT_MAX)
		v *= US_PER_S;
	if (is_us && r->p[0] == '.' && r->p[1] != '.') {
		r->p++;
		if (!isdigit((unsigned char)*r->p))
			return false;
		v += eat_decimals(r);
	}
	*ret = (int32_t)v;
	return v <= INT_MAX;
}

/* "1", "1..5", "1..5/2", "1/2" */
static bool eat_part(struct reader *r, bool is_us, struct calendar_part *part)
{
	*part = (struct calendar_part){ 0, -1, 0 };
	if (!eat_value(r, is_us, &part->start))
		return false;
	if (strncmp(r->p, "..", 2) == 0) {
		r->p += 2;
		if (!eat_value(r, is_us, &part->stop))
			return false;
		part->repeat = is_us ? US_PER_S : 1;
	}
	if (*r->p == '/') {
		r->p++;
		return eat_value(r, is_us, &part->repeat) && part->repeat;
	}
	/* Without a step, seconds count whole ones: a range needs room for one. */
	return !is_us || part->stop < 0 || (int64_t)part->start + part->repeat <= part->stop;
}

static bool read_field(struct reader *r, int field, struct calendar_field *ret)
{
	struct calendar_part parts[ONCALENDAR_PARTS_MAX];
	bool is_us = field == CALENDAR_US;
	size_t n = 0;

	*ret = (struct calendar_field){ 0 };
	if (*r->p == '*') {
		r->p++;
		parts[0] = (struct calendar_part){ 0, -1, US_PER_S };
		n = is_us;
	} else {
		do {
			r->p += n && *r->p == ',';
			if (n == ONCALENDAR_PARTS_MAX || !eat_part(r, is_us, &parts[n++]))
				return false;
		} while (*r->p == ',');
	}
	struct calendar_part *own = n ? arena_take(r->arena, n * sizeof(*own)) : NULL;
	if (!n)
		return true;
	if (!own)
		return false;
	memcpy(own, parts, n * sizeof(*own));
	*ret = (struct calendar_field){ own, n };
	return true;
}

/* The UNIX time of "@1395716396". */
static bool read_epoch(struct reader *r)
{
	int64_t s = 0;

	r->p++;
	if (!isdigit((unsigned char)*r->p))
		return false;
	for (; isdigit((unsigned char)*r->p) && s < INT64_C(1) << 40; r->p++)
		s = s * 10 + (*r->p - '0');
	struct wall w = wall_of(s);
	r->to->zone = "UTC";
	return *r->p == '\0' && add_value(r, CALENDAR_YEAR, w.year) &&
	       add_value(r, CALENDAR_MONTH, w.month) && add_value(r, CALENDAR_DAY, w.day) &&
	       add_value(r, CALENDAR_HOUR, w.hour) && add_value(r, CALENDAR_MINUTE, w.minute) &&
	       add_value(r, CALENDAR_US, w.second * US_PER_S);
}

/* "2026-*-1", "*-1", "*~3"; a time in its place ("10:00") is left to read_time(). */
static bool read_date(struct reader *r)
{
	struct calendar_field parts[3];
	const char *start = r->p;
	int n = 0;

	if (*r->p == '\0')
		return true;
	for (;;) {
		if (!read_field(r, CALENDAR_YEAR, &parts[n++]))
			return false;
		if (n == 1 && (*r->p == '\0' || *r->p == ':')) {
			r->p = start;
			return true;
		}
		if (*r->p == ' ' || *r->p == '\0')
			break;
		/* A tilde is the last sign. */
		if (n == 3 || r->to->is_from_month_end || !strchr("-~", *r->p))
			return false;
		r->to->is_from_month_end = *r->p++ == '~';
	}
	if (n < 2)
		return false;
	r->p += strspn(r->p, " ");
	for (int i = 0; i < n; i++)
		r->to->fields[CALENDAR_DAY - (n - 1) + i] = parts[i];
	return true;
}

static bool read_time(struct reader *r)
{
	struct oncalendar *c = r->to;

	if (*r->p == '\0')
		return add_value(r, CALENDAR_HOUR, 0) && add_value(r, CALENDAR_MINUTE, 0) &&
		       add_value(r, CALENDAR_US, 0);
	if (!read_field(r, CALENDAR_HOUR, &c->fields[CALENDAR_HOUR]) || *r->p++ != ':' ||
		!read_field(r, CALENDAR_MINUTE, &c->fields[CALENDAR_MINUTE]))
		return false;
	if (*r->p == '\0')
		return add_value(r, CALENDAR_US, 0);
	return *r->p++ == ':' && read_field(r, CALENDAR_US, &c->fields[CALENDAR_US]) &&
	       *r->p == '\0';
}

/* 26 is 2026, 89 is 1989. */
static int32_t full_year(int32_t year)
{
	return year < 0 || year >= 100 ? year : year < 70 ? year + 2000 : year + 1900;
}

static bool is_valid_part(struct calendar_part *p, int field, bool is_from_end)
{
	int from = bounds[field].from, to = bounds[field].to;

	if (field == CALENDAR_YEAR) {
		p->start = full_year(p->start);
		p->stop = full_year(p->stop);
	}
	if (p->stop > p->start && p->repeat > 0)
		p->stop -= (p->stop - p->start) % p->repeat;
	if (p->start == p->stop) {
		p->repeat = 0;
		p->stop = -1;
	}
	/* No day may be more than 28 before a month's end. */
	to -= is_from_end ? 3 : 0;
	if (p->start < from || p->start > to || p->repeat > to - from || p->stop > to)
		return false;
	if (p->stop >= 0)
		return p->start + p->repeat <= p->stop;
	return is_from_end ? p->start - p->repeat >= from : p->start + p->repeat <= to;
}

static bool is_valid(struct oncalendar *c)
{
	if (!c->fields[CALENDAR_DAY].count)
		c->is_from_month_end = false;
	if (c->weekdays == 0x7f)
		c->weekdays = 0;
	for (int f = 0; f < CALENDAR_FIELDS; f++)
		for (size_t i = 0; i < c->fields[f].count; i++)
			if (!is_valid_part((struct calendar_part *)&c->fields[f].parts[i], f,
				    c->is_from_month_end && f == CALENDAR_DAY))
				return false;
	return true;
}

/* The name that the host's zone uses now in winter or summer. */
static int season_named(const struct zone *host, const char *word)
{
	for (int dst = 0; dst < 2; dst++)
		for (size_t i = host->transition_count; i-- > 0;) {
			const struct zone_type *t = &host->types[host->which[i]];

			if (t->is_dst != (dst == 1))
				continue;
			if (strcasecmp(t->abbreviation, word) == 0)
				return dst;
			break;
		}
	return -1;
}

/* Takes a zone off the end of the text. */
static bool take_zone(char *text, const struct zone *host, struct oncalendar *c)
{
	char *blank = strrchr(text, ' ');
	struct zone z;
	struct err e = { 0 };

	if (!blank)
		return true;
	if (strcasecmp(blank + 1, "UTC") == 0) {
		c->zone = "UTC";
	} else if ((c->dst = (int8_t)season_named(host, blank + 1)) < 0) {
		if (!isalpha((unsigned char)blank[1]) || !zone_open(&z, blank + 1, &e))
			return true;
		zone_close(&z);
		c->zone = blank + 1;
	}
	*blank = '\0';
	return true;
}

bool oncalendar_parse(struct slice text, const struct zone *host, struct arena *arena,
	struct oncalendar *ret, struct err *e)
{
	char *own = text.n < TEXT_MAX_BYTES ? (char *)arena_copy(arena, text).p : NULL;
	struct reader r = { own, arena, ret };

	*ret = (struct oncalendar){ .dst = -1 };
	if (!own || strlen(own) != text.n)
		return err_set(e, ERR_INPUT, "a calendar expression is too long or holds NUL");
	take_zone(own, host, ret);
	const struct shorthand *word = find_shorthand(own);
	bool ok = *own != '\0' &&
		  (word ? use_shorthand(&r, word)
			: read_weekdays(&r) && (*r.p == '@' ? read_epoch(&r)
							    : read_date(&r) && read_time(&r)));
	return (ok && is_valid(ret)) ||
	       err_set(e, ERR_INPUT, "'%.60s' is no calendar expression of systemd's", own);
}
