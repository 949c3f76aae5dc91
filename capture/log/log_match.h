/*
 * log_match.h - lines of a Postgres log to sessions and requests.
 *
 * Pure but for memory. Knows sessions by the log's session id, joins a duration
 * to the statement line before it, derives starts, and counts every line: a line
 * is read, or unread for a reason. Times given are UTC.
 */
#ifndef REPROD_LOG_MATCH_H
#define REPROD_LOG_MATCH_H

#include "core/base/json.h"
#include "core/format/pglog.h"
#include "core/model/request.h"

struct log_match;

struct log_match_options {
	uint32_t parameter_max_bytes; /* log_parameter_max_length; 0: not known */
	const char *server; /* address:port, or NULL */
	/* When the session began (UTC), by the line's session_start; asked once a
	 * session. May be NULL. */
	bool (*start_of)(void *data, const struct pglog_line *line, int64_t *ret_ns, struct err *e);
	void *data;
};

/* What was there to be joined: for the advice when nothing could be. */
struct log_seen {
	uint64_t statements; /* without a duration in the line */
	uint64_t durations; /* without a text in the line */
	uint64_t errors;
	uint64_t foreign; /* "Dauer: 1.000 ms" and the like */
	uint64_t timed; /* requests whose duration was logged */
	int64_t shortest_ns; /* of those */
};

/* Options and sink outlive it. */
struct log_match *log_match_new(
	const struct log_match_options *o, const struct request_sink *sink, struct err *e);
bool log_match_line(struct log_match *m, const struct pglog_line *line, int64_t time_ns,
	struct err *e) MUST_USE;
/* A line that could not be read; why is a static text. */
void log_match_unread(struct log_match *m, const char *why);
/* Ends sessions and hands on what is held back. */
bool log_match_finish(struct log_match *m, struct err *e) MUST_USE;
uint64_t log_match_requests(const struct log_match *m);
/* Lines that could not be read as lines of the log at all (log_match_unread()). */
uint64_t log_match_unread_all(const struct log_match *m);
struct log_seen log_match_seen(const struct log_match *m);
uint64_t log_match_lines(const struct log_match *m);
/* Adds "read", "unread" and "paired", "unpaired". */
void log_match_ledger(const struct log_match *m, struct json *lines, struct json *requests);
void log_match_free(struct log_match *m);

#endif
