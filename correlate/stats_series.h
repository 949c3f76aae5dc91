/*
 * stats_series.h - the columns of a recording as series: gauges and rates.
 *
 * A rate is a counter's growth a second, put at the start of its interval. A counter that
 * falls, whose section was reset (stats_reset, a restart of the server) or that was out
 * of sight for more than STATS_STALE rounds starts anew. Rows that stand for zeros when
 * they are gone give zeros. First all rounds are seen once to learn which columns change
 * (stats_series_see() without a list), then again to make metrics of the kept ones.
 */
#ifndef REPROD_CORRELATE_STATS_SERIES_H
#define REPROD_CORRELATE_STATS_SERIES_H

#include "correlate/metric.h"
#include "correlate/stats_scan.h"
#include "correlate/stats_track.h"

#define STATS_STALE 3
#define STATS_CELLS_MAX 400000

/* One column of one track. */
struct stats_cell {
	int64_t before, before_ns; /* of a counter; before_ns 0: none */
	int64_t reset; /* what its resets were told by then */
	double value; /* the last one it had */
	double sum, weight; /* of the point that is being made */
	int64_t point_ns; /* its start; 0: none */
	uint32_t points, changes;
	uint32_t metric; /* index + 1; 0: not kept */
};

struct stats_series {
	struct stats_tracks tracks;
	struct stats_section *schemas; /* every one that was seen */
	size_t schema_count;
	struct stats_cell *cells;
	size_t cell_count, cell_cap;
	uint32_t *first_cell; /* of a track, + 1 */
	uint64_t *seen_in; /* of a track: the round it was last in */
	size_t track_room;
	uint32_t *zeros; /* tracks whose absence is zero */
	size_t zero_count, zero_room;
	uint64_t round, refused; /* cells beyond the cap */
	int64_t usual_ns; /* between rounds */
	int64_t resets; /* how often the server began anew */
	int64_t started, database_reset;
	int64_t step_ns; /* of a point */
	size_t kept, constant;
	struct metric_list *list; /* NULL: only looking */
	uint64_t dropped; /* series that change but found no room */
};

void stats_series_init(struct stats_series *s);
void stats_series_free(struct stats_series *s);
void stats_series_see(
	struct stats_series *s, const struct stats_round *round, const struct stats_table *table);
/* Chooses by what changes most, so that rounds * kept fit the list; from now on metrics
 * are made. False when out of memory. */
bool stats_series_keep(struct stats_series *s, struct metric_list *list, uint64_t rounds) MUST_USE;
/* The last points. */
void stats_series_end(struct stats_series *s);

#endif
