/*
 * events.h - files that tell what happened, in any of the formats we know.
 *
 * Which format it is, is seen from the content; "FORMAT:FILE" says it. One struct
 * reads all files of a run: what belongs together may lie in several (deployments and
 * their statuses). Each file gets a reach. Kept are times, kinds, names and doses;
 * commands, messages and other free text are not. Lines or objects that cannot be
 * used are counted, the first is told. docs/formats/events.md has the formats.
 */
#ifndef REPROD_CORRELATE_EVENTS_H
#define REPROD_CORRELATE_EVENTS_H

#include "core/base/run.h"
#include "core/model/event.h"
#include "correlate/notes.h"
#include "correlate/reach.h"

struct events;

struct events_options {
	struct event_list *list;
	struct reach_list *reaches;
	struct notes *notes;
	const char *zone; /* of times without one; NULL: such a time is refused */
	int64_t first_ns, last_ns; /* of the traffic: gives syslog's times their year */
	const struct run *run; /* or NULL */
};

/* NULL: out of memory, or the zone is not known. What the options name outlives it. */
struct events *events_new(const struct events_options *o, struct err *e);
/* False when nothing of the file could be used. An empty file is no failure: it says
 * that nothing happened. */
bool events_read(struct events *ev, const char *spec, struct err *e) MUST_USE;
/* The same for a document that is in memory (an answer of a server); source is how the
 * reach names it, format may be NULL. */
bool events_read_text(struct events *ev, const char *source, const char *format, struct slice text,
	struct err *e) MUST_USE;
/* After the last file: what waited for another file becomes events, what was told
 * twice counts once, and both are noted. */
bool events_finish(struct events *ev, struct err *e) MUST_USE;
void events_free(struct events *ev);

#endif
