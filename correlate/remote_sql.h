/*
 * remote_sql.h - "sql:DSN?query=...": latencies of a table in Postgres, counted there.
 *
 * query= is a SELECT with the columns t, route, ms and perhaps status; or table= with the
 * columns named by time=, route=, ms=, status=. One connection, one read only transaction,
 * one cursor: memory is that of a fetch, and only histograms travel (remote_cells.h).
 */
#ifndef REPROD_CORRELATE_REMOTE_SQL_H
#define REPROD_CORRELATE_REMOTE_SQL_H

#include "correlate/remote_url.h"
#include "correlate/remote.h"

extern const char *const remote_sql_params[];

bool remote_sql_read(struct series *s, const struct remote_url *url, const struct remote *remote,
	struct remote_counts *ret, struct err *e) MUST_USE;

#endif
