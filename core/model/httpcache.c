#include "core/model/httpcache.h"

#include <stdlib.h>

bool httpcache_init(struct httpcache *c, uint64_t seed)
{
	*c = (struct httpcache){ .seed = seed };
	c->slots = calloc(HTTPCACHE_SLOTS, sizeof(struct httpcache_entry *));
	c->seen = calloc(HTTPCACHE_SLOTS, sizeof(*c->seen));
	return c->slots && c->seen;
}

/* The bytes are as secret as the traffic. */
static void forget(struct httpcache_entry *entry)
{
	if (!entry)
		return;
	explicit_bzero((char *)(uintptr_t)entry->name.p, entry->name.n + entry->value.n);
	free(entry);
}

void httpcache_free(struct httpcache *c)
{
	for (size_t i = 0; c->slots && i < HTTPCACHE_SLOTS; i++)
		forget(c->slots[i]);
	free(c->slots);
	free(c->seen);
	*c = (struct httpcache){ 0 };
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Multiply and fold, as the dictionaries of a capture do. */
static uint64_t add(uint64_t h, uint64_t seed, struct slice s)
{
	const char *p = s.p;
	size_t n = s.n;
	uint64_t word;

	h ^= mix(s.n ^ UINT64_C(0xa0761d6478bd642f), UINT64_C(0xe7037ed1a0b428db));
	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&word, p, 8);
		h = mix(h ^ word, UINT64_C(0x8ebc6af09c88c6e3) ^ seed);
	}
	word = 0;
	if (n)
		memcpy(&word, p, n);
	return mix(h ^ word, UINT64_C(0x589965cc75374cc3) ^ seed);
}

uint64_t httpcache_hash(const struct httpcache *c, const struct raw_field *field)
{
	return add(add(c->seed, c->seed, field->name), c->seed, field->value);
}

bool httpcache_is_again(struct httpcache *c, uint64_t hash)
{
	uint32_t *seen = &c->seen[hash % HTTPCACHE_SLOTS], part = (uint32_t)(hash >> 32);
	bool is_again = *seen == part;

	*seen = part;
	return is_again;
}

const struct httpcache_entry *httpcache_find(
	struct httpcache *c, uint64_t hash, const struct raw_field *field)
{
	const struct httpcache_entry *entry = c->slots[hash % HTTPCACHE_SLOTS];

	if (entry && entry->hash == hash && slice_same(entry->value, field->value) &&
		slice_same(entry->name, field->name)) {
		c->hits++;
		return entry;
	}
	c->misses++;
	return NULL;
}

static struct slice place(char **at, struct slice s)
{
	struct slice placed = { *at, s.n };

	if (s.n)
		memcpy(*at, s.p, s.n);
	*at += s.n;
	return placed;
}

void httpcache_put(struct httpcache *c, uint64_t hash, const struct raw_field *field,
	const struct httpcache_entry *made, size_t base)
{
	size_t pieces = made->piece_count * sizeof(struct http_piece);
	size_t size = sizeof(*made) + pieces + field->name.n + field->value.n + made->text.n +
		      made->bytes.n + made->route.n;
	struct httpcache_entry *entry = size <= HTTPCACHE_ENTRY_MAX ? malloc(size) : NULL;

	if (!entry)
		return;
	struct http_piece *copy = (struct http_piece *)(entry + 1);
	for (size_t i = 0; i < made->piece_count; i++) {
		copy[i] = made->pieces[i];
		copy[i].at -= copy[i].n ? base : 0;
	}
	*entry = (struct httpcache_entry){ .hash = hash,
		.pieces = copy,
		.piece_count = made->piece_count,
		.literal_place = made->literal_place };
	char *at = (char *)(copy + made->piece_count);
	entry->name = place(&at, field->name);
	entry->value = place(&at, field->value);
	entry->text = place(&at, made->text);
	entry->bytes = place(&at, made->bytes);
	entry->route = place(&at, made->route);
	forget(c->slots[hash % HTTPCACHE_SLOTS]);
	c->slots[hash % HTTPCACHE_SLOTS] = entry;
}
