/*
 * rcap_dict.h - numbers the distinct texts of a capture from 1, up to a cap.
 *
 * Keys are copied into the dictionary's arena. A key beyond the cap (of entries or
 * bytes) gets 0, which both dictionaries call "other". Numbers depend on the order
 * of calls only, never on the hash seed. Lookup costs a hash of the key and one
 * comparison, since it happens for each request.
 */
#ifndef REPROD_RCAP_DICT_H
#define REPROD_RCAP_DICT_H

#include "core/base/arena.h"

struct rcap_dict {
	struct slice *keys; /* [number]; [0] is empty */
	uint64_t *hashes;
	uint32_t *index; /* open addressing: number, 0 is free */
	uint32_t count; /* numbers given, 0 included */
	uint32_t room; /* of keys[] */
	uint32_t index_size;
	uint32_t cap;
	uint64_t seed;
	uint32_t recent[256]; /* numbers of keys seen lately; only saves hashing */
	struct arena arena;
};

bool rcap_dict_init(struct rcap_dict *d, uint32_t cap, size_t cap_bytes, uint64_t seed) MUST_USE;
/* Lowers the caps. What is there stays. */
void rcap_dict_limit(struct rcap_dict *d, size_t cap, size_t cap_bytes);
/* The key's number; ret_is_new tells a first sight. */
uint32_t rcap_dict_add(struct rcap_dict *d, struct slice key, bool *ret_is_new);
void rcap_dict_free(struct rcap_dict *d);

#endif
