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
/* The same from memory, for tests; and more lines. */
struct tls_keys *tls_keys_of(struct slice text, struct err *e);
bool tls_keys_add(struct tls_keys *k, struct slice text, struct err *e) MUST_USE;
/* Takes in lines that were appended since; one that is no key is counted and passed over. */
bool tls_keys_refresh(struct tls_keys *k, struct err *e) MUST_USE;
/* Live captures: a secret that is not there is looked for in what was appended (at most
 * every 10 ms of packet time), and a connection that lacks it holds its records, at most
 * 256 KiB for 5 s. The file stays open, so a rotated log is read under its old name. */
void tls_keys_follow(struct tls_keys *k);
size_t tls_keys_count(const struct tls_keys *k); /* secrets */
size_t tls_keys_odd_lines(const struct tls_keys *k);
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
	/* Plain text of this length was in records that were lost. */
	bool (*gap)(void *data, int side, uint64_t missing_n, int64_t time_ns);
	void *data;
};

struct tls;

/* client: the flow's side that sends the ClientHello. Keys outlive it. NULL: out of memory. */
struct tls *tls_new(struct tls_keys *keys, int client, const struct tls_sink *sink);
/* Plain text has the time of the packet that its first byte came in, or, of a record in
 * several packets, from the second one on the time of the last. False: there is nothing
 * more to learn (see tls_state()). */
bool tls_feed(struct tls *t, int side, struct slice bytes, int64_t time_ns);
/* After missing packets reading goes on at the next record that authenticates under one
 * of the numbers that it may have; false when there can be none. */
bool tls_gap(struct tls *t, int side, uint64_t missing_n, int64_t time_ns);
/* The connection ended: a last look for keys of what is held. Then see tls_state(). */
bool tls_end(struct tls *t, int64_t time_ns);
enum tls_state tls_state(const struct tls *t);
/* "no_key" and so on, the names in the ledger. */
const char *tls_state_name(enum tls_state s);
/* ALPN that the server chose ("h2", "http/1.1", "postgresql"), or "". */
const char *tls_alpn(const struct tls *t);
/* ClientHellos: more than one after a HelloRetryRequest or a renegotiation. */
uint32_t tls_handshakes(const struct tls *t);
void tls_free(struct tls *t);

#endif
