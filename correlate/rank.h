/*
 * rank.h - from conditions, metrics and routes to verdicts.
 *
 * Routes with spikes (or the one the user named) are tested first, the others after at
 * a higher price (family.h). A condition's p is Simes' over the routes tested, its q Benjamini and
 * Hochberg's over all conditions, metrics and the traffic. The best condition that lines
 * up is taken out of the capture and the rest is tested again on what is left: whose
 * hits were only shared ends as "no evidence". Conditions that timing cannot separate
 * (windows or hits alike by 0.7) are one group.
 *
 * lines up: q <= 0.05, lift >= 1.5, three occurrences hit or more, and a material share
 * of the time lost (5 %, or p <= 0.001). suggestive: p <= 0.05 and as material; also what happened once, and
 * weak events (commits). no evidence: a lift of 3 would have been seen. cannot tell: it
 * would not.
 */
#ifndef REPROD_CORRELATE_RANK_H
#define REPROD_CORRELATE_RANK_H

#include "core/base/run.h"
#include "correlate/context.h"
#include "correlate/dose.h"
#include "correlate/lag.h"
#include "correlate/rhythm.h"
#include "correlate/sham.h"

enum verdict { VERDICT_LINES_UP, VERDICT_SUGGESTIVE, VERDICT_NO_EVIDENCE, VERDICT_CANNOT_TELL };

struct tested_route {
	struct view view;
	struct spike_list spikes;
	bool *explained; /* per spike: by what lines up or is suggestive */
	bool *covered; /* per spike: some condition's window overlaps it */
	double lost_s;
};

struct finding {
	const struct condition *condition; /* of a metric: kind "metric", no occurrences */
	const struct metric *metric; /* NULL: a condition. id "traffic": the requests */
	struct metric_result by_metric; /* when metric is set */
	enum verdict verdict;
	char reason[320];
	const char *null; /* what the p-value compares with */
	size_t route; /* index in analysis.routes, of the figures below */
	struct lineup whole; /* zeroed figures for a metric: whole.hits is NULL */
	struct lineup rest; /* outside the accepted ones' windows; zeroed when not needed */
	bool has_rest;
	struct lag lag;
	double p, q;
	double coverage, coverage_time; /* coverage: P(window | spike), the necessary rate */
	double trigger; /* P(spike | window), the sufficient rate; NAN: no occurrence judged */
	size_t group; /* from 1, in order of rank */
	bool is_lone;
	struct dose dose; /* of what is suggestive or better, as the next two */
	struct context_list contexts;
	struct sham sham;
};

struct analysis {
	const struct series *series;
	const struct condition_list *conditions;
	const struct metric_list *metrics; /* or NULL */
	struct condition *synthetic; /* of the metrics and the traffic */
	struct condition_list rhythms; /* built-in: rank_rhythm.h */
	struct metric traffic; /* only its name: values differ by route */
	struct tested_route *routes; /* those with spikes first, most time lost first */
	size_t route_count, spiking_count;
	struct finding *findings; /* by rank */
	size_t finding_count;
	size_t unestimable; /* routes with fewer than 100 requests */
	size_t untested; /* routes left out for memory */
	int64_t bucket_ns;
	uint64_t seed;
};

/* metrics may be NULL. named: only this route, or NULL. Interrupted runs give what is
 * done so far. */
bool analysis_make(struct analysis *a, const struct series *s,
	const struct condition_list *conditions, const struct metric_list *metrics,
	const struct series_route *named, int64_t bucket_ns, const struct run *run,
	struct err *e) MUST_USE;
void analysis_free(struct analysis *a);

const char *verdict_text(enum verdict v);
/* min(60 s, max(1 s, P / 8)) over the periods P of the regular conditions (three
 * occurrences at least); without one a sixtieth of the capture, 1 s to 60 s (10 s
 * from packets). */
int64_t analysis_bucket(
	const struct series *s, const struct condition_list *conditions, bool is_from_packets);

#endif
