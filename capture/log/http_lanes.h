/*
 * http_lanes.h - which session a request of a log belongs to; see http_feed.h.
 *
 * Requests come in the order of their ends. Numbers sessions from 1, gives each
 * request its place and think time, and hands both to log_order.h.
 */
#ifndef REPROD_HTTP_LANES_H
#define REPROD_HTTP_LANES_H

#include "capture/log/http_feed.h"
#include "capture/log/log_order.h"

#define HTTP_LANES_OPEN_MAX 200000
#define HTTP_LANES_THINK_GAP_NS (60 * NS_PER_S)

struct http_lanes;

/* The order outlives it. NULL: out of memory. */
struct http_lanes *http_lanes_new(struct log_order *order);
bool http_lanes_take(struct http_lanes *l, const struct http_feed_item *i, struct err *e) MUST_USE;
bool http_lanes_finish(struct http_lanes *l, struct err *e) MUST_USE;
void http_lanes_free(struct http_lanes *l);

#endif
