#include "tests/lib/unit.h"

#include "core/format/gor.h"

#define SEP GOR_SEPARATOR
#define ID1 "1f901f407f00000100000001"
#define ID2 "1f901f407f00000100000002"

static size_t read_all(struct slice bytes, struct gor_record *ret, size_t room, size_t *ret_bad)
{
	const char *why;
	size_t n = 0;
	enum step step;

	*ret_bad = 0;
	while ((step = gor_next(&bytes, true, &ret[n], &why)) != STEP_END) {
		if (step == STEP_FAIL)
			++*ret_bad;
		else if (++n == room)
			break;
	}
	return n;
}

static void records_end_at_their_separator(void **state)
{
	static const struct {
		const char *what, *text;
		size_t records, bad;
		const char *last; /* payload of the last record */
	} cases[] = {
		{ "two",
			"1 " ID1 " 5000000000 7\nGET / HTTP/1.1\r\n\r\n" SEP "2 " ID1
			" 5000000009 1\nHTTP/1.1 200 OK\r\n\r\n" SEP,
			2, 0, "HTTP/1.1 200 OK\r\n\r\n" },
		{ "three fields, no last separator", "1 " ID1 " 5000000000\nGET / HTTP/1.1\r\n\r\n",
			1, 0, "GET / HTTP/1.1\r\n\r\n" },
		{ "more fields", "1 " ID1 " 5000000000 7 x y\nGET / HTTP/1.1\r\n\r\n" SEP, 1, 0,
			"GET / HTTP/1.1\r\n\r\n" },
		{ "a separator in a body of known length",
			"1 " ID1 " 5000000000 7\nPUT / HTTP/1.1\r\nContent-Length: 19\r\n\r\nab" SEP
			"1 x" SEP "1 " ID2 " 5000000000 7\nGET /2 HTTP/1.1\r\n\r\n" SEP,
			2, 0, "GET /2 HTTP/1.1\r\n\r\n" },
		{ "a separator in a body without length",
			"1 " ID1 " 5000000000 7\nPUT / HTTP/1.0\r\n\r\nab" SEP "cd" SEP, 1, 0,
			"PUT / HTTP/1.0\r\n\r\nab" SEP "cd" },
		{ "a whole file as a body",
			"1 " ID1 " 5000000000 7\nPUT / HTTP/1.1\r\nContent-Length: 61\r\n\r\n"
			"1 " ID2 " 5\nGET / HTTP/1.1\r\n\r\n" SEP SEP,
			1, 0, NULL },
		{ "foreign bytes in front",
			"hello\n" SEP "1 " ID1 " 5000000000 7\nGET / HTTP/1.1\r\n\r\n" SEP, 1, 1,
			"GET / HTTP/1.1\r\n\r\n" },
		{ "a cut body",
			"1 " ID1 " 5000000000 7\nPUT / HTTP/1.1\r\nContent-Length: 100\r\n\r\nabc",
			0, 1, NULL },
		{ "a shorter body than stated, then another",
			"1 " ID1 " 5000000000 7\nPUT / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc" SEP
			"1 " ID2 " 5000000000 7\nGET /2 HTTP/1.1\r\n\r\n" SEP,
			2, 0, "GET /2 HTTP/1.1\r\n\r\n" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct gor_record r[8];
		size_t bad, n = read_all(slice_of(cases[i].text), r, LENGTH(r), &bad);

		if (n != cases[i].records || bad != cases[i].bad)
			fail_msg("%s: %zu records, %zu bad", cases[i].what, n, bad);
		if (cases[i].last && !slice_is(r[n - 1].payload, cases[i].last))
			fail_msg("%s: got '%.*s'", cases[i].what, (int)r[n - 1].payload.n,
				r[n - 1].payload.p);
	}
}

static void where_bytes_are_cut_makes_no_difference(void **state)
{
	static const char text[] =
		"1 " ID1 " 5000000000 7\nPUT / HTTP/1.1\r\nContent-Length: 16\r\n\r\nab" SEP SEP
		"2 " ID1 " 5000000009 1\nHTTP/1.1 200 OK\r\n\r\n" SEP;

	(void)state;
	for (size_t cut = 0; cut < sizeof text; cut++) {
		struct slice rest = { text, cut };
		struct gor_record r;
		const char *why;
		size_t n = 0;

		while (gor_next(&rest, false, &r, &why) == STEP_ITEM)
			n++;
		rest.n = (size_t)(text + sizeof text - 1 - rest.p);
		while (gor_next(&rest, true, &r, &why) == STEP_ITEM)
			n++;
		assert_int_equal(n, 2);
		assert_true(slice_is(r.payload, "HTTP/1.1 200 OK\r\n\r\n"));
	}
}

static void what_is_written_is_read_again(void **state)
{
	struct gor_record in = { .type = GOR_REQUEST,
		.id = SLICE(ID2),
		.time_ns = INT64_C(1700000000123456789),
		.length_ns = 42,
		.payload = SLICE("POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\na\nb") };
	struct gor_record out;
	struct buf b = { 0 };
	const char *why;

	(void)state;
	gor_write(&b, &in);
	assert_true(gor_detect(buf_slice(&b)));
	struct slice rest = buf_slice(&b);
	assert_int_equal(gor_next(&rest, false, &out, &why), STEP_ITEM);
	assert_int_equal(rest.n, 0);
	assert_int_equal(out.type, in.type);
	assert_int_equal(out.time_ns, in.time_ns);
	assert_int_equal(out.length_ns, in.length_ns);
	assert_true(slice_same(out.id, in.id));
	assert_true(slice_same(out.payload, in.payload));
	buf_free(&b);
}

static void other_files_are_not_taken_for_it(void **state)
{
	static const char *const others[] = { "", "1\n", "1 2 3\n", "1 abcd 5\nGET / HTTP/1.1\r\n",
		"4 " ID1 " 5000000000 7\nGET", "1 " ID1 " 5000000000 7\nhello" };

	(void)state;
	for (size_t i = 0; i < LENGTH(others); i++)
		assert_false(gor_detect(slice_of(others[i])));
}

static void a_connection_is_ports_and_address(void **state)
{
	(void)state;
	assert_true(slice_is(gor_connection(SLICE(ID1)), "1f901f407f000001"));
	assert_int_equal(gor_connection(SLICE("0123456789012345678901234567890123456789")).n, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_end_at_their_separator),
		cmocka_unit_test(where_bytes_are_cut_makes_no_difference),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(other_files_are_not_taken_for_it),
		cmocka_unit_test(a_connection_is_ports_and_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
