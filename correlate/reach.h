/*
 * reach.h - how far back each source of causes can be believed.
 *
 * Inside a reach "nothing told" means that nothing happened; outside it is unknown.
 * A log reaches from its first to its last line, a schedule everywhere, a plain
 * event file is taken as complete for the whole capture (is_assumed). Conditions are
 * only judged inside the reach of what they came from.
 */
#ifndef REPROD_CORRELATE_REACH_H
#define REPROD_CORRELATE_REACH_H

#include "core/base/err.h"

#define REACHES_MAX 256

struct reach {
	const char
		*source; /* as given: a path or URL without credentials; the command line owns it */
	const char *
		dialect; /* "events", "cron", "systemd", "github", "grafana", "postgres log", ... */
	int64_t from_ns, to_ns; /* INT64_MIN, INT64_MAX: everywhere */
	bool is_assumed; /* nothing in the source says so */
	uint64_t read; /* events or schedules */
	uint64_t bad; /* lines or objects that are none */
	struct err first_bad;
	const char *note; /* "the first 5,000 of 12,000: narrow the range", or NULL */
};

struct reach_list {
	struct reach items[REACHES_MAX];
	size_t count;
	uint64_t refused;
};

/* A new one that reaches everywhere. At the cap it is counted, and the last is given. */
struct reach *reach_add(struct reach_list *list, const char *source, const char *dialect);
/* Its index, for event.source. */
uint16_t reach_index(const struct reach_list *list, const struct reach *r);

#endif
