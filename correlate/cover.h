/*
 * cover.h - which spikes fall into whose windows, and which into nobody's.
 *
 * Two rates per condition: P(window | spike), how necessary it looks, and P(spike |
 * window), how sufficient. Spikes are marked as covered (by any window) and explained
 * (by the windows of what lines up or is suggestive).
 */
#ifndef REPROD_CORRELATE_COVER_H
#define REPROD_CORRELATE_COVER_H

#include "correlate/rank.h"

bool cover_init(struct analysis *a) MUST_USE; /* tested_route.covered */
/* Sets coverage, coverage_time and trigger; marks spikes. */
void cover_measure(struct finding *f, struct analysis *a);

#endif
