/*
 * source_pglog.h - Postgres server logs as a source of requests.
 *
 * Reads csvlog files of versions 9.0 to 18 (jsonlog and stderr are refused with
 * words). A log tells when a statement ended and how long it took: start is the
 * stamp minus the duration, and each request has REQUEST_DERIVED. Requests reach
 * the sink in the order of their ends, held back for a while so that in_flight
 * counts those that ended later; sessions are numbered from 1 as they appear.
 * Rotated files are read one after the other, oldest first. One thread; memory is
 * bounded, what goes over a cap is counted in the ledger.
 */
#ifndef REPROD_SOURCE_PGLOG_H
#define REPROD_SOURCE_PGLOG_H

#include "core/base/json.h"
#include "core/base/run.h"
#include "core/model/request.h"

struct source_pglog_options {
	/* For stamps whose zone abbreviation is neither UTC nor numeric: an offset
	 * ("+02:00") or a name ("Europe/Berlin"). NULL: such a log is refused. */
	const char *zone;
	/* log_parameter_max_length of the server; 0: not known, then each value that
	 * ends in "..." counts as cut. */
	uint32_t parameter_max_bytes;
	/* address:port for session.server; NULL when not known */
	const char *server;
	const struct run *run; /* progress and stop flag; may be NULL */
};

struct source_pglog;

/* True when the first bytes of a file (512 suffice) look like a Postgres log of
 * any format; ret_name gets "csvlog", "jsonlog" or "stderr log". */
bool source_pglog_detect(struct slice first_bytes, const char **ret_name);

/* Options and sink outlive it. */
struct source_pglog *source_pglog_new(
	const struct source_pglog_options *o, const struct request_sink *sink, struct err *e);
/* path "-" is stdin. A stop signal ends it early and is no failure. */
bool source_pglog_read(struct source_pglog *s, const char *path, struct err *e) MUST_USE;
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
