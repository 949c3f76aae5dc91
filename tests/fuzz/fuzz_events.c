/*
 * fuzz_events.c - laws of what reads events, whatever the bytes are: nothing is read past
 * its end; what is refused has a message and what is counted as bad has a place; times,
 * ends and names of events hold what event.h says; reading the same bytes twice tells
 * nothing new. The first byte chooses files of events or a server's log.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "correlate/events.h"
#include "correlate/pglog_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

struct world {
	struct event_list list;
	struct reach_list reaches;
	struct notes notes;
};

static void check_events(const struct event_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct event *e = &list->items[i];

		must(e->end_ns >= e->start_ns, "an event does not end before it starts");
		must(e->has_end || e->end_ns == e->start_ns, "without an end it is an instant");
		must(*e->kind && *e->name, "an event has a name");
		must(event_name_is_plain(slice_of(e->name)) &&
				event_name_is_plain(slice_of(e->kind)),
			"names are plain");
		must(strlen(e->name) <= EVENT_NAME_MAX, "names are bounded");
	}
}

static void check_reaches(const struct reach_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct reach *r = &list->items[i];

		must(r->from_ns <= r->to_ns, "a reach begins before it ends");
		must(!r->bad || (r->first_bad.kind != ERR_NONE && r->first_bad.where[0] &&
					r->first_bad.what[0]),
			"the first that was bad has a place and a reason");
	}
}

static void read_as_events(struct world *w, const char *path, int times)
{
	struct err e = { 0 };
	struct events_options o = { &w->list, &w->reaches, &w->notes, "Europe/Berlin",
		INT64_C(1796040000000000000), INT64_C(1796043600000000000), NULL };
	struct events *ev = events_new(&o, &e);

	if (!ev)
		return;
	for (int i = 0; i < times; i++) {
		e = (struct err){ 0 };
		must(events_read(ev, path, &e) || (e.kind != ERR_NONE && e.what[0]),
			"a refusal says why");
	}
	must(events_finish(ev, &e), "reading ends");
	events_free(ev);
}

static void read_as_log(struct world *w, const char *path)
{
	struct err e = { 0 };
	struct events_options o = { &w->list, &w->reaches, &w->notes, "UTC",
		INT64_C(1796040000000000000), INT64_C(1796043600000000000), NULL };

	must(pglog_read(&o, &path, 1, &e) || (e.kind != ERR_NONE && e.what[0]),
		"a refusal says why");
}

static size_t read_once(const char *path, bool is_log, int times)
{
	struct world *w = calloc(1, sizeof(*w));
	size_t count = 0;

	if (!w)
		return 0;
	notes_init(&w->notes);
	if (is_log)
		read_as_log(w, path);
	else
		read_as_events(w, path, times);
	check_events(&w->list);
	check_reaches(&w->reaches);
	count = w->list.count;
	event_free(&w->list);
	notes_free(&w->notes);
	free(w);
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char path[64];
	int fd = size ? memfd_create("events", MFD_CLOEXEC) : -1;

	if (fd < 0)
		return 0;
	if (write(fd, bytes + 1, size - 1) != (ssize_t)(size - 1)) {
		close(fd);
		return 0;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	size_t once = read_once(path, bytes[0] % 4 == 3, 1);
	if (bytes[0] % 4 == 2)
		must(read_once(path, false, 2) == once, "the same file twice tells nothing new");
	close(fd);
	return 0;
}
