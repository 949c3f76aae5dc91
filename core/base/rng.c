#include "core/base/rng.h"

static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t x, unsigned k)
{
	return x << k | x >> (64 - k);
}

void rng_seed(struct rng *r, uint64_t seed)
{
	for (size_t i = 0; i < LENGTH(r->s); i++)
		r->s[i] = splitmix64(&seed);
}

uint64_t rng_u64(struct rng *r)
{
	uint64_t *s = r->s;
	uint64_t result = rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

/* Rejection below 2^64 mod n, the part that would be counted once too often. */
uint64_t rng_below(struct rng *r, uint64_t n)
{
	uint64_t reject = (0 - n) % n;
	uint64_t v;

	do
		v = rng_u64(r);
	while (v < reject);
	return v % n;
}

double rng_unit(struct rng *r)
{
	return (double)(rng_u64(r) >> 11) * 0x1.0p-53;
}

/* Fisher and Yates, in Durstenfeld's form. */
void rng_shuffle_u32(struct rng *r, uint32_t *items, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)rng_below(r, i);
		uint32_t kept = items[i - 1];

		items[i - 1] = items[j];
		items[j] = kept;
	}
}
