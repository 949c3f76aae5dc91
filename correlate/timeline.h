/*
 * timeline.h - one route over time in lines of text: p99, data, spikes, runs, metrics.
 *
 *   p99      a bar a column, by logarithm; the largest latency where there is no p99
 *   data     . under 100 requests   o none   ? not observed; not shown when all is well
 *   spikes   ^ spike or stall   ~ unfinished   /--- level shift
 *   events   | hit   : no slow time   ' not judged   = goes on
 *
 * 72 columns, times of UTC under them. At most 8 events and metrics, by rank.
 */
#ifndef REPROD_CORRELATE_TIMELINE_H
#define REPROD_CORRELATE_TIMELINE_H

#include "correlate/rank.h"

void timeline_print(const struct analysis *a, size_t route, FILE *to);

#endif
