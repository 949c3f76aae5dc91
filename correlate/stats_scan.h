/*
 * stats_scan.h - reads a recording of statistics, round by round.
 *
 * The file may still be written, or have been cut by kill -9: what is behind the last
 * whole round is counted in torn bytes. Damage in the middle costs the rounds up to the
 * next key round (at most an hour) and is counted. The table is the scan's; row numbers
 * hold until a round says is_new_table. A pipe cannot be read.
 */
#ifndef REPROD_CORRELATE_STATS_SCAN_H
#define REPROD_CORRELATE_STATS_SCAN_H

#include "correlate/stats_file.h"

#define STATS_GAPS_MAX 16 /* told with one round */

struct stats_gap {
	int64_t from_ns, to_ns;
	unsigned reason; /* enum stats_gap_reason */
};

struct stats_round {
	int64_t t_ns;
	bool is_new_table; /* sections and rows are numbered anew */
	bool has_section[STATS_SECTIONS_MAX];
	struct stats_gap gaps[STATS_GAPS_MAX]; /* before this round */
	size_t gap_count;
};

struct stats_scan;

struct stats_scan *stats_scan_open(const char *path, struct err *e);
const struct stats_table *stats_scan_table(const struct stats_scan *s);
const struct json *stats_scan_head(const struct stats_scan *s);
/* END at the last whole round. FAIL only when the file cannot be read any more. */
enum step stats_scan_next(struct stats_scan *s, struct stats_round *ret, struct err *e);
/* After END. */
uint64_t stats_scan_torn_bytes(const struct stats_scan *s);
uint64_t stats_scan_damaged(const struct stats_scan *s); /* blocks */
bool stats_scan_is_finished(const struct stats_scan *s);
void stats_scan_close(struct stats_scan *s);

#endif
