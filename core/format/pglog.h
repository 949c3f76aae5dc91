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

/* What stands before the colon of a stderr line. FOREIGN: by its place and shape it
 * is one, in another language. */
enum pglog_label {
	PGLOG_NO_LABEL,
	PGLOG_SEVERITY,
	PGLOG_DETAIL,
	PGLOG_CONTEXT,
	PGLOG_QUERY_TEXT, /* of a function that failed */
	PGLOG_STATEMENT_TEXT,
	PGLOG_HINT, /* also LOCATION and BACKTRACE: not used */
	PGLOG_FOREIGN,
};

/* "LOG:  text": *ret_severity is "LOG", *ret_rest the text. */
enum pglog_label pglog_label_at(struct slice s, struct slice *ret_severity, struct slice *ret_rest);

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
	bool has_utc; /* then utc_ns is the time, and time is not set */
	int64_t utc_ns;
	struct slice session_start; /* a stamp, or empty */
	struct slice user, database, application;
	struct slice client, port; /* the client's address; "[local]" has no port */
	struct slice session_id;
	bool is_rebuilt; /* session_id is made of pid and client: ids come again */
	bool is_anonymous; /* this log never tells who it was */
	struct slice command_tag, severity, sqlstate; /* sqlstate may be unknown: empty */
	struct slice message, detail, context, query;
	struct slice backend_type; /* empty before 13 */
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
	struct slice name; /* both as written, "S_1/C_2": who knows the names may split anew */
};

/* A name may hold ": ": it ends where what follows begins as SQL does. One with a
 * slash is split at the last. Parse and Bind have their text and name, too. */
struct pglog_meaning pglog_mean(const struct pglog_line *line);

/* True for what a server with another lc_messages writes of statements. */
bool pglog_is_localised(const struct pglog_line *line);

/* True when a DETAIL lists bind values; ret_rest is then the list. */
bool pglog_has_parameters(struct slice detail, struct slice *ret_rest);
/* csvlog's "host:port" taken apart: the port moves from client to port. */
void pglog_split_port(struct pglog_line *line);
/* The SQLSTATE of an English message that is well known ("division by zero"), for
 * logs without %e; NULL when it is none of them. */
const char *pglog_sqlstate_of(struct slice message);
/* The part of a CONTEXT that lists bind values (log_parameter_max_length_on_error),
 * as a DETAIL does; empty when there is none. */
struct slice pglog_context_parameters(struct slice context);
/* The next of "$1 = 'it''s', $2 = NULL": ITEM, END, or FAIL when it is none. The
 * value is borrowed from scratch, in which the caller has made room for the
 * whole list. */
enum step pglog_next_parameter(
	struct slice *rest, struct buf *scratch, struct slice *ret_value, bool *ret_is_null);

#endif
