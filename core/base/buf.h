/*
 * buf.h - growable bytes with a maximum.
 *
 * Appends never fail loudly: past the maximum (or out of memory) the bytes are
 * not added and buf.is_full stays true until reset, so a writer checks once at
 * the end. buf.p is always NUL-terminated once something was added. buf_text()
 * never returns NULL.
 */
#ifndef REPROD_BUF_H
#define REPROD_BUF_H

#include <stdarg.h>

#include "core/base/base.h"

struct buf {
	char *p;
	size_t n;
	size_t cap;
	size_t max; /* 0 means the default of 64 MiB */
	bool is_full;
};

void buf_init(struct buf *b, size_t max);
/* buf_add() when the bytes do not fit what is there. */
void buf_add_growing(struct buf *b, const void *bytes, size_t n);

/* A request is some hundred of these: here, so that they cost no call. */
static inline void buf_add(struct buf *b, const void *bytes, size_t n)
{
	if (n >= b->cap - b->n || b->is_full) {
		buf_add_growing(b, bytes, n);
		return;
	}
	if (n)
		memcpy(b->p + b->n, bytes, n);
	b->n += n;
	b->p[b->n] = '\0';
}

static inline void buf_add_byte(struct buf *b, unsigned char byte)
{
	buf_add(b, &byte, 1);
}

static inline void buf_add_slice(struct buf *b, struct slice s)
{
	buf_add(b, s.p, s.n);
}

void buf_add_text(struct buf *b, const char *text);
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vaddf(struct buf *b, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
/* Make room for n more bytes and return where they go (NULL at the maximum);
 * the caller then adds to buf.n what it wrote. */
char *buf_room(struct buf *b, size_t n);
/* Drop the first n bytes. */
void buf_eat(struct buf *b, size_t n);
const char *buf_text(const struct buf *b);
struct slice buf_slice(const struct buf *b);

/* What was added since it held from bytes. */
static inline struct slice buf_since(const struct buf *b, size_t from)
{
	return (struct slice){ b->p ? b->p + from : NULL, b->n - from };
}

static inline void buf_reset(struct buf *b)
{
	b->n = 0;
	b->is_full = false;
	if (b->p)
		b->p[0] = '\0';
}

void buf_free(struct buf *b);

/* Little-endian and LEB128 writers used by the binary formats. */
void buf_add_u16le(struct buf *b, uint16_t v);
void buf_add_u32le(struct buf *b, uint32_t v);
void buf_add_u64le(struct buf *b, uint64_t v);
void buf_add_varint(struct buf *b, uint64_t v); /* unsigned LEB128 */
void buf_add_svarint(struct buf *b, int64_t v); /* zigzag, then LEB128 */
/* varint length, then the bytes. */
void buf_add_counted(struct buf *b, struct slice s);

#endif
