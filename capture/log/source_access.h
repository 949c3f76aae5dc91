/*
 * source_access.h - access logs of web servers as a source of requests.
 *
 * Formats are those of core/format/accesslog.h; files may be gzip, zstd or bzip2.
 * A line is one request, REQUEST_DERIVED: its start or its end is the stamp, the other
 * follows by the duration. Without a duration the request is a point in time with
 * REQUEST_GAP, and has no part in latencies. Only the request line is known: no
 * headers, no body. Sessions and order: http_feed.h. Several files are read by their
 * first stamps, oldest first. One thread; memory is bounded.
 */
#ifndef REPROD_SOURCE_ACCESS_H
#define REPROD_SOURCE_ACCESS_H

#include "core/base/json.h"
#include "core/base/run.h"
#include "core/format/accesslog.h"
#include "core/model/request.h"

struct source_access_options {
	struct accesslog_options format;
	const char *zone; /* of stamps without one; NULL: such a log is refused */
	const struct run *run; /* notes, progress and stop flag; may be NULL */
};

struct source_access;

/* Options and sink outlive it. */
struct source_access *source_access_new(
	const struct source_access_options *o, const struct request_sink *sink, struct err *e);
/* path "-" is standard input, alone. A stop signal ends it early and is no failure. */
bool source_access_read(
	struct source_access *s, const char *const *paths, size_t count, struct err *e) MUST_USE;
/* Hands on what is held back, and fills {"read", "unread": {reason: n}} and {"paired",
 * "unpaired": {}} (maps of the caller). ERR_INPUT when not one line told of a request. */
bool source_access_finish(struct source_access *s, struct json *ledger_lines,
	struct json *ledger_requests, struct err *e) MUST_USE;
/* Some of the input was no line of the format, or cut. */
bool source_access_is_damaged(const struct source_access *s);
/* Of the stamps, the coarsest seen. */
int64_t source_access_fineness_ns(const struct source_access *s);
void source_access_free(struct source_access *s);

#endif
