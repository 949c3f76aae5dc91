/*
 * remote_metric.h - "--metric prometheus:URL?query=...": numbers over time as candidates.
 *
 * Each series of the result is a metric: NAME{label=value,...}, with name= another name and
 * with labels=A,B those labels only. A bare counter (a selector whose name ends in _total,
 * _count, _sum or _bucket) becomes its rate. Without from= and to=, the traffic's range.
 */
#ifndef REPROD_CORRELATE_REMOTE_METRIC_H
#define REPROD_CORRELATE_REMOTE_METRIC_H

#include "correlate/remote.h"
#include "correlate/remote_url.h"

bool remote_metric_read(struct metric_list *list, const struct remote_url *url,
	const struct remote *remote, struct remote_counts *ret, struct err *e) MUST_USE;

#endif
