/*
 * scrub.h - raw sessions and requests to sealed records: the only maker of them.
 *
 * Every text, literal, bind value, COPY field, name and client address passes the
 * policy here (core/model/sqlscrub.h); the server's address stays in clear. Fails
 * closed: a text that does not lex leaves a fixed route and no text. Policy, key
 * and writer outlive it. One thread.
 */
#ifndef REPROD_SCRUB_H
#define REPROD_SCRUB_H

#include "capture/store.h"
#include "core/model/rcap.h"
#include "core/model/request.h"
#include "core/model/token.h"

struct scrub;
struct httproutes; /* core/model/httproutes.h */

struct scrub *scrub_new(
	const struct policy *policy, const struct token_key *key, struct rcap_writer *writer);
struct request_sink scrub_sink(struct scrub *s);
/* Records go there instead of to the writer, which still numbers routes and templates. */
void scrub_set_store(struct scrub *s, const struct store *store);
/* Of what was scrubbed before at most so many bytes are remembered. */
void scrub_limit_cache(struct scrub *s, size_t bytes);
/* Goes on with another file: what is numbered from here on is numbered by it. */
void scrub_set_writer(struct scrub *s, struct rcap_writer *writer);
/* Records given to the writer; prepares are not among the requests. */
uint64_t scrub_sessions(const struct scrub *s);
uint64_t scrub_requests(const struct scrub *s);
/* Statements whose text did not lex, and those that carried a secret. */
uint64_t scrub_unreadable(const struct scrub *s);
/* Values that rows are looked up by (or may be) and that are not kept: 0 means that
 * the traffic fits an unscrubbed snapshot. */
uint64_t scrub_changed_predicates(const struct scrub *s);
uint64_t scrub_secret(const struct scrub *s);
/* For the routes of HTTP requests; outlives it. Before the first request. */
void scrub_set_routes(struct scrub *s, const struct httproutes *routes);
/* Sets into["columns"], ["headers"], ["query"], ...: what became of each (core/model/places.h). */
void scrub_places(const struct scrub *s, struct json *into);
void scrub_free(struct scrub *s);

#endif
