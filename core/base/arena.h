/*
 * arena.h - memory that dies together, with a cap.
 *
 * arena_take() returns zeroed, 16-byte aligned memory that lives until
 * arena_reset() or arena_free(); at the cap (or out of memory) it returns NULL
 * and arena.refused counts it. A zeroed arena must get its cap by arena_init().
 */
#ifndef REPROD_ARENA_H
#define REPROD_ARENA_H

#include "core/base/base.h"

struct arena_block;

struct arena {
	struct arena_block *head;
	size_t used_bytes; /* handed out since the last reset */
	size_t cap_bytes;
	uint64_t refused;
};

void arena_init(struct arena *a, size_t cap_bytes);
void *arena_take(struct arena *a, size_t size_bytes);
/* A copy with a terminating NUL; {NULL, 0} at the cap. */
struct slice arena_copy(struct arena *a, struct slice s);
/* printf into the arena; NULL at the cap. */
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
void arena_reset(struct arena *a);
void arena_free(struct arena *a);

#endif
