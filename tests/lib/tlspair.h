/*
 * tlspair.h - a TLS client and server in one process, talking through memory: what each
 * sent is kept in the order it was sent, and so is the key log.
 */
#ifndef REPROD_TEST_TLSPAIR_H
#define REPROD_TEST_TLSPAIR_H

#include <openssl/ssl.h>

#include "core/base/buf.h"

enum { TLSPAIR_CLIENT, TLSPAIR_SERVER, TLSPAIR_FLIGHTS_MAX = 4096 };

struct tlspair_flight {
	int side;
	size_t n;
};

struct tlspair {
	SSL_CTX *ctx[2];
	SSL *ssl[2];
	struct buf sent; /* of both, in order */
	struct tlspair_flight flights[TLSPAIR_FLIGHTS_MAX];
	size_t flight_count;
	struct buf keylog;
	struct buf said[2]; /* plain text, of each side */
};

/* version: TLS1_2_VERSION or another; suites: OpenSSL's names, or NULL. Settings of
 * p->ctx and p->ssl may be changed before the handshake. */
struct tlspair *tlspair_new(int version, const char *suites);
/* A new connection between the same two, offering session (or NULL). */
void tlspair_again(struct tlspair *p, SSL_SESSION *session);
bool tlspair_handshake(struct tlspair *p);
/* One SSL_write(); the other side reads it. */
void tlspair_say(struct tlspair *p, int side, const char *text, size_t n);
/* Carries over what both have to send; move: and what they answer when they read it. */
void tlspair_carry(struct tlspair *p);
void tlspair_move(struct tlspair *p);
void tlspair_close(struct tlspair *p); /* close_notify from both */
void tlspair_free(struct tlspair *p);

#endif
