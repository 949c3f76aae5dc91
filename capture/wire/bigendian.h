/*
 * bigendian.h - network-order words at a place that is known to be long enough.
 *
 * For the packet path, where the checked readers of core/base/cursor.h cost a tenth
 * of the whole; each caller has compared the length before.
 */
#ifndef REPROD_BIGENDIAN_H
#define REPROD_BIGENDIAN_H

#include "core/base/base.h"

static inline uint16_t be16_at(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof v);
	return __builtin_bswap16(v);
}

static inline uint32_t be32_at(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return __builtin_bswap32(v);
}

#endif
