/*
 * watchdir.h - the files of a watch in the current folder: names and what has to go.
 */
#ifndef REPROD_WATCHDIR_H
#define REPROD_WATCHDIR_H

#include "core/base/err.h"

#define WATCH_NAME_MAX 64

/* "ring-20261130T171500Z.rcap"; the same second twice gets "-2". */
void watchdir_name(const char *kind, int64_t time_ns, char name[WATCH_NAME_MAX]);
/* Counts and incidents older than before_ns go; then the oldest of all of ours, but for
 * the file `spared` and those of the ring, until they fit in max_bytes (0: any). Returns
 * how many went. */
unsigned watchdir_prune(
	int64_t before_ns, int64_t ring_before_ns, int64_t max_bytes, const char *spared);

#endif
