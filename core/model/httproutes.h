/*
 * httproutes.h - which path segments are words of an API and stay in a route.
 *
 * A built-in list of English API words (closed, never learned from traffic), and a
 * routes file: one pattern a line, "GET /shop/{id}/label" or "/shop/{}/label" (any
 * method), "#" begins a comment. A path that fits a pattern gets the pattern as its
 * route; else each segment is judged alone. At most 10,000 patterns.
 */
#ifndef REPROD_HTTPROUTES_H
#define REPROD_HTTPROUTES_H

#include "core/base/buf.h"
#include "core/base/err.h"

struct httproutes;

/* path NULL: the built-in words alone. ERR_INPUT names the line. */
struct httproutes *httproutes_load(const char *path, struct err *e);
void httproutes_free(struct httproutes *r);
/* SHA-256 of the patterns as read, hex; "" for the built-in words alone. */
const char *httproutes_digest(const struct httproutes *r);
/* "orders", "order-items", "batchGet", "v2", "v1.1", "users.json", "jobs:cancel";
 * any case, nothing percent-encoded. */
bool httproutes_is_word(const struct httproutes *r, struct slice segment);
/* "js" of "3f2a9c.js": a known file type behind the last dot; empty when there is none. */
struct slice httproutes_file_type(const struct httproutes *r, struct slice segment);
/* The path of the first pattern in file order that fits, "/shop/{id}/label"; an
 * empty slice when none does. path is without query, as sent. */
struct slice httproutes_match(const struct httproutes *r, struct slice method, struct slice path);

#endif
