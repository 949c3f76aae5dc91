/*
 * sqlcache.h - shapes by skeleton and whole texts by text, the least recently used
 * dropped first.
 *
 * The bytes of all entries stay below cap_bytes. An answer is good until the next
 * sqlcache_offer(). Hits change speed only, never results. Private to the SQL scrubber.
 */
#ifndef REPROD_SQLCACHE_H
#define REPROD_SQLCACHE_H

#include "core/model/sqlshape.h"

/* The second two: of sessions where backslashes escape in '...'. CACHED_TREE: by outline. */
enum cached { CACHED_SHAPE, CACHED_TEXT, CACHED_ESCAPING, CACHED_ESCAPING_TEXT, CACHED_TREE };

struct sqlcache_entry {
	struct sqlcache_entry *next; /* in the bucket */
	struct sqlcache_entry *newer, *older;
	uint64_t hash;
	size_t size_bytes;
	struct slice key;
	enum cached kind;
	struct sqlshape *shape;
	struct value *values; /* of a text */
	size_t value_count;
};

struct sqlcache {
	struct sqlcache_entry **buckets;
	size_t bucket_count; /* a power of two */
	struct sqlcache_entry *newest, *oldest;
	size_t used_bytes, cap_bytes;
	uint64_t seed;
	uint64_t hits, misses;
};

bool sqlcache_init(struct sqlcache *c, size_t cap_bytes, uint64_t seed) MUST_USE;
uint64_t sqlcache_hash(const struct sqlcache *c, struct slice key);
/* The same in every process. */
uint64_t sqlcache_fixed_hash(struct slice text);
struct sqlcache_entry *sqlcache_find(
	struct sqlcache *c, uint64_t hash, struct slice key, enum cached kind);
/* Copies key and values and takes a reference of the shape. False when it was not
 * taken: too large, or out of memory. */
bool sqlcache_offer(struct sqlcache *c, uint64_t hash, struct slice key, enum cached kind,
	struct sqlshape *shape, const struct value *values, size_t value_count);
void sqlcache_free(struct sqlcache *c);

#endif
