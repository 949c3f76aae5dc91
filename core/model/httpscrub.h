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
 * and "{id}" or "{}" in the route. Cookies, Authorization and their kin are always
 * dropped. JSON, form and text bodies are scrubbed part by part. Fails closed: what
 * cannot be taken apart is one dropped value. Slices live until the next call.
 */
#ifndef REPROD_HTTPSCRUB_H
#define REPROD_HTTPSCRUB_H

#include "core/model/policy.h"
#include "core/model/record.h"
#include "core/model/request.h"
#include "core/model/token.h"

struct httpscrub;
struct httproutes; /* core/model/httproutes.h: built-in words and those of --routes FILE */

struct httpscrub_request {
	struct slice template_text;
	struct slice route; /* "GET /users/{id}/orders", query and host not in it */
	uint64_t fingerprint;
	const struct value *values; /* in slot order */
	size_t value_count;
	uint32_t
		flags; /* REQUEST_WRITES for other methods than GET, HEAD, OPTIONS, TRACE; _VALUE_LOST; _UNLEXABLE */
};

/* All three outlive it; routes NULL: the built-in words alone. NULL: out of memory. */
struct httpscrub *httpscrub_new(
	const struct policy *policy, const struct token_key *key, const struct httproutes *routes);
void httpscrub_request(
	struct httpscrub *s, const struct raw_http *raw, struct httpscrub_request *ret);
void httpscrub_free(struct httpscrub *s);

#endif
