/*
 * tls.h - TLS 1.2 and 1.3 connections read with the secrets of a key log file.
 *
 * The file is the one that SSLKEYLOGFILE makes (draft-ietf-tls-keylogfile): lines
 * "LABEL client_random secret". Records are cut as RFC 5246 section 6 and RFC 8446
 * section 5 say; AEAD suites only (AES-GCM, AES-CCM, ChaCha20-Poly1305). What
 * cannot be decrypted has a reason that goes into the ledger. Secrets lie in
 * memory that is wiped; plain text is handed on and never kept. One thread.
 */
#ifndef REPROD_TLS_H
#define REPROD_TLS_H

#include "core/base/buf.h"
#include "core/base/err.h"

struct tls_keys;

/* Reads the whole file; it must not be readable by group or others when it is the
 * caller's own. ERR_INPUT names the line that is no key. */
struct tls_keys *tls_keys_load(const char *path, struct err *e);
/* Takes in lines that were appended since (live captures). */
bool tls_keys_refresh(struct tls_keys *k, struct err *e) MUST_USE;
size_t tls_keys_count(const struct tls_keys *k);
void tls_keys_free(struct tls_keys *k);

enum tls_state {
	TLS_OPENING, /* the handshake goes on */
	TLS_READING, /* plain text comes out */
	TLS_NO_KEY, /* not in the key log (or not yet) */
	TLS_NO_HANDSHAKE, /* joined late: its client random was not seen */
	TLS_SUITE, /* a cipher suite that is no AEAD */
	TLS_LOST, /* packets were missing: what follows cannot be decrypted */
	TLS_BROKEN, /* not TLS, or a record that does not authenticate */
};

struct tls_sink {
	/* Plain text of one side; borrowed for the call. False: no interest in the rest. */
	bool (*bytes)(void *data, int side, struct slice plain, int64_t time_ns);
	void *data;
};

struct tls;

/* client: the flow's side that sends the ClientHello. Keys outlive it; NULL keys:
 * nothing is decrypted, but the server's name is learned. NULL: out of memory. */
struct tls *tls_new(const struct tls_keys *keys, int client, const struct tls_sink *sink);
/* False: there is nothing more to learn (see tls_state()). */
bool tls_feed(struct tls *t, int side, struct slice bytes, int64_t time_ns);
bool tls_gap(struct tls *t, int side, uint64_t missing_n);
enum tls_state tls_state(const struct tls *t);
/* "no_key" and so on, the names in the ledger. */
const char *tls_state_name(enum tls_state s);
/* ALPN that the server chose ("h2", "http/1.1", "postgresql"), or "". */
const char *tls_alpn(const struct tls *t);
void tls_free(struct tls *t);

/* Until tls.c is there, nothing is decrypted. */
#if !__has_include("capture/wire/tls.c")
#define TLS_IS_ABSENT
#define tls_keys_load(path, e) ((void)(path), (struct tls_keys *)NULL)
#define tls_keys_refresh(k, e) ((void)(k), (void)(e), true)
#define tls_keys_free(k) ((void)(k))
#define tls_new(k, c, s) ((void)(s), (struct tls *)NULL)
#define tls_feed(t, s, b, n) ((void)(n), false)
#define tls_gap(t, s, n) false
#define tls_state(t) TLS_NO_KEY
#define tls_free(t) ((void)(t))
#endif

#endif
