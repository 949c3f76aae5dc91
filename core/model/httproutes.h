/*
 * httproutes.h - which path segments are words of an API and stay in a route.
 *
 * A built-in list of English API words (closed, never learned from traffic), and a
 * routes file: one pattern a line, "GET /shop/{id}/label" or "/shop/{}/label", "#"
 * begins a comment. A path that fits a pattern gets the pattern as its route; else
 * each segment is judged alone.
 */
#ifndef REPROD_HTTPROUTES_H
#define REPROD_HTTPROUTES_H

#include "core/base/buf.h"
#include "core/base/err.h"

struct httproutes;

/* path NULL: the built-in words alone. ERR_INPUT names the line. */
struct httproutes *httproutes_load(const char *path, struct err *e);
void httproutes_free(struct httproutes *r);
/* SHA-256 of the patterns, hex; "" for the built-in words alone. */
const char *httproutes_digest(const struct httproutes *r);
bool httproutes_is_word(const struct httproutes *r, struct slice segment);
/* The pattern that fits, in file order; an empty slice when none does. path is without query. */
struct slice httproutes_match(const struct httproutes *r, struct slice method, struct slice path);

#endif
