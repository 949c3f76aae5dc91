/*
 * sync.h - makes one tree equal to another by touching only what differs.
 *
 * A file is taken as unchanged when kind, size and modification time (to the
 * nanosecond) are equal: Postgres writes its files by write(2), which always moves
 * the time, and each copy gets the original's time after its bytes are in place. So
 * an interrupted sync is mended by running it again. Changed files are shared by
 * reflink where the file system can; else only the 8 kB blocks that differ are
 * written. Owners and modes are kept.
 */
#ifndef REPROD_SYNC_H
#define REPROD_SYNC_H

#include "core/base/err.h"

struct sync_counts {
	size_t files, changed, removed;
	int64_t bytes, written_bytes;
	bool is_reflink; /* every changed file was shared */
};

/* Entries named in skip (NULL terminated, top level only) are left alone on both sides. */
bool sync_tree(const char *from, const char *to, const char *const *skip, struct sync_counts *ret,
	struct err *e) MUST_USE;
/* Only counts what differs. */
bool sync_compare(const char *from, const char *to, const char *const *skip,
	struct sync_counts *ret, struct err *e) MUST_USE;

#endif
