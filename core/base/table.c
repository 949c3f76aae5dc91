#include "core/base/table.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

/*
 * Two arrays: slots hold the entries in insertion order, index maps a hash to
 * slot number + 1 (0: never used) by linear probing. A removed entry keeps its
 * slot, marked dead, until the next rebuild, so chains stay whole.
 */
struct table_slot {
	struct slice key;
	void *value;
	uint64_t hash;
	bool is_live;
};

enum { INDEX_SMALLEST = 16 };

static uint64_t rotl(uint64_t x, unsigned k)
{
	return x << k | x >> (64 - k);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[0] = rotl(v[0], 32);
	v[2] += v[3];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[2] = rotl(v[2], 32);
}

static uint64_t read_le(const char *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = n; i > 0; i--)
		v = v << 8 | (unsigned char)p[i - 1];
	return v;
}

/* SipHash-1-3 (Aumasson and Bernstein 2012, the reduced rounds of Rust and Ruby). */
static uint64_t hash_bytes(const uint64_t seed[2], struct slice key)
{
	uint64_t v[4] = { seed[0] ^ UINT64_C(0x736f6d6570736575),
		seed[1] ^ UINT64_C(0x646f72616e646f6d), seed[0] ^ UINT64_C(0x6c7967656e657261),
		seed[1] ^ UINT64_C(0x7465646279746573) };
	size_t whole = key.n & ~(size_t)7;

	for (size_t i = 0; i < whole; i += 8) {
		uint64_t m = read_le(key.p + i, 8);

		v[3] ^= m;
		sip_round(v);
		v[0] ^= m;
	}
	uint64_t last = (uint64_t)key.n << 56;
	if (key.n > whole)
		last |= read_le(key.p + whole, key.n - whole);
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void table_init(struct table *t, size_t cap)
{
	*t = (struct table){ .cap = cap < UINT32_MAX / 4 ? cap : UINT32_MAX / 4 };
	if (getrandom(t->seed, sizeof(t->seed), GRND_NONBLOCK) != (ssize_t)sizeof(t->seed)) {
		struct timespec now;

		/* Early boot only. Order never depends on the seed, so output does not either. */
		clock_gettime(CLOCK_MONOTONIC, &now);
		t->seed[0] = (uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15);
		t->seed[1] = (uint64_t)(uintptr_t)t ^ (uint64_t)now.tv_sec;
	}
}

/* Where the key's slot number stands in the index, or the free place it would take. */
static size_t find_place(const struct table *t, struct slice key, uint64_t hash)
{
	size_t mask = t->index_size - 1;
	size_t at = (size_t)hash & mask;

	for (; t->index[at] != 0; at = (at + 1) & mask) {
		const struct table_slot *s = &t->slots[t->index[at] - 1];

		if (s->is_live && s->hash == hash && slice_same(s->key, key))
			break;
	}
	return at;
}

void *table_get(const struct table *t, struct slice key)
{
	if (t->count == 0)
		return NULL;
	uint32_t n = t->index[find_place(t, key, hash_bytes(t->seed, key))];
	return n ? t->slots[n - 1].value : NULL;
}

/* Drops the dead slots and makes the arrays fit twice the live ones. */
static bool rebuild(struct table *t)
{
	size_t index_size = INDEX_SMALLEST;

	while (index_size < 4 * (t->count + 1))
		index_size *= 2;
	struct table_slot *slots = calloc(index_size / 2, sizeof(*slots));
	uint32_t *index = calloc(index_size, sizeof(*index));
	if (!slots || !index) {
		free(slots);
		free(index);
		return false;
	}
	size_t used = 0;
	for (size_t i = 0; i < t->used; i++) {
		if (!t->slots[i].is_live)
			continue;
		size_t at = (size_t)t->slots[i].hash & (index_size - 1);
		while (index[at])
			at = (at + 1) & (index_size - 1);
		slots[used++] = t->slots[i];
		index[at] = (uint32_t)used;
	}
	free(t->slots);
	free(t->index);
	t->slots = slots;
	t->index = index;
	t->index_size = index_size;
	t->used = used;
	return true;
}

bool table_put(struct table *t, struct slice key, void *value)
{
	uint64_t hash = hash_bytes(t->seed, key);

	if (t->count) {
		uint32_t n = t->index[find_place(t, key, hash)];

		if (n) {
			t->slots[n - 1].key = key;
			t->slots[n - 1].value = value;
			return true;
		}
	}
	if (t->count >= t->cap)
		return false;
	/* At most half of the index is taken, dead slots included. */
	if (t->used >= t->index_size / 2 && !rebuild(t))
		return false;
	t->index[find_place(t, key, hash)] = (uint32_t)t->used + 1;
	t->slots[t->used++] = (struct table_slot){ key, value, hash, true };
	t->count++;
	return true;
}

void *table_remove(struct table *t, struct slice key)
{
	if (t->count == 0)
		return NULL;
	uint32_t n = t->index[find_place(t, key, hash_bytes(t->seed, key))];
	if (!n)
		return NULL;
	struct table_slot *s = &t->slots[n - 1];
	s->is_live = false;
	t->count--;
	return s->value;
}

bool table_next(const struct table *t, size_t *at, struct slice *ret_key, void **ret_value)
{
	for (; *at < t->used; ++*at) {
		const struct table_slot *s = &t->slots[*at];

		if (!s->is_live)
			continue;
		if (ret_key)
			*ret_key = s->key;
		if (ret_value)
			*ret_value = s->value;
		++*at;
		return true;
	}
	return false;
}

void table_free(struct table *t)
{
	free(t->slots);
	free(t->index);
	*t = (struct table){ .cap = t->cap, .seed = { t->seed[0], t->seed[1] } };
}
