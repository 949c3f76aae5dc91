#include "core/model/sqlcache.h"

#include <stdlib.h>

/* One bucket per kilobyte: about one short statement. */
enum { BYTES_PER_BUCKET = 1024, BUCKETS_MIN = 64 };

bool sqlcache_init(struct sqlcache *c, size_t cap_bytes, uint64_t seed)
{
	*c = (struct sqlcache){ .cap_bytes = cap_bytes, .seed = seed, .bucket_count = BUCKETS_MIN };
	while (c->bucket_count < cap_bytes / BYTES_PER_BUCKET)
		c->bucket_count *= 2;
	c->buckets = calloc(c->bucket_count, sizeof(*c->buckets));
	return c->buckets != NULL;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Folded multiplication (as in wyhash): equality is checked by bytes, so the hash
 * only has to spread; the seed keeps hostile texts from choosing a bucket. */
uint64_t sqlcache_hash(const struct sqlcache *c, struct slice key)
{
	uint64_t h = c->seed ^ key.n;
	const char *p = key.p;
	size_t n = key.n;
	uint64_t a, b;

	for (; n >= 16; n -= 16, p += 16) {
		memcpy(&a, p, 8);
		memcpy(&b, p + 8, 8);
		h = fold(h ^ a ^ UINT64_C(0xa0761d6478bd642f), b ^ UINT64_C(0xe7037ed1a0b428db));
	}
	a = b = 0;
	if (n >= 8) {
		memcpy(&a, p, 8);
		p += 8;
		n -= 8;
	}
	if (n)
		memcpy(&b, p, n);
	h = fold(h ^ a ^ UINT64_C(0x8ebc6af09c88c6e3), b ^ UINT64_C(0x589965cc75374cc3));
	return h ^ h >> 32;
}

uint64_t sqlcache_fixed_hash(struct slice text)
{
	const struct sqlcache c = { .seed = UINT64_C(0x243f6a8885a308d3) };

	return sqlcache_hash(&c, text);
}

static void unlink_age(struct sqlcache *c, struct sqlcache_entry *e)
{
	if (e->newer)
		e->newer->older = e->older;
	else
		c->newest = e->older;
	if (e->older)
		e->older->newer = e->newer;
	else
		c->oldest = e->newer;
}

static void make_newest(struct sqlcache *c, struct sqlcache_entry *e)
{
	e->newer = NULL;
	e->older = c->newest;
	if (c->newest)
		c->newest->newer = e;
	else
		c->oldest = e;
	c->newest = e;
}

static struct sqlcache_entry **bucket_of(struct sqlcache *c, uint64_t hash)
{
	return &c->buckets[hash & (c->bucket_count - 1)];
}

struct sqlcache_entry *sqlcache_find(
	struct sqlcache *c, uint64_t hash, struct slice key, enum cached kind)
{
	struct sqlcache_entry *e = *bucket_of(c, hash);

	while (e && (e->hash != hash || e->kind != kind || !slice_same(e->key, key)))
		e = e->next;
	if (!e) {
		c->misses++;
		return NULL;
	}
	c->hits++;
	if (e != c->newest) {
		unlink_age(c, e);
		make_newest(c, e);
	}
	return e;
}

static void drop_entry(struct sqlcache *c, struct sqlcache_entry *e)
{
	struct sqlcache_entry **at = bucket_of(c, e->hash);

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	unlink_age(c, e);
	c->used_bytes -= e->size_bytes;
	sqlshape_release(e->shape);
	free(e);
}

static size_t bytes_of(const struct value *values, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += values[i].bytes.n;
	return bytes;
}

bool sqlcache_offer(struct sqlcache *c, uint64_t hash, struct slice key, enum cached kind,
	struct sqlshape *shape, const struct value *values, size_t value_count)
{
	size_t own = sizeof(struct sqlcache_entry) + value_count * sizeof(*values) +
		     bytes_of(values, value_count) + key.n;
	/* Texts share a shape but may outlive its own entry: counted with each. */
	size_t size = own + shape->size_bytes;

	if (size > c->cap_bytes / 2)
		return false;
	shape->references++;
	while (c->used_bytes + size > c->cap_bytes && c->oldest)
		drop_entry(c, c->oldest);
	struct sqlcache_entry *e = malloc(own);
	if (!e) {
		sqlshape_release(shape);
		return false;
	}
	*e = (struct sqlcache_entry){ .hash = hash,
		.size_bytes = size,
		.kind = kind,
		.shape = shape,
		.value_count = value_count };
	e->values = (struct value *)(e + 1);
	char *at = (char *)(e->values + value_count);
	for (size_t i = 0; i < value_count; i++) {
		e->values[i] = values[i];
		e->values[i].bytes.p = at;
		if (values[i].bytes.n)
			memcpy(at, values[i].bytes.p, values[i].bytes.n);
		at += values[i].bytes.n;
	}
	e->key = (struct slice){ at, key.n };
	memcpy(at, key.p, key.n);
	e->next = *bucket_of(c, hash);
	*bucket_of(c, hash) = e;
	make_newest(c, e);
	c->used_bytes += size;
	return true;
}

void sqlcache_free(struct sqlcache *c)
{
	while (c->oldest)
		drop_entry(c, c->oldest);
	free(c->buckets);
	*c = (struct sqlcache){ 0 };
}
