/*
 * event.h - what else happened: dated causes, gathered from many sources.
 *
 * An event becomes (part of) the condition "kind:name". Texts live in the list's
 * arena. Readers of files are in correlate/events.h and its neighbours.
 */
#ifndef REPROD_EVENT_H
#define REPROD_EVENT_H

#include "core/base/arena.h"
#include "core/base/err.h"

#define EVENTS_MAX 1000000
#define EVENT_NAME_MAX 200 /* bytes of a kind or a name; longer ones are cut */

struct event {
	int64_t start_ns;
	int64_t end_ns; /* start_ns when it has no duration */
	bool has_end;
	const char *kind; /* "job", "deploy", "backup", ... */
	const char *name;
	double dose; /* NAN when none */
	uint16_t source; /* which of the caller's sources told it */
	bool is_weak; /* its time is near the event's: a commit is no deploy */
};

struct event_list {
	struct event *items; /* sorted by start after event_sort() */
	size_t count, cap;
	uint64_t refused; /* beyond EVENTS_MAX */
	struct arena arena;
};

/* Copies it in, kind and name too; list->items must be sorted afterwards with
 * event_sort(). False when out of memory; beyond the cap it is counted. */
bool event_append(struct event_list *list, const struct event *event) MUST_USE;
void event_sort(struct event_list *list);
/* Keeps one of events that are the same in kind, name, times and dose, and one of a job's
 * run that two sources tell within a second, one of them in whole seconds. Returns how
 * many went. Sorts. */
uint64_t event_unique(struct event_list *list);
/* False for control characters (C0, DEL, and C1 in UTF-8): names reach terminals. */
bool event_name_is_plain(struct slice name);
/* The list's arena, for texts that live as long as it does. */
struct arena *event_arena(struct event_list *list);
void event_free(struct event_list *list);

#endif
