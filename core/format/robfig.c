#include "core/format/robfig.h"

#include <ctype.h>
#include <stdlib.h>

#include "core/format/wall.h"

enum { YEARS = 5, DAY_S = 86400 };

/* One number and unit of a Go duration: "1.5h". */
static bool eat_duration(struct slice *s, double *ret_s)
{
	static const struct {
		const char *name;
		double s;
	} units[] = { { "ns", 1e-9 }, { "us", 1e-6 }, { "\xc2\xb5s", 1e-6 }, { "\xce\xbcs", 1e-6 },
		{ "ms", 1e-3 }, { "s", 1 }, { "m", 60 }, { "h", 3600 } };
	char digits[32];
	size_t n = 0;

	while (n < s->n && n < sizeof(digits) - 1 &&
		(isdigit((unsigned char)s->p[n]) || s->p[n] == '.')) {
		digits[n] = s->p[n];
		n++;
	}
	digits[n] = '\0';
	for (size_t i = 0; n && i < LENGTH(units); i++) {
		size_t k = strlen(units[i].name);

		if (s->n - n < k || memcmp(s->p + n, units[i].name, k) != 0 ||
			(k < s->n - n && isalpha((unsigned char)s->p[n + k])))
			continue;
		*ret_s += strtod(digits, NULL) * units[i].s;
		*s = (struct slice){ s->p + n + k, s->n - n - k };
		return true;
	}
	return false;
}

static bool parse_every(struct slice text, struct robfig *ret, struct err *e)
{
	struct slice rest = text;
	double s = 0;

	do {
		if (!eat_duration(&rest, &s))
			return err_set(e, ERR_INPUT, "'@every %.*s' has no duration such as 1h30m",
				(int)(text.n < 40 ? text.n : 40), text.p);
	} while (rest.n && s < 1e9);
	ret->every_s = s < 1 ? 1 : s > 1e9 ? 1000000000 : (int64_t)s;
	return true;
}

static bool eat_zone(struct slice *text, struct arena *arena, struct robfig *ret)
{
	size_t n = slice_is((struct slice){ text->p, text->n < 3 ? text->n : 3 }, "TZ=")        ? 3
		   : slice_is((struct slice){ text->p, text->n < 8 ? text->n : 8 }, "CRON_TZ=") ? 8
												: 0;

	if (!n)
		return true;
	struct slice word = cron_next_word(text);
	ret->zone = arena_copy(arena, (struct slice){ word.p + n, word.n - n }).p;
	return ret->zone != NULL;
}

bool robfig_parse(struct slice text, struct arena *arena, struct robfig *ret, struct err *e)
{
	*ret = (struct robfig){ 0 };
	if (!eat_zone(&text, arena, ret))
		return err_set(e, ERR_ENV, "out of memory");
	struct slice rest = text, word = cron_next_word(&rest);
	if (slice_is(word, "@every"))
		return parse_every(cron_next_word(&rest), ret, e) &&
		       (!cron_next_word(&rest).n ||
			       err_set(e, ERR_INPUT, "more than a duration after '@every'"));
	if (word.n && *word.p == '@') {
		if (cron_fields_word(word, &ret->fields) && !cron_next_word(&rest).n)
			return true;
		return err_set(e, ERR_INPUT, "unknown '@' word");
	}
	if (!cron_fields_parse(CRON_ROBFIG, &text, &ret->fields, e))
		return false;
	return !cron_next_word(&text).n ||
	       err_set(e, ERR_INPUT, "more than five fields in the schedule");
}

/* A Go time.Time in its location. */
struct instant {
	const struct zone *zone;
	int64_t s; /* UTC */
	struct wall w;
};

static int64_t offset_at(const struct zone *z, int64_t s, int64_t *from_s, int64_t *until_s)
{
	return zone_at(z, s, from_s, until_s)->offset_ns / NS_PER_S;
}

static void set(struct instant *t, int64_t s)
{
	t->s = s;
	t->w = wall_of(s + offset_at(t->zone, s, NULL, NULL));
}

/* time.Date(): the offset that holds at the wall time read as UTC; where the result falls
 * outside of its reign, the one that holds there. */
static void set_wall(struct instant *t, const struct wall *w)
{
	int64_t count = wall_count(w), from_s, until_s;
	int64_t offset = offset_at(t->zone, count, &from_s, &until_s);

	if (offset && (count - offset < from_s || count - offset >= until_s))
		offset = offset_at(t->zone, count - offset, NULL, NULL);
	set(t, count - offset);
}

/* Whether fields lower than this one have been zeroed. */
static void zero_below(struct instant *t, bool *is_zeroed, bool has_day, bool has_hour)
{
	struct wall w = { t->w.year, t->w.month, has_day ? t->w.day : 1, has_hour ? t->w.hour : 0,
		0, 0 };

	if (!*is_zeroed)
		set_wall(t, &w);
	*is_zeroed = true;
}

static bool seek_month(const struct cron_fields *f, struct instant *t, bool *is_zeroed)
{
	while (!(f->month >> t->w.month & 1)) {
		zero_below(t, is_zeroed, false, false);
		struct wall w = t->w;
		w.month++;
		set_wall(t, &w);
		if (t->w.month == 1)
			return false;
	}
	return true;
}

static int64_t day_of(const struct wall *w)
{
	return wall_count(&(struct wall){ w->year, w->month, w->day, 0, 0, 0 }) / DAY_S;
}

/* A midnight that the clock skips shows as 23:00 or 01:00: it is shifted to the day's
 * edge. */
static bool seek_day(const struct cron_fields *f, struct instant *t, bool *is_zeroed)
{
	while (!cron_fields_fit_day(f, day_of(&t->w))) {
		zero_below(t, is_zeroed, true, false);
		struct wall w = t->w;
		w.day++;
		set_wall(t, &w);
		if (t->w.hour)
			set(t, t->s + (t->w.hour > 12 ? 24 - t->w.hour : -t->w.hour) * 3600);
		if (t->w.day == 1)
			return false;
	}
	return true;
}

static bool seek_hour(const struct cron_fields *f, struct instant *t, bool *is_zeroed)
{
	while (!(f->hour >> t->w.hour & 1)) {
		zero_below(t, is_zeroed, true, true);
		set(t, t->s + 3600);
		if (t->w.hour == 0)
			return false;
	}
	return true;
}

static bool seek_minute(const struct cron_fields *f, struct instant *t, bool *is_zeroed)
{
	while (!(f->minute >> t->w.minute & 1)) {
		if (!*is_zeroed)
			set(t, t->s - t->s % 60);
		*is_zeroed = true;
		set(t, t->s + 60);
		if (t->w.minute == 0)
			return false;
	}
	return true;
}

/* The schedule's second is 0; a minute reached by seconds is looked at anew. */
static bool seek_second(struct instant *t, bool *is_zeroed)
{
	if (t->w.second == 0)
		return true;
	*is_zeroed = true;
	set(t, t->s + 60 - t->w.second);
	return false;
}

bool robfig_next(const struct robfig *r, const struct zone *zone, int64_t after_s, int64_t *ret_s)
{
	struct instant t = { .zone = zone };
	bool is_zeroed = false;

	if (r->every_s) {
		*ret_s = after_s + r->every_s;
		return true;
	}
	set(&t, after_s + 1);
	for (int last_year = t.w.year + YEARS; t.w.year <= last_year;) {
		if (seek_month(&r->fields, &t, &is_zeroed) &&
			seek_day(&r->fields, &t, &is_zeroed) &&
			seek_hour(&r->fields, &t, &is_zeroed) &&
			seek_minute(&r->fields, &t, &is_zeroed) && seek_second(&t, &is_zeroed)) {
			*ret_s = t.s;
			return true;
		}
	}
	return false;
}
