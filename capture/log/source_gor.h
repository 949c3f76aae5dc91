/*
 * source_gor.h - GoReplay's .gor files as a source of requests.
 *
 * Requests and responses pair by equal ID, in whatever order they stand: start is the
 * request's first packet, end the response's last. A file without responses gives
 * requests without durations (REQUEST_GAP); a request without one among others that
 * have is REQUEST_UNANSWERED. Up to 100,000 records or 64 MiB wait for their other
 * half, the oldest is then given up. Sessions are the connections that IDs of 24 digits
 * tell; older IDs tell none, and what overlaps is then apart (http_feed.h). Files may
 * be gzip, also without an end. One thread.
 */
#ifndef REPROD_SOURCE_GOR_H
#define REPROD_SOURCE_GOR_H

#include "core/base/json.h"
#include "core/base/run.h"
#include "core/model/request.h"

struct source_gor;

/* run: notes, progress and stop flag; may be NULL. The sink outlives it. */
struct source_gor *source_gor_new(
	const struct run *run, const struct request_sink *sink, struct err *e);
/* path "-" is standard input. Chunks (x_0.gor, x_1.gor) may come in any order. */
bool source_gor_read(struct source_gor *s, const char *path, struct err *e) MUST_USE;
/* Fills {"read": records, "unread": {reason: n}} and {"paired", "unpaired": {reason:
 * n}}. ERR_INPUT when there was no request. */
bool source_gor_finish(struct source_gor *s, struct json *ledger_lines,
	struct json *ledger_requests, struct err *e) MUST_USE;
bool source_gor_is_damaged(const struct source_gor *s);
void source_gor_free(struct source_gor *s);

#endif
