/*
 * canary.h - looks for strings that must not be in some bytes, in any of the forms
 * in which they could hide: plain (any case), base64 (three alignments, both
 * alphabets), hex, URL-encoded, UTF-16, binary uuids, numerics (16 digits anywhere, fewer
 * in values), integers (8 bytes anywhere, 4 and 2 as said at canary_search_value()),
 * dates and timestamps of Postgres.
 *
 * Canaries are named by their line number only.
 */
#ifndef REPROD_CANARY_H
#define REPROD_CANARY_H

#include "core/base/buf.h"
#include "core/base/err.h"

struct canary_set;

struct canary_hit {
	uint32_t line; /* from 1 */
	const char *form; /* "base64" */
};

/* One canary a line, empty lines left out. Lines of fewer than 3 bytes cannot be
 * looked for (they would be found by chance) and are counted. NULL on failure. */
struct canary_set *canary_load(const char *path, struct err *e);
size_t canary_count(const struct canary_set *s);
size_t canary_too_short(const struct canary_set *s);
/* Calls hit for each occurrence. */
void canary_search(const struct canary_set *s, struct slice bytes,
	void (*hit)(void *data, struct canary_hit h), void *data);
/* For one value: also integers of 4 bytes anywhere in it, and of 2 bytes when they
 * are the whole value. In a whole block of millions of bytes these would turn up
 * by chance. */
void canary_search_value(const struct canary_set *s, struct slice value,
	void (*hit)(void *data, struct canary_hit h), void *data);
void canary_free(struct canary_set *s);

#endif
