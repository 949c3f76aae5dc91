/*
 * http_feed.h - HTTP requests of a log or file, in any order, to sessions in order.
 *
 * Requests are held until the newest is HOLD_NS further (or 100,000 or 64 MiB wait)
 * and go on by the order of their ends, through log_order.h, which counts in_flight.
 * Stamps of whole seconds are spread evenly over their second, in the order of their
 * lines: else all that ended in one second would seem to have been in flight together.
 *
 * A session is a connection where its number (or the client's port) is known. Else it
 * is one client address with one user agent, asking one after the other: what overlaps
 * is another session of that client, and THINK_GAP_NS of silence end one. At most
 * 200,000 are open at once; the one that was silent for longest then ends.
 */
#ifndef REPROD_HTTP_FEED_H
#define REPROD_HTTP_FEED_H

#include "core/model/request.h"

struct http_feed;

struct http_feed_item {
	const struct raw_http *http;
	int64_t start_ns, first_byte_ns, end_ns;
	int64_t fineness_ns; /* of the stamp */
	bool is_start_stamped; /* else the stamp is the end's */
	uint64_t bytes_in, bytes_out;
	uint32_t flags; /* enum request_flag */
	struct slice key; /* of the session: connection, or client with agent */
	bool is_connection; /* the key is a connection's */
	bool is_opening; /* its first request */
	struct slice client, user;
};

/* The sink outlives it. NULL: out of memory. */
struct http_feed *http_feed_new(const struct request_sink *sink);
/* Copies what is given. */
bool http_feed_take(struct http_feed *f, const struct http_feed_item *i, struct err *e) MUST_USE;
/* Hands on all that waits and ends the sessions. */
bool http_feed_finish(struct http_feed *f, struct err *e) MUST_USE;
/* Came so late that what ended after it had already gone on. */
uint64_t http_feed_late(const struct http_feed *f);
void http_feed_free(struct http_feed *f);

#endif
