/*
 * timeheap.h - instants that come almost in order, smallest first.
 *
 * Grows as needed up to the cap given at birth; timeheap_put() is false there, or out
 * of memory. Equal keys come out in no particular order.
 */
#ifndef REPROD_TIMEHEAP_H
#define REPROD_TIMEHEAP_H

#include "core/base/base.h"

struct timeheap_item {
	int64_t key;
	int64_t other;
	uint32_t tag;
};

struct timeheap {
	struct timeheap_item *items;
	size_t count, room, cap;
};

void timeheap_init(struct timeheap *h, size_t cap);
bool timeheap_put(struct timeheap *h, struct timeheap_item item) MUST_USE;
/* The smallest, or NULL. Borrowed until the next call. */
const struct timeheap_item *timeheap_first(const struct timeheap *h);
/* Takes the smallest out; false when empty. */
bool timeheap_take(struct timeheap *h, struct timeheap_item *ret);
void timeheap_free(struct timeheap *h);

#endif
