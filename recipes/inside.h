/*
 * inside.h - which requests belong to an occurrence, and which to the quiet time.
 *
 * A request is inside when it was in flight at an instant of the occurrence: from
 * its start to its end plus the measured lag. Each instant weighs the same, shared
 * by the requests in flight at it; an instant with none goes to the next request,
 * as what a request sent then would have met. A request that touches no occurrence
 * is outside. The same spans serve arms without the job, at the same offsets. Times
 * are nanoseconds on one timeline, production's or the run's.
 */
#ifndef REPROD_INSIDE_H
#define REPROD_INSIDE_H

#include "recipes/judge.h"

struct span {
	int64_t from_ns, to_ns;
};

struct inside_request {
	int64_t start_ns, end_ns; /* end: of the answer, or when we stopped waiting */
	bool is_censored;
};

/* One run, one block per span. Requests are sorted by start; spans are sorted and do
 * not overlap. */
bool inside_collect(struct judge_set *set, const struct inside_request *requests, size_t count,
	const struct span *spans, size_t span_count, struct err *e) MUST_USE;
/* One run, one block per piece of quiet time around: requests that start in the
 * piece and touch none of the occurrences, where each is guard_ns longer at its end
 * (what queued up behind it drains there). occurrences: sorted, not overlapping. */
bool outside_collect(struct judge_set *set, const struct inside_request *requests, size_t count,
	const struct span *occurrences, size_t occurrence_count, int64_t guard_ns,
	const struct span *around, size_t around_count, struct err *e) MUST_USE;
/* Sorts and joins overlapping spans in place; returns how many are left. */
size_t spans_join(struct span *spans, size_t count);
/* Equal pieces of one span, into pieces[count]. */
void span_slice(struct span whole, struct span *pieces, size_t count);

#endif
