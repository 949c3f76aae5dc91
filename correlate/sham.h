/*
 * sham.h - the same schedule at other phases: how many do as well?
 *
 * Twenty copies of the windows, moved by k/21 of the period (k = 1 to 20), each given
 * its lift. It needs no p-value to be understood: "0 of 20 other phases reach it".
 * A condition without two occurrences has no period and no shams.
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
