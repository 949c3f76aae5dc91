#include "capture/timeheap.h"

#include <stdlib.h>

void timeheap_init(struct timeheap *h, size_t cap)
{
	*h = (struct timeheap){ .cap = cap };
}

void timeheap_free(struct timeheap *h)
{
	free(h->items);
	*h = (struct timeheap){ 0 };
}

static bool grow(struct timeheap *h)
{
	size_t room = h->room ? 2 * h->room : 256;

	if (h->count >= h->cap)
		return false;
	if (h->count < h->room)
		return true;
	struct timeheap_item *items = realloc(h->items, room * sizeof(*items));
	if (!items)
		return false;
	h->items = items;
	h->room = room;
	return true;
}

bool timeheap_put(struct timeheap *h, struct timeheap_item item)
{
	if (!grow(h))
		return false;
	size_t at = h->count++;
	while (at && h->items[(at - 1) / 2].key > item.key) {
		h->items[at] = h->items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	h->items[at] = item;
	return true;
}

const struct timeheap_item *timeheap_first(const struct timeheap *h)
{
	return h->count ? h->items : NULL;
}

/* Puts the last item where the first was, and sinks it. */
static void refill(struct timeheap *h)
{
	struct timeheap_item item = h->items[--h->count];
	size_t at = 0;

	for (;;) {
		size_t below = 2 * at + 1;

		if (below + 1 < h->count && h->items[below + 1].key < h->items[below].key)
			below++;
		if (below >= h->count || h->items[below].key >= item.key)
			break;
		h->items[at] = h->items[below];
		at = below;
	}
	if (h->count)
		h->items[at] = item;
}

bool timeheap_take(struct timeheap *h, struct timeheap_item *ret)
{
	if (!h->count)
		return false;
	*ret = h->items[0];
	refill(h);
	return true;
}
