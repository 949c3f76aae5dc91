/*
 * turnover.h - when each route of a capture was first and last seen: which fell silent
 * in the middle, and which came up there.
 *
 * Of stored requests; of a sampled capture the head's own first and last, which are of
 * all requests, stand in for the routes listed there. A silence counts when the route
 * would have had a dozen requests in it at its own pace, and when it is a twentieth of
 * the capture; routes of fewer than ten requests say nothing. Owns its list.
 */
#ifndef REPROD_TURNOVER_H
#define REPROD_TURNOVER_H

#include "core/base/json.h"
#include "core/model/rcap.h"

struct turnover_route {
	int64_t first_ns, last_ns;
	uint64_t requests; /* between them */
};

struct turnover {
	struct turnover_route *routes; /* by number in the file */
	size_t count;
	int64_t start_ns, end_ns; /* of all */
};

bool turnover_init(struct turnover *t, size_t routes, struct err *e) MUST_USE;
void turnover_add(struct turnover *t, const struct request_record *q);
/* After the last request: first and last of a sampled capture. */
void turnover_take_sampling(struct turnover *t, const struct rcap *r);
/* The route fell silent for good, the other one came up, and not long after that. */
bool turnover_is_succession(const struct turnover *t, uint32_t gone, uint32_t came);
bool turnover_is_gone(const struct turnover *t, uint32_t route);
void turnover_free(struct turnover *t);

#endif
