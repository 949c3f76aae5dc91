/*
 * Binary values against what PostgreSQL 15's own send functions made of the texts.
 */
#include "tests/lib/unit.h"

#include "core/model/sqlbinary.h"
#include "core/model/sqlscrub.h"

static const struct {
	uint32_t oid;
	const char *hex, *text;
} sent[] = {
	{ 21, "0000", "0" },
	{ 21, "0005", "5" },
	{ 21, "fffb", "-5" },
	{ 21, "7fff", "32767" },
	{ 21, "8000", "-32768" },
	{ 23, "00000000", "0" },
	{ 23, "000003e6", "998" },
	{ 23, "fffffb2e", "-1234" },
	{ 23, "7fffffff", "2147483647" },
	{ 23, "80000000", "-2147483648" },
	{ 20, "0000000000000000", "0" },
	{ 20, "000000acb9e1e0c6", "741852963014" },
	{ 20, "7fffffffffffffff", "9223372036854775807" },
	{ 20, "8000000000000000", "-9223372036854775808" },
	{ 26, "00000000", "0" },
	{ 26, "ffffffff", "4294967295" },
	{ 700, "00000000", "0" },
	{ 700, "3fc00000", "1.5" },
	{ 700, "c0500000", "-3.25" },
	{ 700, "3dcccccd", "0.1" },
	{ 700, "47f1205a", "123456.7" },
	{ 701, "0000000000000000", "0" },
	{ 701, "3ff8000000000000", "1.5" },
	{ 701, "c00a000000000000", "-3.25" },
	{ 701, "3fb999999999999a", "0.1" },
	{ 701, "40527ac4d8ade7c0", "73.918264551" },
	{ 701, "3e7ad7f29abcaf48", "1e-07" },
	{ 701, "41678c29c8000000", "12345678.25" },
	{ 1700, "0000000000000000", "0" },
	{ 1700, "0000000000000002", "0.00" },
	{ 1700, "00010000000000000001", "1" },
	{ 1700, "00010000400000000001", "-1" },
	{ 1700, "00010001000000000001", "10000" },
	{ 1700, "0003000200000000000109291a85", "123456789" },
	{ 1700, "0001ffff000000040001", "0.0001" },
	{ 1700, "0002ffff0000000800010929", "0.00012345" },
	{ 1700, "000200000000000200011388", "1.50" },
	{ 1700, "0003000140000004000109291a85", "-12345.6789" },
	{ 1700, "000500020000000600010000000000000064", "100000000.000001" },
	{ 1700, "0006000400000002270f270f270f270f270f26ac", "99999999999999999999.99" },
	{ 1700, "0001ffff0000000103e8", "0.1" },
	{ 1700, "00010001000000020002", "20000.00" },
	{ 1082, "00000000", "2000-01-01" },
	{ 1082, "00002279", "2024-02-29" },
	{ 1082, "ffffd533", "1970-01-01" },
	{ 1082, "fff4dbf9", "0001-01-01" },
	{ 1082, "002c95d3", "9999-12-31" },
	{ 1083, "0000000000000000", "00:00:00" },
	{ 1083, "0000000a8be62608", "12:34:56.789" },
	{ 1083, "000000141dd75fff", "23:59:59.999999" },
	{ 1114, "0002b583416e1d20", "2024-02-29 12:34:56.5" },
	{ 1114, "fffffffffff0bdc0", "1999-12-31 23:59:59" },
	{ 1114, "0000000000000000", "2000-01-01 00:00:00" },
	{ 2950, "550e8400e29b41d4a716446655440000", "550e8400-e29b-41d4-a716-446655440000" },
	{ 869, "02200004c0a81103", "192.168.17.3" },
	{ 869, "020800040a000001", "10.0.0.1/8" },
	{ 869, "0380001020010db8000000000000ff0000428329", "2001:db8::ff00:42:8329" },
	{ 869, "0380001000000000000000000000000000000001", "::1" },
	{ 829, "08002b010203", "08:00:2b:01:02:03" },
	{ 17, "deadbeef", "\\xdeadbeef" },
	{ 17, "", "\\x" },
	{ 3802, "017b2261223a20317d", "{\"a\": 1}" },
};

static const struct {
	uint32_t oid;
	const char *hex;
} arrays[] = {
	{ 1007, "00000001000000010000001700000003000000010000000400000001ffffffff000000042c37c723" },
	{ 1009, "000000010000000100000019000000030000000100000003626f62ffffffff0000000135" },
	{ 2951, "000000010000000000000b86000000010000000100000010550e8400e29b41d4a716446655440000" },
	{ 1016, "0000000200000000000000140000000200000001000000010000000100000008000000acb9e1e0c6000000080000000000000005" },
	{ 1015, "000000000000000000000413" },
};

struct scrubber {
	struct policy policy;
	struct token_key *key;
	struct sqlscrub *scrub;
};

static void open_scrubber(struct scrubber *s, bool is_permuting, int weeks)
{
	const unsigned char key[32] = "binds";
	struct err e = { 0 };

	assert_true(policy_defaults(&s->policy, &e));
	s->policy.is_permuting_ids = is_permuting;
	s->policy.shift_weeks = weeks;
	policy_seal(&s->policy);
	s->key = token_key_of(key, &e);
	s->scrub = sqlscrub_new(&s->policy, s->key, 0);
	assert_non_null(s->scrub);
}

static void close_scrubber(struct scrubber *s)
{
	sqlscrub_free(s->scrub);
	token_key_free(s->key);
	policy_free(&s->policy);
}

static struct slice unhex(const char *hex, unsigned char *to)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		unsigned byte = 0;

		sscanf(hex + 2 * i, "%2x", &byte);
		to[i] = (unsigned char)byte;
	}
	return (struct slice){ (const char *)to, n };
}

static void binary_reads_as_the_server_prints_it(void **state)
{
	struct buf text = { 0 };
	unsigned char bytes[256];
	(void)state;

	for (size_t i = 0; i < LENGTH(sent); i++) {
		buf_reset(&text);
		if (!sqlbinary_to_text(sent[i].oid, unhex(sent[i].hex, bytes), &text) ||
			strcmp(buf_text(&text), sent[i].text) != 0)
			fail_msg("%u %s: '%s', not '%s'", sent[i].oid, sent[i].hex, buf_text(&text),
				sent[i].text);
	}
	buf_free(&text);
}

static void text_becomes_the_bytes_the_server_sends(void **state)
{
	struct buf out = { 0 };
	unsigned char bytes[256];
	(void)state;

	for (size_t i = 0; i < LENGTH(sent); i++) {
		struct slice raw = unhex(sent[i].hex, bytes);

		buf_reset(&out);
		if (!sqlbinary_from_text(sent[i].oid, slice_of(sent[i].text), raw, &out) ||
			!slice_same(buf_slice(&out), raw))
			fail_msg("%u '%s' is not %s", sent[i].oid, sent[i].text, sent[i].hex);
	}
	buf_free(&out);
}

/* The token of the text, put into the type's binary form, is the token of the bytes. */
static void a_value_has_one_token_in_either_format(void **state)
{
	unsigned char bytes[256];
	struct buf text = { 0 };
	(void)state;

	for (int is_permuting = 0; is_permuting < 2; is_permuting++) {
		struct scrubber s;

		open_scrubber(&s, is_permuting, 3);
		for (size_t i = 0; i < LENGTH(sent); i++) {
			struct slice raw = unhex(sent[i].hex, bytes);
			struct sqlscrub_statement st;
			struct value binary, plain;

			sqlscrub_text(s.scrub, SLICE(""), &st);
			sqlscrub_bind(s.scrub, raw, 1, sent[i].oid, false, &binary);
			sqlscrub_bind(
				s.scrub, slice_of(sent[i].text), 0, sent[i].oid, false, &plain);
			/* Floats may round where their digits were permuted. */
			if (sent[i].oid == 700 || sent[i].oid == 701)
				continue;
			/* The one integer that has no counterpart of its width. */
			if (binary.action == VALUE_DROPPED) {
				assert_true(binary.flags & VALUE_IS_UNKNOWN);
				assert_int_equal(sent[i].oid, 26);
				continue;
			}
			buf_reset(&text);
			assert_true(sqlbinary_to_text(sent[i].oid, binary.bytes, &text));
			if (!slice_same(buf_slice(&text), plain.bytes) ||
				binary.action != plain.action)
				fail_msg("%u '%s': '%s' and '%.*s'", sent[i].oid, sent[i].text,
					buf_text(&text), (int)plain.bytes.n, plain.bytes.p);
			/* Numerics leave out groups of zeros. */
			if (sent[i].oid != 1700)
				assert_int_equal(binary.bytes.n, raw.n);
		}
		close_scrubber(&s);
	}
	buf_free(&text);
}

static void arrays_are_scrubbed_by_element(void **state)
{
	unsigned char bytes[256];
	struct scrubber s;
	struct value v, one;
	struct sqlscrub_statement st;
	(void)state;

	open_scrubber(&s, false, 0);
	for (size_t i = 0; i < LENGTH(arrays); i++) {
		struct slice raw = unhex(arrays[i].hex, bytes);

		sqlscrub_text(s.scrub, SLICE(""), &st);
		sqlscrub_bind(s.scrub, raw, 1, arrays[i].oid, false, &v);
		assert_int_not_equal(v.action, VALUE_DROPPED);
		assert_int_equal(v.bytes.n, raw.n);
		/* Header and lengths stay. */
		assert_memory_equal(v.bytes.p, raw.p, raw.n < 12 ? raw.n : 12);
		assert_int_equal(slice_same(v.bytes, raw), v.action == VALUE_KEPT);
	}
	/* {1,NULL,741852963}: the last is the token of that number alone. */
	struct slice raw = unhex(arrays[0].hex, bytes);
	sqlscrub_bind(s.scrub, raw, 1, 1007, false, &v);
	sqlscrub_bind(s.scrub, (struct slice){ raw.p + raw.n - 4, 4 }, 1, 23, false, &one);
	assert_int_equal(one.action, VALUE_TOKEN);
	assert_memory_equal(v.bytes.p + v.bytes.n - 4, one.bytes.p, 4);
	/* An array of something else than its type says. */
	sqlscrub_bind(s.scrub, raw, 1, 1009, false, &v);
	assert_int_equal(v.action, VALUE_DROPPED);
	/* Cut anywhere it is dropped, never half kept. */
	for (size_t n = 0; n < raw.n; n++) {
		struct slice cut = { raw.p, n };

		sqlscrub_bind(s.scrub, cut, 1, 1007, false, &v);
		if (v.action != VALUE_DROPPED)
			assert_true(n == 20 || n == 28 || n == 32);
	}
	close_scrubber(&s);
}

static void unknown_binary_types_are_dropped(void **state)
{
	static const uint32_t oids[] = { 0, 600, 1560, 16384, 3904 };
	struct scrubber s;
	struct value v;
	(void)state;

	open_scrubber(&s, false, 0);
	for (size_t i = 0; i < LENGTH(oids); i++) {
		sqlscrub_bind(s.scrub, SLICE("geheim"), 1, oids[i], false, &v);
		assert_int_equal(v.action, VALUE_DROPPED);
		assert_int_equal(v.flags, VALUE_IS_UNKNOWN);
		assert_int_equal(v.bytes.n, 0);
	}
	/* A known type of a wrong width too. */
	sqlscrub_bind(s.scrub, SLICE("geheim"), 1, 23, false, &v);
	assert_int_equal(v.action, VALUE_DROPPED);
	close_scrubber(&s);
}

static void nulls_booleans_and_intervals_stay(void **state)
{
	struct scrubber s;
	struct value v;
	(void)state;

	open_scrubber(&s, true, 0);
	sqlscrub_bind(s.scrub, SLICE(""), 1, 23, true, &v);
	assert_int_equal(v.flags, VALUE_IS_NULL);
	assert_true(v.is_bind);
	sqlscrub_bind(s.scrub, SLICE("\1"), 1, 16, false, &v);
	assert_int_equal(v.action, VALUE_KEPT);
	assert_int_equal(v.bytes.n, 1);
	sqlscrub_bind(s.scrub, SLICE("0123456789abcdef"), 1, 1186, false, &v);
	assert_int_equal(v.action, VALUE_KEPT);
	close_scrubber(&s);
}

static void binds_follow_the_rules_of_their_place(void **state)
{
	struct scrubber s;
	struct sqlscrub_statement st;
	struct value v;
	(void)state;

	open_scrubber(&s, false, 0);
	sqlscrub_text(s.scrub,
		SLICE("UPDATE t SET a = $1 WHERE b LIKE $2 AND c > $3::interval AND date_trunc($4, d) = $5 LIMIT $6"),
		&st);
	assert_int_equal(st.param_count, 6);
	sqlscrub_param(s.scrub, 0, SLICE("somebody"), 0, 0, false, &v);
	assert_int_equal(v.role, ROLE_PAYLOAD);
	assert_int_equal(v.action, VALUE_TOKEN);
	sqlscrub_param(s.scrub, 1, SLICE("some%body_"), 0, 0, false, &v);
	assert_int_equal(v.role, ROLE_PREDICATE);
	assert_int_equal(v.flags, VALUE_IS_PATTERN);
	assert_int_equal(v.place, 1);
	assert_int_equal(v.bytes.p[4], '%');
	assert_int_equal(v.bytes.p[9], '_');
	sqlscrub_param(s.scrub, 2, SLICE("3 days"), 0, 0, false, &v);
	assert_int_equal(v.action, VALUE_KEPT);
	sqlscrub_param(s.scrub, 3, SLICE("hour"), 0, 25, false, &v);
	assert_int_equal(v.action, VALUE_KEPT);
	sqlscrub_param(s.scrub, 5, SLICE("1000"), 0, 20, false, &v);
	assert_int_equal(v.role, ROLE_STRUCTURAL);
	assert_int_equal(v.action, VALUE_KEPT);
	close_scrubber(&s);
}

static void a_columns_rule_holds_for_any_type(void **state)
{
	struct scrubber s;
	struct sqlscrub_statement st;
	struct value v;
	(void)state;

	open_scrubber(&s, true, 0);
	assert_true(table_put(&s.policy.rules[POLICY_COLUMN], SLICE("shape"),
		(void *)(uintptr_t)(VALUE_KEPT + 1)));
	assert_true(table_put(&s.policy.rules[POLICY_COLUMN], SLICE("note"),
		(void *)(uintptr_t)(VALUE_DROPPED + 1)));
	sqlscrub_text(s.scrub, SLICE("INSERT INTO t (shape, note, x) VALUES ($1, $2, $3)"), &st);
	sqlscrub_param(s.scrub, 0, SLICE("any bytes"), 1, 16384, false, &v);
	assert_int_equal(v.action, VALUE_KEPT);
	assert_true(slice_is(v.bytes, "any bytes"));
	sqlscrub_param(s.scrub, 1, SLICE("\0\0\0\5"), 1, 23, false, &v);
	assert_int_equal(v.action, VALUE_DROPPED);
	assert_int_equal(v.flags, VALUE_IS_UNKNOWN);
	sqlscrub_param(s.scrub, 2, SLICE("any bytes"), 1, 16384, false, &v);
	assert_int_equal(v.action, VALUE_DROPPED);
	close_scrubber(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(binary_reads_as_the_server_prints_it),
		cmocka_unit_test(text_becomes_the_bytes_the_server_sends),
		cmocka_unit_test(a_value_has_one_token_in_either_format),
		cmocka_unit_test(arrays_are_scrubbed_by_element),
		cmocka_unit_test(unknown_binary_types_are_dropped),
		cmocka_unit_test(nulls_booleans_and_intervals_stay),
		cmocka_unit_test(binds_follow_the_rules_of_their_place),
		cmocka_unit_test(a_columns_rule_holds_for_any_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
