/*
 * procguard.h - ends a process group when we die.
 *
 * PDEATHSIG reaches a child, never what that child has started. The guard is a
 * forked copy of ours that holds the read end of a pipe and nothing else: when the
 * pipe closes without a word, we are gone (kill -9 too), and it kills the group. It
 * ignores signals that ask, takes no memory of its own, and ends with the group.
 */
#ifndef REPROD_PROCGUARD_H
#define REPROD_PROCGUARD_H

#include <sys/types.h>

#include "core/base/base.h"

struct procguard {
	pid_t pid; /* 0: none */
	int fd;
};

/* False with errno. */
bool procguard_open(struct procguard *g, pid_t group) MUST_USE;
/* The group has ended: the guard ends too. Zeroed is fine. */
void procguard_close(struct procguard *g);

#endif
