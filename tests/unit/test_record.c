#include "tests/lib/unit.h"

#include "core/base/buf.h"
#include "core/model/record.h"

static const struct value values[] = {
	{ .place = 0, .bytes = { "'it''s'", 7 } },
	{ .place = 1, .bytes = { "42", 2 } },
	{ .place = 0, .is_bind = true, .bytes = { "bind", 4 } },
	{ .place = 2, .bytes = { "'x'", 3 }, .action = VALUE_DROPPED },
	{ .place = 3, .bytes = { "'y'", 3 }, .flags = VALUE_IS_CUT },
	{ .place = 4, .bytes = { "B'1'", 4 }, .flags = VALUE_IS_UNKNOWN },
};

static void each_slot_gets_its_literal_and_what_lacks_one_is_no_text(void **state)
{
	static const struct {
		const char *template_text;
		size_t values;
		const char *text; /* NULL: none */
	} cases[] = {
		{ "select \x01, \x01 from t where a = $1", 3,
			"select 'it''s', 42 from t where a = $1" },
		{ "begin", 0, "begin" },
		{ "", 0, "" },
		{ "\x01", 1, "'it''s'" },
		{ "\x01\x01", 1, NULL },
		{ "\x01 \x01 \x01", 4, NULL },
		{ "\x01 \x01 \x01 \x01", 5, NULL },
		{ "\x01", 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct buf out = { 0 };
		bool ok = record_statement_text(
			slice_of(cases[i].template_text), values, cases[i].values, &out);

		assert_int_equal(ok, cases[i].text != NULL);
		if (ok)
			assert_string_equal(buf_text(&out), cases[i].text);
		buf_free(&out);
	}
}

static void literals_are_found_in_any_order(void **state)
{
	const struct value shuffled[] = { values[2], values[1], values[0] };
	struct buf out = { 0 };

	(void)state;
	assert_true(record_statement_text(SLICE("\x01+\x01"), shuffled, 3, &out));
	assert_string_equal(buf_text(&out), "'it''s'+42");
	buf_free(&out);
	buf_init(&out, 5);
	assert_false(record_statement_text(SLICE("\x01+\x01"), shuffled, 3, &out));
	buf_free(&out);
}

static void an_http_request_goes_without_what_is_missing(void **state)
{
	const struct value found[] = {
		{ .place = 0, .bytes = { "42", 2 } },
		{ .place = 1, .action = VALUE_DROPPED, .flags = VALUE_IS_UNKNOWN, .type_oid = 9 },
		{ .place = 2, .bytes = { "5", 1 } },
		{ .place = 3, .action = VALUE_DROPPED, .flags = VALUE_IS_UNKNOWN, .type_oid = 3 },
	};
	struct buf out = { 0 };

	(void)state;
	assert_true(
		record_http_text(SLICE("PUT /a/\x01 HTTP/1.1\r\nCookie: \x01\r\nContent-Length: "
				       "\x01\r\n\r\na\n\x01"),
			found, LENGTH(found), &out));
	assert_string_equal(
		buf_text(&out), "PUT /a/42 HTTP/1.1\r\nContent-Length: 5\r\n\r\na\nxxx");
	buf_reset(&out);
	assert_false(record_http_text(SLICE("GET /\x01/\x01 HTTP/1.1\r\n\r\n"), found, 2, &out));
	buf_free(&out);
}

static void nothing_is_sealed_at_birth(void **state)
{
	struct request_record q = { 0 };
	struct session_record s = { 0 };

	(void)state;
	assert_false(q.is_sealed || s.is_sealed);
	record_seal_request(&q);
	record_seal_session(&s);
	assert_true(q.is_sealed && s.is_sealed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_slot_gets_its_literal_and_what_lacks_one_is_no_text),
		cmocka_unit_test(literals_are_found_in_any_order),
		cmocka_unit_test(an_http_request_goes_without_what_is_missing),
		cmocka_unit_test(nothing_is_sealed_at_birth),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
