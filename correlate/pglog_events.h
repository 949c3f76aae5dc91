/*
 * pglog_events.h - what else a Postgres server did, out of the lines of its log.
 *
 * Pure: lines in, events out. checkpoint:REASON (start to complete, dose: buffers
 * written), autovacuum:SCHEMA.TABLE and autoanalyze:... (end less elapsed to end, dose:
 * pages read and dirtied), lock:MODE:TARGET (waited for), temp:files (dose: bytes),
 * deadlock:postgres, reload:postgres, setting:NAME, restart:postgres and crash:postgres
 * (from the first sign to "ready"), backup:basebackup. Texts are those of PostgreSQL 10
 * to 18 with lc_messages 'C'; deadlocks are known by SQLSTATE in any language. Names of
 * tables and settings are kept, no values, statements or users.
 */
#ifndef REPROD_CORRELATE_PGLOG_EVENTS_H
#define REPROD_CORRELATE_PGLOG_EVENTS_H

#include "core/format/pglog.h"
#include "core/model/event.h"

struct pglog_wait {
	uint64_t pid;
	int64_t start_ns, last_ns;
	char name[80];
};

enum { PGLOG_WAITS_MAX = 1024 };

struct pglog_events {
	struct event_list *list;
	uint16_t source;
	uint64_t told; /* events */
	uint64_t foreign; /* messages of the server in another language */
	int64_t checkpoint_ns; /* began; INT64_MIN: none is running */
	const char *checkpoint; /* "timed", "wal", ... */
	int64_t down_ns; /* shutdown or crash began; INT64_MIN: none */
	bool is_crash;
	struct pglog_wait waits[PGLOG_WAITS_MAX]; /* that have not got their lock yet */
	size_t wait_count;
	uint64_t waits_refused;
};

void pglog_events_init(struct pglog_events *p, struct event_list *list, uint16_t source);
/* False: out of memory. */
bool pglog_events_take(struct pglog_events *p, const struct pglog_line *line, int64_t t_ns,
	struct err *e) MUST_USE;
/* What had begun and whose end was not logged. */
bool pglog_events_finish(struct pglog_events *p, struct err *e) MUST_USE;

#endif
