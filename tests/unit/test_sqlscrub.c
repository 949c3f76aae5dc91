#include "tests/lib/unit.h"

#include <stdio.h>

#include "core/model/sqlscrub.h"

struct scrubber {
	struct policy policy;
	struct token_key *key;
	struct sqlscrub *scrub;
	struct sqlscrub_statement st;
};

static int set_up(void **state)
{
	static const struct {
		const char *column;
		enum value_action action;
	} rules[] = {
		{ "orders.status", VALUE_KEPT },
		{ "ssn", VALUE_DROPPED },
		{ "zip", VALUE_TOKEN },
	};
	struct scrubber *s = calloc(1, sizeof(*s));
	const unsigned char key[32] = "scrub";
	struct err e = { 0 };

	assert_true(policy_defaults(&s->policy, &e));
	for (size_t i = 0; i < LENGTH(rules); i++)
		assert_true(table_put(&s->policy.rules[POLICY_COLUMN], slice_of(rules[i].column),
			(void *)(uintptr_t)(rules[i].action + 1)));
	assert_true(table_put(&s->policy.words, SLICE("enabled"), s));
	policy_seal(&s->policy);
	s->key = token_key_of(key, &e);
	s->scrub = sqlscrub_new(&s->policy, s->key, 1 << 20);
	assert_non_null(s->scrub);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scrubber *s = *state;

	sqlscrub_free(s->scrub);
	token_key_free(s->key);
	policy_free(&s->policy);
	free(s);
	return 0;
}

static const struct sqlscrub_statement *scrub(struct scrubber *s, const char *text)
{
	sqlscrub_text(s->scrub, slice_of(text), &s->st);
	return &s->st;
}

static void routes_have_no_values_and_no_spelling(void **state)
{
	static const struct {
		const char *text, *route;
	} cases[] = {
		{ "select   *\nfrom t -- who\nwhere a=5;", "select * from t where a = ?" },
		{ "SELECT a FROM t WHERE b = $1 AND c = 'x'",
			"SELECT a FROM t WHERE b = ? AND c = ?" },
		{ "SELECT * FROM t WHERE a IN (1,2 , 3)", "SELECT * FROM t WHERE a IN (...)" },
		{ "SELECT * FROM t WHERE a IN ($1)", "SELECT * FROM t WHERE a IN (...)" },
		{ "SELECT * FROM t WHERE a in ('x'::text, NULL)",
			"SELECT * FROM t WHERE a in (...)" },
		{ "SELECT * FROM t WHERE a IN (SELECT b FROM u WHERE c = 1)",
			"SELECT * FROM t WHERE a IN (SELECT b FROM u WHERE c = ?)" },
		{ "SELECT * FROM t WHERE a = ANY (ARRAY[1,2])",
			"SELECT * FROM t WHERE a = ANY (ARRAY[...])" },
		{ "INSERT INTO t(a,b) VALUES (1,'x'),(2,now())",
			"INSERT INTO t(a, b) VALUES (...)" },
		{ "INSERT INTO t (a, b) VALUES ($1, $2) RETURNING id",
			"INSERT INTO t(a, b) VALUES (...) RETURNING id" },
		{ "SELECT count( * ), x :: int FROM a . b", "SELECT count(*), x::int FROM a.b" },
		{ "SELECT a + -5, -5, a - 5, a -5, a*-1", "SELECT a + ?, ?, a - ?, a - ?, a * ?" },
		{ "EXECUTE p(1, 'x')", "EXECUTE p(?, ?)" },
		{ "SELECT 'a'\n  'b'", "SELECT ?" },
		{ "SELECT $$x$$, E'\\n', U&'x', X'ff', B'1'", "SELECT ?, ?, ?, ?, ?" },
		{ "", "" },
		{ " \n", "" },
		{ "-- who", "" },
		{ " ; ;", "" },
		{ "SELECT 'open", "(unreadable statement)" },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct slice route = scrub(*state, cases[i].text)->route;

		if (!slice_is(route, cases[i].route))
			fail_msg("'%.*s', not '%s'", (int)route.n, route.p, cases[i].route);
	}
}

static void a_fingerprint_forgets_values_case_and_spacing(void **state)
{
	static const char *const same[] = {
		"SELECT a FROM t WHERE b = 5 AND c IN (1,2)",
		"select a from t where b=-17 and c in (3);",
		"SELECT a\n\tFROM t /* x */ WHERE b = $1 AND c IN ($2, $3, $4)",
		"SELECT a FROM T WHERE b = 'x' AND c IN ('y')",
	};
	static const char *const others[] = {
		"SELECT a FROM t WHERE b = 5 OR c IN (1,2)",
		"SELECT a FROM \"T\" WHERE b = 5 AND c IN (1)",
		"SELECT a FROM t WHERE b > 5 AND c IN (1)",
	};
	uint64_t fingerprint = scrub(*state, same[0])->fingerprint;

	/* Stored in files: it must not change between versions. */
	assert_true(fingerprint == UINT64_C(0x64b3266b2c369ec6));
	for (size_t i = 1; i < LENGTH(same); i++)
		assert_true(scrub(*state, same[i])->fingerprint == fingerprint);
	for (size_t i = 0; i < LENGTH(others); i++)
		assert_false(scrub(*state, others[i])->fingerprint == fingerprint);
}

/* The statement with its scrubbed values put back. */
static void rebuilt(const struct sqlscrub_statement *st, char *to)
{
	size_t v = 0;

	for (size_t i = 0; i < st->template_text.n; i++) {
		if (st->template_text.p[i] != TEMPLATE_SLOT) {
			*to++ = st->template_text.p[i];
			continue;
		}
		assert_true(v < st->value_count);
		assert_int_equal(st->values[v].place, v);
		if (st->values[v].bytes.n)
			memcpy(to, st->values[v].bytes.p, st->values[v].bytes.n);
		to += st->values[v++].bytes.n;
	}
	assert_int_equal(v, st->value_count);
	*to = '\0';
}

static void what_is_structural_or_small_stays(void **state)
{
	static const char *const kept[] = {
		"UPDATE pgbench_accounts SET abalance = abalance + -1234 WHERE aid = 998;",
		"SELECT date_trunc('month', a), date_part('dow', a), extract('epoch' FROM a) FROM t",
		"SELECT a FROM t LIMIT 1000000000 OFFSET 2000000000",
		"FETCH FORWARD 100 FROM c",
		"SELECT interval '1 year 2 mons', '3 days'::interval, CAST('01:30' AS interval), interval 'P1DT2H'",
		"SELECT 'orders'::regclass, nextval('public.orders_id_seq'), setval('s', 5, false)",
		"SELECT a->'name', a->>'first_name', a#>'{address,street}', a ? 'k', a -> 0 FROM t",
		"SET statement_timeout = '5s'",
		"SET work_mem TO '64MB'",
		"SET search_path TO public",
		"SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
		"SET client_encoding = 'UTF8'",
		"SET standard_conforming_strings = on",
		"SET DateStyle = 'ISO, MDY'",
		"SET TIME ZONE 'Europe/Berlin'",
		"SELECT a AT TIME ZONE 'UTC', true, FALSE, 't'::bool, 'yes'::boolean FROM t",
		"SELECT to_char(a, 'YYYY-MM-DD HH24:MI:SS'), encode(b, 'hex') FROM t",
		"SELECT * FROM t WHERE a > '2024-01-01' AND b < timestamp '2024-01-01 12:00:00' OR c = date 'today'",
		"COPY t (a, b) FROM STDIN WITH (FORMAT csv, DELIMITER ',', NULL '')",
		"SELECT * FROM orders o WHERE o.status = 'open' OR status IN ('sent', 'paid')",
		"SELECT * FROM orders WHERE lower(status) = 'open' AND 'open' <> orders.status",
		"INSERT INTO orders (id, status) VALUES (5, 'open'), (6, 'sent')",
		"UPDATE orders SET status = 'closed' WHERE id = '17'",
		"SELECT * FROM t WHERE a = 'enabled'",
		"SELECT * FROM t WHERE now() - a > '3 days'",
		"SELECT * FROM t WHERE a = ANY('{1,2,3}'::int[]) AND b = '{}' AND c = '[1,5)'",
	};
	char text[1024];

	for (size_t i = 0; i < LENGTH(kept); i++) {
		const struct sqlscrub_statement *st = scrub(*state, kept[i]);

		rebuilt(st, text);
		if (strcmp(text, kept[i]) != 0)
			fail_msg("became: %s\nfrom:   %s", text, kept[i]);
		for (size_t v = 0; v < st->value_count; v++)
			assert_int_equal(st->values[v].action, VALUE_KEPT);
		assert_false(st->flags & (REQUEST_VALUE_LOST | REQUEST_UNLEXABLE));
	}
}

static void the_rest_becomes_tokens_of_the_same_length(void **state)
{
	static const char *const texts[] = {
		"SELECT * FROM t WHERE a = 'somebody'",
		"SELECT * FROM t WHERE a = 123456789",
		"SELECT * FROM t WHERE zip = '12345'",
		"SELECT * FROM t WHERE a = 'bob@example.com'",
		"SELECT * FROM t WHERE a = '550e8400-e29b-41d4-a716-446655440000'",
		"SELECT * FROM u WHERE status = 'open'",
		"INSERT INTO orders (status, id) VALUES (5, 'open')",
		"SELECT * FROM t WHERE a = 'it''s'",
		"SELECT a -> 'bob@example.com' FROM t",
		"SELECT '{\"k\": \"value\", \"n\": 1}'::jsonb",
		"SELECT '{somebody,else}'::text[]",
	};
	char text[1024];

	for (size_t i = 0; i < LENGTH(texts); i++) {
		const struct sqlscrub_statement *st = scrub(*state, texts[i]);
		bool has_token = false;

		for (size_t v = 0; v < st->value_count; v++)
			has_token |= st->values[v].action == VALUE_TOKEN;
		rebuilt(st, text);
		if (!has_token || strcmp(text, texts[i]) == 0 || strlen(text) != strlen(texts[i]))
			fail_msg("became: %s\nfrom:   %s", text, texts[i]);
	}
}

static void roles_are_told_by_clause(void **state)
{
	static const struct {
		const char *text, *roles; /* e payload, p predicate, s structural, u unknown */
	} cases[] = {
		{ "UPDATE t SET a = 1, b = 'x' WHERE c = 2 AND d = 'y'", "eepp" },
		{ "INSERT INTO t (a) VALUES (1), (2) ON CONFLICT (a) DO UPDATE SET a = 3 WHERE t.b = 4",
			"eeep" },
		{ "INSERT INTO t SELECT 1, b FROM u WHERE c = 2", "ep" },
		{ "SELECT 1 FROM t JOIN u ON t.a = 2 WHERE b IN (3, 4) GROUP BY c HAVING count(*) > 5 LIMIT 6",
			"upppps" },
		{ "DELETE FROM t WHERE a = (SELECT 1 FROM u WHERE b = 2)", "pup" },
		{ "SELECT * FROM t WHERE a BETWEEN 1 AND 2 ORDER BY b OFFSET 3", "pps" },
		{ "SELECT date_trunc('day', a) FROM t WHERE date_trunc('day', a) = '2024-01-01'",
			"ssp" },
		{ "SELECT f(1)", "u" },
		{ "COMMENT ON TABLE t IS 'x'", "e" },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		const struct sqlscrub_statement *st = scrub(*state, cases[i].text);
		char roles[32] = "";

		for (size_t v = 0; v < st->value_count; v++)
			roles[v] = "upes"[st->values[v].role];
		/* A subselect's own list is compared too. */
		if (strcmp(roles, cases[i].roles) != 0 && !(i == 4 && strcmp(roles, "up") == 0))
			fail_msg("%s: %s, not %s", cases[i].text, roles, cases[i].roles);
	}
	const struct sqlscrub_statement *st =
		scrub(*state, "UPDATE t SET a = $2 WHERE b = $1 LIMIT $3");
	assert_int_equal(st->param_count, 3);
	assert_int_equal(st->param_roles[0], ROLE_PREDICATE);
	assert_int_equal(st->param_roles[1], ROLE_PAYLOAD);
	assert_int_equal(st->param_roles[2], ROLE_STRUCTURAL);
}

static void flags_and_verbs_are_told(void **state)
{
	static const struct {
		const char *text;
		uint32_t flags;
		char transaction;
		bool is_strong;
	} cases[] = {
		{ "SELECT 1", 0, 0, false },
		{ "BEGIN", 0, 'B', false },
		{ "START TRANSACTION READ ONLY", 0, 'B', false },
		{ "begin;", 0, 'B', false },
		{ "COMMIT", 0, 'C', false },
		{ "END", 0, 'C', false },
		{ "ROLLBACK", 0, 'R', false },
		{ "ABORT", 0, 'R', false },
		{ "ROLLBACK TO SAVEPOINT a", 0, 0, false },
		{ "COMMIT PREPARED 'x'", 0, 0, false },
		{ "BEGIN; SELECT 1", 0, 0, false },
		{ "UPDATE t SET a = 1", REQUEST_WRITES, 0, false },
		{ "INSERT INTO t VALUES (1) RETURNING id", REQUEST_WRITES, 0, true },
		{ "SELECT nextval('s')", REQUEST_WRITES, 0, true },
		{ "SELECT lastval()", 0, 0, true },
		{ "SELECT * FROM t FOR UPDATE", 0, 0, false },
		{ "WITH x AS (DELETE FROM t RETURNING a) SELECT * FROM x", REQUEST_WRITES, 0,
			true },
		{ "EXPLAIN UPDATE t SET a = 1", 0, 0, false },
		{ "EXPLAIN (ANALYZE) UPDATE t SET a = 1", REQUEST_WRITES, 0, false },
		{ "PREPARE p AS INSERT INTO t VALUES (1)", REQUEST_WRITES, 0, false },
		{ "SELECT now()", REQUEST_USES_NOW, 0, false },
		{ "SELECT a FROM t WHERE d > CURRENT_DATE", REQUEST_USES_NOW, 0, false },
		{ "SELECT now FROM t", 0, 0, false },
		{ "COPY t FROM STDIN", REQUEST_WRITES, 0, false },
		{ "COPY t TO STDOUT", 0, 0, false },
		{ "COPY t TO '/tmp/x'", REQUEST_EXTERNAL, 0, false },
		{ "COPY t TO PROGRAM 'x'", REQUEST_EXTERNAL | REQUEST_VALUE_LOST, 0, false },
		{ "SELECT pg_terminate_backend(5)", REQUEST_EXTERNAL, 0, false },
		{ "ALTER SYSTEM SET work_mem = 5", REQUEST_EXTERNAL | REQUEST_WRITES, 0, false },
		{ "DROP SUBSCRIPTION s", REQUEST_EXTERNAL | REQUEST_WRITES, 0, false },
		{ "DO $$ x $$", REQUEST_WRITES | REQUEST_VALUE_LOST, 0, false },
		{ "DO LANGUAGE plpython3u $$ x $$",
			REQUEST_WRITES | REQUEST_VALUE_LOST | REQUEST_EXTERNAL, 0, false },
		{ "SELECT 'x", REQUEST_UNLEXABLE, 0, false },
		{ "SELECT * FROM t WHERE ssn = 5", REQUEST_VALUE_LOST, 0, false },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		const struct sqlscrub_statement *st = scrub(*state, cases[i].text);

		if (st->flags != cases[i].flags || st->transaction != cases[i].transaction ||
			st->has_strong_result != cases[i].is_strong)
			fail_msg("%s: flags %x, verb %d, strong %d", cases[i].text, st->flags,
				st->transaction, st->has_strong_result);
	}
}

static void escapes_are_decoded_and_spelled_anew(void **state)
{
	/* Every spelling of one value has the same token. */
	static const char *const same[] = {
		"SELECT 'it''s x'",
		"SELECT E'it\\'s x'",
		"SELECT E'\\x69t\\047s\\u0020x'",
		"SELECT $$it's x$$",
		"SELECT U&'\\0069t''s x'",
		"SELECT 'it''s' /* c */\n' x'",
		"SELECT N'it''s x'",
	};
	char first[128], text[128];

	rebuilt(scrub(*state, same[0]), first);
	for (size_t i = 1; i < LENGTH(same); i++) {
		rebuilt(scrub(*state, same[i]), text);
		if (strcmp(first, text) != 0)
			fail_msg("%s: %s, not %s", same[i], text, first);
	}
	rebuilt(scrub(*state, "SELECT 'a\\b'"), text);
	assert_non_null(strstr(text, " E'"));
	assert_non_null(strstr(text, "\\\\"));
}

static void parts_of_a_document_have_their_own_tokens(void **state)
{
	struct scrubber *s = *state;
	struct buf word = { 0 }, whole = { 0 };

	sqlscrub_word(s->scrub, SLICE("somebody"), &word);
	static const char *const documents[] = {
		"{\"name\": \"somebody\", \"list\": [1, true, null, \"somebody\"]}",
		"[\"somebody\"]",
		"{somebody,NULL,5}",
		"{{somebody},{\"somebody\"}}",
		"{\"\\u0073omebody\":1}",
	};
	for (size_t i = 0; i < LENGTH(documents); i++) {
		buf_reset(&whole);
		sqlscrub_word(s->scrub, slice_of(documents[i]), &whole);
		assert_int_equal(i < 4, strstr(buf_text(&whole), buf_text(&word)) != NULL);
		assert_int_equal(i < 4, strstr(buf_text(&whole), "somebody") == NULL);
	}
	buf_reset(&whole);
	sqlscrub_word(
		s->scrub, SLICE("{\"a\": \"x\\\"y\\\\z\\n\", \"b\": -1.5e3, \"c\": []}"), &whole);
	struct err e = { 0 };
	struct json *j = json_parse(buf_slice(&whole), "document", &e);
	assert_non_null(j);
	assert_true(json_number(json_get(j, "b"), 0) == -1500);
	json_free(j);
	buf_free(&word);
	buf_free(&whole);
}

/* Kept by its spelling is what can only be an interval. */
static void intervals_stay_and_what_only_looks_like_one_does_not(void **state)
{
	static const char *const kept[] = { "3 days", "1 year 2 mons -3 days +04:05:06.789",
		"1.5 hours", "3d", "100:00:00", "1 day 12:00" };
	static const char *const changed[] = { "192.168.1.10:54321", "10.0.0.1:80", "10.0.0.1 h",
		"12:345", "1.2.3-4 h", "+49-170-1234 h" };
	struct scrubber *s = *state;
	struct buf word = { 0 };

	for (size_t i = 0; i < LENGTH(kept); i++) {
		buf_reset(&word);
		sqlscrub_word(s->scrub, slice_of(kept[i]), &word);
		assert_string_equal(buf_text(&word), kept[i]);
	}
	for (size_t i = 0; i < LENGTH(changed); i++) {
		buf_reset(&word);
		sqlscrub_word(s->scrub, slice_of(changed[i]), &word);
		assert_string_not_equal(buf_text(&word), changed[i]);
	}
	buf_free(&word);
}

static void a_rule_for_all_other_columns_keeps_all_but_secrets(void **state)
{
	struct scrubber *s = *state;
	struct value v;

	assert_true(table_put(
		&s->policy.rules[POLICY_COLUMN], SLICE("*"), (void *)(uintptr_t)(VALUE_KEPT + 1)));
	policy_seal(&s->policy);
	scrub(s,
		"SELECT 1 FROM people WHERE mail = 'a@b.example' AND ssn = 'x' AND zip = '999' AND n = $1");
	assert_int_equal(s->st.value_count, 4);
	assert_true(slice_is(s->st.values[1].bytes, "'a@b.example'"));
	assert_int_equal(s->st.values[1].action, VALUE_KEPT);
	assert_int_equal(s->st.values[2].action, VALUE_DROPPED);
	assert_int_equal(s->st.values[3].action, VALUE_TOKEN);
	sqlscrub_param(s->scrub, 0, SLICE("some long text"), 0, 0, false, &v);
	assert_int_equal(v.action, VALUE_KEPT);
	scrub(s, "ALTER ROLE me PASSWORD 'zq-secret'");
	assert_true(s->st.flags & REQUEST_SECRET);
	assert_int_equal(s->st.value_count, 0);
}

static void the_cache_changes_nothing_but_time(void **state)
{
	struct scrubber *s = *state;
	struct sqlscrub *small = sqlscrub_new(&s->policy, s->key, 4096);
	struct sqlscrub_statement a, b;
	char text[256];

	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "SELECT c%d FROM t%d WHERE a = %d AND b = 'name %d'",
			i % 7, i % 50, i, i % 10);
		sqlscrub_text(s->scrub, slice_of(text), &a);
		sqlscrub_text(small, slice_of(text), &b);
		assert_true(slice_same(a.template_text, b.template_text));
		assert_true(slice_same(a.route, b.route));
		assert_true(a.fingerprint == b.fingerprint);
		assert_int_equal(a.value_count, 2);
		for (size_t v = 0; v < 2; v++)
			assert_true(slice_same(a.values[v].bytes, b.values[v].bytes));
	}
	assert_true(sqlscrub_cache_hits(s->scrub) > 2000);
	sqlscrub_free(small);
}

static void very_long_statements_are_bounded(void **state)
{
	struct scrubber *s = *state;
	struct buf text = { 0 };

	buf_add_text(&text, "INSERT INTO t VALUES (0)");
	for (int i = 1; i < 66000; i++)
		buf_addf(&text, ",(%d)", i);
	sqlscrub_text(s->scrub, buf_slice(&text), &s->st);
	assert_true(slice_is(s->st.route, "INSERT INTO t VALUES (...)"));
	assert_int_equal(s->st.value_count, 0);
	assert_int_equal(s->st.template_text.n, 0);
	assert_true(s->st.flags & REQUEST_VALUE_LOST);

	buf_reset(&text);
	buf_add_text(&text, "SELECT 1");
	while (text.n < SQLSCRUB_TEXT_MAX)
		buf_add_text(&text, " + a");
	buf_add_text(&text, " ");
	sqlscrub_text(s->scrub, buf_slice(&text), &s->st);
	assert_true(s->st.flags & REQUEST_UNLEXABLE);
	buf_reset(&text);
	buf_add_text(&text, "SELECT ");
	for (int i = 0; i < 100000; i++)
		buf_add_byte(&text, '(');
	sqlscrub_text(s->scrub, buf_slice(&text), &s->st);
	assert_true(s->st.route.n < 20000);
	/* Minutes when every list looked for its end through all others. */
	buf_reset(&text);
	while (text.n < 400000)
		buf_add_text(&text, "in(");
	sqlscrub_text(s->scrub, buf_slice(&text), &s->st);
	assert_true(s->st.route.n < 20000);
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes_have_no_values_and_no_spelling),
		cmocka_unit_test(a_fingerprint_forgets_values_case_and_spacing),
		cmocka_unit_test(what_is_structural_or_small_stays),
		cmocka_unit_test(the_rest_becomes_tokens_of_the_same_length),
		cmocka_unit_test(roles_are_told_by_clause),
		cmocka_unit_test(flags_and_verbs_are_told),
		cmocka_unit_test(escapes_are_decoded_and_spelled_anew),
		cmocka_unit_test(parts_of_a_document_have_their_own_tokens),
		cmocka_unit_test(the_cache_changes_nothing_but_time),
		cmocka_unit_test(very_long_statements_are_bounded),
		/* last: it changes the policy */
		cmocka_unit_test(intervals_stay_and_what_only_looks_like_one_does_not),
		cmocka_unit_test(a_rule_for_all_other_columns_keeps_all_but_secrets),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
