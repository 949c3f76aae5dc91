/*
 * log_order.h - holds back what a log tells, until it is known what ran beside it.
 *
 * A log line tells of a request when it ends, so how many were in flight when it
 * arrived is known only once those have ended, too. Requests wait until the log is
 * HOLD_NS further (or 100,000 requests or 64 MiB wait), get their in_flight in the
 * order of their starts, and reach the sink in the order they were given. One that
 * ran longer than that is not counted in those that arrived while it ran.
 */
#ifndef REPROD_LOG_ORDER_H
#define REPROD_LOG_ORDER_H

#include "core/model/request.h"

struct log_order;

/* The sink outlives it. NULL when out of memory. */
struct log_order *log_order_new(const struct request_sink *sink);
/* Copies what is given. */
bool log_order_session(
	struct log_order *o, const struct raw_session *s, int64_t at_ns, struct err *e) MUST_USE;
bool log_order_request(struct log_order *o, const struct raw_request *q, struct err *e) MUST_USE;
/* Hands on all that waits. */
bool log_order_flush(struct log_order *o, struct err *e) MUST_USE;
void log_order_free(struct log_order *o);

#endif
