/*
 * report.h - an analysis as one JSON document and as text for people.
 */
#ifndef REPROD_CORRELATE_REPORT_H
#define REPROD_CORRELATE_REPORT_H

#include "core/base/json.h"
#include "correlate/period.h"
#include "correlate/rank.h"

struct report {
	const struct analysis *analysis;
	const char *const *inputs; /* names as given */
	size_t input_count;
	const char *const *warnings;
	size_t warning_count;
	const struct series_route *named; /* --route, or NULL */
	bool is_complete;
	const char *answer; /* what the exit code says */
};

struct json *report_json(const struct report *r);
void report_print(const struct report *r, FILE *to);

#endif
