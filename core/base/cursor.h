/*
 * cursor.h - reads binary fields from borrowed bytes.
 *
 * A read past the end returns zero and sets cursor.is_short for good, so a
 * parser checks once. Big-endian readers serve network protocols, little-endian
 * and LEB128 ones our own formats.
 */
#ifndef REPROD_CURSOR_H
#define REPROD_CURSOR_H

#include "core/base/base.h"

struct cursor {
	const unsigned char *p;
	const unsigned char *end;
	bool is_short;
};

static inline struct cursor cursor_of(const void *p, size_t n)
{
	/* No arithmetic on NULL: an empty slice has none. */
	return (struct cursor){ .p = p, .end = n ? (const unsigned char *)p + n : p };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return c->p ? (size_t)(c->end - c->p) : 0;
}

uint8_t cursor_u8(struct cursor *c);
uint16_t cursor_u16be(struct cursor *c);
uint32_t cursor_u32be(struct cursor *c);
uint64_t cursor_u64be(struct cursor *c);
uint16_t cursor_u16le(struct cursor *c);
uint32_t cursor_u32le(struct cursor *c);
uint64_t cursor_u64le(struct cursor *c);
uint64_t cursor_varint(struct cursor *c);
int64_t cursor_svarint(struct cursor *c);
struct slice cursor_bytes(struct cursor *c, size_t n);
struct slice cursor_counted(struct cursor *c);
/* Bytes up to a NUL, which is eaten. */
struct slice cursor_cstring(struct cursor *c);
void cursor_skip(struct cursor *c, size_t n);

#endif
