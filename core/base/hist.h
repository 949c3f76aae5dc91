/*
 * hist.h - a log-linear latency histogram, mergeable.
 *
 * Values are non-negative int64 in one unit of the caller's choice (we use
 * microseconds); the layout is HdrHistogram's with lowest discernible value 1 and
 * 3 significant digits (2048 sub-buckets), so a quantile is within 0.1 %. Counts
 * are kept only between the smallest and the largest bucket seen. Values above
 * HIST_MAX count as HIST_MAX and in hist.saturated. Merging adds exactly.
 * Source: Gil Tene, HdrHistogram (bucket index arithmetic).
 */
#ifndef REPROD_HIST_H
#define REPROD_HIST_H

#include "core/base/buf.h"
#include "core/base/cursor.h"

#define HIST_MAX (INT64_C(1) << 42)

struct hist {
	uint64_t *counts;
	uint32_t first; /* index of counts[0] */
	uint32_t length;
	uint64_t total;
	uint64_t saturated;
	int64_t min, max; /* exact; meaningless when total is 0 */
	double sum;
};

/* False only when memory ran out. */
bool hist_add(struct hist *h, int64_t value, uint64_t times) MUST_USE;
bool hist_merge(struct hist *into, const struct hist *from) MUST_USE;
/* Takes away what was added before. min and max stay within their buckets. */
void hist_subtract(struct hist *from, const struct hist *less);
/* The value at quantile q in [0,1] by nearest rank, ceil(q * total); the highest
 * value equivalent to the bucket, never above max. 0 when empty. */
int64_t hist_quantile(const struct hist *h, double q);
/* The value of the rank-th smallest (1 = min); used for order-statistic intervals. */
int64_t hist_rank(const struct hist *h, uint64_t rank);
/* How many values are above the given one (to the bucket's precision). */
uint64_t hist_above(const struct hist *h, int64_t value);
void hist_reset(struct hist *h);
void hist_free(struct hist *h);
/* Our binary form (docs/formats/rcap.md) and its reader, which checks sizes. */
void hist_write(const struct hist *h, struct buf *to);
bool hist_read(struct hist *h, struct cursor *from) MUST_USE;
/* The HdrHistogram percentile text that the .hgrm plotters read, scaled. */
void hist_write_hgrm(const struct hist *h, double scale, struct buf *to);

#endif
