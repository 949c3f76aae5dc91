/* Cipher suites that authenticate with encrypting, and one record's decryption. */
#include <openssl/evp.h>

#include "capture/wire/tls_parts.h"

enum { AEAD_GCM, AEAD_CCM, AEAD_CHACHA };

/* Suites from..to; within a row the key alternates between 128 and 256 bits, and with
 * GCM the hash between SHA-256 and SHA-384. */
struct row {
	uint16_t from, to;
	uint8_t aead, tag_n;
};

static const struct row rows_12[] = {
	{ 0x009c, 0x00ad, AEAD_GCM, 16 }, /* RFC 5288, 5487: RSA, DHE, DH, PSK */
	{ 0xc02b, 0xc032, AEAD_GCM, 16 }, /* RFC 5289: ECDHE, ECDH */
	{ 0xc09c, 0xc09f, AEAD_CCM, 16 }, /* RFC 6655: RSA, DHE */
	{ 0xc0a0, 0xc0a3, AEAD_CCM, 8 },
	{ 0xc0a4, 0xc0a7, AEAD_CCM, 16 },
	{ 0xc0a8, 0xc0ab, AEAD_CCM, 8 },
	{ 0xc0ac, 0xc0ad, AEAD_CCM, 16 }, /* RFC 7251: ECDHE_ECDSA */
	{ 0xc0ae, 0xc0af, AEAD_CCM, 8 },
	{ 0xcca8, 0xccae, AEAD_CHACHA, 16 }, /* RFC 7905 */
	{ 0xd001, 0xd002, AEAD_GCM, 16 }, /* RFC 8442: ECDHE_PSK */
	{ 0xd003, 0xd003, AEAD_CCM, 8 },
	{ 0xd005, 0xd005, AEAD_CCM, 16 },
};

static const struct row rows_13[] = {
	{ 0x1301, 0x1302, AEAD_GCM, 16 }, /* RFC 8446, appendix B.4 */
	{ 0x1303, 0x1303, AEAD_CHACHA, 16 },
	{ 0x1304, 0x1304, AEAD_CCM, 16 },
	{ 0x1305, 0x1305, AEAD_CCM, 8 },
};

static void describe(const struct row *r, uint16_t id, bool is_13, struct tls_suite *s)
{
	bool is_long = (id - r->from) % 2;

	*s = (struct tls_suite){ .aead = r->aead, .tag_n = r->tag_n };
	s->key_n = is_long || r->aead == AEAD_CHACHA ? 32 : 16;
	s->hash_n = is_long && r->aead == AEAD_GCM ? 48 : 32;
	s->explicit_n = is_13 || r->aead == AEAD_CHACHA ? 0 : 8;
	s->fixed_n = (uint8_t)(12 - s->explicit_n);
}

bool tls_suite_of(uint16_t id, bool is_13, struct tls_suite *ret)
{
	const struct row *rows = is_13 ? rows_13 : rows_12;
	size_t n = is_13 ? LENGTH(rows_13) : LENGTH(rows_12);

	for (size_t i = 0; i < n; i++) {
		if (id < rows[i].from || id > rows[i].to)
			continue;
		describe(&rows[i], id, is_13, ret);
		return true;
	}
	return false;
}

static const EVP_CIPHER *cipher_of(const struct tls_suite *s)
{
	if (s->aead == AEAD_CHACHA)
		return EVP_chacha20_poly1305();
	if (s->aead == AEAD_CCM)
		return s->key_n == 16 ? EVP_aes_128_ccm() : EVP_aes_256_ccm();
	return s->key_n == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
}

bool tls_cipher_set(struct tls_cipher *c, const struct tls_suite *s, bool is_13,
	const unsigned char *key, const unsigned char *iv)
{
	tls_cipher_free(c);
	c->suite = *s;
	c->is_13 = is_13;
	memcpy(c->iv, iv, is_13 ? sizeof c->iv : s->fixed_n);
	c->ctx = EVP_CIPHER_CTX_new();
	if (!c->ctx || EVP_DecryptInit_ex(c->ctx, cipher_of(s), NULL, NULL, NULL) != 1 ||
		EVP_CIPHER_CTX_ctrl(c->ctx, EVP_CTRL_AEAD_SET_IVLEN, 12, NULL) != 1)
		return false;
	if (s->aead == AEAD_CCM &&
		EVP_CIPHER_CTX_ctrl(c->ctx, EVP_CTRL_AEAD_SET_TAG, s->tag_n, NULL) != 1)
		return false;
	return EVP_DecryptInit_ex(c->ctx, NULL, NULL, key, NULL) == 1;
}

void tls_cipher_free(struct tls_cipher *c)
{
	EVP_CIPHER_CTX_free(c->ctx);
	explicit_bzero(c, sizeof *c);
}

size_t tls_cipher_overhead(const struct tls_cipher *c)
{
	/* In TLS 1.3 the type is inside. */
	return (size_t)c->suite.explicit_n + c->suite.tag_n + c->is_13;
}

static void put_seq(uint64_t seq, unsigned char to[8])
{
	for (int i = 7; i >= 0; i--, seq >>= 8)
		to[i] = (unsigned char)seq;
}

/* RFC 5288 section 3: fixed and explicit part. RFC 7905 and 8446: IV xor number. */
static void make_nonce(const struct tls_cipher *c, struct slice body, unsigned char nonce[12])
{
	unsigned char seq[8];

	memcpy(nonce, c->iv, 12);
	if (c->suite.explicit_n) {
		memcpy(nonce + 4, body.p, 8);
		return;
	}
	put_seq(c->seq, seq);
	for (int i = 0; i < 8; i++)
		nonce[4 + i] ^= seq[i];
}

/* RFC 5246, section 6.2.3.3; RFC 8446, section 5.2. */
static size_t make_aad(const struct tls_cipher *c, const unsigned char header[TLS_HEADER_N],
	size_t plain_n, unsigned char aad[13])
{
	if (c->is_13) {
		memcpy(aad, header, TLS_HEADER_N);
		return TLS_HEADER_N;
	}
	put_seq(c->seq, aad);
	memcpy(aad + 8, header, 3);
	aad[11] = (unsigned char)(plain_n >> 8);
	aad[12] = (unsigned char)plain_n;
	return 13;
}

bool tls_cipher_open(struct tls_cipher *c, const unsigned char header[TLS_HEADER_N],
	struct slice body, unsigned char *to, size_t *ret_n)
{
	unsigned char nonce[12], aad[13];
	const unsigned char *from = (const unsigned char *)body.p + c->suite.explicit_n;
	bool is_ccm = c->suite.aead == AEAD_CCM;
	size_t overhead = (size_t)c->suite.explicit_n + c->suite.tag_n, n, aad_n;
	unsigned char tag[16];
	int done = 0;

	if (body.n < overhead)
		return false;
	n = body.n - overhead;
	memcpy(tag, from + n, c->suite.tag_n);
	make_nonce(c, body, nonce);
	aad_n = make_aad(c, header, n, aad);
	/* CCM wants the tag before and the length before all; the others the tag at the end. */
	if (is_ccm && EVP_CIPHER_CTX_ctrl(c->ctx, EVP_CTRL_AEAD_SET_TAG, c->suite.tag_n, tag) != 1)
		return false;
	if (EVP_DecryptInit_ex(c->ctx, NULL, NULL, NULL, nonce) != 1 ||
		(is_ccm && EVP_DecryptUpdate(c->ctx, NULL, &done, NULL, (int)n) != 1) ||
		EVP_DecryptUpdate(c->ctx, NULL, &done, aad, (int)aad_n) != 1 ||
		((n || is_ccm) && EVP_DecryptUpdate(c->ctx, to, &done, from, (int)n) != 1))
		return false;
	if (!is_ccm &&
		(EVP_CIPHER_CTX_ctrl(c->ctx, EVP_CTRL_AEAD_SET_TAG, c->suite.tag_n, tag) != 1 ||
			EVP_DecryptFinal_ex(c->ctx, to + n, &done) != 1))
		return false;
	c->seq++;
	*ret_n = n;
	return true;
}
