/*
 * input_field.h - what stands in a line: an arrival, a latency, an outcome.
 *
 * Built for lines by the ten million: whole numbers only, and the minute of the last
 * RFC 3339 time is kept. Fields are borrowed for the call. Epoch times are seconds, or
 * milli-, micro- or nanoseconds when they are too large for that (from 10^11 on).
 */
#ifndef REPROD_CORRELATE_INPUT_FIELD_H
#define REPROD_CORRELATE_INPUT_FIELD_H

#include "core/base/err.h"
#include "core/format/zone.h"

struct field_clock {
	const struct zone *zone; /* of times that have none; NULL: they are refused */
	char minute[16]; /* "2026-11-30T12:00" */
	int64_t minute_ns;
	bool has_minute;
	int64_t last_ns;
	uint64_t scaled; /* epoch times that were no seconds */
	uint64_t local; /* times read in that zone */
};

/* RFC 3339, also with +hh, +hhmm, " UTC" or no zone behind it; or epoch. */
bool field_time(struct field_clock *c, struct slice text, int64_t *ret_ns, struct err *e) MUST_USE;
/* A number from 0 to 240 days of units (1, 10^3, 10^6, 10^9 ns); a comma may be its
 * decimal point. */
bool field_latency(struct slice text, int64_t unit_ns, int64_t *ret_ns) MUST_USE;
/* HTTP from 500 on, or a SQLSTATE other than 00000. */
bool field_is_error(struct slice status);

#endif
