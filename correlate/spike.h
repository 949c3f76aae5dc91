/*
 * spike.h - the time ranges in which a route is slower than chance explains.
 *
 * What passes trial.h is joined over gaps of a bucket. A stall is one whose slow
 * requests hang together at one instant: a p99 over a second of fast requests hides
 * it. Cut by the capture's end or by a gap, or followed by fewer than four requests, it
 * is unfinished: nobody saw it go away. Longer than 30 minutes it is a level shift.
 * Slow requests outside of all are anecdotes: counted, the largest listed, never used.
 */
#ifndef REPROD_CORRELATE_SPIKE_H
#define REPROD_CORRELATE_SPIKE_H

#include "correlate/view.h"

#define SPIKES_MAX 20000
#define ANECDOTES_MAX 100

enum spike_kind { SPIKE_SPIKE, SPIKE_STALL, SPIKE_UNFINISHED, SPIKE_LEVEL_SHIFT };

struct spike {
	enum spike_kind kind;
	struct span span; /* from the first slow arrival to the last slow end */
	int64_t start_ns, end_ns;
	uint64_t n, slow;
	double p50_ms, p99_ms, max_ms; /* NAN as in bucket.h */
	double baseline_ms; /* p99 at its start; NAN below a log's floor */
	double lost_s; /* latency above the baseline, summed */
};

struct anecdote {
	int64_t start_ns;
	double ms; /* exact among the route's 64 largest */
	bool is_pending; /* not answered: its age */
};

struct spike_list {
	struct spike *items; /* by start */
	size_t count;
	uint64_t anecdotes; /* slow requests outside all spikes */
	struct anecdote *anecdote; /* the largest of them, by start */
	size_t anecdote_count;
	uint64_t one_connection; /* trials not used for having come over one connection */
	double quiet_rate; /* slow requests per request in quiet time */
	double duty; /* share of the observed time that is slow, level shifts included */
	uint64_t refused; /* spikes beyond the cap */
};

bool spike_find(struct spike_list *list, const struct view *v) MUST_USE;
void spike_list_free(struct spike_list *list);
const char *spike_kind_text(enum spike_kind kind);

#endif
