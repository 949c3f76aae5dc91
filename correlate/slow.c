#include "correlate/slow.h"

#include <stdlib.h>

enum { LOOK_BACK = 4096 };

static bool add(
	struct slow_list *list, const struct view *v, int64_t tick, uint32_t bin, uint32_t times)
{
	if (bin <= baseline_at(&v->base, tick)->slow_bin ||
		view_observed(v, (struct span){ tick, tick + 1 }) <= 0)
		return true;
	if (list->count == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 256;
		struct slow *grown = realloc(list->items, cap * sizeof(*grown));

		if (!grown)
			return false;
		list->items = grown;
		list->cap = cap;
	}
	int64_t length = (int64_t)(series_bin_us(bin) * 1e3 / (double)v->series->tick_ns);
	list->items[list->count++] = (struct slow){ tick, tick + length, bin, times };
	return true;
}

static int by_arrival(const void *a, const void *b)
{
	const struct slow *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

bool slow_collect(struct slow_list *list, const struct view *v)
{
	const struct series_route *r = v->route;

	*list = (struct slow_list){ 0 };
	for (size_t i = 0; i < r->count; i++)
		if (!add(list, v, series_cell_tick(r->cells[i]), series_cell_bin(r->cells[i]),
			    series_cell_count(r->cells[i])))
			return false;
	for (size_t i = 0; i < r->pending_count; i++)
		if (!add(list, v, series_tick(v->series, r->pending[i].start_ns),
			    series_bin(r->pending[i].latency_us), 1))
			return false;
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_arrival);
	return true;
}

void slow_free(struct slow_list *list)
{
	free(list->items);
	*list = (struct slow_list){ 0 };
}

size_t slow_at(const struct slow_list *list, int64_t tick)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->items[middle].from < tick)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What a stall weighs, however many fast ones pass. */
static double area(const struct slow *s)
{
	return (double)(s->to - s->from + 1) * s->count;
}

struct slow_chain slow_chain(const struct slow_list *list, size_t first, size_t end)
{
	struct slow_chain c = { .first = first, .end = end };

	c.span = (struct span){ list->items[first].from, list->items[first].to + 1 };
	for (size_t k = first; k < end; k++) {
		if (list->items[k].to + 1 > c.span.to_tick)
			c.span.to_tick = list->items[k].to + 1;
		c.n += list->items[k].count;
		c.area += area(&list->items[k]);
	}
	return c;
}

struct slow_chain slow_follow(
	const struct slow_list *list, size_t first, size_t end, int64_t gap_ticks)
{
	int64_t last = list->items[first].to;
	size_t to = first + 1;

	for (; to < end && list->items[to].from <= last + gap_ticks; to++)
		if (list->items[to].to > last)
			last = list->items[to].to;
	return slow_chain(list, first, to);
}

bool slow_overlap(
	const struct slow_list *list, size_t from, size_t to, uint64_t wanted, double wanted_area)
{
	for (size_t i = from; i < to; i++) {
		uint64_t together = 0;
		double sum = 0;

		for (size_t k = i - from > LOOK_BACK ? i - LOOK_BACK : from; k <= i; k++)
			if (list->items[k].to >= list->items[i].from) {
				together += list->items[k].count;
				sum += area(&list->items[k]);
			}
		if (together >= wanted && sum >= wanted_area)
			return true;
	}
	return false;
}
