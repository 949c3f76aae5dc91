/*
 * shape.h - the shape of the traffic in a capture: arrivals and their bursts, requests
 * in flight, sessions, think times, transactions, mix, sizes, latency given concurrency.
 *
 * Reads a capture forwards and then backwards; memory is bounded by its routes, its open
 * sessions and the requests in flight. Quantiles are from histograms of 3 digits,
 * intervals of order statistics at 95 %. What the numbers mean: docs/formats/shape.md.
 */
#ifndef REPROD_SHAPE_H
#define REPROD_SHAPE_H

#include "core/base/json.h"
#include "core/base/run.h"
#include "core/model/rcap.h"

/* Routes with sizes, bursts and latency by concurrency; the others have the rest. */
#define SHAPE_DETAILS 64

struct shape_options {
	int64_t from_ns, to_ns; /* both 0: all */
	const char *route; /* only requests whose route has this in its text, or NULL */
};

/* The document that `capture shape --json` prints; the caller frees it. Rewinds the
 * capture before and after. NULL and *e on failure. Progress goes to run->log. */
struct json *capture_shape(
	struct rcap *r, const struct shape_options *o, const struct run *run, struct err *e);
/* The same for people: so many routes (0: all there are). */
void capture_shape_print(const struct json *shape, const char *path, size_t routes, FILE *to);

#endif
