/*
 * pglog.h - Postgres server logs: lines, and what a line says.
 *
 * Pure: bytes in, slices out. A reader per format (pglog_csv.h) makes lines of
 * bytes; this file knows the messages, which are the same in every format. Facts by
 * version are those of PostgreSQL 9.0 to 18 (src/backend/tcop/postgres.c,
 * errordetail_params and check_log_duration), English messages (lc_messages 'C').
 */
#ifndef REPROD_PGLOG_H
#define REPROD_PGLOG_H

#include "core/base/buf.h"

enum pglog_format { PGLOG_NONE, PGLOG_CSV, PGLOG_JSON, PGLOG_STDERR };

/* By the first bytes of a file; 512 are enough. */
enum pglog_format pglog_detect(struct slice first_bytes);

/* A time as the server wrote it: local to its zone. */
struct pglog_stamp {
	int64_t local_ns; /* as if the zone were UTC */
	struct slice zone; /* "UTC", "CEST", "+03" */
	bool has_offset; /* the zone says its offset itself */
	int64_t offset_ns; /* east of UTC */
};

/* "2026-11-30 12:00:00.123 UTC", decimals optional. */
bool pglog_parse_stamp(struct slice text, struct pglog_stamp *ret) MUST_USE;

/* Slices are borrowed from the reader until its next call. */
struct pglog_line {
	struct pglog_stamp time;
	struct pglog_stamp session_start; /* whole seconds; zone.n is 0 when unknown */
	struct slice user, database, client, session_id, command_tag;
	struct slice severity, sqlstate, message, detail, query, application;
	struct slice backend_type; /* empty before 13 */
	uint64_t line_number; /* within the session */
};

enum pglog_kind {
	PGLOG_OTHER, /* checkpoints, vacuum, settings, ... */
	PGLOG_STATEMENT, /* simple protocol */
	PGLOG_EXECUTE, /* extended protocol */
	PGLOG_FETCH, /* a further Execute on an open portal */
	PGLOG_FASTPATH, /* a function call by oid: no text */
	PGLOG_DURATION, /* of the statement whose line came before */
	PGLOG_PARSE_BIND, /* duration of Parse or Bind: the start of the Execute to come */
	PGLOG_PLAN, /* auto_explain */
	PGLOG_RECEIVED, /* a connection, not yet anybody's */
	PGLOG_AUTHORIZED,
	PGLOG_DISCONNECTED,
	PGLOG_ERROR, /* ERROR, FATAL or PANIC */
};

struct pglog_meaning {
	enum pglog_kind kind;
	bool has_duration;
	int64_t duration_ns;
	struct slice text; /* of the statement */
	struct slice statement; /* its name; empty when unnamed */
	struct slice portal;
};

/* A name that holds ": " cannot be told from its statement and is cut there. */
struct pglog_meaning pglog_mean(const struct pglog_line *line);

/* True when a DETAIL lists bind values; ret_rest is then the list. */
bool pglog_has_parameters(struct slice detail, struct slice *ret_rest);
/* The next of "$1 = 'it''s', $2 = NULL": ITEM, END, or FAIL when it is none. The
 * value is borrowed from scratch, in which the caller has made room for the
 * whole list. */
enum step pglog_next_parameter(
	struct slice *rest, struct buf *scratch, struct slice *ret_value, bool *ret_is_null);

#endif
