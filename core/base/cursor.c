#include "core/base/cursor.h"

/* The next n bytes, or NULL: then nothing more can be read. */
static const unsigned char *take(struct cursor *c, size_t n)
{
	if (c->is_short || cursor_left(c) < n) {
		c->is_short = true;
		c->p = c->end;
		return NULL;
	}
	const unsigned char *p = c->p;
	if (n)
		c->p += n;
	return p;
}

static uint64_t take_be(struct cursor *c, size_t bytes)
{
	const unsigned char *p = take(c, bytes);
	uint64_t v = 0;

	for (size_t i = 0; p && i < bytes; i++)
		v = v << 8 | p[i];
	return v;
}

static uint64_t take_le(struct cursor *c, size_t bytes)
{
	const unsigned char *p = take(c, bytes);
	uint64_t v = 0;

	for (size_t i = bytes; p && i > 0; i--)
		v = v << 8 | p[i - 1];
	return v;
}

uint8_t cursor_u8(struct cursor *c)
{
	return (uint8_t)take_be(c, 1);
}

uint16_t cursor_u16be(struct cursor *c)
{
	return (uint16_t)take_be(c, 2);
}

uint32_t cursor_u32be(struct cursor *c)
{
	return (uint32_t)take_be(c, 4);
}

uint64_t cursor_u64be(struct cursor *c)
{
	return take_be(c, 8);
}

uint16_t cursor_u16le(struct cursor *c)
{
	return (uint16_t)take_le(c, 2);
}

uint32_t cursor_u32le(struct cursor *c)
{
	return (uint32_t)take_le(c, 4);
}

uint64_t cursor_u64le(struct cursor *c)
{
	return take_le(c, 8);
}

/* More than 64 bits of value is damage, and reads as short. */
uint64_t cursor_varint(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = cursor_u8(c);

		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return c->is_short ? 0 : v;
	}
	c->is_short = true;
	c->p = c->end;
	return 0;
}

int64_t cursor_svarint(struct cursor *c)
{
	uint64_t v = cursor_varint(c);

	return (int64_t)((v >> 1) ^ (v & 1 ? UINT64_MAX : 0));
}

struct slice cursor_bytes(struct cursor *c, size_t n)
{
	const unsigned char *p = take(c, n);

	return (struct slice){ (const char *)p, p ? n : 0 };
}

struct slice cursor_counted(struct cursor *c)
{
	uint64_t n = cursor_varint(c);

	return cursor_bytes(c, n > SIZE_MAX ? SIZE_MAX : (size_t)n);
}

struct slice cursor_cstring(struct cursor *c)
{
	size_t left = c->is_short ? 0 : cursor_left(c);
	/* The upper bound is for gcc, which else warns of a size no object has when it links. */
	const unsigned char *nul = left && left <= PTRDIFF_MAX ? memchr(c->p, '\0', left) : NULL;

	if (!nul) {
		take(c, left + 1);
		return (struct slice){ NULL, 0 };
	}
	struct slice s = { (const char *)c->p, (size_t)(nul - c->p) };
	c->p = nul + 1;
	return s;
}

void cursor_skip(struct cursor *c, size_t n)
{
	take(c, n);
}
