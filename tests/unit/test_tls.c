/* Connections are made by OpenSSL in this process, in every suite it has. */
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/wire/tls.h"
#include "tests/lib/tlspair.h"

/* What came out. */
struct ear {
	struct tls_keys *keys;
	struct tls *tls;
	struct buf heard[2];
	uint64_t missing_n[2];
	unsigned gaps;
	int64_t first_ns, last_ns; /* of the plain text heard last */
	bool wants_no_more;
	bool is_over; /* tls_feed() or tls_gap() said false */
	int64_t now_ns;
};

static bool on_bytes(void *data, int side, struct slice plain, int64_t time_ns)
{
	struct ear *ear = data;

	if (!ear->heard[side].n)
		ear->first_ns = time_ns;
	ear->last_ns = time_ns;
	buf_add_slice(&ear->heard[side], plain);
	return !ear->wants_no_more;
}

static bool on_gap(void *data, int side, uint64_t missing_n, int64_t time_ns)
{
	struct ear *ear = data;

	(void)time_ns;
	ear->gaps++;
	ear->missing_n[side] += missing_n;
	return true;
}

static void ear_open(struct ear *ear, struct slice keylog)
{
	struct err e = { 0 };
	struct tls_sink sink = { on_bytes, on_gap, ear };

	*ear = (struct ear){ .keys = tls_keys_of(keylog, &e), .now_ns = 1000 };
	assert_non_null(ear->keys);
	ear->tls = tls_new(ear->keys, 0, &sink);
}

static void ear_feed(struct ear *ear, int side, const char *bytes, size_t n)
{
	ear->now_ns += 1000;
	if (!ear->is_over)
		ear->is_over = !tls_feed(ear->tls, side, (struct slice){ bytes, n }, ear->now_ns);
}

static void ear_gap(struct ear *ear, int side, uint64_t n)
{
	if (!ear->is_over)
		ear->is_over = !tls_gap(ear->tls, side, n, ear->now_ns);
}

/* In pieces of at most piece_n bytes. */
static void ear_hear(struct ear *ear, const struct tlspair *p, size_t piece_n)
{
	const char *at = p->sent.p;

	for (size_t i = 0; i < p->flight_count; i++)
		for (size_t left = p->flights[i].n; left;) {
			size_t n = left < piece_n ? left : piece_n;

			ear_feed(ear, p->flights[i].side, at, n);
			at += n;
			left -= n;
		}
}

static void ear_close(struct ear *ear)
{
	tls_free(ear->tls);
	tls_keys_free(ear->keys);
	buf_free(&ear->heard[0]);
	buf_free(&ear->heard[1]);
}

static bool heard_all(const struct ear *ear, const struct tlspair *p)
{
	return slice_same(buf_slice(&ear->heard[0]), buf_slice(&p->said[0])) &&
	       slice_same(buf_slice(&ear->heard[1]), buf_slice(&p->said[1]));
}

static void expect_all(const struct tlspair *p, size_t piece_n)
{
	struct ear ear;

	ear_open(&ear, buf_slice(&p->keylog));
	ear_hear(&ear, p, piece_n);
	assert_int_equal(tls_state(ear.tls), TLS_READING);
	assert_true(heard_all(&ear, p));
	assert_true(tls_end(ear.tls, ear.now_ns));
	ear_close(&ear);
}

static enum tls_state state_after(const struct tlspair *p, struct slice keylog)
{
	enum tls_state state;
	struct ear ear;

	ear_open(&ear, keylog);
	ear_hear(&ear, p, SIZE_MAX);
	state = tls_state(ear.tls);
	assert_int_equal(ear.is_over, state != TLS_READING && state != TLS_OPENING);
	ear_close(&ear);
	return state;
}

static void say(struct tlspair *p, int side, const char *text)
{
	tlspair_say(p, side, text, strlen(text));
}

static void say_much(struct tlspair *p, int side, size_t n)
{
	char *text = malloc(n);

	for (size_t i = 0; i < n; i++)
		text[i] = (char)('a' + i % 26 + i / 1000 % 3);
	tlspair_say(p, side, text, n);
	free(text);
}

static void talk(struct tlspair *p)
{
	say(p, 0, "GET / HTTP/1.1\r\n\r\n");
	say_much(p, 1, 40000);
	say(p, 0, "x");
	say(p, 1, "y");
	tlspair_close(p);
}

static struct tlspair *talked(int version, const char *suites)
{
	struct tlspair *p = tlspair_new(version, suites);

	assert_true(tlspair_handshake(p));
	talk(p);
	return p;
}

/* ---- suites */

static void every_aead_suite_of_tls_12_is_read(void **state)
{
	(void)state;
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	STACK_OF(SSL_CIPHER) * all;
	unsigned read = 0;

	SSL_CTX_set_cipher_list(ctx, "ALL:!aDSS:!ARIA:@SECLEVEL=0");
	all = SSL_CTX_get_ciphers(ctx);
	for (int i = 0; i < sk_SSL_CIPHER_num(all); i++) {
		const SSL_CIPHER *c = sk_SSL_CIPHER_value(all, i);
		struct tlspair *p;

		if (!SSL_CIPHER_is_aead(c) || strcmp(SSL_CIPHER_get_version(c), "TLSv1.2") != 0)
			continue;
		p = tlspair_new(TLS1_2_VERSION, SSL_CIPHER_get_name(c));
		if (!tlspair_handshake(p))
			fail_msg("%s: no handshake", SSL_CIPHER_get_name(c));
		talk(p);
		if (state_after(p, buf_slice(&p->keylog)) != TLS_READING)
			fail_msg("%s is not read", SSL_CIPHER_get_name(c));
		expect_all(p, SIZE_MAX);
		tlspair_free(p);
		read++;
	}
	assert_in_range(read, 40, 100);
	SSL_CTX_free(ctx);
}

static void every_suite_of_tls_13_is_read(void **state)
{
	(void)state;
	static const char *const names[] = { "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
		"TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_CCM_SHA256",
		"TLS_AES_128_CCM_8_SHA256" };

	for (size_t i = 0; i < LENGTH(names); i++) {
		struct tlspair *p = talked(TLS1_3_VERSION, names[i]);

		assert_string_equal(SSL_get_cipher(p->ssl[0]), names[i]);
		expect_all(p, SIZE_MAX);
		tlspair_free(p);
	}
}

static void other_suites_and_versions_are_named(void **state)
{
	(void)state;
	static const struct {
		int version;
		const char *suites;
	} cases[] = {
		{ TLS1_2_VERSION, "AES128-SHA256" },
		{ TLS1_2_VERSION, "ECDHE-RSA-AES256-SHA" },
		{ TLS1_2_VERSION, "ECDHE-ARIA128-GCM-SHA256" },
		{ TLS1_1_VERSION, "ECDHE-RSA-AES256-SHA:@SECLEVEL=0" },
		{ TLS1_VERSION, "AES128-SHA:@SECLEVEL=0" },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct tlspair *p = talked(cases[i].version, cases[i].suites);

		assert_int_equal(state_after(p, buf_slice(&p->keylog)), TLS_SUITE);
		tlspair_free(p);
	}
}

/* ---- records and segments */

static void any_cut_reads_the_same(void **state)
{
	(void)state;
	static const size_t pieces[] = { 1, 2, 5, 6, 7, 63, 1460, 16405, 65536 };
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

	for (size_t v = 0; v < LENGTH(versions); v++) {
		struct tlspair *p = talked(versions[v], NULL);

		for (size_t i = 0; i < LENGTH(pieces); i++)
			expect_all(p, pieces[i]);
		tlspair_free(p);
	}
}

static void handshake_messages_may_span_records(void **state)
{
	(void)state;
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

	for (size_t v = 0; v < LENGTH(versions); v++) {
		struct tlspair *p = tlspair_new(versions[v], NULL);

		SSL_set_max_send_fragment(p->ssl[0], 512);
		SSL_set_max_send_fragment(p->ssl[1], 512);
		SSL_set_tlsext_host_name(p->ssl[0], "a.example");
		assert_true(tlspair_handshake(p));
		talk(p);
		expect_all(p, SIZE_MAX);
		expect_all(p, 100);
		tlspair_free(p);
	}
}

static void padding_is_taken_off(void **state)
{
	(void)state;
	struct tlspair *p = tlspair_new(TLS1_3_VERSION, NULL);

	SSL_set_block_padding(p->ssl[0], 4096);
	SSL_set_block_padding(p->ssl[1], 512);
	assert_true(tlspair_handshake(p));
	talk(p);
	expect_all(p, SIZE_MAX);
	tlspair_free(p);
}

static void plain_text_has_its_packets_times(void **state)
{
	(void)state;
	struct tlspair *p = tlspair_new(TLS1_3_VERSION, NULL);
	struct ear ear;
	const char *at;

	assert_true(tlspair_handshake(p));
	ear_open(&ear, buf_slice(&p->keylog));
	ear_hear(&ear, p, SIZE_MAX);
	p->flight_count = 0;
	buf_reset(&p->sent);
	say_much(p, 0, 3000);
	ear.now_ns = 50000;
	at = p->sent.p;
	ear_feed(&ear, 0, at, 1000); /* 51000 */
	ear_feed(&ear, 0, at + 1000, 1000);
	assert_int_equal(ear.heard[0].n, 0);
	ear_feed(&ear, 0, at + 2000, p->sent.n - 2000); /* 53000 */
	assert_int_equal(ear.first_ns, 51000);
	assert_int_equal(ear.last_ns, 53000);
	assert_int_equal(ear.heard[0].n, 3000);
	ear_close(&ear);
	tlspair_free(p);
}

static void the_server_chooses_the_protocol(void **state)
{
	(void)state;
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

	for (size_t v = 0; v < LENGTH(versions); v++) {
		struct tlspair *p = talked(versions[v], NULL);
		struct ear ear;

		ear_open(&ear, buf_slice(&p->keylog));
		ear_hear(&ear, p, SIZE_MAX);
		assert_string_equal(tls_alpn(ear.tls), "http/1.1");
		ear_close(&ear);
		tlspair_free(p);
	}
}

static void a_sink_that_has_enough_ends_it(void **state)
{
	(void)state;
	struct tlspair *p = talked(TLS1_3_VERSION, NULL);
	struct ear ear;

	ear_open(&ear, buf_slice(&p->keylog));
	ear.wants_no_more = true;
	ear_hear(&ear, p, SIZE_MAX);
	assert_true(ear.is_over);
	assert_int_equal(tls_state(ear.tls), TLS_READING);
	assert_int_equal(ear.heard[0].n, 18);
	assert_int_equal(ear.heard[1].n, 0);
	ear_close(&ear);
	tlspair_free(p);
}

/* ---- handshakes */

static void a_hello_that_is_asked_again_is_read(void **state)
{
	(void)state;
	struct tlspair *p = tlspair_new(TLS1_3_VERSION, NULL);
	struct ear ear;

	SSL_set1_groups_list(p->ssl[0], "X25519:P-384");
	SSL_set1_groups_list(p->ssl[1], "P-384");
	assert_true(tlspair_handshake(p));
	talk(p);
	expect_all(p, SIZE_MAX);
	ear_open(&ear, buf_slice(&p->keylog));
	ear_hear(&ear, p, SIZE_MAX);
	assert_int_equal(tls_handshakes(ear.tls), 2);
	ear_close(&ear);
	tlspair_free(p);
}

static void resumed_sessions_are_read(void **state)
{
	(void)state;
	static const struct {
		int version;
		uint64_t options;
	} cases[] = { { TLS1_2_VERSION, 0 }, { TLS1_2_VERSION, SSL_OP_NO_TICKET },
		{ TLS1_3_VERSION, 0 } };

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct tlspair *p = tlspair_new(cases[i].version, NULL);
		SSL_SESSION *session;

		SSL_CTX_set_options(p->ctx[1], cases[i].options);
		SSL_set_options(p->ssl[1], cases[i].options);
		assert_true(tlspair_handshake(p));
		talk(p);
		session = SSL_get1_session(p->ssl[0]);
		tlspair_again(p, session);
		assert_true(tlspair_handshake(p));
		assert_true(SSL_session_reused(p->ssl[0]));
		talk(p);
		expect_all(p, SIZE_MAX);
		expect_all(p, 50);
		SSL_SESSION_free(session);
		tlspair_free(p);
	}
}

static void a_renegotiation_is_read(void **state)
{
	(void)state;
	struct tlspair *p = tlspair_new(TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256");
	struct ear ear;

	SSL_set_options(p->ssl[1], SSL_OP_ALLOW_CLIENT_RENEGOTIATION);
	assert_true(tlspair_handshake(p));
	say(p, 0, "before");
	SSL_renegotiate(p->ssl[0]);
	assert_true(tlspair_handshake(p));
	say(p, 0, "after");
	say(p, 1, "answer");
	expect_all(p, SIZE_MAX);
	ear_open(&ear, buf_slice(&p->keylog));
	ear_hear(&ear, p, SIZE_MAX);
	assert_int_equal(tls_handshakes(ear.tls), 2);
	ear_close(&ear);
	tlspair_free(p);
}

static void keys_that_are_updated_are_followed(void **state)
{
	(void)state;
	struct tlspair *p = tlspair_new(TLS1_3_VERSION, NULL);

	assert_true(tlspair_handshake(p));
	for (int i = 0; i < 6; i++) {
		say(p, 0, "question");
		say(p, 1, "answer");
		SSL_key_update(p->ssl[i % 2],
			i % 3 ? SSL_KEY_UPDATE_NOT_REQUESTED : SSL_KEY_UPDATE_REQUESTED);
		SSL_do_handshake(p->ssl[i % 2]);
		tlspair_move(p);
	}
	talk(p);
	expect_all(p, SIZE_MAX);
	expect_all(p, 3);
	tlspair_free(p);
}

/* ---- early data */

static SSL_SESSION *early_session(struct tlspair *p)
{
	SSL_SESSION *session;

	SSL_CTX_set_max_early_data(p->ctx[1], 16384);
	tlspair_again(p, NULL);
	assert_true(tlspair_handshake(p));
	say(p, 1, "ticket");
	tlspair_close(p);
	session = SSL_get1_session(p->ssl[0]);
	assert_true(SSL_SESSION_get_max_early_data(session) > 0);
	return session;
}

static void say_early(struct tlspair *p, const char *text)
{
	char got[64];
	size_t n;

	SSL_write_early_data(p->ssl[0], text, strlen(text), &n);
	assert_int_equal(n, strlen(text));
	n = 0;
	tlspair_carry(p);
	if (SSL_read_early_data(p->ssl[1], got, sizeof got, &n) == SSL_READ_EARLY_DATA_SUCCESS)
		buf_add(&p->said[0], got, n);
	/* An answer before the handshake is over. */
	if (n)
		SSL_write_early_data(p->ssl[1], "half", 4, &n);
	tlspair_move(p);
	for (int i = 0; i < 4; i++) {
		SSL_do_handshake(p->ssl[0]);
		tlspair_move(p);
		SSL_read_early_data(p->ssl[1], got, sizeof got, &n);
		tlspair_move(p);
		SSL_do_handshake(p->ssl[1]);
		tlspair_move(p);
	}
}

static void early_data_is_read(void **state)
{
	(void)state;
	struct tlspair *p = tlspair_new(TLS1_3_VERSION, NULL);
	SSL_SESSION *session = early_session(p);

	tlspair_again(p, session);
	say_early(p, "early request");
	assert_int_equal(SSL_get_early_data_status(p->ssl[0]), SSL_EARLY_DATA_ACCEPTED);
	talk(p);
	assert_true(p->said[0].n > strlen("early request"));
	expect_all(p, SIZE_MAX);
	expect_all(p, 9);
	SSL_SESSION_free(session);
	tlspair_free(p);
}

static void refused_early_data_is_passed_over(void **state)
{
	(void)state;
	for (int is_retry = 0; is_retry < 2; is_retry++) {
		struct tlspair *p = tlspair_new(TLS1_3_VERSION, NULL);
		SSL_SESSION *session = early_session(p);
		size_t n = 0;

		tlspair_again(p, session);
		/* A server that does not ask for it refuses; or it asks for another hello. */
		if (is_retry)
			SSL_set1_groups_list(p->ssl[1], "P-384");
		SSL_write_early_data(p->ssl[0], "early request", 13, &n);
		assert_int_equal(n, 13);
		for (int i = 0; i < 4; i++) {
			tlspair_carry(p);
			SSL_do_handshake(p->ssl[1]);
			tlspair_carry(p);
			SSL_do_handshake(p->ssl[0]);
		}
		assert_true(tlspair_handshake(p));
		assert_int_equal(SSL_get_early_data_status(p->ssl[0]), SSL_EARLY_DATA_REJECTED);
		talk(p);
		expect_all(p, SIZE_MAX);
		expect_all(p, 11);
		SSL_SESSION_free(session);
		tlspair_free(p);
	}
}

/* ---- what is missing */

static struct tlspair *sent_in_one_flight(int version, const char *suites, size_t *ret_before)
{
	struct tlspair *p = tlspair_new(version, suites);

	assert_true(tlspair_handshake(p));
	say(p, 0, "GET");
	*ret_before = p->flight_count;
	for (int i = 0; i < 10; i++)
		say_much(p, 1, 16000 + (size_t)i);
	say_much(p, 1, 100);
	return p;
}

/* Everything but n bytes from the place `from` of what the server said last. */
static void hear_with_hole(
	struct ear *ear, const struct tlspair *p, size_t before, uint64_t from, size_t n)
{
	const char *at = p->sent.p;
	uint64_t done = 0;

	for (size_t i = 0; i < p->flight_count; i++) {
		size_t left = p->flights[i].n;

		while (left) {
			size_t piece = left < 1000 ? left : 1000;

			if (i >= before && done < from && from - done < piece)
				piece = from - done;
			if (i >= before && done >= from && done < from + n) {
				if (from + n - done < piece)
					piece = from + n - done;
				if (done + piece == from + n)
					ear_gap(ear, 1, n);
			} else {
				ear_feed(ear, p->flights[i].side, at, piece);
			}
			done += i >= before ? piece : 0;
			at += piece;
			left -= piece;
		}
	}
}

static void reading_goes_on_after_missing_packets(void **state)
{
	(void)state;
	static const char *const suites[] = { "ECDHE-RSA-AES128-GCM-SHA256",
		"ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-ECDSA-AES128-CCM8", NULL };
	static const struct {
		uint64_t from;
		size_t n;
	} holes[] = { { 1000, 1000 }, { 3, 50 }, { 0, 1000 }, { 15000, 3000 }, { 2, 1 },
		{ 1000, 100000 }, { 0, 150000 }, { 16020, 1 } };

	for (size_t k = 0; k < LENGTH(suites); k++) {
		size_t before;
		struct tlspair *p = sent_in_one_flight(
			suites[k] ? TLS1_2_VERSION : TLS1_3_VERSION, suites[k], &before);

		for (size_t i = 0; i < LENGTH(holes); i++) {
			struct ear ear;
			size_t tail_n = 16000;

			ear_open(&ear, buf_slice(&p->keylog));
			hear_with_hole(&ear, p, before, holes[i].from, holes[i].n);
			assert_int_equal(tls_state(ear.tls), TLS_READING);
			assert_int_equal(ear.gaps, 1);
			/* Missing and heard are all that was said. */
			assert_int_equal(ear.heard[1].n + ear.missing_n[1], p->said[1].n);
			assert_true(
				ear.missing_n[1] >= 1 && ear.missing_n[1] <= holes[i].n + 32010);
			if (tail_n > ear.heard[1].n)
				tail_n = ear.heard[1].n;
			assert_true(tail_n >= 100);
			assert_memory_equal(ear.heard[1].p + ear.heard[1].n - tail_n,
				p->said[1].p + p->said[1].n - tail_n, tail_n);
			ear_close(&ear);
		}
		tlspair_free(p);
	}
}

static void a_gap_in_the_handshake_loses_the_rest(void **state)
{
	(void)state;
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

	for (size_t v = 0; v < LENGTH(versions); v++) {
		struct tlspair *p = talked(versions[v], NULL);
		struct ear ear;

		ear_open(&ear, buf_slice(&p->keylog));
		ear_feed(&ear, 0, p->sent.p, p->flights[0].n);
		ear_gap(&ear, 1, 100);
		assert_true(ear.is_over);
		assert_int_equal(tls_state(ear.tls), TLS_LOST);
		ear_close(&ear);
		tlspair_free(p);
	}
}

static void bytes_that_never_authenticate_again_are_lost(void **state)
{
	(void)state;
	size_t before;
	struct tlspair *p = sent_in_one_flight(TLS1_3_VERSION, NULL, &before);
	struct ear ear;

	ear_open(&ear, buf_slice(&p->keylog));
	p->flight_count = before;
	ear_hear(&ear, p, SIZE_MAX);
	ear_gap(&ear, 1, 100);
	for (size_t i = 0; i < 100; i++)
		ear_feed(&ear, 1, "\x17\x03\x03\x00\x20 no record of this connection at all", 40);
	assert_false(ear.is_over);
	assert_int_equal(ear.heard[1].n, 0);
	assert_false(tls_end(ear.tls, ear.now_ns));
	assert_int_equal(tls_state(ear.tls), TLS_LOST);
	ear_close(&ear);
	tlspair_free(p);
}

/* ---- what is wrong */

static void a_record_that_was_changed_does_not_authenticate(void **state)
{
	(void)state;
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

	for (size_t v = 0; v < LENGTH(versions); v++) {
		struct tlspair *p = talked(versions[v], NULL);

		p->sent.p[p->sent.n - 100] ^= 1;
		assert_int_equal(state_after(p, buf_slice(&p->keylog)), TLS_BROKEN);
		tlspair_free(p);
	}
}

static void what_is_no_tls_is_broken(void **state)
{
	(void)state;
	static const char *const streams[] = { "GET / HTTP/1.1", "\x16\x03\x01\xff\xff......",
		"\x16\x02\x01\x00\x04", "\x17\x03\x03\x00\x01x",
		"\x14\x03\x03\x00\x01\x01\x17\x03\x03\x00\x01x",
		"\x16\x03\x01\x00\x08\x01\xff\xff\xff\x03\x03......",
		"\x16\x03\x01\x00\x06\x01\x00\x00\x02\x03\x03" };

	static const size_t sizes[] = { 14, 11, 5, 6, 12, 13, 11 };

	for (size_t i = 0; i < LENGTH(streams); i++) {
		struct ear ear;

		ear_open(&ear, SLICE(""));
		ear_feed(&ear, 0, streams[i], sizes[i]);
		assert_true(ear.is_over);
		assert_int_equal(tls_state(ear.tls), TLS_BROKEN);
		ear_close(&ear);
	}
}

/* ---- keys */

static void without_its_key_a_connection_says_so(void **state)
{
	(void)state;
	struct tlspair *p = talked(TLS1_3_VERSION, NULL), *q = talked(TLS1_2_VERSION, NULL);

	assert_int_equal(state_after(p, SLICE("")), TLS_NO_KEY);
	assert_int_equal(state_after(q, SLICE("")), TLS_NO_KEY);
	assert_int_equal(state_after(q, buf_slice(&p->keylog)), TLS_NO_KEY);
	tlspair_free(p);
	tlspair_free(q);
}

static void a_wrong_secret_opens_nothing(void **state)
{
	(void)state;
	struct tlspair *p = talked(TLS1_2_VERSION, NULL);
	char *digit = p->keylog.p + p->keylog.n - 2;

	*digit = *digit == '0' ? '1' : '0';
	assert_int_equal(state_after(p, buf_slice(&p->keylog)), TLS_BROKEN);
	tlspair_free(p);
}

static void keys_that_come_later_open_what_is_held(void **state)
{
	(void)state;
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

	for (size_t v = 0; v < LENGTH(versions); v++) {
		struct tlspair *p = talked(versions[v], NULL);
		struct err e = { 0 };
		struct ear ear;

		ear_open(&ear, SLICE(""));
		tls_keys_follow(ear.keys);
		ear_hear(&ear, p, SIZE_MAX);
		assert_false(ear.is_over);
		assert_int_equal(ear.heard[0].n + ear.heard[1].n, 0);
		assert_true(tls_keys_add(ear.keys, buf_slice(&p->keylog), &e));
		assert_true(tls_end(ear.tls, ear.now_ns));
		assert_true(heard_all(&ear, p));
		ear_close(&ear);
		tlspair_free(p);
	}
}

static void what_is_held_has_a_cap_and_an_age(void **state)
{
	(void)state;
	struct tlspair *p = tlspair_new(TLS1_3_VERSION, NULL);
	struct ear ear;

	assert_true(tlspair_handshake(p));
	say_much(p, 1, 100);
	ear_open(&ear, SLICE(""));
	tls_keys_follow(ear.keys);
	ear_hear(&ear, p, SIZE_MAX);
	assert_false(ear.is_over);
	ear.now_ns += 6 * NS_PER_S;
	ear_feed(&ear, 1, "\x17\x03\x03\x00\x02xy", 7);
	assert_true(ear.is_over);
	assert_int_equal(tls_state(ear.tls), TLS_NO_KEY);
	ear_close(&ear);

	for (int i = 0; i < 20; i++)
		say_much(p, 1, 16000);
	ear_open(&ear, SLICE(""));
	tls_keys_follow(ear.keys);
	ear_hear(&ear, p, SIZE_MAX);
	assert_true(ear.is_over);
	assert_int_equal(tls_state(ear.tls), TLS_NO_KEY);
	ear_close(&ear);
	tlspair_free(p);
}

#define RANDOM "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"
#define SECRET32 "0102030405060708090a0b0c0d0e0f100102030405060708090a0b0c0d0e0f10"
#define SECRET48 SECRET32 "0102030405060708090a0b0c0d0e0f10"

static void lines_of_a_key_log(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int keys; /* -1: refused */
	} cases[] = {
		{ "", 0 },
		{ "# made by hand\n\n", 0 },
		{ "CLIENT_RANDOM " RANDOM " " SECRET48 "\n", 1 },
		{ "CLIENT_RANDOM " RANDOM " " SECRET48 "\r\n", 1 },
		{ "CLIENT_RANDOM " RANDOM " " SECRET48, 1 },
		{ "CLIENT_TRAFFIC_SECRET_0 " RANDOM " " SECRET32 "\nSERVER_TRAFFIC_SECRET_0 " RANDOM
		  " " SECRET48 "\n",
			2 },
		{ "CLIENT_RANDOM " RANDOM " " SECRET48 "\nCLIENT_RANDOM " RANDOM " " SECRET48 "\n",
			1 },
		{ "EXPORTER_SECRET " RANDOM " " SECRET32 "\nRSA 0123456789abcdef " SECRET48 "\n",
			0 },
		{ "CLIENT_RANDOM " RANDOM " " SECRET32 "\n", -1 },
		{ "CLIENT_RANDOM " RANDOM "\n", -1 },
		{ "CLIENT_RANDOM 0011 " SECRET48 "\n", -1 },
		{ "CLIENT_TRAFFIC_SECRET_0 " RANDOM " " SECRET32 "zz\n", -1 },
		{ "-----BEGIN PRIVATE KEY-----\n", -1 },
		{ "{\"json\": 1}\n", -1 },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct err e = { 0 };
		struct tls_keys *k = tls_keys_of(slice_of(cases[i].text), &e);

		if (cases[i].keys < 0) {
			assert_null(k);
			assert_int_equal(e.kind, ERR_INPUT);
			assert_string_equal(e.where, "key log: line 1");
			assert_null(strstr(e.what, "0011"));
			continue;
		}
		assert_non_null(k);
		assert_int_equal(tls_keys_count(k), cases[i].keys);
		tls_keys_free(k);
	}
}

static void append(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void a_key_log_grows(void **state)
{
	(void)state;
	char path[] = "/tmp/test_tls.XXXXXX";
	struct err e = { 0 };
	struct tls_keys *k;

	close(mkstemp(path));
	append(path, "CLIENT_TRAFFIC_SECRET_0 " RANDOM " " SECRET32 "\nSERVER_TRAF");
	k = tls_keys_load(path, &e);
	assert_non_null(k);
	assert_int_equal(tls_keys_count(k), 1);
	append(path, "FIC_SECRET_0 " RANDOM " " SECRET32 "\n???\nCLIENT_EARLY_TRAFFIC_SECRET ");
	assert_true(tls_keys_refresh(k, &e));
	assert_int_equal(tls_keys_count(k), 2);
	assert_int_equal(tls_keys_odd_lines(k), 1);
	append(path, RANDOM " " SECRET32 "\n");
	assert_true(tls_keys_refresh(k, &e));
	assert_int_equal(tls_keys_count(k), 3);
	/* Begun anew. */
	assert_int_equal(truncate(path, 0), 0);
	append(path, "SERVER_HANDSHAKE_TRAFFIC_SECRET " RANDOM " " SECRET32 "\n");
	assert_true(tls_keys_refresh(k, &e));
	assert_int_equal(tls_keys_count(k), 4);
	tls_keys_free(k);
	unlink(path);
}

static void others_must_not_read_the_key_log(void **state)
{
	(void)state;
	char path[] = "/tmp/test_tls.XXXXXX";
	struct err e = { 0 };
	struct tls_keys *k;

	close(mkstemp(path));
	chmod(path, 0640);
	assert_null(tls_keys_load(path, &e));
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_non_null(strstr(e.hint, "chmod 600"));
	chmod(path, 0600);
	k = tls_keys_load(path, &e);
	assert_non_null(k);
	tls_keys_free(k);
	unlink(path);
	assert_null(tls_keys_load("/nowhere/keys", &e));
	assert_null(tls_keys_load("/", &e));
}

static void a_name_for_each_state(void **state)
{
	(void)state;
	assert_string_equal(tls_state_name(TLS_NO_KEY), "no_key");
	assert_string_equal(tls_state_name(TLS_BROKEN), "broken");
}

/* ---- tests/fuzz/corpus/tls is made by: test_tls tests/fuzz/corpus/tls */

static void write_seed(const struct tlspair *p, const char *dir, const char *name, int is_late)
{
	char path[512];
	const char *at = p->sent.p;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "wb");
	fprintf(f, "%c%c%c", is_late, (int)(p->keylog.n >> 8), (int)(p->keylog.n & 0xff));
	fwrite(p->keylog.p, 1, p->keylog.n, f);
	for (size_t i = 0; i < p->flight_count; i++)
		for (size_t left = p->flights[i].n; left;) {
			size_t n = left < 63 ? left : left < 4080 ? left / 16 * 16 : 4080;

			fputc((int)((left < 63 ? n : 63) << 2) | p->flights[i].side, f);
			if (left >= 63)
				fputc((int)(n / 16), f);
			fwrite(at, 1, n, f);
			at += n;
			left -= n;
		}
	fclose(f);
}

static int write_seeds(const char *dir)
{
	static const struct {
		const char *name, *suites;
		int version, is_late;
	} seeds[] = { { "gcm-12", "ECDHE-ECDSA-AES128-GCM-SHA256", TLS1_2_VERSION, 0 },
		{ "ccm-12-late", "ECDHE-ECDSA-AES128-CCM8", TLS1_2_VERSION, 1 },
		{ "chacha-12", "ECDHE-ECDSA-CHACHA20-POLY1305", TLS1_2_VERSION, 0 },
		{ "cbc-12", "ECDHE-ECDSA-AES128-SHA", TLS1_2_VERSION, 0 },
		{ "gcm-13", "TLS_AES_128_GCM_SHA256", TLS1_3_VERSION, 0 },
		{ "gcm-13-late", "TLS_AES_256_GCM_SHA384", TLS1_3_VERSION, 1 } };

	for (size_t i = 0; i < LENGTH(seeds); i++) {
		struct tlspair *p = tlspair_new(seeds[i].version, seeds[i].suites);

		tlspair_handshake(p);
		say(p, 0, "GET / HTTP/1.1\r\n\r\n");
		say(p, 1, "HTTP/1.1 204 No\r\n\r\n");
		if (seeds[i].version == TLS1_3_VERSION)
			SSL_key_update(p->ssl[0], SSL_KEY_UPDATE_REQUESTED);
		say(p, 0, "GET /b HTTP/1.1\r\n\r\n");
		say(p, 1, "HTTP/1.1 204 No\r\n\r\n");
		tlspair_close(p);
		write_seed(p, dir, seeds[i].name, seeds[i].is_late);
		tlspair_free(p);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return write_seeds(argv[1]);

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_aead_suite_of_tls_12_is_read),
		cmocka_unit_test(every_suite_of_tls_13_is_read),
		cmocka_unit_test(other_suites_and_versions_are_named),
		cmocka_unit_test(any_cut_reads_the_same),
		cmocka_unit_test(handshake_messages_may_span_records),
		cmocka_unit_test(padding_is_taken_off),
		cmocka_unit_test(plain_text_has_its_packets_times),
		cmocka_unit_test(the_server_chooses_the_protocol),
		cmocka_unit_test(a_sink_that_has_enough_ends_it),
		cmocka_unit_test(a_hello_that_is_asked_again_is_read),
		cmocka_unit_test(resumed_sessions_are_read),
		cmocka_unit_test(a_renegotiation_is_read),
		cmocka_unit_test(keys_that_are_updated_are_followed),
		cmocka_unit_test(early_data_is_read),
		cmocka_unit_test(refused_early_data_is_passed_over),
		cmocka_unit_test(reading_goes_on_after_missing_packets),
		cmocka_unit_test(a_gap_in_the_handshake_loses_the_rest),
		cmocka_unit_test(bytes_that_never_authenticate_again_are_lost),
		cmocka_unit_test(a_record_that_was_changed_does_not_authenticate),
		cmocka_unit_test(what_is_no_tls_is_broken),
		cmocka_unit_test(without_its_key_a_connection_says_so),
		cmocka_unit_test(a_wrong_secret_opens_nothing),
		cmocka_unit_test(keys_that_come_later_open_what_is_held),
		cmocka_unit_test(what_is_held_has_a_cap_and_an_age),
		cmocka_unit_test(lines_of_a_key_log),
		cmocka_unit_test(a_key_log_grows),
		cmocka_unit_test(others_must_not_read_the_key_log),
		cmocka_unit_test(a_name_for_each_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
