/*
 * crontab.h - the lines of Vixie and cronie crontabs, one at a time.
 *
 * Five fields or an @word (cronfield.h), then a user in a system crontab (the caller
 * says so), then a command. Environment lines and comments are skipped; cronie's
 * CRON_TZ and RANDOM_DELAY hold for the lines below them. A line becomes "job:NAME"
 * by the base name of its command, or of its first file argument when the command is
 * an interpreter; the rest of the command is never kept: it may hold secrets.
 * crontab_job_name() names other lists' commands too. Reads no files.
 */
#ifndef REPROD_CRONTAB_H
#define REPROD_CRONTAB_H

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/format/cronfield.h"

/* What environment lines set for the lines below; zeroed at the file's start. */
struct crontab_env {
	const char *zone; /* CRON_TZ, or NULL; "" is the host's zone without its gap caught up */
	int random_delay_min; /* the delay is below it; 0 is none */
};

struct crontab_line {
	struct cron_fields fields;
	bool is_reboot; /* no schedule of its own */
	const char *name; /* base name, in the arena */
	struct crontab_env env;
};

/* One line of text. STEP_ITEM: *ret is a schedule; STEP_END: a comment, blank or
 * environment line; STEP_FAIL: not a crontab line, *e says why. */
enum step crontab_parse(struct slice text, bool has_user, struct arena *arena,
	struct crontab_env *env, struct crontab_line *ret, struct err *e);

/* The user that a system crontab's line names, when the text is a schedule line; else
 * empty. To tell such a file from a user's. */
struct slice crontab_user_word(struct slice text);

/* The name a command line gets; NULL when out of memory. */
const char *crontab_job_name(struct slice command, struct arena *arena);

#endif
