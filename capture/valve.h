/*
 * valve.h - the last station of raw requests before the scrubber: where what is shed is
 * taken off and flagged, and where others may look on.
 *
 * From SHED_DETAIL on values, bodies and COPY rows go before anything is spent on them
 * (REQUEST_SHED, REQUEST_VALUE_LOST). A session that is being given up ends with
 * SESSION_UNCLOSED, and its open requests count in no latency. One thread.
 */
#ifndef REPROD_VALVE_H
#define REPROD_VALVE_H

#include "capture/shed.h"
#include "core/model/request.h"

/* Told of each request; hash is shed_hash() of its connection. */
struct valve_tap {
	void (*request)(void *data, const struct raw_request *q, unsigned hash);
	void *data;
};

struct valve {
	struct request_sink next;
	struct valve_tap tap;
	enum shed_level level;
	bool is_cutting; /* sessions are being given up just now */
	unsigned hash; /* of the packet in hand */
	uint64_t flagged; /* requests that lost something here */
};

struct request_sink valve_sink(struct valve *v);

#endif
