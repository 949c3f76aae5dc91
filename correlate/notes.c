#include "correlate/notes.h"

#include <stdio.h>

enum { TEXTS_BYTES = 1 << 20 };

void notes_init(struct notes *n)
{
	*n = (struct notes){ 0 };
	arena_init(&n->texts, TEXTS_BYTES);
}

void notes_free(struct notes *n)
{
	arena_free(&n->texts);
	*n = (struct notes){ 0 };
}

static void PRINTF_LIKE(2, 0) add(struct notes *n, const char *fmt, va_list ap)
{
	char text[600];

	vsnprintf(text, sizeof(text), fmt, ap);
	const char *kept = n->count < NOTES_MAX ? arena_copy(&n->texts, slice_of(text)).p : NULL;
	if (kept)
		n->items[n->count++] = kept;
	else
		n->refused++;
}

void notes_add(struct notes *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(n, fmt, ap);
	va_end(ap);
}

void notes_lack(struct notes *n, const char *fmt, ...)
{
	va_list ap;

	n->is_incomplete = true;
	va_start(ap, fmt);
	add(n, fmt, ap);
	va_end(ap);
}

void notes_bad(struct notes *n, uint64_t bad, const char *what, const struct err *first)
{
	if (bad)
		notes_lack(n, "%llu %s could not be read; the first: %s: %s",
			(unsigned long long)bad, what, first->where, first->what);
}
