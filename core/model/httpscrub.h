/*
 * httpscrub.h - an HTTP request taken apart: template, values, route.
 *
 * The template is the request as it went over the wire (RFC 9112 form, also for
 * HTTP/2), with TEMPLATE_SLOT for every piece that is not a fixed word:
 *
 *   GET /users/?/orders?page=? HTTP/1.1 CRLF Host: ? CRLF ... CRLF CRLF body
 *
 * Header names and their order stay; a value stays literal only from a closed list
 * (Accept, Content-Type, ... in known forms). Path segments stay only when they are
 * in the built-in list of API words or in the routes file; anything else is a slot
 * and "{id}" or "{}" in the route. Cookies, Authorization and their kin, and what
 * stands behind keys that name secrets, are always dropped. Names that don't read
 * like names are slots too. JSON, form, multipart and text bodies are scrubbed part
 * by part. Fails closed: what cannot be taken apart is one dropped value. Slices
 * live until the next call; kept values may be slices of the request given.
 *
 * A dropped value has no bytes; value.type_oid holds its length. Content-Length and
 * the length of a chunk are those of the template's own body, dropped parts counted
 * with their lengths: record_http_text() makes a request that can be sent.
 */
#ifndef REPROD_HTTPSCRUB_H
#define REPROD_HTTPSCRUB_H

#include "core/model/policy.h"
#include "core/model/record.h"
#include "core/model/request.h"
#include "core/model/token.h"

struct httpscrub;
struct httproutes; /* core/model/httproutes.h: built-in words and those of --routes FILE */
struct places; /* core/model/places.h */

struct httpscrub_request {
	struct slice template_text;
	struct slice route; /* "GET /users/{id}/orders", query and host not in it */
	uint64_t fingerprint;
	const struct value *values; /* in slot order */
	size_t value_count;
	/* REQUEST_WRITES for other methods than GET, HEAD, OPTIONS, TRACE; _VALUE_LOST when
	 * target or body miss something (a header that was dropped is no such loss: replay
	 * leaves it out); _UNLEXABLE: no request line, nothing but a fixed route. */
	uint32_t flags;
};

/* All three outlive it; routes NULL: the built-in words alone. NULL: out of memory. */
struct httpscrub *httpscrub_new(
	const struct policy *policy, const struct token_key *key, const struct httproutes *routes);
/* Counts what became of each header, key, path and segment; NULL (the default): nobody asks.
 * Before the first request. */
void httpscrub_set_places(struct httpscrub *s, struct places *places);
void httpscrub_request(
	struct httpscrub *s, const struct raw_http *raw, struct httpscrub_request *ret);
void httpscrub_free(struct httpscrub *s);

#endif
