/*
 * summary.h - a capture in one JSON document (docs/guide.md, `capture show`), and
 * the same for people.
 *
 * Reads the whole file once; memory is bounded by its routes and by the number of
 * requests running at an instant.
 */
#ifndef REPROD_SUMMARY_H
#define REPROD_SUMMARY_H

#include "core/base/json.h"
#include "core/base/run.h"
#include "core/model/rcap.h"

/* The caller frees it. Rewinds the capture before and after. NULL and *e on
 * failure. Progress goes to run->log. */
struct json *capture_summary(struct rcap *r, const struct run *run, struct err *e);
/* The one screen. Shows up to so many routes (0: all). */
void capture_summary_print(
	const struct json *summary, const char *path, size_t routes_shown, FILE *to);

#endif
