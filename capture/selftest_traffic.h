/*
 * selftest_traffic.h - a Postgres conversation over loopback, one request after the
 * other, and how it fared.
 *
 * The server is a child that dies with us; it knows just enough to answer. Each answer
 * has a row of 8 KiB, so that a ring of the kernel fills in a fraction of a second.
 */
#ifndef REPROD_SELFTEST_TRAFFIC_H
#define REPROD_SELFTEST_TRAFFIC_H

#include <sys/types.h>

#include "core/base/err.h"
#include "core/base/hist.h"

struct traffic {
	uint16_t port;
	pid_t server;
	int client; /* connected and greeted */
};

struct traffic_window {
	uint64_t requests;
	int64_t span_ns;
	struct hist latency_us;
};

bool traffic_open(struct traffic *t, struct err *e) MUST_USE;
/* Asks for so long. False: the conversation broke. */
bool traffic_run(
	struct traffic *t, int64_t for_ns, struct traffic_window *w, struct err *e) MUST_USE;
void traffic_close(struct traffic *t);

#endif
