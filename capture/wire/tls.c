/* Records: cut from the stream, held while a key is missing, decrypted, handed on. */
#include "capture/wire/tls.h"

#include <stdlib.h>

#include "capture/wire/tls_conn.h"

enum { ALERT_CLOSE_NOTIFY = 0 };

#define HELD_FOR_NS (5 * NS_PER_S)

struct tls_held {
	struct tls_held *next;
	int side;
	int64_t first_ns, time_ns;
	size_t first_n, n;
	char bytes[]; /* header and body */
};

static const char *const state_names[] = {
	[TLS_OPENING] = "handshake_unfinished",
	[TLS_READING] = "read",
	[TLS_NO_KEY] = "no_key",
	[TLS_NO_HANDSHAKE] = "no_handshake",
	[TLS_SUITE] = "suite",
	[TLS_LOST] = "lost",
	[TLS_BROKEN] = "broken",
};

struct tls *tls_new(struct tls_keys *keys, int client, const struct tls_sink *sink)
{
	struct tls *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->keys = keys;
	t->client = client;
	t->sink = *sink;
	t->tail = &t->first;
	for (int i = 0; i < 2; i++) {
		buf_init(&t->sides[i].partial, TLS_HEADER_N + TLS_BODY_MAX);
		buf_init(&t->sides[i].message, 128 << 10);
	}
	return t;
}

static void free_held(struct tls *t, struct tls_held **at)
{
	struct tls_held *h = *at;

	*at = h->next;
	if (!h->next)
		t->tail = at;
	tls_keys_unhold(t->keys, h->n);
	t->held_n -= h->n;
	free(h);
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	while (t->first)
		free_held(t, &t->first);
	for (int i = 0; i < 2; i++) {
		buf_free(&t->sides[i].partial);
		buf_free(&t->sides[i].message);
		tls_cipher_free(&t->sides[i].cipher);
	}
	explicit_bzero(t, sizeof *t);
	free(t);
}

enum tls_state tls_state(const struct tls *t)
{
	return t->state;
}

const char *tls_state_name(enum tls_state s)
{
	return state_names[s];
}

const char *tls_alpn(const struct tls *t)
{
	return t->alpn;
}

uint32_t tls_handshakes(const struct tls *t)
{
	return t->handshakes;
}

bool tls_fail(struct tls *t, enum tls_state why)
{
	t->state = why;
	return false;
}

/* ---- one record */

static bool hand_on(struct tls *t, int side, struct slice plain, int64_t time_ns)
{
	t->is_over = !t->sink.bytes(t->sink.data, side, plain, time_ns);
	return !t->is_over;
}

/* A record in several packets: its first bytes have the first one's time. */
static bool deliver(struct tls *t, int side, struct slice plain, const struct tls_record *r)
{
	size_t before = TLS_HEADER_N + (size_t)t->sides[side].cipher.suite.explicit_n;
	size_t first_n = r->first_n > before ? r->first_n - before : 1;

	if (!plain.n)
		return true;
	if (r->first_ns == r->time_ns || plain.n == 1)
		return hand_on(t, side, plain, r->first_ns);
	/* The end waits for the tag. */
	if (first_n >= plain.n)
		first_n = plain.n - 1;
	return hand_on(t, side, (struct slice){ plain.p, first_n }, r->first_ns) &&
	       hand_on(t, side, (struct slice){ plain.p + first_n, plain.n - first_n }, r->time_ns);
}

static bool on_content(
	struct tls *t, int side, uint8_t type, struct slice content, const struct tls_record *r)
{
	switch (type) {
	case RECORD_CHANGE_CIPHER: /* of a renegotiation; TLS 1.3 has none inside */
		return tls_change_cipher(t, side, r->time_ns);
	case RECORD_ALERT:
		if (content.n == 2 && content.p[1] == ALERT_CLOSE_NOTIFY)
			t->sides[side].is_closed = true;
		return true;
	case RECORD_HANDSHAKE:
		return tls_handshake(t, side, content, r->time_ns);
	case RECORD_DATA:
		if (t->sides[side].epoch == EPOCH_HANDSHAKE)
			return tls_fail(t, TLS_BROKEN);
		return deliver(t, side, content, r);
	default:
		return true;
	}
}

static bool on_clear(struct tls *t, int side, const struct tls_record *r)
{
	switch (r->header[0]) {
	case RECORD_CHANGE_CIPHER:
		/* Before the ServerHello, and in TLS 1.3, it is for middleboxes alone. */
		if (!t->has_server_hello || t->is_13)
			return true;
		return tls_change_cipher(t, side, r->time_ns);
	case RECORD_ALERT:
		return true;
	case RECORD_HANDSHAKE:
		return tls_handshake(t, side, r->body, r->time_ns);
	default:
		/* Early data that a HelloRetryRequest refused is passed over. */
		return t->is_retried || tls_fail(t, TLS_BROKEN);
	}
}

/* RFC 8446, section 5.2: content, its type, zeros. */
static bool unpad(struct slice *plain, uint8_t *ret_type)
{
	while (plain->n && plain->p[plain->n - 1] == 0)
		plain->n--;
	if (!plain->n)
		return false;
	*ret_type = (uint8_t)plain->p[--plain->n];
	return true;
}

static bool on_encrypted(struct tls *t, int side, const struct tls_record *r)
{
	struct tls_side *s = &t->sides[side];
	unsigned char *to = tls_keys_plain(t->keys);
	struct slice plain = { (const char *)to, 0 };
	uint8_t type = r->header[0];

	/* A client may complain in the clear; a middlebox's CCS says nothing. */
	if (t->is_13 && (type == RECORD_CHANGE_CIPHER || type == RECORD_ALERT))
		return true;
	if (!tls_cipher_open(&s->cipher, r->header, r->body, to, &plain.n))
		return s->skips_early || tls_fail(t, TLS_BROKEN);
	s->skips_early = false;
	if (t->is_13 && !unpad(&plain, &type))
		return tls_fail(t, TLS_BROKEN);
	return on_content(t, side, type, plain, r);
}

static bool process(struct tls *t, int side, const struct tls_record *r)
{
	const struct tls_side *s = &t->sides[side];

	if (s->is_closed)
		return true;
	return s->epoch == EPOCH_CLEAR ? on_clear(t, side, r) : on_encrypted(t, side, r);
}

/* ---- records that wait */

static bool hold(struct tls *t, int side, const struct tls_record *r)
{
	bool is_key = t->sides[side].gate == GATE_KEY;
	size_t n = TLS_HEADER_N + r->body.n;
	struct tls_held *h = NULL;

	if (t->held_n + n <= TLS_HELD_MAX &&
		(!t->first || r->time_ns - t->first->time_ns <= HELD_FOR_NS) &&
		tls_keys_hold(t->keys, n)) {
		h = malloc(sizeof *h + n);
		if (!h)
			tls_keys_unhold(t->keys, n);
	}
	if (!h)
		return tls_fail(t, is_key ? TLS_NO_KEY : TLS_LOST);
	*h = (struct tls_held){ NULL, side, r->first_ns, r->time_ns, r->first_n, n };
	memcpy(h->bytes, r->header, TLS_HEADER_N);
	memcpy(h->bytes + TLS_HEADER_N, r->body.p, r->body.n);
	*t->tail = h;
	t->tail = &h->next;
	t->held_n += n;
	return true;
}

static bool process_held(struct tls *t, const struct tls_held *h)
{
	struct tls_record r = { (const unsigned char *)h->bytes,
		{ h->bytes + TLS_HEADER_N, h->n - TLS_HEADER_N }, h->first_ns, h->time_ns,
		h->first_n };

	return process(t, h->side, &r);
}

/* The oldest record whose gate is open, again and again: one may open the other side's. */
static bool drain(struct tls *t, int64_t now_ns)
{
	struct tls_held **at = &t->first;

	if (!tls_try_gate(t, 0, now_ns) || !tls_try_gate(t, 1, now_ns))
		return false;
	while (*at) {
		if (t->sides[(*at)->side].gate != GATE_OPEN) {
			at = &(*at)->next;
			continue;
		}
		/* It leaves the list first: what it says may drop others. */
		struct tls_held *h = *at;
		bool ok;

		*at = h->next;
		if (!h->next)
			t->tail = at;
		ok = process_held(t, h);
		tls_keys_unhold(t->keys, h->n);
		t->held_n -= h->n;
		free(h);
		if (!ok)
			return false;
		at = &t->first;
	}
	return true;
}

static bool take_record(struct tls *t, int side, const struct tls_record *r)
{
	struct tls_side *s = &t->sides[side];

	if ((t->first || s->gate == GATE_KEY) && !drain(t, r->time_ns))
		return false;
	if (s->epoch == EPOCH_CLEAR && s->gate == GATE_OPEN && side == t->client &&
		r->header[0] == RECORD_DATA && t->offers_early && !t->has_server_hello &&
		!t->is_retried)
		s->gate = GATE_SERVER;
	if (s->gate != GATE_OPEN)
		return hold(t, side, r);
	return process(t, side, r) && (!t->first || drain(t, r->time_ns));
}

/* ---- cutting */

static bool is_whole(const struct buf *partial)
{
	return partial->n >= TLS_HEADER_N && partial->n >= TLS_HEADER_N + tls_body_n(partial->p);
}

static void advance(struct slice *bytes, size_t n)
{
	bytes->p += n;
	bytes->n -= n;
}

static bool take_partial(struct tls *t, int side, int64_t time_ns)
{
	struct tls_side *s = &t->sides[side];
	size_t n = tls_body_n(s->partial.p), first_n = s->partial_first_n;
	struct tls_record r = { (const unsigned char *)s->partial.p,
		{ s->partial.p + TLS_HEADER_N, n }, s->partial_ns, time_ns, first_n };
	bool ok = take_record(t, side, &r);

	buf_eat(&s->partial, TLS_HEADER_N + n);
	s->partial_first_n = first_n > TLS_HEADER_N + n ? first_n - TLS_HEADER_N - n : 0;
	return ok;
}

/* Up to the header's end, then up to the record's. */
static bool add_partial(struct tls *t, int side, struct slice *bytes, int64_t time_ns)
{
	struct buf *b = &t->sides[side].partial;
	size_t want_n = b->n < TLS_HEADER_N ? TLS_HEADER_N : TLS_HEADER_N + tls_body_n(b->p);
	size_t n = want_n - b->n < bytes->n ? want_n - b->n : bytes->n;

	if (!b->n) {
		t->sides[side].partial_ns = time_ns;
		t->sides[side].partial_first_n = bytes->n;
	}
	buf_add(b, bytes->p, n);
	advance(bytes, n);
	if (b->is_full || (b->n >= TLS_HEADER_N && !tls_header_is_valid(b->p)))
		return tls_fail(t, TLS_BROKEN);
	return true;
}

static bool cut(struct tls *t, int side, struct slice *bytes, int64_t time_ns)
{
	struct tls_side *s = &t->sides[side];
	struct tls_record r = { (const unsigned char *)bytes->p, { 0 }, time_ns, time_ns, 0 };
	size_t n;

	if (s->is_lost)
		return tls_resync(t, side, bytes, time_ns);
	if (is_whole(&s->partial))
		return take_partial(t, side, time_ns);
	if (s->skip_n) {
		n = s->skip_n < bytes->n ? (size_t)s->skip_n : bytes->n;
		s->skip_n -= n;
		advance(bytes, n);
		return true;
	}
	/* Records that lie whole in the packet are not copied. */
	if (s->partial.n || bytes->n < TLS_HEADER_N || !tls_header_is_valid(bytes->p) ||
		bytes->n < TLS_HEADER_N + tls_body_n(bytes->p))
		return add_partial(t, side, bytes, time_ns);
	n = tls_body_n(bytes->p);
	r.body = (struct slice){ bytes->p + TLS_HEADER_N, n };
	r.first_n = TLS_HEADER_N + n;
	advance(bytes, TLS_HEADER_N + n);
	return take_record(t, side, &r);
}

bool tls_feed(struct tls *t, int side, struct slice bytes, int64_t time_ns)
{
	struct tls_side *s = &t->sides[side];

	while ((bytes.n || (!s->is_lost && is_whole(&s->partial))) && !s->is_closed)
		if (!cut(t, side, &bytes, time_ns))
			return false;
	return true;
}

bool tls_end(struct tls *t, int64_t time_ns)
{
	if (t->first) {
		tls_keys_look(t->keys);
		if (!drain(t, time_ns))
			return false;
	}
	for (int i = 0; i < 2; i++) {
		if (t->sides[i].gate == GATE_KEY)
			return tls_fail(t, TLS_NO_KEY);
		if (t->sides[i].is_lost)
			return tls_fail(t, TLS_LOST);
	}
	return true;
}
