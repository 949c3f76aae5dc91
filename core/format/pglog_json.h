/*
 * pglog_json.h - Postgres jsonlog, one line of it (15 and later, "Using JSON-Format
 * Log Output"), and the same record with csvlog's names as CloudNativePG wraps it.
 *
 * Members that are missing are empty; state_code is then 00000. A name that comes
 * twice: the last counts. Slices are borrowed from the line and the reader until
 * the next call.
 */
#ifndef REPROD_PGLOG_JSON_H
#define REPROD_PGLOG_JSON_H

#include "core/format/jsonline.h"
#include "core/format/pglog.h"

struct pglog_json {
	struct jsonline json;
	uint16_t places[JSONLINE_PLACES_MAX]; /* where the member of an index goes */
};

/* False: no record of a server; ret_why is a static text. */
bool pglog_json_line(
	struct pglog_json *j, struct slice text, struct pglog_line *ret, const char **ret_why);
void pglog_json_free(struct pglog_json *j);

#endif
