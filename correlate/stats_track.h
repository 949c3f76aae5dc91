/*
 * stats_track.h - one number for each row of a recording, over all its files.
 *
 * A table numbers its rows anew in each key round; a track is the same section and key
 * throughout. Beyond STATS_TRACKS_MAX rows they are counted in refused.
 */
#ifndef REPROD_CORRELATE_STATS_TRACK_H
#define REPROD_CORRELATE_STATS_TRACK_H

#include "correlate/stats_table.h"

#define STATS_TRACKS_MAX 20000
#define STATS_NO_TRACK UINT32_MAX

struct stats_track {
	char section[32];
	size_t columns; /* of the section; with others it is another track */
	struct slice key;
};

struct stats_tracks {
	struct stats_track *items;
	size_t count, cap;
	uint64_t refused;
	struct table by_name;
	struct arena arena;
	uint32_t *of_row[STATS_SECTIONS_MAX]; /* track + 1, of the present table */
	size_t room[STATS_SECTIONS_MAX];
};

void stats_tracks_init(struct stats_tracks *t);
void stats_tracks_free(struct stats_tracks *t);
/* The table has numbered its rows anew. */
void stats_tracks_renew(struct stats_tracks *t);
/* Finds or adds; STATS_NO_TRACK at the cap. */
uint32_t stats_track_of(
	struct stats_tracks *t, const struct stats_table *table, size_t section, size_t row);

#endif
