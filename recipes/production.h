/*
 * production.h - what the capture says about the judged route.
 *
 * Reads the capture once and keeps the route's requests (start and end only, at
 * most PRODUCTION_MAX; more are counted and left out). Owns everything it holds.
 */
#ifndef REPROD_PRODUCTION_H
#define REPROD_PRODUCTION_H

#include "core/base/run.h"
#include "core/model/rcap.h"
#include "core/model/recipe.h"
#include "recipes/inside.h"
#include "recipes/own.h"

#define PRODUCTION_MAX 4000000

struct production {
	struct inside_request *requests; /* by start */
	size_t count, room;
	uint64_t left_out;
	char *route;
	uint64_t fingerprint;
	enum protocol protocol;
	int64_t start_ns, end_ns; /* of all traffic in the capture */
	uint64_t all; /* requests of any route */
	uint64_t route_rows, route_errors;
	struct json *head; /* a copy */
};

struct production_choice {
	uint64_t fingerprint; /* 0: none */
	const char *fragment; /* else, of its text; or NULL */
	const struct own *own; /* else the one that took the most time and is none of these */
};

bool production_load(struct production *p, const char *capture,
	const struct production_choice *choice, const struct run *r, struct err *e) MUST_USE;
void production_free(struct production *p);
/* Arrivals per span, of every route and of the judged one. */
bool production_arrivals(const char *capture, const struct span *spans, size_t count,
	uint64_t *ret_all, const struct run *r, struct err *e) MUST_USE;

/* Production's side of the judge, sealed. slow: all occurrences, judged or not. */
struct production_sets {
	struct judge_set inside, outside;
};

struct production_spans {
	const struct span *inside, *slow, *quiet;
	size_t inside_count, slow_count, quiet_count;
	int64_t guard_ns;
};

bool production_divide(const struct production *p, const struct production_spans *spans,
	struct production_sets *ret, struct err *e) MUST_USE;
void production_sets_free(struct production_sets *s);

#endif
