/*
 * sham.h - the same schedule at other phases: how many do as well?
 *
 * Twenty copies of the windows, moved by one window up to a period less one window, so
 * that none overlaps the real ones, each given its lift. It needs no p-value to be
 * understood: "0 of 20 other phases reach it". A condition without two occurrences, or
 * whose windows take half of its period, has no shams.
 */
#ifndef REPROD_CORRELATE_SHAM_H
#define REPROD_CORRELATE_SHAM_H

#include "correlate/lineup.h"

#define SHAMS 20

struct sham {
	size_t count; /* phases with requests in their windows */
	size_t reached; /* with the lift of the real one or more */
	double best_lift; /* of the shams; NAN without any */
};

bool sham_measure(struct sham *ret, const struct view *v, const struct condition *c,
	const struct lineup *l) MUST_USE;

#endif
