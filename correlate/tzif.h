/*
 * tzif.h - offsets of a named time zone, read from the system's TZif files.
 *
 * RFC 8536: the 64-bit block is used; times after its last transition keep that
 * transition's offset (Debian's files list transitions up to 2037). Names may not
 * leave the zoneinfo folder.
 */
#ifndef REPROD_CORRELATE_TZIF_H
#define REPROD_CORRELATE_TZIF_H

#include "core/base/err.h"

struct tzif_change {
	int64_t at_s; /* epoch seconds from which the offset holds */
	int32_t offset_s; /* east of UTC */
};

struct tzif {
	struct tzif_change *changes; /* ascending; the first from the beginning of time */
	size_t count;
};

/* NULL or "UTC" need no file. */
bool tzif_open(struct tzif *z, const char *name, struct err *e) MUST_USE;
int32_t tzif_offset_s(const struct tzif *z, int64_t epoch_s);
void tzif_close(struct tzif *z);

#endif
