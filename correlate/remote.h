/*
 * remote.h - series, metrics and events that a server is asked for.
 *
 *   sql:DSN?query=...          Postgres counts its own rows (remote_sql.c)
 *   clickhouse:URL?query=...   so does ClickHouse (remote_clickhouse.c)
 *   prometheus:URL?query=...   histograms over time (remote_prometheus.c), or metrics
 *   grafana:URL                annotations (remote_grafana.c)
 *
 * Only reads; one question at a time, each with a deadline. Credentials are in no
 * message and no document: remote_name() is what a source is called there.
 */
#ifndef REPROD_CORRELATE_REMOTE_H
#define REPROD_CORRELATE_REMOTE_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/run.h"
#include "core/model/series.h"
#include "correlate/metric.h"
#include "correlate/notes.h"

struct remote {
	const struct run *run;
	const char *header_file; /* see http.h; NULL: none */
	struct notes *notes;
	/* Of the traffic, for metrics and events; unused for series. */
	int64_t first_ns, last_ns;
};

struct remote_counts {
	uint64_t read; /* requests, points or events */
	uint64_t bad; /* rows or points that are none */
	struct err first_bad;
	int64_t first_ns, last_ns; /* of points */
};

/* Starts with one of the words above. */
bool remote_is_series(const char *path);
bool remote_is_metric(const char *path);
bool remote_is_events(const char *path);
/* A path as it is, a source above without credentials and query texts: in arena, or
 * only its word when that is full. */
const char *remote_name(struct arena *arena, const char *path);
/* Adds its requests; false when nothing could be read. */
bool remote_read(struct series *s, const char *path, const struct remote *remote,
	struct remote_counts *ret, struct err *e) MUST_USE;
bool remote_read_metric(struct metric_list *list, const char *path, const struct remote *remote,
	struct remote_counts *ret, struct err *e) MUST_USE;
/* The annotations as Grafana lists them, one JSON array. ret_is_cut: there are more than
 * could be asked for. */
bool remote_fetch_events(struct buf *ret_json, const char *path, const struct remote *remote,
	bool *ret_is_cut, struct err *e) MUST_USE;

#endif
