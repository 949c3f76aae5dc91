#include "core/format/quartz.h"

#include <ctype.h>

#include "core/format/cronfield.h"

enum { SECOND, MINUTE, HOUR, DOM, MONTH, DOW, YEAR, FIELDS };

static const struct field {
	const char *name;
	int low, high;
	int step_max; /* Quartz checks the step behind "*" and "n" */
	const char *words; /* three letters each, from low */
} fields[FIELDS] = {
	{ "second", 0, 59, 59, "" },
	{ "minute", 0, 59, 59, "" },
	{ "hour", 0, 23, 23, "" },
	{ "day of the month", 1, 31, 31, "" },
	{ "month", 1, 12, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC" },
	{ "day of the week", 1, 7, 7, "SUNMONTUEWEDTHUFRISAT" },
	{ "year", QUARTZ_YEAR_FIRST, QUARTZ_YEAR_FIRST + QUARTZ_YEARS - 1, 1000, "" },
};

static bool eat(struct slice *s, char c)
{
	if (!s->n || toupper((unsigned char)*s->p) != c)
		return false;
	s->p++;
	s->n--;
	return true;
}

static bool eat_number(struct slice *s, int *ret)
{
	size_t n = 0;

	for (*ret = 0; n < s->n && n < 4 && isdigit((unsigned char)s->p[n]); n++)
		*ret = *ret * 10 + (s->p[n] - '0');
	s->p += n;
	s->n -= n;
	return n > 0;
}

static bool eat_value(struct slice *s, const struct field *f, int *ret)
{
	for (size_t i = 0; s->n >= 3 && f->words[i]; i += 3)
		if (strncasecmp(s->p, f->words + i, 3) == 0) {
			*ret = f->low + (int)i / 3;
			*s = (struct slice){ s->p + 3, s->n - 3 };
			return true;
		}
	return eat_number(s, ret) && *ret >= f->low && *ret <= f->high;
}

static void add(struct quartz *q, int field, int v)
{
	switch (field) {
	case SECOND:
		q->second |= UINT64_C(1) << v;
		break;
	case MINUTE:
		q->minute |= UINT64_C(1) << v;
		break;
	case HOUR:
		q->hour |= UINT32_C(1) << v;
		break;
	case DOM:
		q->dom |= UINT32_C(1) << v;
		break;
	case MONTH:
		q->month |= UINT32_C(1) << v;
		break;
	case DOW:
		q->dow |= (uint8_t)(1 << v);
		break;
	default:
		q->years[v - QUARTZ_YEAR_FIRST] = true;
	}
}

/* A range whose end is before its start goes on from the lowest value. */
static void add_range(struct quartz *q, int field, int from, int to, int step)
{
	const struct field *f = &fields[field];
	int values = f->high - f->low + 1;

	if (to < from)
		to += values;
	for (int v = from; v <= to; v += step)
		add(q, field, v > f->high ? v - values : v);
}

/* "*", "n", "n-m", each with "/step"; "/step" alone counts from the lowest. */
static bool eat_item(struct slice *s, int field, struct quartz *q)
{
	const struct field *f = &fields[field];
	int from = f->low, to = f->high, step = 1;
	bool is_star = eat(s, '*') || (s->n && *s->p == '/'), is_range = false;

	if (!is_star) {
		if (!eat_value(s, f, &from))
			return false;
		is_range = eat(s, '-');
		to = from;
		if (is_range && (!eat_value(s, f, &to) || (field == YEAR && to < from)))
			return false;
	}
	if (eat(s, '/')) {
		if (!eat_number(s, &step) || !step || (!is_range && step > f->step_max))
			return false;
		to = is_range || is_star ? to : f->high;
	}
	add_range(q, field, from, to, step);
	return true;
}

/* L, L-3, LW, L-3W, 15W */
static bool read_special_dom(struct slice s, struct quartz *q)
{
	int day;

	if (eat(&s, 'L')) {
		q->is_last_dom = true;
		if (eat(&s, '-') && (!eat_number(&s, &q->last_offset) || q->last_offset > 30))
			return false;
		q->is_near_weekday = eat(&s, 'W');
		return !s.n;
	}
	if (!eat_value(&s, &fields[DOM], &day) || !eat(&s, 'W'))
		return false;
	q->is_near_weekday = true;
	add(q, DOM, day);
	return !s.n;
}

/* L, 6L, FRIL, 6#3, FRI#3 */
static bool read_special_dow(struct slice s, struct quartz *q)
{
	int day;

	if (s.n == 1 && eat(&s, 'L')) {
		add(q, DOW, 7);
		return true;
	}
	if (!eat_value(&s, &fields[DOW], &day))
		return false;
	add(q, DOW, day);
	if (eat(&s, 'L'))
		q->is_last_dow = true;
	else if (!eat(&s, '#') || !eat_number(&s, &q->nth_dow) || q->nth_dow < 1 || q->nth_dow > 5)
		return false;
	return !s.n;
}

static bool has_letter(struct slice word, const char *letters)
{
	for (size_t i = 0; i < word.n; i++)
		if (strchr(letters, toupper((unsigned char)word.p[i])))
			return true;
	return false;
}

static bool read_field(struct slice word, int field, struct quartz *q)
{
	struct slice rest = word;

	if (field == DOM && has_letter(word, "LW"))
		return read_special_dom(word, q);
	if (field == DOW &&
		(has_letter(word, "#") || toupper((unsigned char)word.p[word.n - 1]) == 'L'))
		return read_special_dow(word, q);
	do {
		if (!eat_item(&rest, field, q))
			return false;
	} while (eat(&rest, ','));
	return !rest.n;
}

bool quartz_parse(struct slice text, struct quartz *q, struct err *e)
{
	int questions = 0;

	*q = (struct quartz){ 0 };
	for (int i = 0; i < FIELDS; i++) {
		struct slice word = cron_next_word(&text);

		if (!word.n && i < YEAR)
			return err_set(e, ERR_INPUT, "no %s: Quartz has six or seven fields",
				fields[i].name);
		if (slice_is(word, "?") && (i == DOM || i == DOW)) {
			q->is_by_weekday |= i == DOM;
			questions++;
		} else if (!read_field(word.n ? word : SLICE("*"), i, q)) {
			bool is_plain = cron_word_is_plain(word);

			return err_set(e, ERR_INPUT, "%s%.*s%s is not a %s of Quartz's",
				is_plain ? "'" : "a word", is_plain ? (int)word.n : 0, word.p,
				is_plain ? "'" : "", fields[i].name);
		}
	}
	if (questions != 1)
		return err_set(e, ERR_INPUT, "exactly one of the two day fields must be '?'");
	return !cron_next_word(&text).n ||
	       err_set(e, ERR_INPUT, "more than seven fields in the expression");
}
