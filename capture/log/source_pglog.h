/*
 * source_pglog.h - Postgres server logs as a source of requests.
 *
 * Reads csvlog (9.0 to 18), jsonlog (15 and later, CloudNativePG's too) and stderr logs
 * under any log_line_prefix, bare or in what clouds and collectors put around them
 * (log_shape.h), compressed or not. A log tells when a statement ended and how long it
 * took: start is the stamp minus the duration, and each request has REQUEST_DERIVED.
 * Requests reach the sink in the order of their lines, held back for a while so that
 * in_flight counts those that ended later; sessions are numbered from 1 as they
 * appear. One thread; memory is bounded, what goes over a cap is in the ledger.
 */
#ifndef REPROD_SOURCE_PGLOG_H
#define REPROD_SOURCE_PGLOG_H

#include "core/base/json.h"
#include "core/base/run.h"
#include "core/model/request.h"

struct source_pglog_options {
	/* For stamps whose zone abbreviation has several meanings or none: an offset
	 * ("+02:00"), a name ("Europe/Berlin") or an abbreviation. NULL: such a log is
	 * refused. */
	const char *zone;
	/* The server's log_line_prefix, for stderr logs; NULL: learned from the lines. */
	const char *prefix;
	/* A name that source_pglog_is_format() knows; NULL: by the bytes. */
	const char *format;
	/* log_parameter_max_length of the server; 0: not known, then each value that
	 * ends in "..." counts as cut. */
	uint32_t parameter_max_bytes;
	/* address:port for session.server; NULL when not known */
	const char *server;
	/* Given up when that much was read without a line being found: bombs, binary
	 * files. 0: 10 s */
	int64_t patience_ns;
	const struct run *run; /* progress, notes and stop flag; may be NULL */
};

struct source_pglog;

/* True when the first bytes of a file (as they are behind unzip; 512 suffice mostly,
 * 4 KiB always) look like a Postgres log of any format and wrapping. ret_name is
 * "csvlog", "jsonlog", "stderr log", "syslog", "Heroku logplex", ... */
bool source_pglog_detect(struct slice first_bytes, const char **ret_name);
/* A name for --format, and all of them for a hint. */
bool source_pglog_is_format(const char *name);
const char *source_pglog_formats(void);

/* Options and sink outlive it. */
struct source_pglog *source_pglog_new(
	const struct source_pglog_options *o, const struct request_sink *sink, struct err *e);
/* path "-" is stdin. A stop signal ends it early and is no failure. */
bool source_pglog_read(struct source_pglog *s, const char *path, struct err *e) MUST_USE;
/* Rotated files in any order: read by the first time that stands in each. "-" and
 * files without one keep their place at the end. */
bool source_pglog_read_all(
	struct source_pglog *s, const char *const *paths, size_t count, struct err *e) MUST_USE;
/* Hands on what is held back, and fills ledger_lines with {"read", "unread": {reason:
 * n}} and ledger_requests with {"paired", "unpaired": {reason: n}} (maps of the
 * caller). ERR_INPUT when not one line told of a request: says what to set. */
bool source_pglog_finish(struct source_pglog *s, struct json *ledger_lines,
	struct json *ledger_requests, struct err *e) MUST_USE;
/* True when some of the input was no record (cut, foreign lines): what was read is
 * not all that was given, and the capture is not complete. */
bool source_pglog_is_damaged(const struct source_pglog *s);
void source_pglog_free(struct source_pglog *s);

#endif
