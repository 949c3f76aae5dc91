/*
 * tls_conn.h - a TLS connection's state, private to capture/wire/tls*.c.
 *
 * Each side has an epoch (which secret its records are under) and a gate: closed,
 * its records are held until a key, or what the server says, opens it.
 */
#ifndef REPROD_TLS_CONN_H
#define REPROD_TLS_CONN_H

#include "capture/wire/tls_parts.h"

enum tls_epoch { EPOCH_CLEAR, EPOCH_EARLY, EPOCH_HANDSHAKE, EPOCH_TRAFFIC };

enum tls_gate {
	GATE_OPEN,
	GATE_KEY, /* the secret of the wanted epoch is not in the log yet */
	GATE_SERVER, /* early data: did the server take it? */
};

enum { RECORD_CHANGE_CIPHER = 20, RECORD_ALERT, RECORD_HANDSHAKE, RECORD_DATA, RECORD_HEARTBEAT };

struct tls_record {
	const unsigned char *header;
	struct slice body;
	int64_t first_ns, time_ns; /* of its first and last packet */
	size_t first_n; /* its bytes in the first packet, the header's too */
};

struct tls_side {
	struct buf partial; /* the record that is not whole yet */
	int64_t partial_ns;
	size_t partial_first_n;
	uint64_t skip_n; /* of a record that is lost in part */
	struct buf message; /* the handshake message that is not whole yet */
	uint32_t message_skip_n;
	struct tls_cipher cipher;
	unsigned char secret[TLS_SECRET_MAX];
	enum tls_epoch epoch, wanted;
	enum tls_gate gate;
	bool is_closed;
	bool skips_early; /* refused early data does not authenticate: passed over */
	bool is_lost; /* the next record's place and number are unknown */
	uint64_t lost_n; /* bytes since the last record that was read */
	uint64_t tried_n; /* bytes decrypted to find a place, ever */
};

struct tls_held;

struct tls {
	struct tls_keys *keys;
	struct tls_sink sink;
	int client;
	enum tls_state state;
	bool is_over; /* the sink wants no more */
	bool is_13, has_server_hello, is_retried, offers_early;
	struct tls_suite suite;
	unsigned char client_random[TLS_RANDOM_N], server_random[TLS_RANDOM_N];
	char alpn[16];
	uint32_t handshakes;
	struct tls_held *first, **tail;
	size_t held_n;
	struct tls_side sides[2];
};

bool tls_fail(struct tls *t, enum tls_state why);

/* ---- tls_handshake.c */

bool tls_handshake(struct tls *t, int side, struct slice bytes, int64_t now_ns);
/* TLS 1.2: what this side sends from here on is under new keys. */
bool tls_change_cipher(struct tls *t, int side, int64_t now_ns);
/* Opens a gate whose key has come; true too when it stays closed. */
bool tls_try_gate(struct tls *t, int side, int64_t now_ns);

/* ---- tls_resync.c */

bool tls_header_is_valid(const void *header);
size_t tls_body_n(const void *header);
/* Takes from bytes until the next record is at the start of side.partial and its number
 * known: then side.is_lost is false. False: given up. */
bool tls_resync(struct tls *t, int side, struct slice *bytes, int64_t time_ns);

#endif
