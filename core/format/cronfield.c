#include "core/format/cronfield.h"

#include <ctype.h>

#include "core/format/wall.h"

struct field {
	const char *name;
	int low, high;
	const char *const *words; /* names of the values from low */
	size_t word_count;
};

static const char *const months[] = { "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep",
	"oct", "nov", "dec" };
static const char *const days[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

enum { MINUTE, HOUR, DOM, MONTH, DOW, FIELDS };

static const struct field fields[FIELDS] = {
	{ "minute", 0, 59, NULL, 0 },
	{ "hour", 0, 23, NULL, 0 },
	{ "day of the month", 1, 31, NULL, 0 },
	{ "month", 1, 12, months, LENGTH(months) },
	{ "day of the week", 0, 7, days, LENGTH(days) },
};

/* One field while it is read. */
struct reading {
	enum cron_style style;
	const struct field *field;
	int high; /* Sunday is 7 too, but not for robfig */
	uint64_t bits;
	uint8_t *widths; /* NULL where a value stands for days */
	bool is_star, is_random;
};

/* One item of a list. */
struct item {
	int from, to, step;
	bool is_range, is_tilde, is_star;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct slice cron_next_word(struct slice *text)
{
	while (text->n && is_blank(*text->p)) {
		text->p++;
		text->n--;
	}
	struct slice word = { text->p, 0 };
	while (text->n && !is_blank(*text->p)) {
		text->p++;
		text->n--;
		word.n++;
	}
	return word;
}

static bool eat(struct slice *s, char c)
{
	if (!s->n || *s->p != c)
		return false;
	s->p++;
	s->n--;
	return true;
}

static struct slice eat_alnum(struct slice *s)
{
	struct slice word = { s->p, 0 };

	while (word.n < s->n && isalnum((unsigned char)s->p[word.n]))
		word.n++;
	s->p += word.n;
	s->n -= word.n;
	return word;
}

static bool to_number(struct slice word, int *ret)
{
	*ret = 0;
	for (size_t i = 0; i < word.n; i++) {
		if (!isdigit((unsigned char)word.p[i]) || *ret > 100000)
			return false;
		*ret = *ret * 10 + (word.p[i] - '0');
	}
	return word.n > 0;
}

static bool eat_value(struct slice *s, const struct reading *r, int *ret)
{
	struct slice word = eat_alnum(s);
	const struct field *f = r->field;

	for (size_t i = 0; i < f->word_count; i++)
		if (word.n == 3 && strncasecmp(word.p, f->words[i], 3) == 0) {
			*ret = f->low + (int)i;
			return true;
		}
	return to_number(word, ret) && *ret >= f->low && *ret <= r->high;
}

static bool eat_step(struct slice *s, int *ret)
{
	return to_number(eat_alnum(s), ret) && *ret > 0;
}

/* "6~15", "~15", "6~", "~": the first value, if any, was read. */
static bool eat_tilde(struct slice *s, const struct reading *r, struct item *i)
{
	if (r->style != CRON_CRONIE || !eat(s, '~'))
		return false;
	i->is_tilde = true;
	i->to = r->high;
	return true;
}

static bool eat_range(struct slice *s, const struct reading *r, struct item *i)
{
	*i = (struct item){ .from = r->field->low, .to = r->high, .step = 1 };
	if (eat(s, '*') || (r->style == CRON_ROBFIG && eat(s, '?'))) {
		i->is_star = i->is_range = true;
		return true;
	}
	if (eat_tilde(s, r, i))
		return !s->n || *s->p == ',' || eat_value(s, r, &i->to);
	if (!eat_value(s, r, &i->from))
		return false;
	i->to = i->from;
	if (eat_tilde(s, r, i))
		return !s->n || *s->p == ',' || eat_value(s, r, &i->to);
	i->is_range = eat(s, '-');
	return !i->is_range || eat_value(s, r, &i->to);
}

static bool eat_item(struct slice *s, const struct reading *r, struct item *i)
{
	if (!eat_range(s, r, i))
		return false;
	if (!eat(s, '/'))
		return i->from <= i->to;
	if (i->is_tilde || (!i->is_range && r->style != CRON_ROBFIG) || !eat_step(s, &i->step))
		return false;
	if (!i->is_range)
		i->to = r->high;
	if (r->style == CRON_ROBFIG && i->step > 1)
		i->is_star = false;
	return i->from <= i->to;
}

static void add_item(struct reading *r, const struct item *i)
{
	r->is_star |= i->is_star;
	if (i->is_tilde) {
		int width = i->to - i->from;

		r->is_random = true;
		r->bits |= UINT64_C(1) << i->from;
		if (r->widths && r->widths[i->from] < width)
			r->widths[i->from] = (uint8_t)width;
		return;
	}
	for (int v = i->from; v <= i->to; v += i->step)
		r->bits |= UINT64_C(1) << v;
}

bool cron_word_is_plain(struct slice word)
{
	size_t letters = 0;

	for (size_t i = 0; i < word.n; i++) {
		char c = word.p[i];
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		letters = is_letter ? letters + 1 : 0;
		if (letters > 3 || (!is_letter && !(c && strchr("0123456789*,-/~?#$", c))))
			return false;
	}
	return word.n <= 40;
}

static bool refuse(struct slice word, const struct reading *r, struct err *e)
{
	if (!word.n)
		return err_set(e, ERR_INPUT, "no %s: a schedule has five fields", r->field->name);
	if (!cron_word_is_plain(word))
		return err_set(e, ERR_INPUT, "the %s is none", r->field->name);
	return err_set(e, ERR_INPUT, "'%.*s' is not a %s", (int)word.n, word.p, r->field->name);
}

static bool parse_field(struct slice word, struct reading *r, struct err *e)
{
	struct slice rest = word;
	struct item item;

	do {
		/* robfig drops empty items. */
		if (r->style == CRON_ROBFIG && (!rest.n || *rest.p == ',') && word.n > 1)
			continue;
		if (!eat_item(&rest, r, &item))
			return refuse(word, r, e);
		add_item(r, &item);
	} while (eat(&rest, ','));
	/* Vixie's look at the first letter only, and so at "*" in "*,5" but not in "5,*". */
	if (r->style != CRON_ROBFIG)
		r->is_star = *word.p == '*';
	return (!rest.n && r->bits) || refuse(word, r, e);
}

static void keep(struct cron_fields *f, const struct reading r[FIELDS])
{
	f->minute = r[MINUTE].bits;
	f->hour = (uint32_t)r[HOUR].bits;
	f->dom = (uint32_t)r[DOM].bits;
	f->month = (uint32_t)r[MONTH].bits;
	/* 7 is Sunday too. */
	f->dow = (uint8_t)((r[DOW].bits & 0x7f) | (r[DOW].bits >> 7 & 1));
	f->is_minute_star = r[MINUTE].is_star;
	f->is_hour_star = r[HOUR].is_star;
	f->is_dom_star = r[DOM].is_star;
	f->is_dow_star = r[DOW].is_star;
	f->is_random_day = r[DOM].is_random || r[MONTH].is_random || r[DOW].is_random;
}

bool cron_fields_parse(
	enum cron_style style, struct slice *text, struct cron_fields *f, struct err *e)
{
	struct reading r[FIELDS];

	*f = (struct cron_fields){ 0 };
	for (int i = 0; i < FIELDS; i++) {
		struct slice word = cron_next_word(text);

		r[i] = (struct reading){
			.style = style, .field = &fields[i], .high = fields[i].high
		};
		r[i].high -= i == DOW && style == CRON_ROBFIG;
		r[i].widths = i == MINUTE ? f->minute_width : i == HOUR ? f->hour_width : NULL;
		if (style == CRON_PG && i == DOM && slice_is(word, "$"))
			f->is_last_dom = true;
		else if (!parse_field(word, &r[i], e))
			return false;
	}
	keep(f, r);
	return true;
}

bool cron_fields_word(struct slice word, struct cron_fields *ret)
{
	static const char *const known[][2] = {
		{ "@yearly", "0 0 1 1 *" },
		{ "@annually", "0 0 1 1 *" },
		{ "@monthly", "0 0 1 * *" },
		{ "@weekly", "0 0 * * 0" },
		{ "@daily", "0 0 * * *" },
		{ "@midnight", "0 0 * * *" },
		{ "@hourly", "0 * * * *" },
	};

	for (size_t i = 0; i < LENGTH(known); i++) {
		struct slice text = slice_of(known[i][1]);
		struct err e = { 0 };

		if (slice_is(word, known[i][0]))
			return cron_fields_parse(CRON_PG, &text, ret, &e);
	}
	return false;
}

bool cron_fields_fit_day(const struct cron_fields *f, int64_t count_days)
{
	struct wall w = wall_of(count_days * 86400);
	bool dow_fits = f->dow >> wall_weekday(count_days) & 1;
	bool dom_fits = (f->dom >> w.day & 1) ||
			(f->is_last_dom && w.day == wall_month_days(w.year, w.month));

	if (!(f->month >> w.month & 1))
		return false;
	return f->is_dom_star || f->is_dow_star ? dom_fits && dow_fits : dom_fits || dow_fits;
}
