/* Lines "NAME<TAB>EXPRESSION", "NAME => EXPRESSION", or properties "name = expression". */
#include <ctype.h>
#include <stdio.h>

#include "core/format/quartz.h"
#include "core/model/event.h"
#include "correlate/schedule_load.h"

enum { NAME_BYTES = 200 };

static struct slice trim(struct slice s)
{
	while (s.n && isspace((unsigned char)s.p[s.n - 1]))
		s.n--;
	while (s.n && isspace((unsigned char)*s.p))
		s = (struct slice){ s.p + 1, s.n - 1 };
	if (s.n >= 2 && (*s.p == '"' || *s.p == '\'') && s.p[s.n - 1] == *s.p)
		s = (struct slice){ s.p + 1, s.n - 2 };
	return s;
}

/* Expressions hold neither '=', ':' nor a tab between their fields' first and last. */
static bool split(struct slice line, struct slice *name, struct slice *expression)
{
	size_t at = 0;

	while (at < line.n && !strchr("=:\t", line.p[at]))
		at++;
	size_t end = at + 1;
	if (at + 1 < line.n && line.p[at] == '=' && line.p[at + 1] == '>')
		end++;
	if (end > line.n)
		return false;
	*name = trim((struct slice){ line.p, at });
	*expression = trim((struct slice){ line.p + end, line.n - end });
	return name->n && expression->n;
}

static bool is_comment(struct slice line)
{
	line = trim(line);
	return !line.n || strchr("#!", *line.p);
}

bool schedule_is_quartz(struct slice text)
{
	struct slice line, name, expression;

	while (schedule_line(&text, &line)) {
		struct quartz q;
		struct err e = { 0 };

		if (!is_comment(line) && split(line, &name, &expression) &&
			quartz_parse(expression, &q, &e))
			return true;
	}
	return false;
}

static bool parse_line(struct slice line, struct slice *name, struct quartz *q, struct err *bad)
{
	struct slice expression;

	if (!split(line, name, &expression)) {
		err_set(bad, ERR_INPUT, "no 'NAME = EXPRESSION'");
		return false;
	}
	if (name->n > NAME_BYTES || !event_name_is_plain(*name))
		return err_set(bad, ERR_INPUT, "a name is too long or holds control characters");
	return quartz_parse(expression, q, bad);
}

static void run(struct schedule_loader *l, const struct quartz *q, const struct zone *zone)
{
	int64_t s = l->to->first_ns / NS_PER_S - 1;

	while (quartz_next(q, zone, s, &s) && s * NS_PER_S <= l->to->last_ns)
		if (!schedule_emit(l, s, s))
			return;
}

static bool add_line(struct schedule_loader *l, struct slice line, const struct zone *zone,
	const char *place, struct err *e)
{
	struct quartz q;
	struct slice name;
	struct err bad = { 0 };

	if (!parse_line(line, &name, &q, &bad)) {
		schedule_bad(l, &bad, place);
		return true;
	}
	const char *own = arena_copy(&l->to->list->arena, name).p;
	if (!own)
		return err_set(e, ERR_ENV, "out of memory");
	if (!schedule_entry(l, own, e))
		return false;
	run(l, &q, zone);
	return true;
}

bool schedule_read_quartz(struct schedule_loader *l, struct slice text, struct err *e)
{
	struct zone zone;
	struct slice line;
	bool ok = schedule_zone(l, NULL, &zone, e);

	if (!ok)
		return false;
	for (unsigned number = 1; ok && schedule_line(&text, &line); number++) {
		char place[32];

		snprintf(place, sizeof(place), "line %u", number);
		if (!is_comment(line))
			ok = add_line(l, line, &zone, place, e);
	}
	zone_close(&zone);
	return ok;
}
