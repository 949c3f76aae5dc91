/*
 * remote_prometheus.h - "prometheus:URL?query=NAME_bucket{...}&from=": latency histograms.
 *
 * The query gives the bucket counters themselves (classic ones by "le", or native
 * histograms); what was added in a step is our work (remote_histogram.h). A query with
 * increase() or rate() is taken as that; one step long, as [RANGE] says. Series become routes
 * by route=LABEL,LABEL. Steps at which no series has a sample are gaps. Averages and
 * quantiles (a summary's) are refused: they cannot be merged. The address may be a file that
 * holds a saved answer of query_range.
 */
#ifndef REPROD_CORRELATE_REMOTE_PROMETHEUS_H
#define REPROD_CORRELATE_REMOTE_PROMETHEUS_H

#include "correlate/remote.h"
#include "correlate/remote_url.h"

extern const char *const remote_prometheus_params[];

bool remote_prometheus_read(struct series *s, const struct remote_url *url,
	const struct remote *remote, struct remote_counts *ret, struct err *e) MUST_USE;

#endif
