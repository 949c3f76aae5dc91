/*
 * spike.h - the time ranges in which a route is slower than chance explains.
 *
 * Two grids of buckets, half a bucket apart, are tested for more slow requests
 * (baseline.h) than quiet time has; false discoveries are held to 1 % over the
 * route (Benjamini and Hochberg 1995). A bucket counts when also its p99 is above
 * the slow limit at 99 %, or when at least four slow requests overlap at one
 * instant: a stall, which a p99 over a second of fast requests hides. Fewer than
 * four slow requests are an anecdote: counted, never used.
 */
#ifndef REPROD_CORRELATE_SPIKE_H
#define REPROD_CORRELATE_SPIKE_H

#include "correlate/view.h"

#define SPIKES_MAX 20000

enum spike_kind { SPIKE_SPIKE, SPIKE_STALL, SPIKE_UNFINISHED, SPIKE_LEVEL_SHIFT };

struct spike {
	enum spike_kind kind;
	struct span span; /* from the first slow arrival to the last slow end */
	int64_t start_ns, end_ns;
	uint64_t n, slow;
	double p50_ms, p99_ms, max_ms, baseline_ms;
	double lost_s; /* latency above the baseline, summed */
};

struct spike_list {
	struct spike *items; /* by start */
	size_t count;
	uint64_t anecdotes; /* slow requests outside all spikes */
	uint64_t refused; /* spikes beyond the cap */
};

bool spike_find(struct spike_list *list, const struct view *v) MUST_USE;
void spike_list_free(struct spike_list *list);
const char *spike_kind_text(enum spike_kind kind);

#endif
