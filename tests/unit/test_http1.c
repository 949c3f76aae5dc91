#include "tests/lib/unit.h"

#include "core/format/http1.h"
#include "tests/lib/httptalk.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"
#define OK(length, body) "HTTP/1.1 200 OK\r\nContent-Length: " length "\r\n\r\n" body

/* What each side says in one go; then the lines the sink must have got. */
struct conversation {
	const char *name;
	const char *client, *server;
	const char *lines;
	uint64_t strays;
	enum ledger_flow kind;
};

static const struct conversation conversations[] = {
	{ "a length", GET("/a"), OK("2", "hi"), "GET /a 200\n", 0, FLOWS_HTTP },
	{ "pipelining", GET("/a") GET("/b") GET("/c"), OK("2", "hi") OK("0", "") OK("1", "x"),
		"GET /a 200\nGET /b 200\nGET /c 200\n", 0, FLOWS_HTTP },
	{ "chunks with extensions and trailers", GET("/a") GET("/b"),
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n"
		"0A\r\n0123456789\r\n0\r\nX: y\r\nZ: w\r\n\r\n" OK("1", "x"),
		"GET /a 200\nGET /b 200\n", 0, FLOWS_HTTP },
	{ "a chunked request",
		"POST /a HTTP/1.1\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n"
		"3\r\nabc\r\n2 \r\nde\r\n0\r\n\r\n" GET("/b"),
		OK("0", "") OK("0", ""), "POST /a 200 body=abcde\nGET /b 200\n", 0, FLOWS_HTTP },
	{ "an answer to HEAD has no body", "HEAD /a HTTP/1.1\r\n\r\n" GET("/b"),
		OK("500", "") OK("1", "x"), "HEAD /a 200\nGET /b 200\n", 0, FLOWS_HTTP },
	{ "204 and 304 have none", GET("/a") GET("/b") GET("/c"),
		"HTTP/1.1 204 No\r\n\r\nHTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n" OK("0", ""),
		"GET /a 204\nGET /b 304\nGET /c 200\n", 0, FLOWS_HTTP },
	{ "interim answers",
		"PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" OK("0", ""),
		"PUT /a 200 body=ab\n", 0, FLOWS_HTTP },
	{ "until close", GET("/a"), "HTTP/1.0 200 OK\r\n\r\nall of it", "GET /a 200\n", 0,
		FLOWS_HTTP },
	{ "HTTP/1.0 keep-alive", "GET /a HTTP/1.0\nConnection: keep-alive\n\nGET /b HTTP/1.0\n\n",
		"HTTP/1.0 200 OK\nContent-Length: 1\n\nxHTTP/1.0 404 No\nContent-Length: 0\n\n",
		"GET /a 200\nGET /b 404\n", 0, FLOWS_HTTP },
	{ "targets of all forms, methods of any name",
		"OPTIONS * HTTP/1.1\r\n\r\nGET http://h/x?y HTTP/1.1\r\n\r\n"
		"M-SEARCH /a b HTTP/1.1\r\n\r\n",
		OK("0", "") OK("0", "") OK("0", ""),
		"OPTIONS * 200\nGET http://h/x?y 200\nM-SEARCH /a b 200\n", 0, FLOWS_HTTP },
	{ "empty lines between messages", "\r\n\r\n" GET("/a") "\r\n" GET("/b"),
		OK("0", "") "\r\n" OK("0", ""), "GET /a 200\nGET /b 200\n", 0, FLOWS_HTTP },
	{ "equal lengths", "POST /a HTTP/1.1\r\nContent-Length: 1, 1\r\nContent-Length:1\r\n\r\nx",
		OK("0", ""), "POST /a 200 body=x\n", 0, FLOWS_HTTP },
	{ "chunked wins over a length (RFC 9112, 6.3)", GET("/a") GET("/b"),
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
		"1\r\nx\r\n0\r\n\r\n" OK("0", ""),
		"GET /a 200\nGET /b 200\n", 0, FLOWS_HTTP },
	{ "a folded length", "POST /a HTTP/1.1\r\nContent-Length:\r\n 1\r\n\r\nx" GET("/b"),
		OK("0", "") OK("0", ""), "POST /a 200 body=x\nGET /b 200\n", 0, FLOWS_HTTP },
	{ "CONNECT becomes opaque", "CONNECT h:1 HTTP/1.1\r\n\r\n",
		"HTTP/1.1 200 Established\r\n\r\nHTTP/1.1 500 not one\r\n\r\n", "CONNECT h:1 200\n",
		0, FLOWS_HTTP_UPGRADED },
	{ "CONNECT refused is an answer", "CONNECT h:1 HTTP/1.1\r\n\r\n" GET("/a"),
		"HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno" OK("0", ""),
		"CONNECT h:1 407\nGET /a 200\n", 0, FLOWS_HTTP },
	{ "Upgrade becomes opaque", "GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
		"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n\x81\x05hello",
		"GET /ws 101\n", 0, FLOWS_HTTP_UPGRADED },
	{ "an answer nobody asked for", GET("/a"), OK("0", "") OK("1", "x"), "GET /a 200\n", 1,
		FLOWS_HTTP },
	{ "no answer", GET("/a") GET("/b"), OK("0", ""), "GET /a 200\nGET /b 0 unanswered\n", 0,
		FLOWS_HTTP },
	{ "lengths that differ",
		"POST /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n" GET("/b"),
		"HTTP/1.1 400 No\r\n\r\n", "POST /a 400 cut\n", 0, FLOWS_HTTP_REFUSED },
	{ "a signed length", "POST /a HTTP/1.1\r\nContent-Length: +5\r\n\r\n", "",
		"POST /a 0 unanswered cut\n", 0, FLOWS_HTTP_REFUSED },
	{ "a negative length", GET("/a"), "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"GET /a 200\n", 0, FLOWS_HTTP_REFUSED },
	{ "of HEAD's answer no length is needed", "HEAD /a HTTP/1.1\r\n\r\n" GET("/b"),
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n" OK("0", ""),
		"HEAD /a 200\nGET /b 200\n", 0, FLOWS_HTTP },
	{ "a length of 2^64", "POST /a HTTP/1.1\r\nContent-Length: 18446744073709551616\r\n\r\n",
		"", "POST /a 0 unanswered cut\n", 0, FLOWS_HTTP_REFUSED },
	{ "a length in hex", "POST /a HTTP/1.1\r\nContent-Length: 0x10\r\n\r\n", "",
		"POST /a 0 unanswered cut\n", 0, FLOWS_HTTP_REFUSED },
	{ "no length at all", "POST /a HTTP/1.1\r\nContent-Length:\r\n\r\n", "",
		"POST /a 0 unanswered cut\n", 0, FLOWS_HTTP_REFUSED },
	{ "a chunk size that overflows", GET("/a"),
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
		"GET /a 200\n", 0, FLOWS_HTTP_REFUSED },
	{ "a chunk size that is none", GET("/a"),
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n", "GET /a 200\n",
		0, FLOWS_HTTP_REFUSED },
	{ "chunked twice", "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", "",
		"POST /a 0 unanswered cut\n", 0, FLOWS_HTTP_REFUSED },
	{ "a coding of the request without an end",
		"POST /a HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", OK("0", ""),
		"POST /a 200 cut\n", 0, FLOWS_HTTP_REFUSED },
	{ "versions that are not where they should be",
		"GET / HTTP/1.\n\nGET /HTTP/1.1\n\nOPTIONS HTTP/1.1\n\n",
		OK("0", "") OK("0", "") OK("0", ""),
		"GET / 200\nGET /HTTP/1.1 200\nOPTIONS HTTP/1.1 200\n", 0, FLOWS_HTTP },
	{ "an answer in a version that does not exist", GET("/a") GET("/b"),
		"HTTP/2.1 200 OK\r\nContent-Length: 0\r\n\r\n", "GET /a 200\nGET /b 0 unanswered\n",
		0, FLOWS_HTTP_REFUSED },
	{ "two blanks before the status", GET("/a") GET("/b"),
		"HTTP/1.1  201 OK\r\nContent-Length: 0\r\n\r\n" OK("0", ""),
		"GET /a 201\nGET /b 200\n", 0, FLOWS_HTTP },
	{ "a status that is no number", GET("/a"), "HTTP/1.1 20x OK\r\n\r\n",
		"GET /a 0 unanswered\n", 0, FLOWS_HTTP },
	{ "an answer whose head never ends", GET("/a"), "HTTP/1.1 200 OK\r\nServer: x\n\r\r\nbody",
		"GET /a 200 gap\n", 0, FLOWS_HTTP },
	{ "a request whose head never ends", GET("/a") "GET /b HTTP/1.1\r\nHost:", OK("0", ""),
		"GET /a 200\n", 0, FLOWS_HTTP },
};

static void check(const struct conversation *c, struct httptalk *t, const char *how)
{
	const char *fault;

	httptalk_close(t);
	fault = httptalk_fault(t);
	if (fault || strcmp(buf_text(&t->lines), c->lines) != 0 ||
		t->ledger.requests_unpaired[UNPAIRED_NO_REQUEST] != c->strays ||
		t->ledger.flows[c->kind] != 1)
		fail_msg("%s, %s: got:\n%s(%s)", c->name, how, buf_text(&t->lines),
			fault ? fault : "");
	httptalk_free(t);
}

static void reads_each_conversation(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(conversations); i++) {
		const struct conversation *c = &conversations[i];
		struct httptalk *t = httptalk_new(false);

		httptalk_say(t, 0, c->client, strlen(c->client));
		httptalk_say(t, 1, c->server, strlen(c->server));
		check(c, t, "whole");
	}
}

static void say_in_two(struct httptalk *t, int side, const char *text, size_t at)
{
	size_t n = strlen(text);

	if (at > n)
		at = n;
	httptalk_say(t, side, text, at);
	httptalk_say(t, side, text + at, n - at);
}

/* The first four bytes stay together: with less the dispatcher would not have opened it. */
static void cutting_changes_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(conversations); i++) {
		const struct conversation *c = &conversations[i];
		size_t n = strlen(c->client), m = strlen(c->server);
		struct httptalk *t;

		for (size_t at = 4; at < (n > m ? n : m); at++) {
			t = httptalk_new(false);
			say_in_two(t, 0, c->client, at);
			say_in_two(t, 1, c->server, at);
			check(c, t, "in two");
		}
		t = httptalk_new(false);
		httptalk_say(t, 0, c->client, 5);
		for (size_t k = 5; k < n; k++)
			httptalk_say(t, 0, c->client + k, 1);
		for (size_t k = 0; k < m; k++)
			httptalk_say(t, 1, c->server + k, 1);
		check(c, t, "byte by byte");
	}
}

static enum http1_event first_event(struct http1 *p, const char *text, size_t n)
{
	struct slice in = { text, n };

	return http1_next(p, &in, 1);
}

static void lists_fields_with_folds(void **state)
{
	static const char text[] =
		"GET / HTTP/1.1\r\nHost : h \r\nA: b\r\n\tc\r\nno colon\r\nE:\r\n\r\n";
	struct http_span spans[HTTP1_FIELDS_MAX];
	struct http1 p;

	(void)state;
	http1_init(&p, false);
	p.spans = spans;
	assert_int_equal(first_event(&p, text, sizeof text - 1), HTTP1_HEAD);
	assert_int_equal(p.head.field_count, 3);
	assert_true(slice_is(p.head.host, "h"));
	assert_int_equal(spans[0].name_n, 4);
	assert_true(p.head.has_fold);
	assert_memory_equal(text + spans[1].value_at, "b\r\n\tc", spans[1].value_n);
	assert_int_equal(spans[2].value_n, 0);
	http1_free(&p);
}

static void a_head_has_an_end(void **state)
{
	size_t n = HTTP1_HEAD_MAX + 100;
	char *text = malloc(n);
	struct http1 p;

	(void)state;
	memset(text, 'a', n);
	memcpy(text, "GET / HTTP/1.1\r\nA: ", 19);
	http1_init(&p, false);
	assert_int_equal(first_event(&p, text, n), HTTP1_HEAD);
	assert_true(p.head.is_cut);
	assert_true(slice_is(p.head.target, "/"));
	assert_int_equal(first_event(&p, text, n), HTTP1_BAD);
	assert_string_equal(p.refusal, "a head over 64 KiB");
	http1_free(&p);
	free(text);
}

/* Heads one after another: the fields of some are those of the head before. */
static void a_memo_tells_what_reading_does(void **state)
{
	static const char *const heads[] = {
		"GET /a HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\n",
		"GET /longer HTTP/1.0\r\nHost: h\r\nA: b\r\n\r\n",
		"GET /longer HTTP/1.0\r\nHost: h\r\nA: c\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nA: c\r\n\r\n",
		"POST / HTTP/1.1\r\nContent-Length: 0\r\nContent-Type: t\r\n\r\n",
		"PUT /x HTTP/1.1\r\nContent-Length: 0\r\nContent-Type: t\r\n\r\n",
		"PUT /x HTTP/1.1\r\nContent-Length: 0\r\nContent-Type: t\r\nB: c\r\n\r\n",
		"GET /y HTTP/1.1\r\n\r\n",
		"GET /z/z HTTP/1.1\r\n\r\n",
	};
	struct http1_memo *memo = calloc(1, sizeof *memo);
	struct http_span want_spans[HTTP1_FIELDS_MAX], got_spans[HTTP1_FIELDS_MAX];

	(void)state;
	for (size_t i = 0; i < LENGTH(heads); i++) {
		struct http1 want, got;
		size_t n = strlen(heads[i]);

		http1_init(&want, false);
		http1_init(&got, false);
		got.memo = memo;
		want.spans = want_spans;
		got.spans = got_spans;
		assert_int_equal(first_event(&want, heads[i], n), HTTP1_HEAD);
		assert_int_equal(first_event(&got, heads[i], n), HTTP1_HEAD);
		assert_memory_equal(&want.head, &got.head, sizeof want.head);
		assert_memory_equal(
			want_spans, got_spans, want.head.field_count * sizeof *want_spans);
		assert_int_equal(want.phase, got.phase);
		http1_free(&want);
		http1_free(&got);
	}
	free(memo);
}

static void http_0_9_is_no_request(void **state)
{
	struct http1 p;

	(void)state;
	http1_init(&p, false);
	assert_int_equal(first_event(&p, "GET /\r\n", 7), HTTP1_LOSING);
	http1_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_each_conversation),
		cmocka_unit_test(cutting_changes_nothing),
		cmocka_unit_test(lists_fields_with_folds),
		cmocka_unit_test(a_head_has_an_end),
		cmocka_unit_test(a_memo_tells_what_reading_does),
		cmocka_unit_test(http_0_9_is_no_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
