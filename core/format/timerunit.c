#include "core/format/timerunit.h"

#include "core/format/oncalendar.h"

enum { DEFAULT_ACCURACY_US = 60000000 };

static bool starts(struct slice s, const char *text)
{
	size_t n = strlen(text);

	return s.n >= n && memcmp(s.p, text, n) == 0;
}

static struct slice trim(struct slice s)
{
	while (s.n && strchr(" \t\r\n", s.p[s.n - 1]))
		s.n--;
	while (s.n && strchr(" \t", *s.p)) {
		s.p++;
		s.n--;
	}
	return s;
}

static struct slice without_end(struct slice s, const char *end)
{
	size_t n = strlen(end);

	if (s.n > n && memcmp(s.p + s.n - n, end, n) == 0)
		s.n -= n;
	return s;
}

static struct slice base_name(struct slice path)
{
	for (size_t i = path.n; i-- > 0;)
		if (path.p[i] == '/')
			return (struct slice){ path.p + i + 1, path.n - i - 1 };
	return path;
}

/* A line that a backslash does not carry on; joined ones are copied. */
static bool next_line(struct timer_units *u, struct slice *ret)
{
	struct slice whole = { 0 };

	if (!u->rest.n)
		return false;
	for (bool goes_on = true; goes_on && u->rest.n;) {
		const char *end = memchr(u->rest.p, '\n', u->rest.n);
		size_t n = end ? (size_t)(end - u->rest.p) : u->rest.n;
		struct slice line = trim((struct slice){ u->rest.p, n });

		u->line++;
		u->rest.p += end ? n + 1 : n;
		u->rest.n -= end ? n + 1 : n;
		goes_on = line.n && line.p[line.n - 1] == '\\' && *line.p != '#';
		line.n -= goes_on;
		if (whole.n)
			whole = slice_of(arena_printf(
				u->arena, "%.*s %.*s", (int)whole.n, whole.p, (int)line.n, line.p));
		else
			whole = line;
	}
	*ret = whole;
	return true;
}

/* "# /etc/systemd/system/x.timer", in front of a unit; a drop-in's path ends in ".conf". */
static bool is_unit_comment(struct slice line, struct slice *ret_name)
{
	struct slice path = trim((struct slice){ line.p + 1, line.n - 1 });

	if (!starts(path, "/"))
		return false;
	*ret_name = base_name(path);
	struct slice bare = without_end(*ret_name, ".timer");
	bool is_timer = bare.n < ret_name->n;
	*ret_name = bare;
	return is_timer;
}

static bool add_calendar(
	struct timer_units *u, struct timer_unit *t, struct slice text, struct err *e)
{
	if (!text.n) {
		t->calendar_count = 0;
		return true;
	}
	if (t->calendar_count == TIMER_CALENDARS_MAX)
		return err_set(e, ERR_INPUT, "more than %d OnCalendar=", TIMER_CALENDARS_MAX);
	t->calendars[t->calendar_count] = arena_copy(u->arena, text).p;
	return t->calendars[t->calendar_count++] || err_set(e, ERR_ENV, "out of memory");
}

/* "{ OnCalendar=*-*-* 00:00:00 ; next_elapse=... }" */
static bool add_shown(struct timer_units *u, struct timer_unit *t, struct slice text, struct err *e)
{
	static const char key[] = "OnCalendar=";
	const char *from = memmem(text.p, text.n, key, sizeof(key) - 1);

	if (!from)
		return true;
	from += sizeof(key) - 1;
	size_t left = (size_t)(text.p + text.n - from);
	const char *end = memmem(from, left, " ;", 2);
	return add_calendar(
		u, t, trim((struct slice){ from, end ? (size_t)(end - from) : left }), e);
}

static bool set_span(struct slice value, int64_t unset_us, int64_t *ret_us, struct err *e)
{
	if (!value.n) {
		*ret_us = unset_us;
		return true;
	}
	return oncalendar_span(value, ret_us) ||
	       err_set(e, ERR_INPUT, "'%.*s' is no span of time such as 5min",
		       (int)(value.n < 40 ? value.n : 40), value.p);
}

static const char *unit_name(struct timer_units *u, struct slice unit)
{
	return arena_copy(u->arena, without_end(without_end(unit, ".service"), ".timer")).p;
}

static bool take_setting(struct timer_units *u, struct timer_unit *t, struct slice key,
	struct slice value, struct err *e)
{
	static const char *const monotonic[] = { "OnActiveSec", "OnBootSec", "OnStartupSec",
		"OnUnitActiveSec", "OnUnitInactiveSec", "TimersMonotonic" };

	for (size_t i = 0; i < LENGTH(monotonic); i++)
		t->is_monotonic |= slice_is(key, monotonic[i]) && value.n;
	if (slice_is(key, "OnCalendar"))
		return add_calendar(u, t, value, e);
	if (slice_is(key, "TimersCalendar"))
		return add_shown(u, t, value, e);
	if (slice_is(key, "AccuracySec") || slice_is(key, "AccuracyUSec"))
		return set_span(value, DEFAULT_ACCURACY_US, &t->accuracy_us, e);
	if (slice_is(key, "RandomizedDelaySec") || slice_is(key, "RandomizedDelayUSec"))
		return set_span(value, 0, &t->delay_us, e);
	if (slice_is(key, "Unit") && value.n)
		t->name = unit_name(u, value);
	if (slice_is(key, "Id") && u->is_shown)
		u->name = unit_name(u, value);
	return true;
}

void timer_units_init(
	struct timer_units *u, struct slice text, const char *path, struct arena *arena)
{
	struct slice base = base_name(slice_of(path));

	*u = (struct timer_units){ .rest = text, .arena = arena };
	u->is_shown = text.n && memmem(text.p, text.n, "TimersCalendar=", 15);
	u->name = unit_name(u, base);
}

static bool has_times(const struct timer_unit *t)
{
	return t->calendar_count || t->is_monotonic;
}

static enum step finish(struct timer_units *u, struct timer_unit *t, const char *name,
	const struct err *bad, struct err *e)
{
	if (!t->name)
		t->name = name ? name : arena_copy(u->arena, SLICE("timer")).p;
	if (!bad->kind)
		return STEP_ITEM;
	*e = *bad;
	return STEP_FAIL;
}

/* Only [Timer] counts; a text without sections is what "systemctl show" prints. */
static bool is_other_section(struct slice line, bool *is_ours)
{
	if (!line.n || *line.p != '[')
		return false;
	*is_ours = slice_is(line, "[Timer]");
	return true;
}

enum step timer_units_next(struct timer_units *u, struct timer_unit *t, struct err *e)
{
	const char *name = u->name;
	struct slice line, told;
	struct err bad = { 0 };
	bool is_ours = u->is_shown;

	*t = (struct timer_unit){ .accuracy_us = DEFAULT_ACCURACY_US, .line = u->line + 1 };
	while (next_line(u, &line)) {
		bool is_named = line.n && *line.p == '#' && is_unit_comment(line, &told);

		if (is_named)
			u->name = unit_name(u, told);
		if (has_times(t) && (is_named || (u->is_shown && !line.n)))
			return finish(u, t, name, &bad, e);
		const char *equal = line.n ? memchr(line.p, '=', line.n) : NULL;
		if (!line.n || strchr("#;", *line.p) || is_other_section(line, &is_ours) ||
			!is_ours || !equal) {
			name = u->name;
			continue;
		}
		struct slice key = trim((struct slice){ line.p, (size_t)(equal - line.p) });
		struct slice value = { equal + 1, (size_t)(line.p + line.n - equal - 1) };
		if (!bad.kind && !take_setting(u, t, key, trim(value), &bad))
			err_in(&bad, "line %u", u->line);
		name = u->name;
	}
	return has_times(t) || bad.kind ? finish(u, t, name, &bad, e) : STEP_END;
}
