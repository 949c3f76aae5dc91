/*
 * report_parts.h - the sections of a report, as text and as JSON.
 *
 * Each prints nothing, not even its title, when there is nothing to say.
 */
#ifndef REPROD_CORRELATE_REPORT_PARTS_H
#define REPROD_CORRELATE_REPORT_PARTS_H

#include "correlate/report.h"

/* report_findings.c: what lines up, what was ruled out, what could not be told. */
void report_findings(const struct analysis *a, FILE *to);
/* report_depth.c: what is known about one that is suggestive or better. */
void report_depth(const struct analysis *a, const struct finding *f, FILE *to);
/* report_slow.c: unexplained spikes, rhythms, routes. */
void report_unexplained(const struct analysis *a, FILE *to);
void report_periods(const struct report *r, FILE *to);
void report_routes(const struct analysis *a, FILE *to);
void report_thin_routes(const struct analysis *a, FILE *to);

/* report_finding_json.c */
struct json *report_conditions_json(const struct analysis *a);
/* report_series_json.c */
struct json *report_series_json(const struct analysis *a, const struct series_route *named);
struct json *report_spikes_json(const struct analysis *a, bool only_unexplained);

/* Rounded to 1e-6, so that the last bits of a sum make no difference; NAN is null. */
void report_set_rounded(struct json *map, const char *key, double v);
void report_set_fingerprint(struct json *map, const struct series_route *r);
/* value is adopted; NULL is null. */
void report_set_or_null(struct json *map, const char *key, struct json *value);

#endif
