/*
 * stats_events.h - what a recording says that happened: vacuums, checkpoints, restarts,
 * settings.
 *
 * Tallies that grew between two rounds become events: "autovacuum:public.orders" (from
 * the first round that saw it run, or as long as the server says (18), or else from the
 * round before, until last_autovacuum), "checkpoint:timed" (from the round before its
 * count grew until its write time did), "restart:postgres", "reload:postgres",
 * "setting:NAME", and "create-index:REL" and the like as long as they were seen running.
 * Times of the server's clock are brought to the recorder's. A tally that falls was reset.
 */
#ifndef REPROD_CORRELATE_STATS_EVENTS_H
#define REPROD_CORRELATE_STATS_EVENTS_H

#include "core/model/event.h"
#include "correlate/stats_scan.h"
#include "correlate/stats_track.h"

struct stats_running;
struct stats_tally;

struct stats_events {
	struct event_list *list;
	uint16_t source;
	struct stats_tracks tracks;
	struct stats_tally *tallies; /* by track */
	struct stats_running *running; /* by track */
	size_t tally_room, running_room;
	int64_t t_ns, before_ns; /* of this round; of the last one that had the server */
	int64_t usual_ns; /* between rounds, the caller's; 0: not known */
	bool is_after_gap; /* the round before is further away */
	int64_t offset_ns; /* the server's clock less ours */
	int64_t offset_most_ns; /* the largest seen, either way */
	int64_t started, conf_loaded; /* STATS_NONE: not known yet */
	int64_t checkpoint_ns; /* the start of one under way; 0: none */
	const char *checkpoint;
	int64_t checkpoint_before[4]; /* timed, requested, write time, sync time */
	uint64_t count, merged; /* events; happenings of which only the last is known */
	bool is_out_of_memory;
};

void stats_events_init(struct stats_events *s, struct event_list *list, uint16_t source);
void stats_events_see(
	struct stats_events *s, const struct stats_round *round, const struct stats_table *table);
/* What still runs; the list is sorted. False when events were lost for want of memory. */
bool stats_events_end(struct stats_events *s) MUST_USE;
void stats_events_free(struct stats_events *s);

#endif
