/*
 * token_key.h - the two keyed functions that tokens are made of.
 *
 * Private to core/model/token*.c. All keyed state lies in one locked page, also
 * the scratch of a running HMAC, so a key may serve one thread at a time.
 */
#ifndef REPROD_TOKEN_KEY_H
#define REPROD_TOKEN_KEY_H

#include "core/model/token.h"

/* SipHash-2-4 (Aumasson and Bernstein 2012), under a key derived from ours. */
uint64_t token_prf64(const struct token_key *k, const void *bytes, size_t n);
/* HMAC-SHA-256 (RFC 2104) of a then b, under another derived key. */
void token_prf256(const struct token_key *k, struct slice a, struct slice b, unsigned char out[32]);

#endif
