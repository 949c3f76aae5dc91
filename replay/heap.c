#include "replay/heap.h"

#include <assert.h>
#include <stdlib.h>

bool heap_init(struct heap *h, size_t room)
{
	*h = (struct heap){ .items = calloc(room ? room : 1, sizeof(*h->items)), .room = room };
	return h->items;
}

static void put(struct heap *h, size_t at, struct timer *t)
{
	h->items[at] = t;
	t->place = at + 1;
}

static void rise(struct heap *h, size_t at, struct timer *t)
{
	for (; at > 0 && t->wake_ns < h->items[(at - 1) / 2]->wake_ns; at = (at - 1) / 2)
		put(h, at, h->items[(at - 1) / 2]);
	put(h, at, t);
}

static void sink(struct heap *h, size_t at, struct timer *t)
{
	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < h->count && h->items[child + 1]->wake_ns < h->items[child]->wake_ns)
			child++;
		if (child >= h->count || h->items[child]->wake_ns >= t->wake_ns)
			break;
		put(h, at, h->items[child]);
		at = child;
	}
	put(h, at, t);
}

void heap_set(struct heap *h, struct timer *t, int64_t wake_ns)
{
	int64_t before_ns = t->wake_ns;

	t->wake_ns = wake_ns;
	if (!t->place) {
		assert(h->count < h->room);
		rise(h, h->count++, t);
	} else if (wake_ns < before_ns) {
		rise(h, t->place - 1, t);
	} else {
		sink(h, t->place - 1, t);
	}
}

void heap_remove(struct heap *h, struct timer *t)
{
	if (!t->place)
		return;
	size_t at = t->place - 1;
	struct timer *last = h->items[--h->count];
	t->place = 0;
	if (last == t)
		return;
	if (at > 0 && last->wake_ns < h->items[(at - 1) / 2]->wake_ns)
		rise(h, at, last);
	else
		sink(h, at, last);
}

struct timer *heap_first(const struct heap *h)
{
	return h->count ? h->items[0] : NULL;
}

void heap_free(struct heap *h)
{
	free(h->items);
	*h = (struct heap){ 0 };
}
