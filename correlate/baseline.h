/*
 * baseline.h - what is normal for a route: its quiet p99 at each time of the day,
 * and where the level moved.
 *
 * The season (season.h) is taken out first. The quantile then comes from the quieter
 * half of the buckets, and again from all but those that exceed it more than chance
 * allows (tail.h) and their louder neighbours, until that settles; never from less
 * than 55 %. So a slowdown holding 30 % of the time in pieces does not hide itself.
 * A lasting step up splits the capture into two segments with a level each (shift.h).
 */
#ifndef REPROD_CORRELATE_BASELINE_H
#define REPROD_CORRELATE_BASELINE_H

#include "correlate/bucket.h"
#include "correlate/season.h"

struct baseline_segment {
	int64_t from_tick; /* up to the next segment */
	uint32_t bin, slow_bin; /* a request exceeds when its bin is above */
	double p99_ms; /* NAN below 100 requests, and below a log's floor: unknown */
	double limit_ms; /* what a request exceeds: p99_ms where that is known */
	double slow_ms; /* max(2 x limit, limit + 5 ms): a slow request is above */
	uint64_t n;
	/* Floored routes only: what quiet time would have in requests a tick, if those
	 * above the limit were one in a hundred. Stands for the unknown n. */
	double exposure;
};

struct baseline {
	struct baseline_segment segments[2]; /* at the season's middle */
	size_t count; /* 0: not estimable */
	bool has_shift; /* the second segment is a level shift up */
	int64_t shift_ns;
	double shift_ratio, shift_quantile; /* p90 rose 17 times */
	bool is_floored; /* fast requests were never told: only rates over time are known */
	struct season season;
	struct baseline_segment *levels; /* segments x slots; NULL without a season */
};

/* Marks buckets as flagged. False: out of memory. */
bool baseline_fit(struct baseline *base, const struct series *s, const struct series_route *r,
	struct bucket_list *buckets) MUST_USE;
/* Takes season and quantiles again without the buckets that overlap the (joined) loud
 * ticks; keeps what it had when less than half of a segment would be left. */
bool baseline_refit(struct baseline *base, const struct series *s, const struct series_route *r,
	struct bucket_list *buckets, const struct span *loud, size_t count) MUST_USE;
void baseline_free(struct baseline *base);
/* Of that tick, with the season in it. */
const struct baseline_segment *baseline_at(const struct baseline *base, int64_t tick);
/* What would hold at that tick if the level had not moved. */
const struct baseline_segment *baseline_before(const struct baseline *base, int64_t tick);

#endif
