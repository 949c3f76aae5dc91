#include "tests/lib/unit.h"

#include "capture/wire/http2.h"
#include "tests/lib/httptalk.h"

/* ---- frames by hand */

static void frame(
	struct buf *b, uint8_t type, uint8_t flags, uint32_t stream, const void *p, size_t n)
{
	unsigned char head[9] = { (unsigned char)(n >> 16), (unsigned char)(n >> 8),
		(unsigned char)n, type, flags, 0, (unsigned char)(stream >> 16),
		(unsigned char)(stream >> 8), (unsigned char)stream };

	buf_add(b, head, sizeof head);
	buf_add(b, p, n);
}

/* A literal field: kind 0x40 goes into the table, 0 does not (RFC 7541, 6.2). */
static void field(struct buf *b, uint8_t kind, const char *name, const char *value)
{
	buf_add_byte(b, kind);
	buf_add_byte(b, (unsigned char)strlen(name));
	buf_add_text(b, name);
	buf_add_byte(b, (unsigned char)strlen(value));
	buf_add_text(b, value);
}

enum { ENDS = HTTP2_END_HEADERS | HTTP2_END_STREAM };

static void headers(struct buf *b, uint32_t stream, uint8_t flags, struct buf *block)
{
	frame(b, HTTP2_HEADERS, flags, stream, block->p, block->n);
	buf_free(block);
	buf_init(block, 0);
}

static void ask(struct buf *b, uint32_t stream, uint8_t flags, const char *path)
{
	struct buf block = { 0 };

	buf_add_byte(&block, 0x82); /* :method GET */
	field(&block, 0, ":path", path);
	headers(b, stream, flags, &block);
	buf_free(&block);
}

static void answer(struct buf *b, uint32_t stream, uint8_t flags)
{
	struct buf block = { 0 };

	buf_add_byte(&block, 0x88); /* :status 200 */
	headers(b, stream, flags, &block);
	buf_free(&block);
}

static void say(struct httptalk *t, int side, struct buf *b)
{
	httptalk_say(t, side, b->p, b->n);
	buf_reset(b);
}

struct talk {
	struct httptalk *t;
	struct buf c, s;
};

static struct talk begin(void)
{
	struct talk x = { .t = httptalk_new(false) };

	buf_add_text(&x.c, HTTP2_PREFACE);
	frame(&x.c, HTTP2_SETTINGS, 0, 0, NULL, 0);
	frame(&x.s, HTTP2_SETTINGS, 0, 0, NULL, 0);
	return x;
}

static void end(struct talk *x, const char *lines)
{
	say(x->t, 0, &x->c);
	say(x->t, 1, &x->s);
	httptalk_close(x->t);
	assert_string_equal(buf_text(&x->t->lines), lines);
	assert_null(httptalk_fault(x->t));
	httptalk_free(x->t);
	buf_free(&x->c);
	buf_free(&x->s);
}

/* ---- */

static void streams_are_told_apart(void **state)
{
	(void)state;
	struct talk x = begin();

	ask(&x.c, 1, ENDS, "/a");
	ask(&x.c, 3, ENDS, "/b");
	answer(&x.s, 3, HTTP2_END_HEADERS);
	answer(&x.s, 1, ENDS);
	frame(&x.s, HTTP2_DATA, HTTP2_END_STREAM, 3, "xyz", 3);
	end(&x, "GET /a 200\nGET /b 200\n");
}

/* grpc_in: the HEADERS that has it, 0 trailers-only, 1 trailers. */
static void grpc_call(struct talk *x, uint32_t stream, const char *status, int grpc_in)
{
	struct buf block = { 0 };

	buf_add_byte(&block, 0x83);
	field(&block, 0, ":path", "/shop.Cart/Add");
	field(&block, 0, "content-type", "application/grpc");
	headers(&x->c, stream, HTTP2_END_HEADERS, &block);
	frame(&x->c, HTTP2_DATA, HTTP2_END_STREAM, stream, "\0\0\0\0\1x", 6);
	buf_add_byte(&block, 0x88);
	if (grpc_in == 1) {
		headers(&x->s, stream, HTTP2_END_HEADERS, &block);
		frame(&x->s, HTTP2_DATA, 0, stream, "\0\0\0\0\0", 5);
	}
	field(&block, 0, "grpc-status", status);
	headers(&x->s, stream, ENDS, &block);
	buf_free(&block);
}

static void grpc_status_is_in_trailers_or_alone(void **state)
{
	(void)state;
	struct talk x = begin();
	struct httptalk *t = x.t;

	grpc_call(&x, 1, "0", 1);
	grpc_call(&x, 3, "14", 0);
	say(t, 0, &x.c);
	say(t, 1, &x.s);
	assert_non_null(strstr(t->lines.p, " grpc=0\n"));
	assert_non_null(strstr(t->lines.p, " grpc=14\n"));
	assert_int_equal(t->requests, 2);
	buf_reset(&t->lines);
	end(&x, "");
}

static void padding_priority_and_continuation_are_cut_off(void **state)
{
	(void)state;
	struct talk x = begin();
	struct buf block = { 0 }, padded = { 0 };

	buf_add_byte(&padded, 3);
	buf_add(&padded, "\0\0\0\0\20", 5);
	buf_add_byte(&padded, 0x82);
	buf_add(&padded, "\0\0\0", 3);
	headers(&x.c, 1, HTTP2_PADDED | HTTP2_HAS_PRIORITY, &padded);
	field(&block, 0, ":path", "/a");
	frame(&x.c, HTTP2_CONTINUATION, HTTP2_END_HEADERS, 1, block.p, block.n);
	frame(&x.c, HTTP2_DATA, HTTP2_PADDED | HTTP2_END_STREAM, 1, "\2ab\0\0", 5);
	answer(&x.s, 1, ENDS);
	buf_free(&block);
	buf_free(&padded);
	end(&x, "GET /a 200 body=ab\n");
}

static void reset_and_goaway_end_requests(void **state)
{
	(void)state;
	struct talk x = begin();

	ask(&x.c, 1, ENDS, "/a");
	ask(&x.c, 3, ENDS, "/b");
	ask(&x.c, 5, ENDS, "/c");
	frame(&x.c, HTTP2_RST_STREAM, 0, 1, "\0\0\0\10", 4);
	answer(&x.s, 3, HTTP2_END_HEADERS);
	frame(&x.s, HTTP2_RST_STREAM, 0, 3, "\0\0\0\2", 4);
	frame(&x.s, HTTP2_GOAWAY, 0, 0, "\0\0\0\3\0\0\0\0", 8);
	end(&x, "GET /a 0 unanswered cancelled\nGET /b 200 cancelled\nGET /c 0 unanswered\n");
}

static void interim_answers_and_pushes_are_no_answers(void **state)
{
	(void)state;
	struct talk x = begin();
	struct buf block = { 0 };

	ask(&x.c, 1, ENDS, "/a");
	field(&block, 0, ":status", "103");
	headers(&x.s, 1, HTTP2_END_HEADERS, &block);
	frame(&x.s, HTTP2_PUSH_PROMISE, HTTP2_END_HEADERS, 1, "\0\0\0\2\x82", 5);
	answer(&x.s, 2, ENDS);
	answer(&x.s, 1, ENDS);
	say(x.t, 0, &x.c);
	say(x.t, 1, &x.s);
	assert_int_equal(x.t->ledger.lost[LOST_PUSH], 1);
	buf_free(&block);
	end(&x, "GET /a 200\n");
}

static void the_table_is_followed(void **state)
{
	(void)state;
	struct talk x = begin();
	struct buf block = { 0 };

	buf_add_byte(&block, 0x82);
	field(&block, 0x40, ":path", "/kept");
	headers(&x.c, 1, ENDS, &block);
	buf_add(&block, "\x82\xbe", 2); /* entry 62: the newest */
	headers(&x.c, 3, ENDS, &block);
	buf_free(&block);
	end(&x, "GET /kept 0 unanswered\nGET /kept 0 unanswered\n");
}

static void joined_late_old_fields_are_unknown_and_new_ones_are_not(void **state)
{
	(void)state;
	struct talk x = { .t = httptalk_new(true) };
	struct buf block = { 0 };

	buf_add(&block, "\x82\xbe", 2);
	headers(&x.c, 7, ENDS, &block);
	buf_add_byte(&block, 0x82);
	field(&block, 0x40, ":path", "/new");
	headers(&x.c, 9, ENDS, &block);
	buf_add(&block, "\x82\xbe", 2);
	headers(&x.c, 11, ENDS, &block);
	buf_add(&block, "\x82\xff\x80\x7f", 4); /* past the end of any table */
	headers(&x.c, 13, ENDS, &block);
	buf_add(&block, "\x82\xbe", 2); /* now in doubt again */
	headers(&x.c, 15, ENDS, &block);
	say(x.t, 0, &x.c);
	assert_int_equal(x.t->ledger.lost[LOST_FIELDS], 3);
	answer(&x.s, 9, ENDS);
	buf_free(&block);
	end(&x, "GET /new 200\nGET  0 unanswered unknown cut\nGET /new 0 unanswered\n"
		"GET  0 unanswered unknown cut\nGET  0 unanswered unknown cut\n");
}

static void a_gap_in_data_is_passed_over_and_any_other_forgets_the_table(void **state)
{
	(void)state;
	struct talk x = begin();
	struct buf block = { 0 };

	buf_add_byte(&block, 0x82);
	field(&block, 0x40, ":path", "/a");
	headers(&x.c, 1, HTTP2_END_HEADERS, &block);
	frame(&x.c, HTTP2_DATA, HTTP2_END_STREAM, 1, "0123456789", 10);
	x.c.n -= 8;
	say(x.t, 0, &x.c);
	httptalk_gap(x.t, 0, 3);
	buf_add_text(&x.c, "56789");
	say(x.t, 0, &x.c);
	assert_int_equal(x.t->ledger.lost[LOST_RESYNC], 0);
	answer(&x.s, 1, ENDS);
	say(x.t, 1, &x.s);
	httptalk_gap(x.t, 0, 50);
	buf_add(&block, "\x82\xbe", 2);
	headers(&x.c, 5, ENDS, &block);
	buf_free(&block);
	end(&x, "GET /a 200 body=01 gap cut\nGET  0 unanswered unknown cut\n");
}

static void h2c_upgrade_answers_on_stream_one(void **state)
{
	(void)state;
	struct talk x = { .t = httptalk_new(false) };

	buf_add_text(&x.c, "GET /up HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\n"
			   "Upgrade: h2c\r\nHTTP2-Settings: AAEAABAA\r\n\r\n");
	say(x.t, 0, &x.c);
	buf_add_text(&x.s, "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
	frame(&x.s, HTTP2_SETTINGS, 0, 0, NULL, 0);
	answer(&x.s, 1, ENDS);
	say(x.t, 1, &x.s);
	buf_add_text(&x.c, HTTP2_PREFACE);
	frame(&x.c, HTTP2_SETTINGS, 0, 0, NULL, 0);
	ask(&x.c, 3, ENDS, "/next");
	say(x.t, 0, &x.c);
	answer(&x.s, 3, ENDS);
	end(&x, "GET /up 200\nGET /next 200\n");
}

static void streams_have_a_cap(void **state)
{
	(void)state;
	struct talk x = begin();

	for (uint32_t i = 0; i < 5000; i++)
		ask(&x.c, 2 * i + 1, ENDS, "/");
	say(x.t, 0, &x.c);
	httptalk_close(x.t);
	assert_int_equal(x.t->ledger.requests_unpaired[UNPAIRED_SHED], 5000 - 4096);
	assert_int_equal(x.t->requests, 4096);
	buf_reset(&x.t->lines);
	buf_reset(&x.s);
	httptalk_free(x.t);
	buf_free(&x.c);
	buf_free(&x.s);
}

static void cutting_changes_nothing(void **state)
{
	(void)state;
	struct buf whole = { 0 };

	buf_add_text(&whole, HTTP2_PREFACE);
	frame(&whole, HTTP2_SETTINGS, 0, 0, "\0\1\0\0\20\0", 6);
	ask(&whole, 1, HTTP2_END_HEADERS, "/a");
	frame(&whole, HTTP2_DATA, HTTP2_PADDED, 1, "\1ab\0", 4);
	frame(&whole, HTTP2_DATA, HTTP2_END_STREAM, 1, NULL, 0);
	for (size_t step = 1; step < 12; step++) {
		struct httptalk *t = httptalk_new(false);

		httptalk_say(t, 0, whole.p, 14);
		for (size_t at = 14; at < whole.n; at += step)
			httptalk_say(t, 0, whole.p + at, whole.n - at < step ? whole.n - at : step);
		httptalk_close(t);
		assert_string_equal(buf_text(&t->lines), "GET /a 0 body=ab unanswered\n");
		assert_int_equal(t->last.bytes_in, 9 + 11 + 13 + 9);
		httptalk_free(t);
	}
	buf_free(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_are_told_apart),
		cmocka_unit_test(grpc_status_is_in_trailers_or_alone),
		cmocka_unit_test(padding_priority_and_continuation_are_cut_off),
		cmocka_unit_test(reset_and_goaway_end_requests),
		cmocka_unit_test(interim_answers_and_pushes_are_no_answers),
		cmocka_unit_test(the_table_is_followed),
		cmocka_unit_test(joined_late_old_fields_are_unknown_and_new_ones_are_not),
		cmocka_unit_test(a_gap_in_data_is_passed_over_and_any_other_forgets_the_table),
		cmocka_unit_test(h2c_upgrade_answers_on_stream_one),
		cmocka_unit_test(streams_have_a_cap),
		cmocka_unit_test(cutting_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
