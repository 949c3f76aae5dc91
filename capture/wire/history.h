/*
 * history.h - what connections handed on lately, so that bytes that come again can
 * be compared with the first ones.
 *
 * One ring for all connections, which fits the second level cache: each piece knows
 * where the piece before it of the same side lies. What the ring has lost compares
 * as the same. One thread.
 */
#ifndef REPROD_HISTORY_H
#define REPROD_HISTORY_H

#include "core/base/base.h"

struct history;

/* The last piece of one side; zero: none. */
struct history_mark {
	uint64_t at;
};

/* NULL: out of memory. */
struct history *history_new(void);
void history_free(struct history *h);
void history_add(struct history *h, struct history_mark *m, uint32_t seq,
	const unsigned char *bytes, uint32_t n);
/* False when some byte is known to differ from what was added under its number. */
bool history_agrees(const struct history *h, struct history_mark m, uint32_t seq,
	const unsigned char *bytes, uint32_t n);

#endif
