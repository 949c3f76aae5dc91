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
};

/* Options and sink outlive it. */
struct log_match *log_match_new(
	const struct log_match_options *o, const struct request_sink *sink, struct err *e);
/* session_start_ns: 0 when not known. */
bool log_match_line(struct log_match *m, const struct pglog_line *line, int64_t time_ns,
	int64_t session_start_ns, struct err *e) MUST_USE;
/* A line that could not be read; why is a static text. */
void log_match_unread(struct log_match *m, const char *why);
/* Ends sessions and hands on what is held back. */
bool log_match_finish(struct log_match *m, struct err *e) MUST_USE;
uint64_t log_match_requests(const struct log_match *m);
uint64_t log_match_lines(const struct log_match *m);
/* Adds "read", "unread" and "paired", "unpaired". */
void log_match_ledger(const struct log_match *m, struct json *lines, struct json *requests);
void log_match_free(struct log_match *m);

#endif
