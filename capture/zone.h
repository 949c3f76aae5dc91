/*
 * zone.h - local times of a named time zone to UTC, by the system's zone files.
 *
 * Reads /usr/share/zoneinfo (RFC 8536, version 2 or later) or takes an offset such
 * as "+02:00". The abbreviation that stands beside a time ("CEST") decides in the
 * hour that occurs twice.
 */
#ifndef REPROD_ZONE_H
#define REPROD_ZONE_H

#include "core/base/buf.h"
#include "core/base/err.h"

struct zone_type {
	int64_t offset_ns; /* east of UTC */
	char abbreviation[8];
};

struct zone {
	struct zone_type *types;
	int64_t *starts_s; /* UTC; of transition i */
	uint8_t *which; /* its type */
	size_t type_count, transition_count;
};

bool zone_open(struct zone *z, const char *name, struct err *e) MUST_USE;
/* False when no offset of the zone has that abbreviation at that time. */
bool zone_to_utc(const struct zone *z, int64_t local_ns, struct slice abbreviation,
	int64_t *ret_ns) MUST_USE;
void zone_close(struct zone *z);

#endif
