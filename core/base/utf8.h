/*
 * utf8.h - UTF-8 (RFC 3629): characters told from bytes that are none, and made.
 */
#ifndef REPROD_UTF8_H
#define REPROD_UTF8_H

#include "core/base/base.h"

enum { UTF8_MAX = 4 }; /* bytes of a character */

/* Bytes of the character at p, of which n are there; 0 when it is cut or none:
 * overlong forms, surrogates and what lies above U+10FFFF are none. n is at least 1. */
size_t utf8_length(const char *p, size_t n);
bool utf8_is(struct slice text);
/* Writes at most UTF8_MAX bytes and returns behind the last. Of code the lower 21 bits
 * count; surrogates are the caller's to refuse. */
char *utf8_put(char *to, uint32_t code);

#endif
