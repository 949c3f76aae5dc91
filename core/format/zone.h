/*
 * zone.h - a named time zone, by the system's zone files or as a fixed offset.
 *
 * Reads /usr/share/zoneinfo (RFC 8536, the 64-bit block of version 2 or later, and the
 * rule behind it up to the year 2200) or takes an offset such as "+02:00" or an
 * abbreviation such as "CEST". Before the first transition the first type holds. Names
 * may not leave the zoneinfo folder.
 */
#ifndef REPROD_ZONE_H
#define REPROD_ZONE_H

#include "core/base/base.h"
#include "core/base/err.h"

struct zone_type {
	int64_t offset_ns; /* east of UTC */
	char abbreviation[8];
	bool is_dst;
};

struct zone {
	struct zone_type *types;
	int64_t *starts_s; /* UTC; of transition i */
	uint8_t *which; /* its type */
	size_t type_count, transition_count;
};

/* NULL is UTC. */
bool zone_open(struct zone *z, const char *name, struct err *e) MUST_USE;
/* From the bytes of a zone file; false when they are none. *z is closed by the caller. */
bool zone_parse(struct zone *z, struct slice bytes) MUST_USE;
int64_t zone_offset_s(const struct zone *z, int64_t utc_s);
/* What holds at that time; from and until (may be NULL) are the changes around it, INT64_MIN
 * and INT64_MAX where there is none. A change need not change the offset. */
const struct zone_type *zone_at(
	const struct zone *z, int64_t utc_s, int64_t *ret_from_s, int64_t *ret_until_s);
/* The abbreviation that stands beside a local time ("CEST") decides in the hour that
 * occurs twice. False when no offset of the zone has it at that time. */
bool zone_to_utc(const struct zone *z, int64_t local_ns, struct slice abbreviation,
	int64_t *ret_ns) MUST_USE;
/* A local time without an abbreviation. In the hour that occurs twice the first is
 * meant, unless the log was later already (after_ns); a time that the clock stepped
 * over is taken as before the step. */
int64_t zone_local_to_utc(const struct zone *z, int64_t local_ns, int64_t after_ns);
/* The offset of an abbreviation that means the same everywhere and at any time since
 * 2000 (tz database); false for others ("CST" is three, "MSK" moved). */
bool zone_abbreviation(struct slice abbreviation, int64_t *ret_offset_ns) MUST_USE;
void zone_close(struct zone *z);

#endif
