#include "core/format/oncalendar.h"

#include "core/format/wall.h"

enum { US_PER_S = 1000000, MAX_YEAR = 2199, ROUNDS_MAX = 1000 };

/* A wall clock's time with its season: 0 standard, 1 summer, -1 whichever fits. */
struct moment {
	struct wall w;
	int is_dst;
	int us; /* of the second */
};

struct search {
	const struct oncalendar *c;
	const struct zone *zone;
	int64_t guess_s; /* the offset that mktime() found last, and tries first */
};

static int64_t offset_at(const struct search *s, int64_t utc_s, bool *ret_dst)
{
	const struct zone_type *t = zone_at(s->zone, utc_s, NULL, NULL);

	*ret_dst = t->is_dst;
	return t->offset_ns / NS_PER_S;
}

/* Far away the other season is in force: its offset is used. */
static int64_t in_season(const struct search *s, int64_t count, int64_t utc_s, bool wanted)
{
	enum { STRIDE_S = 601200, REACH_S = 536454000 / 2 + STRIDE_S };

	for (int64_t delta = STRIDE_S; delta < REACH_S; delta += STRIDE_S)
		for (int side = -1; side <= 1; side += 2) {
			bool is_dst;
			int64_t offset = offset_at(s, utc_s + side * delta, &is_dst);

			if (is_dst == wanted)
				return count - offset;
		}
	return utc_s;
}

/*
 * glibc's mktime(3) (2.36) for a wall time: the offset is sought by trying the last one and
 * then what holds at the result, until it holds there. In a gap that swings between two
 * times; the summer one is taken unless the other was asked for.
 */
static int64_t find_utc(const struct search *s, int64_t count, int wanted)
{
	int64_t t = count - s->guess_s, t1 = t, t2 = t;
	bool is_dst = false, was_dst = false;

	for (int probes = 6; probes > 0; probes--) {
		int64_t next = count - offset_at(s, t, &is_dst);

		if (next == t)
			return wanted >= 0 && is_dst != (wanted > 0)
				       ? in_season(s, count, t, wanted > 0)
				       : t;
		if (t == t1 && t != t2 && (wanted < 0 ? was_dst <= is_dst : (wanted > 0) != is_dst))
			return t;
		t1 = t2;
		t2 = t;
		t = next;
		was_dst = is_dst;
	}
	return t;
}

/* mktime(): fields in range, season known. */
static int64_t settle(struct search *s, struct moment *m)
{
	int64_t count = wall_count(&m->w);
	int64_t utc_s = find_utc(s, count, m->is_dst);
	bool is_dst;

	m->w = wall_of(utc_s + offset_at(s, utc_s, &is_dst));
	m->is_dst = is_dst;
	s->guess_s = count - utc_s;
	return utc_s;
}

static int *field_of(struct wall *w, int field)
{
	int *const fields[] = { &w->year, &w->month, &w->day, &w->hour, &w->minute, &w->second };

	return fields[field];
}

static void zero_below(struct moment *m, int field)
{
	static const int lowest[CALENDAR_FIELDS] = { 0, 1, 1, 0, 0, 0 };

	for (int f = field + 1; f < CALENDAR_FIELDS; f++)
		*field_of(&m->w, f) = lowest[f];
	if (field < CALENDAR_US)
		m->us = 0;
}

/* The n-th day before the next month; -1 when that is another month. */
static int month_end(struct search *s, const struct moment *m, int n)
{
	struct moment t = *m;

	t.w.month++;
	t.w.day = 1 - n;
	settle(s, &t);
	return t.w.month == m->w.month ? t.w.day : -1;
}

enum match { MATCH_NONE, MATCH_SAME, MATCH_LATER };

/* The earliest value of the field that is not before *value. */
static enum match match_field(struct search *s, int field, const struct moment *m, int *value)
{
	const struct calendar_field *f = &s->c->fields[field];
	int best = -1, was = *value;
	bool has_best = f->count == 0;

	if (has_best)
		return MATCH_SAME;
	for (size_t i = 0; i < f->count; i++) {
		int start = f->parts[i].start, stop = f->parts[i].stop;
		int repeat = f->parts[i].repeat;

		if (field == CALENDAR_DAY && s->c->is_from_month_end) {
			start = month_end(s, m, start);
			stop = month_end(s, m, stop);
			if (stop > 0) {
				int earlier = stop;

				stop = start;
				start = earlier;
			}
		}
		int v = start;
		if (start < *value) {
			if (!repeat)
				continue;
			v = start + repeat * ((*value - start + repeat - 1) / repeat);
			if (stop >= 0 && v > stop)
				continue;
		}
		best = has_best && best < v ? best : v;
		has_best = true;
	}
	if (!has_best)
		return MATCH_NONE;
	*value = best;
	return best == was ? MATCH_SAME : MATCH_LATER;
}

enum bounds { WITHIN, MOVED, OUTSIDE };

/* Whether the clock ever shows this; when it steps over it, what it shows then. */
static enum bounds check_bounds(struct search *s, struct moment *m)
{
	struct moment t = *m;

	if (m->w.year > MAX_YEAR)
		return OUTSIDE;
	settle(s, &t);
	for (int f = CALENDAR_YEAR; f < CALENDAR_FIELDS; f++) {
		int is = *field_of(&t.w, f), should = *field_of(&m->w, f);

		if (is == should)
			continue;
		if (is < should)
			return OUTSIDE;
		/* What is below the field was set by the overflow. */
		if (f < CALENDAR_US)
			*field_of(&t.w, f + 1) = f + 1 <= CALENDAR_DAY;
		*m = t;
		return MOVED;
	}
	return WITHIN;
}

static bool fits_weekday(struct search *s, const struct moment *m)
{
	struct moment t = *m;

	if (!s->c->weekdays)
		return true;
	settle(s, &t);
	int64_t days = wall_count(&(struct wall){ t.w.year, t.w.month, t.w.day, 0, 0, 0 }) / 86400;
	return s->c->weekdays >> (wall_weekday(days) + 6) % 7 & 1;
}

enum round { ROUND_FOUND, ROUND_AGAIN, ROUND_END };

/* Brings one field to a value of its own, or carries into the field above. */
static enum round step_field(struct search *s, int field, struct moment *m)
{
	int value = *field_of(&m->w, field);

	if (field == CALENDAR_US)
		value = value * US_PER_S + m->us;
	enum match match = match_field(s, field, m, &value);
	if (match != MATCH_NONE && field == CALENDAR_US) {
		m->us = value % US_PER_S;
		value /= US_PER_S;
	}
	if (match != MATCH_NONE)
		*field_of(&m->w, field) = value;
	if (match == MATCH_LATER)
		zero_below(m, field);
	enum bounds bounds = match == MATCH_NONE ? OUTSIDE : check_bounds(s, m);
	if (bounds == WITHIN)
		return ROUND_FOUND;
	if (field == CALENDAR_YEAR)
		return ROUND_END;
	if (bounds == OUTSIDE) {
		++*field_of(&m->w, field - 1);
		zero_below(m, field - 1);
	}
	return ROUND_AGAIN;
}

static enum round run_round(struct search *s, struct moment *m)
{
	for (int field = CALENDAR_YEAR; field < CALENDAR_FIELDS; field++) {
		enum round round = step_field(s, field, m);

		if (round != ROUND_FOUND)
			return round;
		if (field == CALENDAR_DAY && !fits_weekday(s, m)) {
			m->w.day++;
			zero_below(m, CALENDAR_DAY);
			return ROUND_AGAIN;
		}
	}
	return ROUND_FOUND;
}

static bool is_after(const struct moment *found, const struct moment *start)
{
	int64_t a = wall_count(&found->w), b = wall_count(&start->w);

	return a > b || (a == b && found->us >= start->us);
}

enum calendar_answer oncalendar_next(
	const struct oncalendar *c, const struct zone *zone, int64_t after_us, int64_t *ret_us)
{
	int64_t from_us = after_us + 1, from_s = from_us / US_PER_S;
	struct search s = { .c = c, .zone = zone };
	bool is_dst, is_stuck = false;
	int64_t offset_s = offset_at(&s, from_s, &is_dst);
	struct moment start = { wall_of(from_s + offset_s), is_dst, (int)(from_us % US_PER_S) };
	struct moment m = start;

	s.guess_s = offset_s;
	for (int round = 0; round < ROUNDS_MAX; round++) {
		settle(&s, &m);
		if (!is_stuck)
			m.is_dst = c->dst;
		enum round result = run_round(&s, &m);
		if (result == ROUND_END)
			return CALENDAR_NEVER;
		if (result == ROUND_AGAIN)
			continue;
		if (is_after(&m, &start)) {
			*ret_us = settle(&s, &m) * US_PER_S + m.us;
			return CALENDAR_TIME;
		}
		/* The clock went back: on by an hour, in whatever season that is. */
		is_stuck = true;
		m.w.hour++;
	}
	return CALENDAR_STUCK;
}
