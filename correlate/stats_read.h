/*
 * stats_read.h - 'correlate --stats': a recording as metrics and events.
 *
 * Metrics are made for the time of the traffic and half an hour around it, at most
 * METRICS_MAX: those that change most; what does not fit is counted. Points are made
 * wider, at most five minutes, when there would be too many. Events are of the whole
 * recording around the traffic.
 */
#ifndef REPROD_CORRELATE_STATS_READ_H
#define REPROD_CORRELATE_STATS_READ_H

#include "core/model/event.h"
#include "correlate/metric.h"
#include "correlate/notes.h"

struct stats_report {
	uint64_t files, rounds, events;
	uint64_t in_time; /* rounds of the time of the traffic, and around it */
	uint64_t torn, damaged, bad; /* files not ended; blocks; files that are none */
	struct err first_bad;
	int64_t first_ns, last_ns; /* of the recording, as far as it was read */
	uint64_t gaps;
	int64_t gap_ns; /* together */
	uint64_t metrics, constant, dropped; /* made; that never change; beyond the caps */
	uint64_t rows_refused, merged;
	int64_t step_ns, offset_ns; /* between points; of the clocks */
};

/* first_ns, last_ns: of the traffic; source: for events. False when nothing could be
 * read. */
bool stats_read(const char *path, int64_t first_ns, int64_t last_ns, uint16_t source,
	struct metric_list *metrics, struct event_list *events, struct stats_report *ret,
	struct err *e) MUST_USE;
/* What a reader of the answer must know of it. */
void stats_notes(const struct stats_report *r, const char *path, struct notes *notes);

#endif
