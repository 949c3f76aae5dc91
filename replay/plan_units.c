#include "replay/plan_units.h"

#include <stdlib.h>

static bool is_before(const struct plan_unit *a, const struct plan_unit *b)
{
	if (a->offset_ns != b->offset_ns)
		return a->offset_ns < b->offset_ns;
	if (a->session != b->session)
		return a->session < b->session;
	return a->seq < b->seq;
}

static void swap(struct plan_unit *a, struct plan_unit *b)
{
	struct plan_unit t = *a;

	*a = *b;
	*b = t;
}

bool plan_units_put(struct plan_units *u, struct plan_item *head, struct plan_item *tail)
{
	if (u->count == u->room) {
		size_t room = u->room ? 2 * u->room : 256;
		struct plan_unit *p = realloc(u->items, room * sizeof(*p));
		if (!p)
			return false;
		u->items = p;
		u->room = room;
	}
	size_t i = u->count++;
	u->items[i] =
		(struct plan_unit){ head->offset_ns, head->q.session, head->q.seq, head, tail };
	for (; i > 0 && is_before(&u->items[i], &u->items[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&u->items[i], &u->items[(i - 1) / 2]);
	return true;
}

bool plan_units_take(struct plan_units *u, struct plan_unit *ret)
{
	if (!u->count)
		return false;
	*ret = u->items[0];
	u->items[0] = u->items[--u->count];
	for (size_t i = 0;;) {
		size_t least = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < u->count; child++)
			if (is_before(&u->items[child], &u->items[least]))
				least = child;
		if (least == i)
			return true;
		swap(&u->items[i], &u->items[least]);
		i = least;
	}
}

void plan_units_free(struct plan_units *u)
{
	struct plan_unit unit;

	while (plan_units_take(u, &unit))
		for (struct plan_item *i = unit.head; i;) {
			struct plan_item *next = i == unit.tail ? NULL : i->next;

			free(i);
			i = next;
		}
	free(u->items);
	*u = (struct plan_units){ 0 };
}
