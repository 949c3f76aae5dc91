/*
 * wordset.h - a closed set of words, looked up in any case.
 *
 * Made from texts of words with blanks between; the texts must outlive it. Never
 * learns anything. A zeroed set is empty.
 */
#ifndef REPROD_WORDSET_H
#define REPROD_WORDSET_H

#include "core/base/base.h"

struct wordset {
	struct slice *slots;
	size_t size; /* a power of two */
	size_t count;
};

/* False when out of memory. */
bool wordset_init(struct wordset *w, const char *const *texts, size_t n) MUST_USE;
bool wordset_has(const struct wordset *w, struct slice word);
/* Every part of it, parted at _, - and where a capital follows a small letter, is of the set;
 * "order-items", "batchGet". */
bool wordset_has_parts(const struct wordset *w, struct slice words);
void wordset_free(struct wordset *w);

#endif
