/*
 * report.h - an analysis as one JSON document and as text for people.
 */
#ifndef REPROD_CORRELATE_REPORT_H
#define REPROD_CORRELATE_REPORT_H

#include "core/base/json.h"
#include "correlate/causes.h"
#include "correlate/period.h"
#include "correlate/rank.h"

struct report {
	const struct analysis *analysis;
	const struct causes *causes;
	const struct notes *notes;
	const char *const *inputs; /* names as given */
	size_t input_count;
	const struct series_route *named; /* --route, or NULL */
	const char *answer; /* what the exit code says */
};

struct json *report_json(const struct report *r);
void report_print(const struct report *r, FILE *to);

#endif
