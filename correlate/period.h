/*
 * period.h - rhythms in the spikes that no condition was given for.
 *
 * For each usual period P of schedulers and each width w <= P/4 the onsets are folded;
 * the cycles with an onset in the best phase window are counted. The score is log10 of
 * the chance of so many (period_fold.h), paid for the phases and pairs tried. Free periods
 * are tried as well: what fits one much better than any usual one is a loop that sleeps.
 * Where no spikes have a rhythm, the buckets with slow requests are folded. A find is
 * searched again in the first half alone, and what that says is tested on the second.
 */
#ifndef REPROD_CORRELATE_PERIOD_H
#define REPROD_CORRELATE_PERIOD_H

#include "correlate/period_clock.h"
#include "correlate/spike.h"

struct period {
	int64_t period_ns, phase_ns, width_ns; /* phase of the zone's clock since 1970 */
	const char *zone; /* "UTC", the one given, or one whose changes it follows */
	bool is_zone_told; /* the clock changed in the capture and it followed */
	bool is_interval; /* no usual period, or it drifts: a loop that sleeps, not cron */
	bool is_by_counts; /* found in slow requests, as there are hardly any spikes */
	double score; /* log10; accepted at -3 and below */
	size_t cycles, hit;
	bool is_confirmed; /* the first half alone finds it, and it holds in the second */
	double held_out_p; /* of the second half, by what the first says; NAN: too short */
	size_t held_out_cycles, held_out_hit;
};

/* The best rhythm of a route's spikes; false when there is none at -3 or below.
 * zone: the user's, tried first; NULL: UTC. routes: how many are asked, which is paid
 * for. */
bool period_find(struct period *ret, const struct view *v, const struct spike_list *spikes,
	const char *zone, size_t routes);
/* The same for instants, sorted and known to a grain; the first PERIOD_ONSETS_MAX. */
#define PERIOD_ONSETS_MAX 5000
bool period_find_in(struct period *ret, const int64_t *onsets, size_t count, int64_t grain_ns,
	int64_t first_ns, int64_t last_ns, const char *zone);

#endif
