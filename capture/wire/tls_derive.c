/* Keys from secrets: HKDF-Expand-Label of TLS 1.3, the PRF of TLS 1.2. */
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "capture/wire/tls_parts.h"

/* Two keys of 32 bytes and two IVs of 12. */
enum { KEY_BLOCK_MAX = 2 * (32 + 12), HASH_MAX = 48, SEED_MAX = 16 + 2 * TLS_RANDOM_N };

static bool hmac(const struct tls_suite *s, struct slice key, const void *bytes, size_t n,
	unsigned char out[HASH_MAX])
{
	const EVP_MD *md = s->hash_n == 48 ? EVP_sha384() : EVP_sha256();

	return HMAC(md, key.p, (int)key.n, bytes, n, out, NULL) != NULL;
}

/* RFC 8446, section 7.1. No output here is longer than the hash: one block of
 * HKDF-Expand (RFC 5869) is enough. */
static bool expand(const struct tls_suite *s, const unsigned char *secret, const char *label,
	unsigned char *out, size_t n)
{
	unsigned char info[64], block[HASH_MAX];
	size_t label_n = strlen(label), at = 0;
	bool ok;

	info[at++] = 0;
	info[at++] = (unsigned char)n;
	info[at++] = (unsigned char)(6 + label_n);
	memcpy(info + at, "tls13 ", 6);
	memcpy(info + at + 6, label, label_n);
	at += 6 + label_n;
	info[at++] = 0; /* no context */
	info[at++] = 1; /* the first block */
	ok = hmac(s, (struct slice){ (const char *)secret, s->hash_n }, info, at, block);
	memcpy(out, block, n);
	explicit_bzero(block, sizeof block);
	return ok;
}

bool tls_derive_13(struct tls_cipher *c, const struct tls_suite *s, const unsigned char *secret)
{
	unsigned char key[32], iv[12];
	bool ok = expand(s, secret, "key", key, s->key_n) &&
		  expand(s, secret, "iv", iv, sizeof iv) && tls_cipher_set(c, s, true, key, iv);

	explicit_bzero(key, sizeof key);
	return ok;
}

bool tls_derive_next(const struct tls_suite *s, unsigned char *secret)
{
	unsigned char next[HASH_MAX];
	bool ok = expand(s, secret, "traffic upd", next, s->hash_n);

	memcpy(secret, next, s->hash_n);
	explicit_bzero(next, sizeof next);
	return ok;
}

/* RFC 5246, section 5: P_hash of label and seed. */
static bool prf(const struct tls_suite *s, struct slice secret, const unsigned char *seed,
	size_t seed_n, unsigned char *out, size_t n)
{
	unsigned char a[HASH_MAX + SEED_MAX], block[HASH_MAX];
	bool ok = hmac(s, secret, seed, seed_n, a);

	while (ok && n) {
		size_t take = n < s->hash_n ? n : s->hash_n;

		memcpy(a + s->hash_n, seed, seed_n);
		ok = hmac(s, secret, a, s->hash_n + seed_n, block);
		memcpy(out, block, take);
		out += take;
		n -= take;
		ok = ok && hmac(s, secret, a, s->hash_n, block);
		memcpy(a, block, s->hash_n);
	}
	explicit_bzero(block, sizeof block);
	explicit_bzero(a, sizeof a);
	return ok;
}

bool tls_derive_12(struct tls_cipher *c, const struct tls_suite *s, struct slice master,
	const unsigned char client_random[TLS_RANDOM_N],
	const unsigned char server_random[TLS_RANDOM_N], bool is_server)
{
	unsigned char seed[SEED_MAX], block[KEY_BLOCK_MAX];
	size_t key_n = s->key_n, iv_n = s->fixed_n;
	const size_t label_n = sizeof "key expansion" - 1;
	bool ok;

	memcpy(seed, "key expansion", label_n);
	memcpy(seed + label_n, server_random, TLS_RANDOM_N);
	memcpy(seed + label_n + TLS_RANDOM_N, client_random, TLS_RANDOM_N);
	/* Key of the client, of the server, IV of the client, of the server; AEAD has no MAC keys. */
	ok = prf(s, master, seed, label_n + 2 * TLS_RANDOM_N, block, 2 * (key_n + iv_n)) &&
	     tls_cipher_set(c, s, false, block + (is_server ? key_n : 0),
		     block + 2 * key_n + (is_server ? iv_n : 0));
	explicit_bzero(block, sizeof block);
	return ok;
}
