/*
 * remote_clickhouse.h - "clickhouse:URL?query=...": latencies in ClickHouse, counted there.
 *
 * As remote_sql.h, over the HTTP interface: one GET (which ClickHouse runs read only), the
 * groups streamed back as TabSeparated. t is a DateTime, a DateTime64 or seconds since 1970.
 * No part of the answer but a line is in memory.
 */
#ifndef REPROD_CORRELATE_REMOTE_CLICKHOUSE_H
#define REPROD_CORRELATE_REMOTE_CLICKHOUSE_H

#include "correlate/remote.h"
#include "correlate/remote_url.h"

extern const char *const remote_clickhouse_params[];

bool remote_clickhouse_read(struct series *s, const struct remote_url *url,
	const struct remote *remote, struct remote_counts *ret, struct err *e) MUST_USE;
/* The statement that is sent; false and *e when the parameters do not make one. */
bool remote_clickhouse_question(struct buf *to, const struct remote_url *url, bool has_status,
	int64_t from_ns, int64_t to_ns, int64_t width_ns, struct err *e) MUST_USE;

#endif
