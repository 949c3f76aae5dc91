/*
 * rng.h - a seeded generator (xoshiro256**, Blackman and Vigna 2018; seeded by
 * splitmix64). Same seed, same numbers, on every machine. Not for secrets.
 */
#ifndef REPROD_RNG_H
#define REPROD_RNG_H

#include "core/base/base.h"

struct rng {
	uint64_t s[4];
};

void rng_seed(struct rng *r, uint64_t seed);
uint64_t rng_u64(struct rng *r);
/* Uniform in [0, n), without modulo bias; n > 0. */
uint64_t rng_below(struct rng *r, uint64_t n);
/* Uniform in [0, 1). */
double rng_unit(struct rng *r);
void rng_shuffle_u32(struct rng *r, uint32_t *items, size_t n);

#endif
