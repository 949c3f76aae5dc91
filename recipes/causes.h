/*
 * causes.h - which conditions a draft tests: from correlate's and diff's answers.
 *
 * Without a list of ids: what lines up in time, the first states that the diff
 * names, `data` and `concurrency`. Texts belong to the documents.
 */
#ifndef REPROD_CAUSES_H
#define REPROD_CAUSES_H

#include "core/model/recipe.h"
#include "recipes/draft.h"
#include "recipes/inside.h"

#define CAUSES_STATES_MAX 3

struct cause {
	const char *id;
	const char *source; /* "correlation", "diff", "always", "asked for" */
	const struct json *correlated; /* its entry in conditions[], or NULL */
	const char *file; /* of --job, or NULL */
};

struct causes {
	struct cause items[RECIPE_CONDITIONS_MAX];
	size_t count;
	struct json *left_out; /* list of {id, reason}; the caller's to free or adopt */
};

bool causes_choose(struct causes *c, const struct draft_options *o, struct err *e) MUST_USE;
/* Effect spans of the condition that explains the slowdown in time: each run's start
 * to its end plus lag, sorted and joined, those that the capture's ends cut through
 * too. 0 when none of the chosen ones does. */
size_t causes_occurrences(const struct causes *c, struct span *spans, size_t max,
	const struct cause **ret_cause, double *ret_lag_s);
/* Starts of one condition. */
size_t causes_starts(const struct cause *c, int64_t *starts_ns, size_t max);
/* The condition as it stands in the recipe, without offsets. */
struct json *causes_condition(const struct cause *c, const struct draft_options *o, struct err *e);

#endif
