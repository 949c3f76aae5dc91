/*
 * notes.h - what a reader must be told beside the answer: one sentence each.
 *
 * Texts are ours. At most NOTES_MAX are kept, further ones are counted. A note of
 * something left out makes the answer incomplete.
 */
#ifndef REPROD_CORRELATE_NOTES_H
#define REPROD_CORRELATE_NOTES_H

#include "core/base/arena.h"
#include "core/base/err.h"

#define NOTES_MAX 64

struct notes {
	const char *items[NOTES_MAX];
	size_t count;
	uint64_t refused; /* beyond NOTES_MAX */
	bool is_incomplete; /* something that was given was not used */
	struct arena texts;
};

void notes_init(struct notes *n);
void notes_free(struct notes *n);
void notes_add(struct notes *n, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Something was left out: as notes_add(), and the answer is incomplete. */
void notes_lack(struct notes *n, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "3 lines could not be read; the first: F: line 2: ..."; nothing when bad is 0. */
void notes_bad(struct notes *n, uint64_t bad, const char *what, const struct err *first);

#endif
