/*
 * rcap.h - the capture file: written append-only in blocks, read as a stream.
 *
 * docs/formats/rcap.md describes every byte. A file is whole up to its last whole
 * block at any instant, so kill -9 loses at most what was not yet flushed. The
 * head (JSON) is written again as the file grows and the last whole one wins. Route
 * and template texts come in the stream before their first use; each dictionary
 * has a cap, beyond it everything is entry RCAP_OTHER. Exact per-route counts are
 * written as differences at each flush. Unknown block and record kinds are
 * skipped by readers; a newer major version is refused.
 */
#ifndef REPROD_RCAP_H
#define REPROD_RCAP_H

#include <signal.h>

#include "core/base/err.h"
#include "core/base/hist.h"
#include "core/base/json.h"
#include "core/model/record.h"

#define RCAP_VERSION 1
#define RCAP_MINOR 1 /* 1: gRPC status at the end of a request */
#define RCAP_ROUTES_MAX 20000
#define RCAP_TEMPLATES_MAX 200000
#define RCAP_OTHER 0 /* "other" in both dictionaries */

/* Writing. Owned by one thread. */
struct rcap_writer;

/* path "-" is stdout. Fails when it exists and is not forced. */
struct rcap_writer *rcap_create(const char *path, bool is_forced, struct err *e);
/* For files opened before privileges were dropped; the descriptor is the writer's
 * from here on, also when this fails. */
struct rcap_writer *rcap_create_fd(int fd, const char *name, struct err *e);
/* Finds or adds; the text is copied. The fingerprint is the identity of a route. */
uint32_t rcap_add_route(
	struct rcap_writer *w, enum protocol protocol, uint64_t fingerprint, struct slice text);
uint32_t rcap_add_template(struct rcap_writer *w, struct slice text);
bool rcap_put_session(
	struct rcap_writer *w, const struct session_record *s, struct err *e) MUST_USE;
/* Also counts it into its route, unless form is FORM_PREPARE. A request larger than
 * 4 MiB is stored without its values (REQUEST_VALUE_LOST). After a failed write
 * the file ends with its last whole block, and the next call tries again. */
bool rcap_put_request(
	struct rcap_writer *w, const struct request_record *q, struct err *e) MUST_USE;
/* Counts a request that is not stored (sampling): route totals stay exact. */
bool rcap_count_request(
	struct rcap_writer *w, const struct request_record *q, struct err *e) MUST_USE;
/* A session that is not stored, or not yet. */
void rcap_count_session(struct rcap_writer *w, const struct session_record *s);
/* For a capture made of others: adds what they counted of a route; nothing of it was
 * counted by the calls above. The id in *counted is not looked at. */
struct rcap_route;
bool rcap_count_route(struct rcap_writer *w, uint32_t route, const struct rcap_route *counted,
	struct err *e) MUST_USE;
/* Likewise: how many sessions it has, in place of those that were put. */
void rcap_set_sessions(struct rcap_writer *w, uint64_t sessions);
/* The other half: stores a request that was counted before. */
bool rcap_store_request(
	struct rcap_writer *w, const struct request_record *q, struct err *e) MUST_USE;
/* Called for each route that gets a number; the text is borrowed for the call. */
typedef void rcap_route_seen(
	void *data, uint32_t id, enum protocol protocol, uint64_t fingerprint, struct slice text);
void rcap_on_route(struct rcap_writer *w, rcap_route_seen *seen, void *data);
/* Dictionaries, histograms and counts stay below so many bytes, about; the buffers of
 * blocks, 3 MiB at most in practice, are beside it. What finds no room is "other" and
 * counted by rcap_refused_texts(), once for each use. */
void rcap_limit(struct rcap_writer *w, size_t bytes);
uint64_t rcap_refused_texts(const struct rcap_writer *w);
/* Once *stop is set, an output that takes nothing for two seconds (a pipe whose reader
 * stands still) is a failure, so that a capture can end. Borrowed. */
void rcap_heed_stop(struct rcap_writer *w, const volatile sig_atomic_t *stop);
/* Ends the open block and writes counts and head; call at least once a second of
 * capture time. The head stays the caller's; it is written when the file has grown by
 * four times its size since the last one, and at least with each tenth flush. */
bool rcap_flush(struct rcap_writer *w, const struct json *head, struct err *e) MUST_USE;
uint64_t rcap_bytes(const struct rcap_writer *w);
/* A last flush, fsync, and close; frees in every case. */
bool rcap_finish(struct rcap_writer *w, const struct json *head, struct err *e) MUST_USE;
void rcap_abandon(struct rcap_writer *w);

/* Reading. */
struct rcap_route {
	uint32_t id;
	enum protocol protocol;
	uint64_t fingerprint;
	struct slice text;
	uint64_t requests, errors, rows, bytes_in, bytes_out;
	struct hist latency_us; /* service time */
};

enum rcap_kind { RCAP_SESSION, RCAP_REQUEST };

struct rcap_item {
	enum rcap_kind kind;
	struct session_record session;
	struct request_record request;
};

struct rcap;

/* Checks magic and version, scans all blocks once (checksums) to find the last
 * head, the dictionaries and the counts; then pulls stream from the start. A pipe
 * is refused. A torn tail is not a failure: rcap_is_torn(). */
struct rcap *rcap_open(const char *path, struct err *e);
const struct json *rcap_head(const struct rcap *r);
/* True when the file was not finished, or is damaged anywhere. */
bool rcap_is_torn(const struct rcap *r);
/* Bytes after the last whole block. */
uint64_t rcap_torn_bytes(const struct rcap *r);
/* Blocks of records left out since their checksum was wrong. */
uint64_t rcap_damaged_blocks(const struct rcap *r);
/* False when the END block is missing: killed, or still being written. */
bool rcap_is_finished(const struct rcap *r);
/* Session opens, requests and errors as the writer counted them, prepares not
 * included, and requests stored (prepares included). */
struct rcap_totals {
	uint64_t sessions, requests, errors, stored;
};
struct rcap_totals rcap_totals(const struct rcap *r);
size_t rcap_route_count(const struct rcap *r);
const struct rcap_route *rcap_route(const struct rcap *r, uint32_t id);
size_t rcap_template_count(const struct rcap *r);
struct slice rcap_template(const struct rcap *r, uint32_t id);
/* In file order: requests are written when they end, sessions when they open and
 * again when they close. */
enum step rcap_next(struct rcap *r, struct rcap_item *ret, struct err *e);
void rcap_rewind(struct rcap *r);
void rcap_close(struct rcap *r);

/* One block after the other, decompressed, for checks of the file itself. *at
 * starts at 0. The payload is borrowed until the next call of any pull, and
 * rcap_next() must be rewound after it. */
struct rcap_block {
	uint64_t offset; /* of the block's header in the file */
	uint8_t kind;
	const char *kind_name;
	bool is_damaged; /* checksum, codec or size: no payload */
	struct slice payload;
};
enum step rcap_next_block(struct rcap *r, uint64_t *at, struct rcap_block *ret, struct err *e);

/* Lower case, one blank for any white space, none at the end: how fragments of routes are
 * compared. Replaces to. */
void rcap_fold_text(struct slice text, struct buf *to);
/* Finds a route by a fragment of its text (case and white space folded), the one
 * with the most requests first; NULL when none fits. */
const struct rcap_route *rcap_find_route(const struct rcap *r, struct slice fragment);

#endif
