/*
 * priority.h - the load generator goes before what it loads, where permitted.
 *
 * On a machine shared with the target a request cannot be sent on time while other
 * processes hold the CPUs. Measured with 1,000 requests a second on 2 cores at a load
 * of 11: lateness p99 4-14 ms without, 0.03-0.14 ms with it. The loop itself takes a
 * few per cent of a core. Children are not given the priority. Without the permission
 * (CAP_SYS_NICE) nothing changes, and lateness tells. A loop that never sleeps loses
 * the real time after 5 s, so a fault of ours cannot hold a core for ever.
 */
#ifndef REPROD_REPLAY_PRIORITY_H
#define REPROD_REPLAY_PRIORITY_H

#include <signal.h>
#include <sys/resource.h>

#include "core/base/base.h"

struct priority {
	bool is_raised;
	int before; /* nice value */
	int policy; /* with its flags */
	bool has_limit; /* the two below are to be put back */
	struct rlimit limit;
	struct sigaction on_limit;
};

/* Of the calling thread. */
void priority_raise(struct priority *p);
void priority_restore(struct priority *p);

#endif
