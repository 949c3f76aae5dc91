/*
 * eventread.h - for tests: texts read as event files, and what came of them.
 */
#ifndef REPROD_TEST_EVENTREAD_H
#define REPROD_TEST_EVENTREAD_H

#include "correlate/events.h"

struct eventread {
	struct event_list list;
	struct reach_list reaches;
	struct notes notes;
	struct events *events;
	struct err e;
	bool ok; /* of the file read last */
};

/* Traffic is the hour from 2026-11-30T12:00:00Z. zone may be NULL. */
void eventread_init(struct eventread *r, const char *zone);
/* Reads the text as a file; format is "syslog:" or the like, or "". */
void eventread_text(struct eventread *r, const char *format, const char *text);
void eventread_finish(struct eventread *r);
/* "kind:name start..end dose" of each event in order, a line each, times as seconds
 * after 12:00:00Z. */
const char *eventread_told(const struct eventread *r, char text[4096]);
/* Whether a note has this in it. */
bool eventread_is_noted(const struct eventread *r, const char *part);
void eventread_free(struct eventread *r);

#endif
