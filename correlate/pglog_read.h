/*
 * pglog_read.h - files of a Postgres server's log as a source of events.
 *
 * csvlog, jsonlog and stderr logs of any log_line_prefix (learned), plain or packed by
 * gzip, zstd or bzip2. Files are read by their first times, oldest first, so that what
 * began in one may end in the next. Each reaches from its first to its last line. Times
 * of a zone that does not say its offset need --zone; lines that are none are counted.
 */
#ifndef REPROD_CORRELATE_PGLOG_READ_H
#define REPROD_CORRELATE_PGLOG_READ_H

#include "correlate/events.h"

/* False when a file could not be opened or is no log of Postgres. */
bool pglog_read(const struct events_options *o, const char *const *paths, size_t count,
	struct err *e) MUST_USE;

#endif
