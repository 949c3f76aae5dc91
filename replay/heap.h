/*
 * heap.h - timers: which of many things is to wake first.
 *
 * A timer is embedded in its owner and knows its place, so that it can be moved or
 * removed. The heap holds pointers and has room for as many as it was made for.
 */
#ifndef REPROD_REPLAY_HEAP_H
#define REPROD_REPLAY_HEAP_H

#include "core/base/base.h"

struct timer {
	int64_t wake_ns;
	size_t place; /* 0: not in the heap; else index + 1 */
};

struct heap {
	struct timer **items;
	size_t count, room;
};

bool heap_init(struct heap *h, size_t room) MUST_USE;
/* Adds or moves. */
void heap_set(struct heap *h, struct timer *t, int64_t wake_ns);
void heap_remove(struct heap *h, struct timer *t);
struct timer *heap_first(const struct heap *h);
void heap_free(struct heap *h);

#endif
