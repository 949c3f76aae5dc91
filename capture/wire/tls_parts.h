/*
 * tls_parts.h - what the files of TLS reading share: the key log's secrets, cipher
 * suites, the keys derived from secrets, and hello messages.
 *
 * For capture/wire/tls*.c. Numbers are those of RFC 5246 and RFC 8446.
 */
#ifndef REPROD_TLS_PARTS_H
#define REPROD_TLS_PARTS_H

#include "capture/wire/tls.h"

enum {
	TLS_HEADER_N = 5,
	TLS_RANDOM_N = 32,
	TLS_SECRET_MAX = 48,
	TLS_PLAIN_MAX = 1 << 14,
	TLS_BODY_MAX = TLS_PLAIN_MAX + 2048, /* RFC 5246, section 6.2.3 */
	TLS_HELD_MAX = 256 << 10, /* of one connection, ciphertext */
	TLS_HELD_TOTAL_MAX = 16 << 20,
};

enum tls_label {
	TLS_CLIENT_RANDOM, /* the master secret of TLS 1.2 */
	TLS_CLIENT_EARLY,
	TLS_CLIENT_HANDSHAKE,
	TLS_SERVER_HANDSHAKE,
	TLS_CLIENT_TRAFFIC,
	TLS_SERVER_TRAFFIC,
	TLS_LABELS,
};

/* ---- tls_keys.c */

/* The secret lies in the log's memory until the next call with keys. Empty: not there. */
struct slice tls_keys_find(struct tls_keys *k, const unsigned char random[TLS_RANDOM_N],
	enum tls_label label, int64_t now_ns);
/* May a secret still come? */
bool tls_keys_is_growing(const struct tls_keys *k);
/* Looks again at once, whatever the time. */
void tls_keys_look(struct tls_keys *k);
/* TLS_BODY_MAX bytes in which a record is decrypted. */
unsigned char *tls_keys_plain(struct tls_keys *k);
/* Counts ciphertext that is held; false when all connections hold too much. */
bool tls_keys_hold(struct tls_keys *k, size_t n);
void tls_keys_unhold(struct tls_keys *k, size_t n);

/* ---- tls_aead.c */

struct tls_suite {
	uint8_t aead;
	uint8_t key_n, tag_n;
	uint8_t fixed_n, explicit_n; /* bytes of a nonce from the keys and in the record */
	uint8_t hash_n; /* 32 or 48: SHA-256 or SHA-384 */
};

/* False: no suite that is read here. */
bool tls_suite_of(uint16_t id, bool is_13, struct tls_suite *ret);

struct tls_cipher {
	struct tls_suite suite;
	struct evp_cipher_ctx_st *ctx;
	unsigned char iv[12];
	uint64_t seq; /* of the next record */
	bool is_13;
};

/* False only when libcrypto fails. */
bool tls_cipher_set(struct tls_cipher *c, const struct tls_suite *s, bool is_13,
	const unsigned char *key, const unsigned char *iv);
/* Decrypts one record into to (TLS_BODY_MAX bytes) and goes on to the next number. False:
 * it does not authenticate. */
bool tls_cipher_open(struct tls_cipher *c, const unsigned char header[TLS_HEADER_N],
	struct slice body, unsigned char *to, size_t *ret_n);
/* The least length of a record's body. */
size_t tls_cipher_overhead(const struct tls_cipher *c);
void tls_cipher_free(struct tls_cipher *c);

/* ---- tls_derive.c */

/* RFC 8446, section 7.3: key and IV from a traffic secret. */
bool tls_derive_13(struct tls_cipher *c, const struct tls_suite *s, const unsigned char *secret);
/* Section 7.2: the secret after a KeyUpdate, in place. */
bool tls_derive_next(const struct tls_suite *s, unsigned char *secret);
/* RFC 5246, section 6.3: one side's key and IV from the master secret. */
bool tls_derive_12(struct tls_cipher *c, const struct tls_suite *s, struct slice master,
	const unsigned char client_random[TLS_RANDOM_N],
	const unsigned char server_random[TLS_RANDOM_N], bool is_server);

/* ---- tls_hello.c */

struct tls_hello {
	unsigned char random[TLS_RANDOM_N];
	uint16_t version; /* what is spoken: 0x0304 is TLS 1.3 */
	uint16_t suite; /* the server's choice */
	bool is_compressed;
	bool is_retry; /* HelloRetryRequest */
	bool has_early; /* early data: offered, or accepted */
	char alpn[16];
};

/* Bodies of handshake messages. False: they are cut or broken. */
bool tls_read_client_hello(struct slice body, struct tls_hello *ret);
bool tls_read_server_hello(struct slice body, struct tls_hello *ret);
bool tls_read_extensions(struct slice body, struct tls_hello *ret); /* EncryptedExtensions */

#endif
