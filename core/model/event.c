#include "core/model/event.h"

#include <math.h>
#include <stdlib.h>

enum { NAMES_BYTES = 64 << 20 };

bool event_name_is_plain(struct slice name)
{
	for (size_t i = 0; i < name.n; i++) {
		unsigned char c = (unsigned char)name.p[i];

		if (c < ' ' || c == 0x7f)
			return false;
		if (c == 0xc2 && i + 1 < name.n && (unsigned char)name.p[i + 1] < 0xa0)
			return false;
	}
	return true;
}

struct arena *event_arena(struct event_list *list)
{
	if (!list->arena.cap_bytes)
		arena_init(&list->arena, NAMES_BYTES);
	return &list->arena;
}

/* Names come again and again: the last one's copy serves. */
static const char *keep(struct event_list *list, const char *text, const char *before)
{
	size_t n = strnlen(text, EVENT_NAME_MAX);

	/* No half of a character is left at the cut. */
	while (n == EVENT_NAME_MAX && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	if (before && strlen(before) == n && memcmp(before, text, n) == 0)
		return before;
	return arena_copy(event_arena(list), (struct slice){ text, n }).p;
}

static bool grow(struct event_list *list)
{
	size_t cap = list->cap ? list->cap * 2 : 64;
	struct event *grown;

	if (list->count < list->cap)
		return true;
	grown = realloc(list->items, cap * sizeof(*grown));
	if (!grown)
		return false;
	list->items = grown;
	list->cap = cap;
	return true;
}

bool event_append(struct event_list *list, const struct event *event)
{
	const struct event *last = list->count ? &list->items[list->count - 1] : NULL;
	struct event kept = *event;

	if (list->count == EVENTS_MAX) {
		list->refused++;
		return true;
	}
	kept.kind = keep(list, event->kind, last ? last->kind : NULL);
	kept.name = keep(list, event->name, last ? last->name : NULL);
	if (!kept.kind || !kept.name || !grow(list))
		return false;
	list->items[list->count++] = kept;
	return true;
}

static int by_id(const struct event *x, const struct event *y)
{
	int kind = strcmp(x->kind, y->kind);

	return kind ? kind : strcmp(x->name, y->name);
}

static int by_start(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	int id = by_id(x, y);
	if (id)
		return id;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	if (isnan(x->dose) != isnan(y->dose))
		return isnan(x->dose) ? -1 : 1;
	if (x->dose < y->dose || x->dose > y->dose)
		return x->dose < y->dose ? -1 : 1;
	return (x->source > y->source) - (x->source < y->source);
}

static int by_id_and_start(const void *a, const void *b)
{
	int id = by_id(a, b);

	return id ? id : by_start(a, b);
}

void event_sort(struct event_list *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_start);
}

static bool is_same(const struct event *a, const struct event *b)
{
	bool same_dose = a->dose == b->dose || (isnan(a->dose) && isnan(b->dose));

	return a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->has_end == b->has_end &&
	       same_dose;
}

/* syslog writes whole seconds, the journal microseconds. */
static bool is_same_run(const struct event *a, const struct event *b)
{
	bool is_whole = a->start_ns % NS_PER_S == 0 || b->start_ns % NS_PER_S == 0;

	return a->source != b->source && is_whole && strcmp(a->kind, "job") == 0 &&
	       b->start_ns - a->start_ns < NS_PER_S;
}

uint64_t event_unique(struct event_list *list)
{
	size_t kept = 0;

	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_id_and_start);
	for (size_t i = 0; i < list->count; i++) {
		struct event *last = kept ? &list->items[kept - 1] : NULL;
		const struct event *event = &list->items[i];
		bool is_told = last && by_id(last, event) == 0 &&
			       (is_same(last, event) || is_same_run(last, event));

		if (!is_told)
			list->items[kept++] = *event;
		else if (event->has_end && !last->has_end)
			*last = *event;
	}
	uint64_t gone = list->count - kept;
	list->count = kept;
	event_sort(list);
	return gone;
}

void event_free(struct event_list *list)
{
	free(list->items);
	arena_free(&list->arena);
	*list = (struct event_list){ 0 };
}
