/*
 * flight.h - requests in flight, of all and by route, swept from the last to the first.
 *
 * Takes requests in falling order of their ends (capture/blockread.h). A clock that runs
 * backwards meets a request's end first and then its start, so that the levels are exact
 * and memory is the requests in flight. Requests that were stored out of order are put
 * right within flight_window; later ones are taken as ended when they came, and counted.
 * Requests that only touch at one instant don't overlap.
 */
#ifndef REPROD_FLIGHT_H
#define REPROD_FLIGHT_H

#include "capture/blockread.h"
#include "capture/level.h"
#include "capture/timeheap.h"

struct flight {
	struct level all;
	struct level *by_route;
	size_t routes;
	int64_t from_ns, to_ns; /* what lies outside is cut off */
	int64_t now_ns;
	struct timeheap running, waiting;
	uint64_t out_of_order;
	/* Each arrival within from..to, latest first; may be NULL. False: out of memory. */
	bool (*arrival)(void *data, int64_t at_ns, uint32_t route);
	void *data;
};

bool flight_init(struct flight *f, size_t routes, int64_t from_ns, int64_t to_ns) MUST_USE;
/* False only when memory ran out. */
bool flight_add(struct flight *f, struct span s) MUST_USE;
/* After the first request of the file. */
bool flight_finish(struct flight *f) MUST_USE;
void flight_free(struct flight *f);

#endif
