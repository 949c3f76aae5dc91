/*
 * token_class.h - private to the tokens: what a value looks like.
 */
#ifndef REPROD_TOKEN_CLASS_H
#define REPROD_TOKEN_CLASS_H

#include "core/model/token.h"

/* a.b.c.d, octets without leading zeros, an optional /0 to /32. */
bool token_is_inet4(struct slice value);

#endif
