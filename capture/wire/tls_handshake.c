/* Handshake messages, and which secret each side's records are under. */
#include "capture/wire/tls_conn.h"

enum {
	CLIENT_HELLO = 1,
	SERVER_HELLO = 2,
	END_OF_EARLY_DATA = 5,
	ENCRYPTED_EXTENSIONS = 8,
	FINISHED = 20,
	KEY_UPDATE = 24,
	MESSAGE_HEADER_N = 4,
	MESSAGE_MAX = 64 << 10,
};

/* ---- epochs */

static enum tls_label label_of(const struct tls *t, int side, enum tls_epoch epoch)
{
	bool is_client = side == t->client;

	if (!t->is_13)
		return TLS_CLIENT_RANDOM;
	if (epoch == EPOCH_EARLY)
		return TLS_CLIENT_EARLY;
	if (epoch == EPOCH_HANDSHAKE)
		return is_client ? TLS_CLIENT_HANDSHAKE : TLS_SERVER_HANDSHAKE;
	return is_client ? TLS_CLIENT_TRAFFIC : TLS_SERVER_TRAFFIC;
}

static bool derive(struct tls *t, struct tls_side *s, int side, struct slice secret)
{
	if (!t->is_13)
		return tls_derive_12(&s->cipher, &t->suite, secret, t->client_random,
			t->server_random, side != t->client);
	if (secret.n != t->suite.hash_n)
		return false;
	memcpy(s->secret, secret.p, secret.n);
	return tls_derive_13(&s->cipher, &t->suite, s->secret);
}

static bool enter(struct tls *t, int side, enum tls_epoch epoch, int64_t now_ns)
{
	struct tls_side *s = &t->sides[side];
	struct slice secret =
		tls_keys_find(t->keys, t->client_random, label_of(t, side, epoch), now_ns);

	s->wanted = epoch;
	if (!secret.n && epoch == EPOCH_EARLY) {
		/* Only the early data is lost then. */
		s->skips_early = true;
		return enter(t, side, EPOCH_HANDSHAKE, now_ns);
	}
	if (!secret.n && tls_keys_is_growing(t->keys)) {
		s->gate = GATE_KEY;
		return true;
	}
	if (!secret.n)
		return tls_fail(t, TLS_NO_KEY);
	if (!derive(t, s, side, secret))
		return tls_fail(t, TLS_BROKEN);
	s->gate = GATE_OPEN;
	s->epoch = epoch;
	if (epoch == EPOCH_TRAFFIC)
		t->state = TLS_READING;
	return true;
}

bool tls_try_gate(struct tls *t, int side, int64_t now_ns)
{
	struct tls_side *s = &t->sides[side];

	return s->gate != GATE_KEY || enter(t, side, s->wanted, now_ns);
}

bool tls_change_cipher(struct tls *t, int side, int64_t now_ns)
{
	if (!t->has_server_hello)
		return tls_fail(t, TLS_BROKEN);
	return enter(t, side, EPOCH_TRAFFIC, now_ns);
}

/* ---- messages */

/* Of the first handshake, after a HelloRetryRequest, or of a renegotiation. */
static bool on_client_hello(struct tls *t, struct slice body)
{
	struct tls_hello h;

	if (!tls_read_client_hello(body, &h))
		return tls_fail(t, TLS_BROKEN);
	memcpy(t->client_random, h.random, TLS_RANDOM_N);
	t->offers_early = h.has_early;
	t->has_server_hello = false;
	t->handshakes++;
	return true;
}

/* Early data is refused with it. */
static bool on_retry(struct tls *t)
{
	t->is_retried = true;
	t->sides[t->client].gate = GATE_OPEN;
	return true;
}

static bool on_server_hello(struct tls *t, struct slice body, int64_t now_ns)
{
	int server = !t->client;
	struct tls_hello h;

	if (!tls_read_server_hello(body, &h))
		return tls_fail(t, TLS_BROKEN);
	if (h.is_retry)
		return on_retry(t);
	t->is_13 = h.version == 0x0304;
	if ((!t->is_13 && h.version != 0x0303) || h.is_compressed ||
		!tls_suite_of(h.suite, t->is_13, &t->suite))
		return tls_fail(t, TLS_SUITE);
	t->has_server_hello = true;
	memcpy(t->server_random, h.random, TLS_RANDOM_N);
	memcpy(t->alpn, h.alpn, sizeof t->alpn);
	if (!t->is_13)
		return true;
	if (!enter(t, server, EPOCH_HANDSHAKE, now_ns))
		return false;
	if (!t->offers_early)
		return enter(t, t->client, EPOCH_HANDSHAKE, now_ns);
	t->sides[t->client].gate = GATE_SERVER;
	return true;
}

static bool on_extensions(struct tls *t, struct slice body, int64_t now_ns)
{
	struct tls_side *client = &t->sides[t->client];
	struct tls_hello h;

	if (!tls_read_extensions(body, &h))
		return tls_fail(t, TLS_BROKEN);
	memcpy(t->alpn, h.alpn, sizeof t->alpn);
	if (client->gate != GATE_SERVER)
		return true;
	client->skips_early = !h.has_early;
	return enter(t, t->client, h.has_early ? EPOCH_EARLY : EPOCH_HANDSHAKE, now_ns);
}

static bool on_key_update(struct tls *t, int side)
{
	struct tls_side *s = &t->sides[side];

	if (!t->is_13 || s->epoch != EPOCH_TRAFFIC)
		return true;
	return (tls_derive_next(&t->suite, s->secret) &&
		       tls_derive_13(&s->cipher, &t->suite, s->secret)) ||
	       tls_fail(t, TLS_BROKEN);
}

static bool on_message(struct tls *t, int side, uint8_t type, struct slice body, int64_t now_ns)
{
	bool is_client = side == t->client;
	enum tls_epoch epoch = t->sides[side].epoch;

	switch (type) {
	case CLIENT_HELLO:
		return !is_client || on_client_hello(t, body);
	case SERVER_HELLO:
		return is_client || on_server_hello(t, body, now_ns);
	case ENCRYPTED_EXTENSIONS:
		return is_client || on_extensions(t, body, now_ns);
	case END_OF_EARLY_DATA:
		return epoch != EPOCH_EARLY || enter(t, side, EPOCH_HANDSHAKE, now_ns);
	case FINISHED:
		return epoch != EPOCH_HANDSHAKE || enter(t, side, EPOCH_TRAFFIC, now_ns);
	case KEY_UPDATE:
		return on_key_update(t, side);
	default:
		return true;
	}
}

static bool is_wanted(uint8_t type)
{
	return type == CLIENT_HELLO || type == SERVER_HELLO || type == ENCRYPTED_EXTENSIONS ||
	       type == END_OF_EARLY_DATA || type == FINISHED || type == KEY_UPDATE;
}

static size_t message_body_n(const struct buf *b)
{
	const unsigned char *p = (const unsigned char *)b->p;

	return (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
}

/* Takes at most what the message still needs; *ret_is_whole when it is all there. */
static void collect(struct buf *b, struct slice *bytes, size_t want_n)
{
	size_t n = want_n - b->n < bytes->n ? want_n - b->n : bytes->n;

	buf_add(b, bytes->p, n);
	bytes->p += n;
	bytes->n -= n;
}

/* Certificates and the like are passed over by their length. */
static bool skip_unwanted(struct tls_side *s)
{
	if (is_wanted((uint8_t)s->message.p[0]))
		return false;
	s->message_skip_n = (uint32_t)message_body_n(&s->message);
	buf_reset(&s->message);
	return true;
}

static bool take_message(struct tls *t, int side, struct slice *bytes, int64_t now_ns)
{
	struct tls_side *s = &t->sides[side];
	size_t body_n;
	bool ok;

	collect(&s->message, bytes,
		s->message.n < MESSAGE_HEADER_N ? MESSAGE_HEADER_N : s->message.n);
	if (s->message.n < MESSAGE_HEADER_N || skip_unwanted(s))
		return true;
	body_n = message_body_n(&s->message);
	if (body_n > MESSAGE_MAX)
		return tls_fail(t, TLS_BROKEN);
	collect(&s->message, bytes, MESSAGE_HEADER_N + body_n);
	if (s->message.is_full)
		return tls_fail(t, TLS_BROKEN);
	if (s->message.n < MESSAGE_HEADER_N + body_n)
		return true;
	ok = on_message(t, side, (uint8_t)s->message.p[0],
		(struct slice){ s->message.p + MESSAGE_HEADER_N, body_n }, now_ns);
	buf_reset(&s->message);
	return ok;
}

bool tls_handshake(struct tls *t, int side, struct slice bytes, int64_t now_ns)
{
	struct tls_side *s = &t->sides[side];

	while (bytes.n) {
		size_t n = s->message_skip_n < bytes.n ? s->message_skip_n : bytes.n;

		s->message_skip_n -= (uint32_t)n;
		bytes.p += n;
		bytes.n -= n;
		if (bytes.n && !take_message(t, side, &bytes, now_ns))
			return false;
	}
	return true;
}
