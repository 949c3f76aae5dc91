/*
 * series.h - what requests did over time: counts per route, instant and latency.
 *
 * Kept as cells (tick of arrival, latency bin, count), so that memory follows the variety
 * of what happened. Ticks are 10 ms and grow at the caps of cells and ticks, by widths
 * that divide a minute as long as they can. Bins are log-linear, 64 to the octave: within
 * 0.8 %, past the cap of cells 3.2 % (series.bin_step); the largest 64 of each route are
 * kept exactly. Merging is adding: percentiles are never averaged. Routes beyond
 * SERIES_ROUTES_MAX are refused by series_route(). One thread.
 */
#ifndef REPROD_SERIES_H
#define REPROD_SERIES_H

#include "core/base/base.h"
#include "core/base/table.h"

#define SERIES_ROUTES_MAX 5000
#define SERIES_CELLS_MAX ((size_t)32 << 20) /* 8 bytes each */
#define SERIES_TICKS_MAX ((int64_t)1 << 18)
#define SERIES_TICK_NS (10 * NS_PER_MS)
#define SERIES_TOP 64
#define SERIES_BINS 2624
#define SERIES_SLOW_MAX ((size_t)1 << 19) /* slots of 64 bytes, over all routes */
#define SERIES_SLOW_KEPT 4
#define SERIES_GAPS_MAX 4096
#define SERIES_COUNT_MAX 0xfffff

/* Packed so that sorting the word sorts by tick, then bin. */
struct series_cell {
	uint64_t word; /* tick + 2^31 (32 bits), bin (12), count (20) */
};

struct series_top {
	int64_t start_ns, latency_us;
};

/* Requests with these latencies came in somebody's histogram; they are told by the bin. */
struct series_edge {
	uint32_t bin;
	int64_t low_us, high_us; /* (low, high]; INT64_MAX: no upper edge */
};

struct series_gap {
	int64_t from_ns, to_ns;
};

struct series_slow;

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
	int64_t floor_us; /* 0: fast ones are told too */
	struct series_edge *edges; /* by bin; none: nothing was counted by others */
	size_t edge_count, edge_cap;
	struct series_slow *slow; /* the slowest few a minute, with their connection */
	size_t slow_count, slow_cap;
	bool has_unknown_session;
};

struct series {
	struct series_route **routes;
	size_t route_count, route_cap;
	struct table by_text;
	int64_t origin_ns; /* start of tick 0: a whole minute */
	int64_t tick_ns;
	int64_t first_ns, last_ns; /* first arrival, last end */
	size_t cells_max, cells_held; /* capacity in use over all routes */
	uint32_t bin_step; /* 1, or what bins were thinned by */
	int64_t slow_ns; /* a slot of series_route.slow: a minute, more at the cap */
	size_t slow_held;
	struct series_gap *gaps; /* sorted and apart after series_finish() */
	size_t gap_count, gap_cap;
	uint64_t gaps_joined; /* that lay apart, at the cap */
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
/* n requests (at most 2^30 a call) that arrived somewhere in [start, start + width) with
 * latencies in (low, high], high INT64_MAX when it has no end: a bucket of somebody's
 * histogram. They are placed in the middle bin of that range, without an end in its first.
 * Ticks become as wide, at most a day, and stay so; a range wider than a bin is remembered
 * for series_edges(). */
bool series_add_counted(struct series *s, struct series_route *r, int64_t start_ns,
	int64_t width_ns, int64_t low_us, int64_t high_us, uint64_t n);
/* Nothing was seen in [from, to) though something may have happened. Joined where they
 * touch; beyond SERIES_GAPS_MAX near ones are joined too (series.gaps_joined). */
bool series_add_gap(struct series *s, int64_t from_ns, int64_t to_ns);
/* Faster requests than this were never told (log_min_duration_statement). */
void series_set_floor(struct series_route *r, int64_t floor_us);
/* Sorts and merges cells, bounds the ticks; afterwards the series is read only. */
bool series_finish(struct series *s);
void series_free(struct series *s);

/* Over how many connections the requests above a bin came that arrived in [from, to) ticks:
 * 0 unknown, 1, or 2 for "at least two". Remembered are the four slowest of each route and
 * minute, at most two of a connection; at SERIES_SLOW_MAX slots minutes become wider. What
 * that leaves open is unknown, as are requests that came without a session. */
unsigned series_sessions(const struct series *s, const struct series_route *r, int64_t from_tick,
	int64_t to_tick, uint32_t above_bin);
/* The range (low, high] that a value told by this bin is known to: that of
 * series_add_counted(), else twice the middle of the bin. */
void series_edges(
	const struct series_route *r, uint32_t bin, int64_t *ret_low_us, int64_t *ret_high_us);
bool series_is_gap(const struct series *s, int64_t from_ns, int64_t to_ns); /* any of it */

static inline int64_t series_cell_tick(struct series_cell c)
{
	return (int64_t)(c.word >> 32) - (INT64_C(1) << 31);
}

static inline uint32_t series_cell_bin(struct series_cell c)
{
	return (uint32_t)(c.word >> 20) & 0xfff;
}

static inline uint32_t series_cell_count(struct series_cell c)
{
	return (uint32_t)c.word & SERIES_COUNT_MAX;
}

/* Of any time, floored. */
int64_t series_tick(const struct series *s, int64_t wall_ns);
int64_t series_tick_ns(const struct series *s, int64_t tick);
uint32_t series_bin(int64_t latency_us);
/* The middle of a bin, in microseconds. */
double series_bin_us(uint32_t bin);

#endif
