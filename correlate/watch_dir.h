/*
 * watch_dir.h - the segment files of a watch: names, and which have to go.
 *
 * stats-20261130T171500Z.rstat; the oldest go first, never the one that is written.
 * Files of others stay.
 */
#ifndef REPROD_CORRELATE_WATCH_DIR_H
#define REPROD_CORRELATE_WATCH_DIR_H

#include "core/base/err.h"

#define WATCH_SEGMENTS_MAX 20000

struct watch_segment {
	char name[64]; /* in its folder */
	int64_t start_ns, bytes;
};

/* A new one's name; the same second twice gets "-2". */
void watch_dir_name(const char *dir, int64_t start_ns, char path[4096]);
/* By time; the caller frees *ret with free(). */
bool watch_dir_list(
	const char *dir, struct watch_segment **ret, size_t *ret_count, struct err *e) MUST_USE;
/* Removes those that ended before before_ns (the next one begins earlier), then the
 * oldest until all fit in max_bytes (0: any). Returns how many went. */
size_t watch_dir_prune(const char *dir, int64_t before_ns, int64_t max_bytes, const char *spared);

#endif
