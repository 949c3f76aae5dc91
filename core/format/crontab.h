/*
 * crontab.h - Vixie and cronie crontabs: lines to schedules, schedules to minutes.
 *
 * Five fields or an @word, ranges, steps, lists, names, cronie's "6~15"; a system
 * crontab's user column is told by its path or by the caller. When both day
 * fields are restricted, either suffices; with a leading star in one, both must
 * fit (Vixie's cron.c: DOM_STAR, DOW_STAR). Environment lines and comments are
 * skipped, CRON_TZ is kept. A line becomes "job:NAME" by the base name of its
 * command, or of its first file argument when the command is an interpreter;
 * the rest of the command is never kept: it may hold secrets. Reads no files.
 */
#ifndef REPROD_CRONTAB_H
#define REPROD_CRONTAB_H

#include "core/base/arena.h"
#include "core/base/err.h"

struct crontab_line {
	uint64_t minute; /* bit per value, from 0 */
	uint32_t hour, dom, month; /* dom and month from bit 1 */
	uint8_t dow; /* Sunday is bit 0 */
	bool is_minute_star, is_hour_star, is_dom_star, is_dow_star;
	bool is_reboot; /* no schedule of its own */
	bool is_random; /* "6~15": one unknown value of the range */
	const char *name; /* base name, in the arena */
	const char *zone; /* CRON_TZ in force, or NULL */
	unsigned number; /* line in the file */
};

/* One line of text. STEP_ITEM: *ret is a schedule; STEP_END: a comment, blank or
 * environment line; STEP_FAIL: not a crontab line, *e says why. zone carries
 * CRON_TZ from line to line. */
enum step crontab_parse(struct slice text, bool has_user, struct arena *arena, const char **zone,
	struct crontab_line *ret, struct err *e);

/* True when the line is due in this minute of local time. */
bool crontab_is_due(
	const struct crontab_line *line, int minute, int hour, int dom, int month, int dow);

/* The name a command line gets; also used for other job lists. */
const char *crontab_job_name(struct slice command, struct arena *arena);

#endif
