/*
 * hex.h - one hexadecimal digit.
 */
#ifndef REPROD_HEX_H
#define REPROD_HEX_H

#include "core/base/base.h"

/* 0 to 15; -1 when it is none. */
static inline int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits at p. False: they are not all digits. */
static inline bool hex_value4(const char *p, uint32_t *ret)
{
	*ret = 0;
	for (int i = 0; i < 4; i++) {
		int v = hex_value(p[i]);

		if (v < 0)
			return false;
		*ret = *ret << 4 | (uint32_t)v;
	}
	return true;
}

#endif
