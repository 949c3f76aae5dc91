#include "core/base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { ALIGN = 16, BLOCK_FIRST = 1024, BLOCK_LARGEST = 64 * 1024 };

struct arena_block {
	struct arena_block *next;
	size_t size;
	size_t used;
	_Alignas(ALIGN) char bytes[];
};

void arena_init(struct arena *a, size_t cap_bytes)
{
	*a = (struct arena){ .cap_bytes = cap_bytes };
}

/* Blocks double, so that a small session costs 1 KiB and a large one few calls. */
static struct arena_block *add_block(struct arena *a, size_t need)
{
	size_t size = a->head ? 2 * a->head->size : BLOCK_FIRST;

	if (size > BLOCK_LARGEST)
		size = BLOCK_LARGEST;
	if (size < need)
		size = need;
	struct arena_block *b = malloc(sizeof(*b) + size);
	if (!b)
		return NULL;
	b->size = size;
	b->used = 0;
	b->next = a->head;
	a->head = b;
	return b;
}

void *arena_take(struct arena *a, size_t size_bytes)
{
	if (size_bytes > a->cap_bytes || a->used_bytes > a->cap_bytes - size_bytes) {
		a->refused++;
		return NULL;
	}
	size_t need = size_bytes ? (size_bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
	struct arena_block *b = a->head;
	if (!b || b->size - b->used < need)
		b = add_block(a, need);
	if (!b) {
		a->refused++;
		return NULL;
	}
	void *p = b->bytes + b->used;
	b->used += need;
	a->used_bytes += need;
	return memset(p, 0, need);
}

struct slice arena_copy(struct arena *a, struct slice s)
{
	char *p = s.n < SIZE_MAX ? arena_take(a, s.n + 1) : NULL;

	if (!p)
		return (struct slice){ NULL, 0 };
	if (s.n)
		memcpy(p, s.p, s.n);
	return (struct slice){ p, s.n };
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *p = n < 0 ? NULL : arena_take(a, (size_t)n + 1);
	if (!p)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

static void free_blocks(struct arena_block *b)
{
	while (b) {
		struct arena_block *next = b->next;

		free(b);
		b = next;
	}
}

/* One block stays, so that a session after a session allocates nothing. */
void arena_reset(struct arena *a)
{
	if (a->head) {
		free_blocks(a->head->next);
		a->head->next = NULL;
		a->head->used = 0;
		if (a->head->size > BLOCK_LARGEST) {
			free_blocks(a->head);
			a->head = NULL;
		}
	}
	a->used_bytes = 0;
}

void arena_free(struct arena *a)
{
	free_blocks(a->head);
	a->head = NULL;
	a->used_bytes = 0;
}
