/*
 * After missing packets: where is the next record, and which number has it? A place
 * that looks like a record's header is one when the record authenticates under one of
 * the numbers that the lost bytes leave possible.
 */
#include "capture/wire/tls_conn.h"

/* Decrypting to find a place, for each side: about 50 ms of a core. */
enum { NUMBERS_MAX = 1024, TRIED_MAX = 64 << 20 };

bool tls_header_is_valid(const void *header)
{
	const unsigned char *h = header;

	return h[0] >= RECORD_CHANGE_CIPHER && h[0] <= RECORD_HEARTBEAT && h[1] == 3 && h[2] <= 4 &&
	       tls_body_n(h) <= TLS_BODY_MAX;
}

size_t tls_body_n(const void *header)
{
	const unsigned char *h = header;

	return (size_t)h[3] << 8 | h[4];
}

static bool may_begin(const struct tls_side *s, const char *p)
{
	return tls_header_is_valid(p) && p[2] == 3 &&
	       tls_body_n(p) >= tls_cipher_overhead(&s->cipher) &&
	       (s->cipher.is_13 ? p[0] == RECORD_DATA : p[0] != RECORD_CHANGE_CIPHER);
}

static void eat(struct tls_side *s, size_t n)
{
	buf_eat(&s->partial, n);
	s->lost_n += n;
}

/* True: partial begins like a record. */
static bool find_header(struct tls_side *s)
{
	size_t at = 0;

	while (at + TLS_HEADER_N <= s->partial.n && !may_begin(s, s->partial.p + at))
		at++;
	eat(s, at);
	return s->partial.n >= TLS_HEADER_N;
}

/* The cipher's number is then this record's. */
static bool try_numbers(struct tls *t, struct tls_side *s)
{
	const unsigned char *header = (const unsigned char *)s->partial.p;
	struct slice body = { s->partial.p + TLS_HEADER_N, tls_body_n(header) };
	uint64_t before = s->cipher.seq, least_n = TLS_HEADER_N + tls_cipher_overhead(&s->cipher);
	uint64_t from = 1 + s->lost_n / (least_n + TLS_PLAIN_MAX + 256),
		 to = s->lost_n / least_n + 1;
	size_t n;

	if (to > from + NUMBERS_MAX)
		to = from + NUMBERS_MAX;
	for (uint64_t d = from > 1 ? from - 1 : 1; d <= to && s->tried_n < TRIED_MAX; d++) {
		s->cipher.seq = before + d;
		s->tried_n += body.n;
		if (tls_cipher_open(&s->cipher, header, body, tls_keys_plain(t->keys), &n)) {
			s->cipher.seq = before + d;
			return true;
		}
	}
	s->cipher.seq = before;
	return false;
}

/* What the lost records held, but for headers, tags and, in TLS 1.3, padding. */
static bool tell_gap(struct tls *t, int side, uint64_t records, int64_t time_ns)
{
	struct tls_side *s = &t->sides[side];
	uint64_t around_n = records * (TLS_HEADER_N + tls_cipher_overhead(&s->cipher));
	uint64_t plain_n = s->lost_n > around_n ? s->lost_n - around_n : 1;

	s->is_lost = false;
	s->lost_n = 0;
	/* A handshake message was perhaps cut: the next one begins with a record. */
	buf_reset(&s->message);
	s->message_skip_n = 0;
	t->is_over = !t->sink.gap(t->sink.data, side, plain_n, time_ns);
	return !t->is_over;
}

/* Looks at what partial holds; true when there is nothing left to fail. */
static bool look(struct tls *t, int side, int64_t time_ns)
{
	struct tls_side *s = &t->sides[side];
	uint64_t before = s->cipher.seq;

	while (find_header(s)) {
		if (s->partial.n < TLS_HEADER_N + tls_body_n(s->partial.p))
			return true;
		if (try_numbers(t, s)) {
			s->partial_ns = time_ns;
			s->partial_first_n = s->partial.n;
			return tell_gap(t, side, s->cipher.seq - before, time_ns);
		}
		if (s->tried_n >= TRIED_MAX)
			return tls_fail(t, TLS_LOST);
		eat(s, 1);
	}
	return true;
}

bool tls_resync(struct tls *t, int side, struct slice *bytes, int64_t time_ns)
{
	struct tls_side *s = &t->sides[side];

	while (bytes->n && s->is_lost) {
		size_t room = TLS_HEADER_N + TLS_BODY_MAX - s->partial.n;
		size_t n = bytes->n < room ? bytes->n : room;

		buf_add(&s->partial, bytes->p, n);
		bytes->p += n;
		bytes->n -= n;
		if (s->partial.is_full)
			return tls_fail(t, TLS_LOST);
		if (!look(t, side, time_ns))
			return false;
	}
	return true;
}

/* Only what is under the last secret can be found again: before, a lost message may
 * have changed the keys. */
static bool may_resync(const struct tls *t, const struct tls_side *s)
{
	return t->state == TLS_READING && s->epoch == EPOCH_TRAFFIC && s->gate == GATE_OPEN;
}

/* The record that is not whole yet tells where the next one begins. */
static bool gap_in_record(struct tls *t, int side, uint64_t missing_n, int64_t time_ns)
{
	struct tls_side *s = &t->sides[side];
	size_t body_n = tls_body_n(s->partial.p);

	s->skip_n = TLS_HEADER_N + body_n - s->partial.n - missing_n;
	s->lost_n = TLS_HEADER_N + body_n;
	s->cipher.seq++;
	buf_reset(&s->partial);
	return tell_gap(t, side, 1, time_ns);
}

bool tls_gap(struct tls *t, int side, uint64_t missing_n, int64_t time_ns)
{
	struct tls_side *s = &t->sides[side];
	size_t have_n = s->partial.n;

	if (s->is_closed)
		return true;
	if (s->gate == GATE_KEY)
		return tls_fail(t, TLS_NO_KEY);
	if (!may_resync(t, s))
		return tls_fail(t, TLS_LOST);
	if (!s->is_lost && s->skip_n >= missing_n && s->skip_n) {
		s->skip_n -= missing_n;
		return true;
	}
	if (!s->is_lost && have_n >= TLS_HEADER_N &&
		TLS_HEADER_N + tls_body_n(s->partial.p) - have_n >= missing_n)
		return gap_in_record(t, side, missing_n, time_ns);
	s->lost_n += have_n + missing_n - (s->is_lost ? 0 : s->skip_n);
	s->skip_n = 0;
	s->is_lost = true;
	buf_reset(&s->partial);
	return true;
}
