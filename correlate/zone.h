/*
 * zone.h - offsets of a named time zone, read from the system's TZif files.
 *
 * RFC 8536: the 64-bit block is used; times after its last transition keep that
 * transition's offset (Debian's files list transitions up to 2037). Names may not
 * leave the zoneinfo folder.
 */
#ifndef REPROD_CORRELATE_ZONE_H
#define REPROD_CORRELATE_ZONE_H

#include "core/base/err.h"

struct zone_change {
	int64_t at_s; /* epoch seconds from which the offset holds */
	int32_t offset_s; /* east of UTC */
};

struct zone {
	struct zone_change *changes; /* ascending; the first from the beginning of time */
	size_t count;
};

/* NULL or "UTC" need no file. */
bool zone_open(struct zone *z, const char *name, struct err *e) MUST_USE;
int32_t zone_offset_s(const struct zone *z, int64_t epoch_s);
void zone_close(struct zone *z);

#endif
