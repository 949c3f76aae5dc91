#include "correlate/reach.h"

struct reach *reach_add(struct reach_list *list, const char *source, const char *dialect)
{
	if (list->count == REACHES_MAX) {
		list->refused++;
		return &list->items[REACHES_MAX - 1];
	}
	struct reach *r = &list->items[list->count++];
	*r = (struct reach){
		.source = source, .dialect = dialect, .from_ns = INT64_MIN, .to_ns = INT64_MAX
	};
	return r;
}

uint16_t reach_index(const struct reach_list *list, const struct reach *r)
{
	return (uint16_t)(r - list->items);
}
