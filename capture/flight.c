#include "capture/flight.h"

#include <stdlib.h>

enum {
	WINDOW = 16384, /* requests that may be out of order */
	RUNNING_MAX = 4 << 20, /* 96 MiB */
};

static const uint32_t cut_tag = UINT32_C(1) << 31; /* it began before the window */

bool flight_init(struct flight *f, size_t routes, int64_t from_ns, int64_t to_ns)
{
	*f = (struct flight){
		.routes = routes, .from_ns = from_ns, .to_ns = to_ns, .now_ns = INT64_MAX
	};
	timeheap_init(&f->running, RUNNING_MAX);
	timeheap_init(&f->waiting, WINDOW);
	f->by_route = calloc(routes + 1, sizeof(*f->by_route));
	return f->by_route != NULL;
}

void flight_free(struct flight *f)
{
	for (size_t i = 0; f->by_route && i < f->routes; i++)
		level_free(&f->by_route[i]);
	free(f->by_route);
	level_free(&f->all);
	timeheap_free(&f->running);
	timeheap_free(&f->waiting);
	*f = (struct flight){ 0 };
}

static bool change(struct flight *f, int64_t at_ns, uint32_t route, int by)
{
	return level_change(&f->all, at_ns, by) && level_change(&f->by_route[route], at_ns, by);
}

/* The starts down to an instant. */
static bool go_back_to(struct flight *f, int64_t at_ns)
{
	const struct timeheap_item *first;
	struct timeheap_item item;

	while ((first = timeheap_first(&f->running)) && -first->key >= at_ns) {
		timeheap_take(&f->running, &item);
		uint32_t route = item.tag & ~cut_tag;
		if (!change(f, -item.key, route, -1))
			return false;
		if (!(item.tag & cut_tag) && f->arrival && !f->arrival(f->data, -item.key, route))
			return false;
	}
	return true;
}

/* The request whose end is the latest of those that wait. */
static bool sweep_one(struct flight *f)
{
	struct timeheap_item item;

	if (!timeheap_take(&f->waiting, &item))
		return true;
	int64_t end_ns = -item.key, start_ns = item.other;
	if (end_ns > f->now_ns) {
		f->out_of_order++;
		end_ns = f->now_ns;
		start_ns = start_ns < end_ns ? start_ns : end_ns;
	}
	f->now_ns = end_ns;
	return go_back_to(f, end_ns) && change(f, end_ns, item.tag & ~cut_tag, 1) &&
	       timeheap_put(&f->running, (struct timeheap_item){ -start_ns, 0, item.tag });
}

bool flight_add(struct flight *f, struct span s)
{
	uint32_t tag = s.route;

	if (s.end_ns < s.start_ns)
		s.end_ns = s.start_ns;
	if (s.end_ns < f->from_ns || s.start_ns >= f->to_ns)
		return true;
	if (s.start_ns < f->from_ns) {
		s.start_ns = f->from_ns;
		tag |= cut_tag;
	}
	if (s.end_ns > f->to_ns)
		s.end_ns = f->to_ns;
	if (f->waiting.count == WINDOW && !sweep_one(f))
		return false;
	return timeheap_put(&f->waiting, (struct timeheap_item){ -s.end_ns, s.start_ns, tag });
}

bool flight_finish(struct flight *f)
{
	int64_t span_ns = f->to_ns - f->from_ns;

	while (f->waiting.count)
		if (!sweep_one(f))
			return false;
	if (!go_back_to(f, INT64_MIN))
		return false;
	for (size_t i = 0; i < f->routes; i++)
		if (f->by_route[i].has_begun && !level_finish(&f->by_route[i], f->from_ns, span_ns))
			return false;
	return level_finish(&f->all, f->from_ns, span_ns);
}
