/*
 * dose.h - does more of it make it slower? Dose against effect, by occurrence.
 *
 * The dose is what the event said (rows, bytes, pages), else the logged duration.
 * The effect is the latency lost in the window above what quiet time loses, in
 * seconds. Spearman's rank correlation with p by permuting the doses; slope by
 * Theil (1950) and Sen (1968); means by terciles of the dose. Needs six occurrences
 * with different doses.
 */
#ifndef REPROD_CORRELATE_DOSE_H
#define REPROD_CORRELATE_DOSE_H

#include "correlate/lineup.h"

#define DOSE_MIN 6
#define DOSE_MAX 2000 /* occurrences used, spread over all */

struct dose {
	bool is_evaluable;
	bool is_duration; /* in seconds, for want of a dose */
	size_t n;
	double rho, p; /* p of "more dose, more effect", one-sided */
	double slope_s; /* seconds lost per unit of dose */
	double tercile_dose[3], tercile_lost_s[3]; /* median dose, mean effect */
};

bool dose_measure(struct dose *ret, const struct view *v, const struct condition *c,
	const struct lineup *l, uint64_t seed) MUST_USE;

#endif
