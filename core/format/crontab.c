#include "core/format/crontab.h"

#include <ctype.h>

#include "core/model/event.h"

struct field {
	const char *name;
	int low, high;
	const char *const *words; /* names of the values from low */
	size_t word_count;
};

static const char *const months[] = { "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep",
	"oct", "nov", "dec" };
static const char *const days[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

static const struct field fields[] = {
	{ "minute", 0, 59, NULL, 0 },
	{ "hour", 0, 23, NULL, 0 },
	{ "day of the month", 1, 31, NULL, 0 },
	{ "month", 1, 12, months, LENGTH(months) },
	{ "day of the week", 0, 7, days, LENGTH(days) },
};

static const struct at_word {
	const char *word, *fields;
} at_words[] = {
	{ "@yearly", "0 0 1 1 *" },
	{ "@annually", "0 0 1 1 *" },
	{ "@monthly", "0 0 1 * *" },
	{ "@weekly", "0 0 * * 0" },
	{ "@daily", "0 0 * * *" },
	{ "@midnight", "0 0 * * *" },
	{ "@hourly", "0 * * * *" },
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void skip_blanks(struct slice *s)
{
	while (s->n && is_blank(*s->p)) {
		s->p++;
		s->n--;
	}
}

static struct slice next_word(struct slice *s)
{
	skip_blanks(s);
	struct slice word = { s->p, 0 };

	while (s->n && !is_blank(*s->p)) {
		s->p++;
		s->n--;
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

static bool eat_value(struct slice *s, const struct field *f, int *ret)
{
	size_t n = 0;
	int v = 0;

	for (; n < s->n && n < 4 && isdigit((unsigned char)s->p[n]); n++)
		v = v * 10 + (s->p[n] - '0');
	if (!n && s->n >= 3) {
		for (size_t i = 0; i < f->word_count; i++)
			if (strncasecmp(s->p, f->words[i], 3) == 0) {
				v = f->low + (int)i;
				n = 3;
			}
	}
	s->p += n;
	s->n -= n;
	*ret = v;
	return n > 0 && v >= f->low && v <= f->high;
}

/* One item of a list: "*", "5", "1-5", "1~5", each with "/step". */
static bool eat_item(struct slice *s, const struct field *f, uint64_t *bits, bool *is_random)
{
	int from = f->low, to = f->high, step = 1;
	bool is_range = eat(s, '*');

	if (is_range && f->high == 7)
		to = 6;
	if (!is_range) {
		if (!eat_value(s, f, &from))
			return false;
		to = from;
		bool is_tilde = eat(s, '~');
		if (is_tilde || eat(s, '-')) {
			if (!eat_value(s, f, &to) || to < from)
				return false;
			is_range = true;
			*is_random |= is_tilde;
		}
	}
	if (eat(s, '/')) {
		size_t digits = 0;

		for (step = 0; s->n && digits < 3 && isdigit((unsigned char)*s->p); digits++) {
			step = step * 10 + (*s->p - '0');
			s->p++;
			s->n--;
		}
		if (!digits || step < 1)
			return false;
		/* "5/10" counts from 5 to the end, as cronie does. */
		if (!is_range)
			to = f->high;
	}
	for (int v = from; v <= to; v += step)
		*bits |= UINT64_C(1) << v;
	return true;
}

static bool parse_field(struct slice word, const struct field *f, uint64_t *ret_bits,
	bool *ret_star, bool *is_random, struct err *e)
{
	struct slice rest = word;

	*ret_bits = 0;
	*ret_star = word.n && *word.p == '*';
	do {
		if (!eat_item(&rest, f, ret_bits, is_random))
			return err_set(e, ERR_INPUT, "'%.*s' is not a %s",
				(int)(word.n < 40 ? word.n : 40), word.p, f->name);
	} while (eat(&rest, ','));
	if (rest.n)
		return err_set(e, ERR_INPUT, "'%.*s' is not a %s", (int)(word.n < 40 ? word.n : 40),
			word.p, f->name);
	return true;
}

static bool parse_fields(struct slice *text, struct crontab_line *line, struct err *e)
{
	uint64_t bits[LENGTH(fields)];
	bool stars[LENGTH(fields)];

	for (size_t i = 0; i < LENGTH(fields); i++)
		if (!parse_field(
			    next_word(text), &fields[i], &bits[i], &stars[i], &line->is_random, e))
			return false;
	line->minute = bits[0];
	line->hour = (uint32_t)bits[1];
	line->dom = (uint32_t)bits[2];
	line->month = (uint32_t)bits[3];
	/* 7 is Sunday too. */
	line->dow = (uint8_t)((bits[4] & 0x7f) | (bits[4] >> 7 & 1));
	line->is_minute_star = stars[0];
	line->is_hour_star = stars[1];
	line->is_dom_star = stars[2];
	line->is_dow_star = stars[4];
	return true;
}

static bool parse_at(struct slice word, struct crontab_line *line, struct err *e)
{
	if (slice_is(word, "@reboot")) {
		line->is_reboot = true;
		return true;
	}
	for (size_t i = 0; i < LENGTH(at_words); i++) {
		struct slice text = slice_of(at_words[i].fields);

		if (slice_is(word, at_words[i].word))
			return parse_fields(&text, line, e);
	}
	return err_set(
		e, ERR_INPUT, "unknown word '%.*s'", (int)(word.n < 40 ? word.n : 40), word.p);
}

bool crontab_is_due(
	const struct crontab_line *line, int minute, int hour, int dom, int month, int dow)
{
	bool dom_fits = line->dom >> dom & 1, dow_fits = line->dow >> dow & 1;
	bool day_fits = line->is_dom_star || line->is_dow_star ? dom_fits && dow_fits
							       : dom_fits || dow_fits;

	return !line->is_reboot && (line->minute >> minute & 1) && (line->hour >> hour & 1) &&
	       (line->month >> month & 1) && day_fits;
}

static struct slice base_name(struct slice word)
{
	for (size_t i = word.n; i-- > 0;)
		if (word.p[i] == '/')
			return (struct slice){ word.p + i + 1, word.n - i - 1 };
	return word;
}

static struct slice unquote(struct slice word)
{
	if (word.n >= 2 && (*word.p == '"' || *word.p == '\'') && word.p[word.n - 1] == *word.p)
		return (struct slice){ word.p + 1, word.n - 2 };
	return word;
}

static bool is_assignment(struct slice word)
{
	size_t i = 0;

	while (i < word.n && (isalnum((unsigned char)word.p[i]) || word.p[i] == '_'))
		i++;
	return i > 0 && i < word.n && word.p[i] == '=' && !isdigit((unsigned char)word.p[0]);
}

/* "python3.11" is python: the longest spelling without digits and dots. */
static bool is_interpreter(struct slice name)
{
	static const char *const known[] = { "sh", "bash", "dash", "ksh", "zsh", "psql", "flock",
		"python", "perl", "ruby", "node", "php", "env", "nice", "ionice", "timeout", "sudo",
		"nohup", "chronic", "setsid", "time", "exec" };

	while (name.n && (isdigit((unsigned char)name.p[name.n - 1]) || name.p[name.n - 1] == '.'))
		name.n--;
	for (size_t i = 0; i < LENGTH(known); i++)
		if (slice_is(name, known[i]))
			return true;
	return false;
}

/* A file argument: a path or a name with an ending, never an option or a value that
 * could be a secret. */
static bool is_file(struct slice word)
{
	if (!word.n || *word.p == '-' || is_assignment(word))
		return false;
	for (size_t i = 0; i < word.n; i++)
		if (!isalnum((unsigned char)word.p[i]) && !strchr("/._-+", word.p[i]))
			return false;
	return memchr(word.p, '/', word.n) || memchr(word.p, '.', word.n);
}

static bool is_lock(struct slice word)
{
	return word.n > 5 && memcmp(word.p + word.n - 5, ".lock", 5) == 0;
}

static struct slice find_file(struct slice rest)
{
	for (struct slice word = next_word(&rest); word.n; word = next_word(&rest)) {
		/* "--file=job.sql" and "-fjob.sql" name a file too. */
		if (word.n > 7 && memcmp(word.p, "--file=", 7) == 0)
			word = (struct slice){ word.p + 7, word.n - 7 };
		else if (word.n > 2 && memcmp(word.p, "-f", 2) == 0)
			word = (struct slice){ word.p + 2, word.n - 2 };
		word = unquote(word);
		if (is_file(word) && !is_lock(word) && !is_interpreter(base_name(word)))
			return word;
	}
	return (struct slice){ 0 };
}

const char *crontab_job_name(struct slice command, struct arena *arena)
{
	struct slice rest = command;
	struct slice word = next_word(&rest);

	while (word.n && is_assignment(word))
		word = next_word(&rest);
	struct slice name = base_name(unquote(word));
	if (is_interpreter(name)) {
		struct slice file = find_file(rest);

		if (file.n)
			name = base_name(file);
	}
	while (name.n && strchr(";&|<>()", name.p[name.n - 1]))
		name.n--;
	return arena_copy(arena, name.n ? name : SLICE("command")).p;
}

static bool starts(struct slice s, const char *text)
{
	size_t n = strlen(text);

	return s.n >= n && memcmp(s.p, text, n) == 0;
}

/* NAME = value; only CRON_TZ means something to us. */
static bool read_environment(struct slice text, struct arena *arena, const char **zone)
{
	struct slice word = text;
	size_t i = 0;

	while (i < text.n && (isalnum((unsigned char)text.p[i]) || text.p[i] == '_'))
		i++;
	word.n = i;
	struct slice rest = { text.p + i, text.n - i };
	skip_blanks(&rest);
	if (!word.n || isdigit((unsigned char)*word.p) || !eat(&rest, '='))
		return false;
	skip_blanks(&rest);
	if (slice_is(word, "CRON_TZ"))
		*zone = arena_copy(arena, unquote(rest)).p;
	return true;
}

enum step crontab_parse(struct slice text, bool has_user, struct arena *arena, const char **zone,
	struct crontab_line *ret, struct err *e)
{
	*ret = (struct crontab_line){ 0 };
	while (text.n && strchr(" \t\r\n", text.p[text.n - 1]))
		text.n--;
	skip_blanks(&text);
	/* A leading minus keeps cronie from logging the run. */
	if (starts(text, "-") && text.n > 1 &&
		(isdigit((unsigned char)text.p[1]) || text.p[1] == '*'))
		eat(&text, '-');
	if (!text.n || *text.p == '#' || read_environment(text, arena, zone))
		return STEP_END;
	bool ok = *text.p == '@' ? parse_at(next_word(&text), ret, e) : parse_fields(&text, ret, e);
	if (!ok)
		return STEP_FAIL;
	if (has_user)
		next_word(&text);
	skip_blanks(&text);
	if (!text.n) {
		err_set(e, ERR_INPUT, "no command after the schedule");
		return STEP_FAIL;
	}
	ret->name = crontab_job_name(text, arena);
	ret->zone = *zone;
	if (ret->name && !event_name_is_plain(slice_of(ret->name))) {
		err_set(e, ERR_INPUT, "the command's name holds control characters");
		return STEP_FAIL;
	}
	if (!ret->name) {
		err_set(e, ERR_INPUT, "out of memory");
		return STEP_FAIL;
	}
	return STEP_ITEM;
}
