/*
 * timerunit.h - systemd timer units: from .timer files, "systemctl cat", "systemctl show".
 *
 * One after the other out of one text. A .timer file is one unit; in what "systemctl cat"
 * prints the comment "# /etc/systemd/system/NAME.timer" starts the next, and drop-ins
 * belong to the one before; in what "systemctl show" prints a blank line does. An empty
 * "OnCalendar=" takes back those before it. Slices and texts live in the arena; at most
 * TIMER_CALENDARS_MAX expressions a unit.
 */
#ifndef REPROD_TIMERUNIT_H
#define REPROD_TIMERUNIT_H

#include "core/base/arena.h"
#include "core/base/err.h"

#define TIMER_CALENDARS_MAX 64

struct timer_unit {
	const char *name; /* of what it starts, without ".service"; NULL: not told */
	const char *calendars[TIMER_CALENDARS_MAX];
	size_t calendar_count;
	bool is_monotonic; /* OnBootSec= and the like */
	int64_t accuracy_us; /* 1 min unless said */
	int64_t delay_us; /* RandomizedDelaySec= */
	unsigned line; /* at which it starts */
};

struct timer_units {
	struct slice rest;
	struct arena *arena;
	bool is_shown; /* "systemctl show": told by TimersCalendar= */
	unsigned line;
	const char *name; /* of the unit that comes next, as its file is called */
};

/* path names a unit that nothing else names. */
void timer_units_init(
	struct timer_units *u, struct slice text, const char *path, struct arena *arena);

/* STEP_ITEM: a timer in *ret; STEP_END; STEP_FAIL: a line of this unit is wrong, *e says
 * which; the next call goes on behind it. */
enum step timer_units_next(struct timer_units *u, struct timer_unit *ret, struct err *e);

#endif
