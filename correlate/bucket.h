/*
 * bucket.h - one route's requests summed over ranges of time.
 *
 * Buckets are aligned to whole multiples of their width from a UTC minute and go
 * by arrival. Quantiles come from merged counts (series.h: within 0.8 %, exact
 * among a route's 64 largest). A p99 below n = 100 is NAN: not estimable; where
 * others counted the requests in coarse buckets it is NAN too and only p99_low_ms
 * and p99_high_ms are told. A log that leaves out fast requests has no quantiles.
 */
#ifndef REPROD_CORRELATE_BUCKET_H
#define REPROD_CORRELATE_BUCKET_H

#include "core/model/series.h"

struct span {
	int64_t from_tick, to_tick; /* [from, to) */
};

/* GAP: part of it was not observed, so it is no evidence for anything. */
enum bucket_state { BUCKET_OK, BUCKET_LOW, BUCKET_EMPTY, BUCKET_GAP };

struct bucket {
	int64_t start_ns, first_tick;
	size_t first_cell, end_cell; /* in route->cells */
	uint64_t n;
	double p50_ms, p90_ms, p99_ms, p99_low_ms, p99_high_ms, max_ms;
	enum bucket_state state;
	bool is_floored; /* n counts only what was told: quantiles are unknown (NAN) */
	bool is_interval; /* p50 and p90 are middles of coarse buckets, p99 is NAN */
	bool is_flagged; /* more requests above the baseline than chance */
};

struct bucket_list {
	struct bucket *items; /* consecutive, first to last arrival of the series */
	size_t count;
	int64_t width_ns;
};

/* All buckets of the series' span for one route. False: out of memory, or more than
 * a million buckets. */
bool bucket_list_make(struct bucket_list *list, const struct series *s,
	const struct series_route *r, int64_t width_ns) MUST_USE;
void bucket_list_free(struct bucket_list *list);

/* One range of ticks [from, to), however long. */
void bucket_measure(struct bucket *b, const struct series *s, const struct series_route *r,
	int64_t from_tick, int64_t to_tick);

const char *bucket_state_text(enum bucket_state state); /* "ok", "low", "empty", "gap" */

/* Index of the first cell at or after a tick. */
size_t bucket_cell_at(const struct series_route *r, int64_t tick);

/* The latency bin at quantile q of all cells in [first, end), and how many there are. */
uint32_t bucket_pool_quantile(const uint64_t bins[SERIES_BINS], uint64_t n, double q);

#endif
