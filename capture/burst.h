/*
 * burst.h - how evenly events come: counts in slices of several widths, and the gaps
 * between events.
 *
 * Index of dispersion of counts = variance / mean of the counts of whole slices: 1 for a
 * Poisson process, near 0 for a clockwork, above 1 for bursts (Cox and Lewis 1966, 4.5).
 * Feed instants in falling order, all within from..from + span.
 */
#ifndef REPROD_BURST_H
#define REPROD_BURST_H

#include "core/base/hist.h"

#define BURST_SCALES 6

struct burst_scale {
	int64_t width_ns;
	int64_t slices; /* whole ones in the span */
	int64_t at; /* the slice being counted */
	uint64_t count; /* in it */
	double sum, squares;
	struct hist counts; /* of slices that had any, and after burst_finish() of all */
};

struct burst {
	int64_t from_ns;
	struct burst_scale scales[BURST_SCALES];
	size_t scale_count;
	int64_t last_ns;
	uint64_t events, together; /* together: gap 0 */
	double gap_sum, gap_squares; /* nanoseconds */
	struct hist gaps_ns;
};

/* The first so many of 1 s, 10 s, 60 s, 100 ms, 10 ms, 1 ms. */
void burst_init(struct burst *b, size_t scale_count, int64_t from_ns, int64_t span_ns);
/* False only when memory ran out. */
bool burst_add(struct burst *b, int64_t at_ns) MUST_USE;
bool burst_finish(struct burst *b) MUST_USE;
/* Below 10 slices, or without events, NAN. */
double burst_dispersion(const struct burst_scale *s);
/* Coefficient of variation of the gaps: 1 for a Poisson process. */
double burst_gap_cv(const struct burst *b);
void burst_free(struct burst *b);

#endif
