#include "core/format/crontab.h"

#include <ctype.h>
#include <stdlib.h>

#include "core/model/event.h"

enum { DAY_MIN = 1440 };

static bool eat(struct slice *s, char c)
{
	if (!s->n || *s->p != c)
		return false;
	s->p++;
	s->n--;
	return true;
}

static struct slice trim(struct slice s)
{
	while (s.n && strchr(" \t\r\n", s.p[s.n - 1]))
		s.n--;
	while (s.n && (*s.p == ' ' || *s.p == '\t')) {
		s.p++;
		s.n--;
	}
	return s;
}

static struct slice unquote(struct slice word)
{
	if (word.n >= 2 && (*word.p == '"' || *word.p == '\'') && word.p[word.n - 1] == *word.p)
		return (struct slice){ word.p + 1, word.n - 2 };
	return word;
}

static void set_env(
	struct slice name, struct slice value, struct arena *arena, struct crontab_env *env)
{
	if (slice_is(name, "CRON_TZ"))
		env->zone = arena_copy(arena, value).p;
	if (!slice_is(name, "RANDOM_DELAY"))
		return;
	char digits[16] = { 0 };
	memcpy(digits, value.p, value.n < 15 ? value.n : 15);
	long minutes = strtol(digits, NULL, 10);
	/* cronie logs another value as bad and keeps none. */
	env->random_delay_min = minutes > 0 && minutes <= DAY_MIN ? (int)minutes : 0;
}

/* NAME = value, each may be quoted. */
static bool read_environment(struct slice text, struct arena *arena, struct crontab_env *env)
{
	struct slice rest = text;

	while (rest.n && *rest.p != '=')
		eat(&rest, *rest.p);
	struct slice name = unquote(trim((struct slice){ text.p, text.n - rest.n }));
	if (!eat(&rest, '=') || !name.n)
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (!isalnum((unsigned char)name.p[i]) && name.p[i] != '_')
			return false;
	set_env(name, unquote(trim(rest)), arena, env);
	return true;
}

/* The text behind a minus that keeps cronie from logging the run. */
static struct slice without_minus(struct slice text)
{
	if (text.n > 1 && *text.p == '-' &&
		(isdigit((unsigned char)text.p[1]) || strchr("*@~", text.p[1])))
		eat(&text, '-');
	return text;
}

static bool parse_schedule(struct slice *text, struct crontab_line *line, struct err *e)
{
	struct slice rest = *text;
	struct slice word = cron_next_word(&rest);

	if (!word.n || *word.p != '@')
		return cron_fields_parse(CRON_CRONIE, text, &line->fields, e);
	*text = rest;
	line->is_reboot = slice_is(word, "@reboot");
	return line->is_reboot || cron_fields_word(word, &line->fields) ||
	       err_set(e, ERR_INPUT, "unknown '@' word");
}

static bool name_line(
	struct slice command, struct arena *arena, struct crontab_line *ret, struct err *e)
{
	struct slice rest = command;

	/* cronie's option: mail only when it failed. */
	if (slice_is(cron_next_word(&rest), "-n"))
		command = trim(rest);
	if (!command.n)
		return err_set(e, ERR_INPUT, "no command after the schedule");
	ret->name = crontab_job_name(command, arena);
	if (!ret->name)
		return err_set(e, ERR_INPUT, "out of memory");
	return event_name_is_plain(slice_of(ret->name)) ||
	       err_set(e, ERR_INPUT, "the command's name holds control characters");
}

enum step crontab_parse(struct slice text, bool has_user, struct arena *arena,
	struct crontab_env *env, struct crontab_line *ret, struct err *e)
{
	*ret = (struct crontab_line){ 0 };
	text = without_minus(trim(text));
	if (!text.n || *text.p == '#' || read_environment(text, arena, env))
		return STEP_END;
	if (!parse_schedule(&text, ret, e))
		return STEP_FAIL;
	if (has_user)
		cron_next_word(&text);
	ret->env = *env;
	return name_line(trim(text), arena, ret, e) ? STEP_ITEM : STEP_FAIL;
}

struct slice crontab_user_word(struct slice text)
{
	struct crontab_line line = { 0 };
	struct err e = { 0 };

	text = without_minus(trim(text));
	if (!text.n || *text.p == '#' || !parse_schedule(&text, &line, &e))
		return (struct slice){ 0 };
	struct slice word = cron_next_word(&text);
	return cron_next_word(&text).n ? word : (struct slice){ 0 };
}
