#include <stdio.h>

#include "core/base/clock.h"
#include "core/format/oncalendar.h"
#include "core/format/timerunit.h"
#include "core/model/event.h"
#include "correlate/schedule_load.h"

static const int64_t us_per_day = INT64_C(86400000000);

/* The timer is asked from before the capture on, as it has been running: its answer for an
 * hour that occurs twice depends on where the search begins. */
/* A timer of each second over two days is a sixth of this. */
enum { STEPS_MAX = 1 << 20 };

static void run_calendar(struct schedule_loader *l, const struct timer_unit *t,
	const struct oncalendar *c, const struct zone *zone)
{
	int64_t late_us = t->accuracy_us + t->delay_us, us;
	enum calendar_answer answer = CALENDAR_TIME;
	char text[CLOCK_TEXT_MAX];

	us = l->to->first_ns / 1000 - 2 * us_per_day - late_us;
	us = us < 0 ? 0 : us;
	for (size_t steps = 0; us * 1000 <= l->to->last_ns; steps++) {
		if ((answer = oncalendar_next(c, zone, us, &us)) != CALENDAR_TIME)
			break;
		if (steps == STEPS_MAX)
			notes_lack(l->to->notes,
				"'%s' of '%s' comes too often: its later times were left out",
				l->into->name, l->path);
		if (steps == STEPS_MAX || (l->to->run && run_stopped(l->to->run)) ||
			!schedule_emit_ns(l, us * 1000, (us + late_us) * 1000))
			return;
	}
	if (answer == CALENDAR_STUCK)
		notes_add(l->to->notes,
			"'%s' of '%s': systemd 252 fails this timer after %s (an endless loop at a change of the clock)",
			l->into->name, l->path, clock_text(us * 1000, text));
}

static bool run_text(struct schedule_loader *l, const struct timer_unit *t, const char *text,
	const struct zone *host, struct err *bad)
{
	struct oncalendar c;
	struct zone own;

	if (!oncalendar_parse(slice_of(text), host, &l->to->list->arena, &c, bad))
		return false;
	if (!c.zone) {
		l->is_utc_assumed |= !l->to->zone;
		run_calendar(l, t, &c, host);
		return true;
	}
	if (!zone_open(&own, c.zone, bad))
		return false;
	run_calendar(l, t, &c, &own);
	zone_close(&own);
	return true;
}

static bool add_timer(struct schedule_loader *l, const struct timer_unit *t,
	const struct zone *host, const char *place, struct err *e)
{
	struct err bad = { 0 };

	if (!event_name_is_plain(slice_of(t->name))) {
		err_set(&bad, ERR_INPUT, "a unit's name holds control characters");
		schedule_bad(l, &bad, place);
		return true;
	}
	if (!schedule_entry(l, t->name, e))
		return false;
	if (!t->calendar_count)
		schedule_silent(l, SILENT_MONOTONIC);
	size_t wrong = 0;
	for (size_t i = 0; i < t->calendar_count; i++)
		if (!run_text(l, t, t->calendars[i], host, &bad)) {
			schedule_bad(l, &bad, place);
			wrong++;
		}
	if (wrong && wrong == t->calendar_count)
		schedule_drop(l);
	else
		schedule_unite(l);
	return true;
}

static bool read_units(
	struct schedule_loader *l, struct slice text, const struct zone *host, struct err *e)
{
	struct timer_units units;
	struct timer_unit t;

	timer_units_init(&units, text, l->path, &l->to->list->arena);
	for (;;) {
		struct err bad = { 0 };
		enum step step = timer_units_next(&units, &t, &bad);
		char place[64];

		if (step == STEP_END)
			return true;
		snprintf(place, sizeof(place), "the timer at line %u", t.line);
		if (step == STEP_FAIL)
			schedule_bad(l, &bad, place);
		else if (!add_timer(l, &t, host, place, e))
			return false;
	}
}

bool schedule_read_timers(struct schedule_loader *l, struct slice text, struct err *e)
{
	struct zone host;

	if (!zone_open(&host, l->to->zone, e))
		return false;
	bool ok = read_units(l, text, &host, e);
	zone_close(&host);
	return ok;
}
