/*
 * httpcache.h - headers and targets scrubbed before, by their very bytes.
 *
 * Direct-mapped: a newcomer takes the place of what was there. At most
 * HTTPCACHE_SLOTS entries of HTTPCACHE_ENTRY_MAX bytes. What carries credentials is
 * never put in. Hits change speed only. Private to the HTTP scrubber. A target is a
 * field with the method as its name, in a cache of its own.
 */
#ifndef REPROD_HTTPCACHE_H
#define REPROD_HTTPCACHE_H

#include "core/model/request.h"

enum { HTTPCACHE_SLOTS = 4096, HTTPCACHE_ENTRY_MAX = 2048 };

/* One value of a template. */
struct http_piece {
	uint8_t role, action, flags;
	uint32_t size; /* of a dropped one */
	uint32_t place; /* number in the report */
	uint32_t n;
	size_t at; /* its bytes; in an entry counted from the entry's */
};

struct httpcache_entry {
	uint64_t hash;
	struct slice name, value; /* raw */
	struct slice text, bytes;
	const struct http_piece *pieces;
	size_t piece_count;
	struct slice route; /* of a target */
	uint32_t literal_place; /* number in the report of a value that is text; 0: none */
};

struct httpcache {
	struct httpcache_entry **slots;
	uint32_t *seen; /* a part of the hash of what was asked for last */
	uint64_t seed;
	uint64_t hits, misses;
};

bool httpcache_init(struct httpcache *c, uint64_t seed) MUST_USE;
uint64_t httpcache_hash(const struct httpcache *c, const struct raw_field *field);
/* True when it was asked for before, as far as is known: what comes once is not worth
 * its place. */
bool httpcache_is_again(struct httpcache *c, uint64_t hash);
/* NULL when it is not there. */
const struct httpcache_entry *httpcache_find(
	struct httpcache *c, uint64_t hash, const struct raw_field *field);
/* Copies everything but hash, name and value, which are field's; silently nothing when
 * too large or out of memory. base is where the bytes of the pieces begin. */
void httpcache_put(struct httpcache *c, uint64_t hash, const struct raw_field *field,
	const struct httpcache_entry *made, size_t base);
void httpcache_free(struct httpcache *c);

#endif
