/*
 * oncalendar.h - systemd's calendar expressions: "Mon..Fri *-*-1..7 09:00/30:00.5 Europe/Oslo".
 *
 * The grammar of systemd.time(7) and the search of systemd 252's calendarspec.c, so that
 * the times are those of "systemd-analyze calendar": an hour that the clock skips is
 * skipped, of an hour that it repeats the first one counts. That search asks mktime(3),
 * whose answer for an hour that occurs twice depends on what it answered before; so does
 * ours (oncalendar_next.c). Parts live in the arena, at most ONCALENDAR_PARTS_MAX a field.
 */
#ifndef REPROD_ONCALENDAR_H
#define REPROD_ONCALENDAR_H

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/format/zone.h"

#define ONCALENDAR_PARTS_MAX 240

enum { CALENDAR_YEAR, CALENDAR_MONTH, CALENDAR_DAY, CALENDAR_HOUR, CALENDAR_MINUTE, CALENDAR_US };
#define CALENDAR_FIELDS 6

struct calendar_part {
	int32_t start, stop, repeat; /* stop -1: none; repeat 0: none */
};

struct calendar_field {
	const struct calendar_part *parts; /* none: every value */
	size_t count;
};

struct oncalendar {
	struct calendar_field fields[CALENDAR_FIELDS]; /* CALENDAR_US: within the minute */
	uint8_t weekdays; /* Monday is bit 0; 0: any */
	bool is_from_month_end; /* "~": days are counted from the month's last */
	int8_t dst; /* "CET", "CEST" behind it: 0, 1 in the host's zone; else -1 */
	const char *zone; /* named, or NULL: the host's */
};

/* host is needed for the abbreviations of its zone. */
bool oncalendar_parse(struct slice text, const struct zone *host, struct arena *arena,
	struct oncalendar *ret, struct err *e) MUST_USE;
enum calendar_answer { CALENDAR_TIME, CALENDAR_NEVER, CALENDAR_STUCK };

/* The first time after after_us; zone is the named one, or the host's. Stuck is where
 * systemd 252 finds itself in an endless loop and fails the timer: "0/2:00" where the clock
 * skips midnight (America/Santiago). */
enum calendar_answer oncalendar_next(
	const struct oncalendar *c, const struct zone *zone, int64_t after_us, int64_t *ret_us);
/* systemd's time spans: "1h 30min", "90", "1.5 s". False for others and "infinity". */
bool oncalendar_span(struct slice text, int64_t *ret_us) MUST_USE;

#endif
