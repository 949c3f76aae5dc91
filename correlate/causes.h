/*
 * causes.h - everything besides the traffic that may line up, read from its files.
 *
 * One row of a table a kind of source (causes.c). A reader appends events, schedules
 * (as conditions) or metrics, says in a reach how far back its source goes, and tells
 * what it could not use in the notes. It fails only when nothing of a source could be
 * read. Events become conditions when all are read.
 */
#ifndef REPROD_CORRELATE_CAUSES_H
#define REPROD_CORRELATE_CAUSES_H

#include "core/base/cli.h"
#include "core/model/event.h"
#include "correlate/condition.h"
#include "correlate/metric.h"
#include "correlate/notes.h"
#include "correlate/reach.h"

/* What the command line names; a source may be given several times. */
struct cause_files {
	struct cli_list events, crontabs, schedules, git, pglogs, stats, metrics;
	const char *zone; /* of schedules and of logs without one; NULL: not given */
	const char *header_file; /* for the servers asked */
};

struct causes {
	struct event_list events;
	struct condition_list conditions;
	struct metric_list metrics;
	struct reach_list reaches;
	struct notes *notes; /* the command's */
	const char *zone, *header_file;
	int64_t first_ns, last_ns; /* of the traffic: what schedules are expanded over */
	const struct run *run;
};

void causes_init(struct causes *c, struct notes *notes, const struct run *run);
void causes_free(struct causes *c);
/* Reads all, for traffic in [first_ns, last_ns]; conditions and metrics are finished. */
bool causes_read(struct causes *c, const struct cause_files *files, int64_t first_ns,
	int64_t last_ns, struct err *e) MUST_USE;

#endif
