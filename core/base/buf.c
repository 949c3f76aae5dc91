#include "core/base/buf.h"

#include <stdio.h>
#include <stdlib.h>

enum { SMALLEST = 64 };

static const size_t default_max = (size_t)64 << 20;

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){ .max = max };
}

static bool grow(struct buf *b, size_t n)
{
	size_t max = b->max ? b->max : default_max;

	if (b->is_full || n > max || b->n > max - n)
		return false;
	size_t need = b->n + n + 1;
	if (need <= b->cap)
		return true;
	size_t cap = b->cap < SMALLEST ? SMALLEST : b->cap;
	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : 2 * cap;
	if (cap > max + 1)
		cap = max + 1;
	char *p = realloc(b->p, cap);
	if (!p)
		return false;
	b->p = p;
	b->cap = cap;
	return true;
}

char *buf_room(struct buf *b, size_t n)
{
	if (!grow(b, n)) {
		b->is_full = true;
		return NULL;
	}
	return b->p + b->n;
}

void buf_add_growing(struct buf *b, const void *bytes, size_t n)
{
	char *p = buf_room(b, n);

	if (!p)
		return;
	if (n)
		memcpy(p, bytes, n);
	b->n += n;
	b->p[b->n] = '\0';
}

void buf_add_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;

	va_copy(again, ap);
	size_t free_bytes = b->cap > b->n ? b->cap - b->n : 0;
	int n = vsnprintf(free_bytes ? b->p + b->n : NULL, free_bytes, fmt, again);
	va_end(again);
	char *p = n < 0 ? NULL : buf_room(b, (size_t)n);
	if (!p) {
		b->is_full = true;
		if (b->p)
			b->p[b->n] = '\0';
		return;
	}
	if ((size_t)n >= free_bytes)
		vsnprintf(p, (size_t)n + 1, fmt, ap);
	b->n += (size_t)n;
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(b, fmt, ap);
	va_end(ap);
}

void buf_eat(struct buf *b, size_t n)
{
	if (n >= b->n)
		n = b->n;
	if (!n)
		return;
	memmove(b->p, b->p + n, b->n - n);
	b->n -= n;
	b->p[b->n] = '\0';
}

const char *buf_text(const struct buf *b)
{
	if (!b->p)
		return "";
	/* After buf_room() the caller moved n itself; grow() left this byte free. */
	b->p[b->n] = '\0';
	return b->p;
}

struct slice buf_slice(const struct buf *b)
{
	return (struct slice){ buf_text(b), b->n };
}

void buf_free(struct buf *b)
{
	free(b->p);
	*b = (struct buf){ .max = b->max };
}

static void add_le(struct buf *b, uint64_t v, size_t bytes)
{
	unsigned char out[8];

	for (size_t i = 0; i < bytes; i++)
		out[i] = (unsigned char)(v >> (8 * i));
	buf_add(b, out, bytes);
}

void buf_add_u16le(struct buf *b, uint16_t v)
{
	add_le(b, v, 2);
}

void buf_add_u32le(struct buf *b, uint32_t v)
{
	add_le(b, v, 4);
}

void buf_add_u64le(struct buf *b, uint64_t v)
{
	add_le(b, v, 8);
}

void buf_add_varint(struct buf *b, uint64_t v)
{
	unsigned char out[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		out[n++] = (unsigned char)(v | 0x80);
	out[n++] = (unsigned char)v;
	buf_add(b, out, n);
}

void buf_add_svarint(struct buf *b, int64_t v)
{
	buf_add_varint(b, ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0));
}

/* All or nothing: a length without its bytes would mislead the reader. */
void buf_add_counted(struct buf *b, struct slice s)
{
	if (!buf_room(b, s.n > SIZE_MAX - 10 ? SIZE_MAX : s.n + 10))
		return;
	buf_add_varint(b, s.n);
	buf_add_slice(b, s);
}
