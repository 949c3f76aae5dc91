#include "core/model/token_permute.h"

#include <math.h>

#include "core/model/token_key.h"

enum { SHORT_ROUNDS = 10, LONG_ROUNDS = 4 };

static uint64_t round_of(const struct token_key *k, uint64_t tweak, uint64_t round, uint64_t v)
{
	const uint64_t in[3] = { tweak, round, v };

	return token_prf64(k, in, sizeof(in));
}

static uint64_t square_root_up(uint64_t v)
{
	uint64_t r = (uint64_t)sqrt((double)v);

	while (r * r < v)
		r++;
	while (r > 1 && (r - 1) * (r - 1) >= v)
		r--;
	return r;
}

uint64_t token_permute_number(const struct token_key *k, uint64_t tweak, uint64_t size, uint64_t v)
{
	if (size < 2)
		return v;
	const uint64_t a = square_root_up(size);
	const uint64_t b = (size + a - 1) / a;
	do {
		uint64_t left = v / b, right = v % b;

		for (uint64_t round = 0; round < SHORT_ROUNDS; round += 2) {
			left = (left + round_of(k, tweak, round, right) % a) % a;
			right = (right + round_of(k, tweak, round + 1, left) % b) % b;
		}
		v = left * b + right;
	} while (v >= size);
	return v;
}

/* One number when the product of the radices fits, else 0. */
static uint64_t product(const uint8_t *radix, size_t n)
{
	uint64_t size = 1;

	for (size_t i = 0; i < n; i++) {
		if (size > (UINT64_C(1) << 63) / radix[i])
			return 0;
		size *= radix[i];
	}
	return size;
}

/* to[i] += 16 keyed bits of from, scaled to the radix. */
static void add_keyed(const struct token_key *k, uint64_t tweak, unsigned round,
	const uint8_t *radix, uint8_t *to, size_t n, struct slice from)
{
	struct {
		uint64_t tweak, round;
	} head = { tweak, round };
	unsigned char seed[32];
	unsigned char stream[32];

	token_prf256(k, (struct slice){ (const char *)&head, sizeof(head) }, from, seed);
	memcpy(stream, seed, sizeof(stream));
	for (size_t i = 0; i < n; i++) {
		size_t at = i % 16;

		if (at == 0 && i > 0) {
			uint64_t block = i / 16;

			token_prf256(k, (struct slice){ (const char *)&block, sizeof(block) },
				(struct slice){ (const char *)seed, sizeof(seed) }, stream);
		}
		unsigned bits = stream[2 * at] | (unsigned)stream[2 * at + 1] << 8;
		to[i] = (uint8_t)((to[i] + (bits * radix[i] >> 16)) % radix[i]);
	}
}

void token_permute_vector(
	const struct token_key *k, uint64_t tweak, const uint8_t *radix, uint8_t *v, size_t n)
{
	uint64_t size = product(radix, n);

	if (size) {
		uint64_t x = 0;

		for (size_t i = 0; i < n; i++)
			x = x * radix[i] + v[i];
		x = token_permute_number(k, tweak, size, x);
		for (size_t i = n; i > 0; i--) {
			v[i - 1] = (uint8_t)(x % radix[i - 1]);
			x /= radix[i - 1];
		}
		return;
	}
	size_t half = (n + 1) / 2;
	for (unsigned round = 0; round < LONG_ROUNDS; round += 2) {
		add_keyed(k, tweak, round, radix, v, half,
			(struct slice){ (const char *)v + half, n - half });
		add_keyed(k, tweak, round + 1, radix + half, v + half, n - half,
			(struct slice){ (const char *)v, half });
	}
}
