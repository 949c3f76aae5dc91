/*
 * token_permute.h - keyed permutations of small numbers and of long vectors.
 *
 * Both are Feistel networks with modular addition (the shape of NIST SP 800-38G
 * FF1), so they are one-to-one whatever the key function does. Up to 2^63 the
 * vector is one number: ten rounds of SipHash-2-4, cycle walking where the domain
 * is no rectangle. Past it: four rounds of HMAC-SHA-256 over the two halves.
 */
#ifndef REPROD_TOKEN_PERMUTE_H
#define REPROD_TOKEN_PERMUTE_H

#include "core/model/token.h"

/* v in [0, size), size in [1, 2^63 + 2^62]. */
uint64_t token_permute_number(const struct token_key *k, uint64_t tweak, uint64_t size, uint64_t v);
/* v[i] in [0, radix[i]), radix[i] >= 2; in place. */
void token_permute_vector(
	const struct token_key *k, uint64_t tweak, const uint8_t *radix, uint8_t *v, size_t n);

#endif
