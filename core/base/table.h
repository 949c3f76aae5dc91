/*
 * table.h - a hash table from bytes to a pointer.
 *
 * The key bytes are the caller's and must outlive the entry. Hashing is seeded
 * per table (SipHash-like quality against hostile keys). table_put() fails only
 * at the cap given at birth or out of memory. Iteration order is insertion order,
 * so that output is deterministic.
 */
#ifndef REPROD_TABLE_H
#define REPROD_TABLE_H

#include "core/base/base.h"

struct table_slot;

struct table {
	struct table_slot *slots; /* in insertion order */
	uint32_t *index;
	size_t used; /* slots taken, removed ones included */
	size_t count; /* live entries */
	size_t index_size;
	size_t cap; /* most live entries */
	uint64_t seed[2];
};

void table_init(struct table *t, size_t cap);
void *table_get(const struct table *t, struct slice key);
/* Insert or overwrite (the entry then borrows the new key); false at the cap. */
bool table_put(struct table *t, struct slice key, void *value) MUST_USE;
/* Returns the removed value, or NULL. Removing while iterating is safe, putting is not. */
void *table_remove(struct table *t, struct slice key);
/* for (size_t at = 0; table_next(t, &at, &key, &value);) */
bool table_next(const struct table *t, size_t *at, struct slice *ret_key, void **ret_value);
void table_free(struct table *t);

#endif
