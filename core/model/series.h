/*
 * series.h - what requests did over time: counts per route, instant and latency.
 *
 * A route's requests are kept as cells (tick of arrival, latency bin, count), so
 * memory follows the variety of what happened, not the number of requests. A tick
 * is 10 ms at first; at the caps of cells or ticks it is doubled for all routes
 * and cells merge (series.tick_ns says the present one). Latency bins are
 * log-linear, 64 to the octave: a value is told within 0.8 %; the largest 64 of
 * each route are also kept exactly. Merging is adding: percentiles are never
 * averaged. Routes beyond SERIES_ROUTES_MAX are counted in series.refused.
 */
#ifndef REPROD_SERIES_H
#define REPROD_SERIES_H

#include "core/base/base.h"
#include "core/base/table.h"

#define SERIES_ROUTES_MAX 5000
#define SERIES_CELLS_MAX ((size_t)12 << 20) /* 8 bytes each */
#define SERIES_TICKS_MAX ((int64_t)1 << 18)
#define SERIES_TICK_NS (10 * NS_PER_MS)
#define SERIES_TOP 64
#define SERIES_BINS 2624

/* Packed so that sorting the word sorts by tick, then bin. */
struct series_cell {
	uint64_t word; /* tick + 2^31 (32 bits), bin (16), count (16) */
};

struct series_top {
	int64_t start_ns, latency_us;
};

struct series_route {
	struct slice text; /* ours, terminated */
	uint64_t fingerprint;
	struct series_cell *cells; /* sorted after series_finish() */
	size_t count, cap;
	uint64_t requests, errors, unanswered;
	int64_t max_us;
	struct series_top top[SERIES_TOP]; /* descending by latency after series_finish() */
	size_t top_count;
	struct series_top *pending; /* unanswered: latency is the age when we stopped looking */
	size_t pending_count, pending_cap;
};

struct series {
	struct series_route **routes;
	size_t route_count, route_cap;
	struct table by_text;
	int64_t origin_ns; /* start of tick 0: a whole minute */
	int64_t tick_ns;
	int64_t first_ns, last_ns; /* first arrival, last end */
	size_t cells_max, cells_held; /* capacity in use over all routes */
	uint64_t requests, refused;
	bool has_origin;
};

void series_init(struct series *s, size_t cells_max); /* 0: SERIES_CELLS_MAX */
/* Finds or adds; NULL at the cap. A fingerprint of 0 is made from the text. */
struct series_route *series_route(struct series *s, struct slice text, uint64_t fingerprint);
/* False when it had to be refused (out of memory, or more than 240 days away). */
bool series_add(struct series *s, struct series_route *r, int64_t start_ns, int64_t latency_ns,
	bool is_error);
/* A request that nobody answered while we looked: age, not latency. */
bool series_add_unanswered(
	struct series *s, struct series_route *r, int64_t start_ns, int64_t age_ns);
/* As series_add(), told which connection it came over (any hash; 0: unknown). */
bool series_add_from(struct series *s, struct series_route *r, int64_t start_ns, int64_t latency_ns,
	bool is_error, uint32_t session);
/* n requests that arrived somewhere in [start, start + width) with latencies in
 * (low, high]: a bucket of somebody's histogram. Ticks are at least as wide from then
 * on, and the route's quantiles are known to such a range only (series_edges()). */
bool series_add_counted(struct series *s, struct series_route *r, int64_t start_ns,
	int64_t width_ns, int64_t low_us, int64_t high_us, uint64_t n);
/* Nothing was seen in [from, to) though something may have happened. */
bool series_add_gap(struct series *s, int64_t from_ns, int64_t to_ns);
/* Faster requests than this were never told (log_min_duration_statement). */
void series_set_floor(struct series_route *r, int64_t floor_us);
/* Sorts and merges cells, bounds the ticks; afterwards the series is read only. */
bool series_finish(struct series *s);
void series_free(struct series *s);

/* How many connections the requests above a bin that arrived in [from, to) ticks came
 * over: 0 unknown, 1, or 2 for "at least two". The slowest few of each minute are
 * remembered, not all. */
unsigned series_sessions(const struct series *s, const struct series_route *r, int64_t from_tick,
	int64_t to_tick, uint32_t above_bin);
/* The range that a quantile at this bin is known to: the histogram bucket of
 * series_add_counted(), else the bin itself. */
void series_edges(
	const struct series_route *r, uint32_t bin, int64_t *ret_low_us, int64_t *ret_high_us);
bool series_is_gap(const struct series *s, int64_t from_ns, int64_t to_ns); /* any of it */

static inline int64_t series_cell_tick(struct series_cell c)
{
	return (int64_t)(c.word >> 32) - (INT64_C(1) << 31);
}

static inline uint32_t series_cell_bin(struct series_cell c)
{
	return (uint32_t)(c.word >> 16) & 0xffff;
}

static inline uint32_t series_cell_count(struct series_cell c)
{
	return (uint32_t)c.word & 0xffff;
}

/* Of any time, floored. */
int64_t series_tick(const struct series *s, int64_t wall_ns);
int64_t series_tick_ns(const struct series *s, int64_t tick);
uint32_t series_bin(int64_t latency_us);
/* The middle of a bin, in microseconds. */
double series_bin_us(uint32_t bin);

#endif
