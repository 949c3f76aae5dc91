/*
 * event.h - what else happened: dated causes, read from JSON lines.
 *
 * {"t", "t_end"?, "kind", "name", "dose"?, "zone"?}; t is RFC 3339 or epoch
 * seconds. An event becomes (part of) the condition "kind:name". Texts live in the
 * list's arena.
 */
#ifndef REPROD_EVENT_H
#define REPROD_EVENT_H

#include "core/base/arena.h"
#include "core/base/err.h"

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
	struct event *items; /* sorted by start */
	size_t count, cap;
	uint64_t refused; /* beyond the cap of one million */
	struct arena arena;
};

/* Appends and sorts. A line that is no event (a time without zone above all) is
 * counted in ret_bad and the first is told in *e, also when others were read; false
 * when the file could not be read or had only bad lines. An empty file is no failure:
 * it says that nothing happened. "-" is stdin. */
bool event_load(struct event_list *list, const char *path, uint16_t source, uint64_t *ret_read,
	uint64_t *ret_bad, struct err *e) MUST_USE;
/* Copies it in, kind and name too; list->items must be sorted afterwards with
 * event_sort(). False when out of memory; beyond the cap it is counted. */
bool event_append(struct event_list *list, const struct event *event) MUST_USE;
void event_sort(struct event_list *list);
/* False for control characters (C0, DEL, and C1 in UTF-8): names reach terminals. */
bool event_name_is_plain(struct slice name);
void event_free(struct event_list *list);

#endif
