/*
 * plan_index.h - what must be known of a whole capture before the first request of
 * it is sent: its range, its sessions, and which answers later requests need.
 */
#ifndef REPROD_REPLAY_PLAN_INDEX_H
#define REPROD_REPLAY_PLAN_INDEX_H

#include "replay/plan.h"

struct plan_index {
	int64_t first_ns, last_ns; /* of request starts and ends */
	uint64_t requests;
	struct plan_cell *cells; /* sorted, without twins */
	size_t cell_count, cell_room;
	uint64_t cells_refused;
	struct table lanes; /* by session: flags, opened_ns and closes_ns are set */
	uint64_t sessions_refused;
	const uint64_t *own; /* fingerprints of a condition's own statements */
	size_t own_count;
};

void plan_index_init(struct plan_index *x);
bool plan_index_read(struct plan_index *x, struct rcap *capture, struct err *e) MUST_USE;
struct plan_lane *plan_index_lane(const struct plan_index *x, uint64_t session);
const struct plan_cell *plan_index_cells(
	const struct plan_index *x, uint64_t session, uint64_t seq, size_t *ret_count);
void plan_index_free(struct plan_index *x);

#endif
