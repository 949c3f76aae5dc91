/*
 * watch.h - records a server's statistics and its host's pressure, round by round.
 *
 * Into one file, or a folder of segments of an hour at most. A lost connection is tried
 * again after 0.5 s and ever longer, at most 30 s; the host goes on being recorded, the
 * time without the server becomes a gap. Ends at the stop flag, after for_ns, or when
 * nothing can be written (what was is whole). Memory is bounded by the caps of
 * stats_table.h, disk by keep_ns and keep_bytes.
 */
#ifndef REPROD_CORRELATE_WATCH_H
#define REPROD_CORRELATE_WATCH_H

#include "correlate/watch_server.h"

struct watch_options {
	struct run *run;
	const char *dsn;
	const char *output;
	bool is_folder;
	int64_t every_ns, for_ns; /* for_ns 0: until stopped */
	int64_t keep_ns, keep_bytes; /* of a folder; 0: no bound */
	int64_t timeout_ns;
};

struct watch_result {
	uint64_t rounds, with_server, gaps, files, dropped, bytes;
	int64_t first_ns, last_ns;
	int64_t cpu_ns; /* our own */
	struct watch_server_cost cost;
	int version;
	bool is_local;
};

/* What was recorded is in *ret also when it fails. */
bool watch_record(const struct watch_options *o, struct watch_result *ret, struct err *e) MUST_USE;

#endif
