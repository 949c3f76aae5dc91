/*
 * scrubhttp.h - an HTTP exchange to the route, template and values of its record.
 *
 * For scrub.c. Values are borrowed until the next call. Policy, key and routes
 * outlive it.
 */
#ifndef REPROD_SCRUBHTTP_H
#define REPROD_SCRUBHTTP_H

#include "core/model/httpscrub.h"
#include "core/model/rcap.h"

/* Fills in route, template, values, flags, status and grpc of q. */
void scrubhttp_request(struct httpscrub *http, const struct raw_http *raw,
	struct rcap_writer *writer, struct request_record *q);

#endif
