/*
 * log_shape.h - what a Postgres log is wrapped in, its format and its prefix, by its
 * first bytes. Pure; all of it is copied, nothing borrowed.
 */
#ifndef REPROD_LOG_SHAPE_H
#define REPROD_LOG_SHAPE_H

#include "capture/log/unwrap.h"
#include "core/format/pglog_learn.h"

struct log_shape {
	enum unwrap_kind frame, shell;
	enum pglog_format format; /* of what is inside; NONE: not known */
	bool has_prefix; /* stderr: learned well enough */
	struct pglog_learned learned;
	bool has_pid; /* the shell tells whose lines they are */
	char name[96]; /* "csvlog", "stderr log in syslog" */
};

/* forced: a name from log_shape_names(), or NULL. False: the name is not known, or
 * out of memory. Nothing found is format NONE. */
bool log_shape_of(struct slice first_bytes, const char *forced, struct log_shape *ret,
	struct err *e) MUST_USE;
/* "csvlog, jsonlog, stderr, ..." for hints. */
const char *log_shape_names(void);
bool log_shape_is_name(const char *name);
/* Sorts rotated files: the first time that stands in the bytes, as text that compares
 * ("2026-11-30T12:00:00"); empty when there is none. */
void log_shape_first_time(struct slice first_bytes, char ret[20]);

#endif
