/*
 * sniff_peek.h - the first bytes of a file, or of standard input without taking them.
 */
#ifndef REPROD_SNIFF_PEEK_H
#define REPROD_SNIFF_PEEK_H

#include "core/base/err.h"

/* Up to room bytes into to, as they are stored. path "-" is standard input: a file is
 * read at its place, a pipe by tee(2), a socket by MSG_PEEK. Waits for the first bytes,
 * and up to a second for a whole line. */
bool sniff_peek(const char *path, char *to, size_t room, size_t *ret_n, struct err *e) MUST_USE;

#endif
