/*
 * context.h - what else was so when a job bit, and was not when it did not.
 *
 * Necessary, not sufficient: for the hits and misses of one condition each context is
 * split at the value that separates them best (chi-square of hits on either side);
 * p by permuting which occurrences hit, the best split taken in the null as well; q by
 * Benjamini and Hochberg over the contexts tested. p_turn does the same with the hits
 * turned in time as a whole: what only drifted along with them fails it. At least
 * three hits and three misses; CONTEXTS_MAX contexts, the others are counted.
 */
#ifndef REPROD_CORRELATE_CONTEXT_H
#define REPROD_CORRELATE_CONTEXT_H

#include "correlate/lineup.h"
#include "correlate/metric.h"
#include "correlate/split.h"

#define CONTEXTS_MAX 500
#define CONTEXTS_KEPT 8
#define CONTEXT_TIMES_MAX SPLIT_ITEMS_MAX /* occurrences used, spread over all */

enum context_kind {
	CONTEXT_TRAFFIC, /* the route's requests a second just before */
	CONTEXT_ACTIVE, /* another condition's window overlaps */
	CONTEXT_SINCE_DEPLOY, /* minutes since the last deploy or restart */
	CONTEXT_METRIC, /* its value at the start */
};

struct context {
	enum context_kind kind;
	const char *id; /* "traffic", "job:x", "since-deploy", "metric:x"; the source owns it */
	double threshold; /* between two values that were seen */
	bool is_above; /* the hits are above it */
	size_t with, hit_with; /* occurrences on that side, and those that hit */
	size_t without, hit_without;
	double p, p_turn, q;
	char text[240]; /* "alone 3 of 60, with metric:x > 1.2e+06 14 of 16" */
};

struct context_list {
	struct context items[CONTEXTS_KEPT]; /* q <= 0.05, by p */
	size_t count;
	size_t tested, untested; /* contexts with values on both sides; beyond the cap */
};

struct context_question {
	const struct view *view;
	const struct condition *condition;
	const struct lineup *lineup;
	const struct condition_list *conditions;
	const struct metric_list *metrics; /* or NULL */
	uint64_t seed;
};

bool context_measure(struct context_list *ret, const struct context_question *q) MUST_USE;

#endif
