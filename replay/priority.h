/*
 * priority.h - the load generator goes before what it loads, where permitted.
 *
 * On a machine shared with the target a request could not be sent on time while the
 * server's processes hold the CPUs (measured on 2 busy cores: lateness p99 of 16 ms,
 * below 1 ms with it). Children are not given the priority. Without the permission
 * nothing changes, and lateness tells.
 */
#ifndef REPROD_REPLAY_PRIORITY_H
#define REPROD_REPLAY_PRIORITY_H

#include "core/base/base.h"

struct priority {
	bool is_raised;
	int before; /* nice value */
	int policy; /* scheduling policy and flags */
};

/* Of the calling thread. */
void priority_raise(struct priority *p);
void priority_restore(struct priority *p);

#endif
