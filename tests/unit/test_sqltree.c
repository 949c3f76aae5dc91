#include "tests/lib/unit.h"

#include <stdio.h>

#include "core/model/sqlscrub.h"

struct scrubber {
	struct policy policy;
	struct token_key *key;
	struct sqlscrub *scrub;
};

static int set_up(void **state)
{
	static const struct {
		const char *column;
		enum policy_rule rule;
	} rules[] = {
		{ "people.email", POLICY_KEEP },
		{ "people.secret", POLICY_DROP },
		{ "people.zip", POLICY_TOKEN },
		{ "people.born", POLICY_TOKEN },
		{ "orders.state", POLICY_KEEP },
		{ "orders.note", POLICY_DROP },
	};
	struct scrubber *s = calloc(1, sizeof(*s));
	const unsigned char key[32] = "tree";
	struct err e = { 0 };

	assert_true(policy_defaults(&s->policy, &e));
	for (size_t i = 0; i < LENGTH(rules); i++)
		assert_true(policy_put(
			&s->policy, POLICY_COLUMN, slice_of(rules[i].column), rules[i].rule));
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

/* "people.email people.zip -": the column of each literal, then of each parameter. */
static void describe(struct scrubber *s, const char *text, struct buf *out)
{
	struct sqlscrub_statement st;

	buf_reset(out);
	sqlscrub_text(s->scrub, slice_of(text), &st);
	for (size_t i = 0; i < st.value_count + st.param_count; i++) {
		struct value v = { .is_bind = true, .place = (uint16_t)(i - st.value_count) };
		uint16_t place = sqlscrub_place(s->scrub, i < st.value_count ? &st.values[i] : &v);

		buf_add_text(out, i ? " " : "");
		buf_add_slice(out, place ? sqlscrub_place_name(s->scrub, place) : SLICE("-"));
	}
}

static void a_value_belongs_to_its_column(void **state)
{
	static const struct {
		const char *text, *columns;
	} cases[] = {
		{ "SELECT 1 FROM people WHERE email = 'a'", "- people.email" },
		{ "SELECT * FROM people p WHERE 'a' = p.email AND $1 < zip",
			"people.email people.zip" },
		{ "SELECT * FROM people AS p JOIN orders o ON o.person = p.id AND o.state = 'x' "
		  "WHERE p.email = $1",
			"orders.state people.email" },
		{ "SELECT * FROM people p, orders o WHERE email = 'a' AND state = 'b'",
			"people.email orders.state" },
		{ "SELECT * FROM people WHERE lower(email) = lower('A')", "people.email" },
		{ "SELECT * FROM people WHERE (email)::text = 'a'::varchar COLLATE \"C\"",
			"people.email" },
		{ "SELECT * FROM people WHERE coalesce(email, 'x') = 'y'",
			"people.email people.email" },
		{ "SELECT * FROM people WHERE email IN ('a', 'b', $1)",
			"people.email people.email people.email" },
		{ "SELECT * FROM people WHERE email = ANY (ARRAY['a', 'b']) OR zip = ANY ($1)",
			"people.email people.email people.zip" },
		{ "SELECT * FROM people WHERE zip NOT BETWEEN '1' AND '2'",
			"people.zip people.zip" },
		{ "SELECT * FROM people WHERE email LIKE 'a%' OR email ~ 'b'",
			"people.email people.email" },
		{ "SELECT * FROM people WHERE (email, zip) = ('a', '1')",
			"people.email people.zip" },
		{ "SELECT * FROM people WHERE (email, zip) IN (('a', '1'), ('b', $1))",
			"people.email people.zip people.email people.zip" },
		{ "SELECT * FROM people WHERE zip = CASE WHEN email = 'a' THEN '1' ELSE '2' END",
			"people.email people.zip people.zip" },
		{ "SELECT * FROM people WHERE CASE email WHEN 'a' THEN true END", "people.email" },
		{ "SELECT * FROM (SELECT email AS e, zip FROM people) AS q WHERE e = 'a' AND q.zip = '1'",
			"people.email people.zip" },
		{ "SELECT * FROM (SELECT * FROM people) AS q WHERE q.email = 'a'", "people.email" },
		{ "WITH q (x) AS (SELECT email FROM people) SELECT * FROM q WHERE x = 'a'",
			"people.email" },
		{ "WITH RECURSIVE r AS (SELECT email FROM people UNION ALL SELECT r.email FROM r "
		  "WHERE r.email <> 'a') SELECT * FROM r WHERE email = $1",
			"people.email people.email" },
		{ "SELECT * FROM orders o WHERE EXISTS (SELECT FROM people p WHERE p.id = o.person "
		  "AND p.email = 'a' AND o.state = 'b')",
			"people.email orders.state" },
		{ "SELECT * FROM people WHERE email IN (SELECT mail FROM other WHERE k = 'a')",
			"other.k" },
		{ "SELECT * FROM people, LATERAL (SELECT * FROM orders WHERE state = 'a' AND "
		  "orders.person = people.id LIMIT 3) o WHERE o.note = 'b'",
			"orders.state - orders.note" },
		{ "INSERT INTO people (email, zip) VALUES ('a', '1'), ($1, DEFAULT)",
			"people.email people.zip people.email" },
		{ "INSERT INTO people (email, zip) VALUES (lower('a'), '1'), ($1, $2)",
			"people.email people.zip people.email people.zip" },
		{ "INSERT INTO people (email, zip) SELECT 'a', state FROM orders WHERE state = 'b'",
			"people.email orders.state" },
		{ "INSERT INTO people (email) SELECT 'a' UNION ALL SELECT 'b'",
			"people.email people.email" },
		{ "INSERT INTO people (id, email) VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET "
		  "email = excluded.email || 'b', zip = $1 WHERE people.zip <> 'c' RETURNING 'd'",
			"people.id people.email people.email people.zip - people.zip" },
		{ "UPDATE people SET email = 'a', (zip, born) = ('1', $1) WHERE secret = 'z'",
			"people.email people.zip people.secret people.born" },
		{ "UPDATE people p SET zip = o.x FROM orders o WHERE o.state = 'a'",
			"orders.state" },
		{ "UPDATE people SET email = v.e FROM (VALUES (1, 'a'), (2, 'b')) AS v (id, e) "
		  "WHERE people.id = v.id",
			"people.id people.email people.id people.email" },
		{ "DELETE FROM people USING orders o WHERE o.state = 'a' AND people.zip = '1'",
			"orders.state people.zip" },
		{ "MERGE INTO people p USING orders o ON o.person = p.id AND o.state = 'a' WHEN "
		  "MATCHED AND p.zip = '1' THEN UPDATE SET email = 'b' WHEN NOT MATCHED THEN "
		  "INSERT (email, zip) VALUES ('c', $1)",
			"orders.state people.zip people.email people.email people.zip" },
		{ "EXPLAIN SELECT * FROM people WHERE email = 'a'", "people.email" },
		{ "PREPARE q AS SELECT * FROM people WHERE email = $1", "people.email" },
		{ "SELECT $1::text IS NULL OR people.email = $1 FROM people", "people.email" },
		{ "SELECT * FROM people WHERE length(email) > 5 AND left(zip, 3) = '123'",
			"- - people.zip" },
		{ "SELECT * FROM people LIMIT 5 OFFSET $1", "- -" },
		{ "SELECT date_trunc('day', born) FROM people WHERE born > now() - interval '3 days'",
			"- people.born" },
		{ "SELECT * FROM people WHERE data->>'k' = 'v' AND data @> '{\"a\": \"b\"}'",
			"- people.data people.data" },
		{ "SELECT x FROM people WHERE email = 'a' FETCH FIRST 3 ROWS ONLY; "
		  "SELECT * FROM orders WHERE state = 'b'",
			"people.email - orders.state" },
		{ "SELECT * FROM shop.people WHERE shop.people.email = 'a'", "people.email" },
		{ "SELECT * FROM \"People\" WHERE \"Email\" = 'a'", "People.Email" },
	};
	struct buf columns = { 0 };

	for (size_t i = 0; i < LENGTH(cases); i++) {
		describe(*state, cases[i].text, &columns);
		if (strcmp(buf_text(&columns), cases[i].columns) != 0)
			fail_msg("'%s', not '%s': %s", buf_text(&columns), cases[i].columns,
				cases[i].text);
	}
	buf_free(&columns);
}

/* The scrubbed first literal, or bind when there is none, of a text. */
static void first_of(struct scrubber *s, const char *text, const char *bind, struct buf *out)
{
	struct sqlscrub_statement st;
	struct value v = { 0 };

	buf_reset(out);
	sqlscrub_text(s->scrub, slice_of(text), &st);
	if (bind)
		sqlscrub_param(s->scrub, 0, slice_of(bind), 0, 0, false, &v);
	else if (st.value_count)
		v = st.values[0];
	if (v.action == VALUE_DROPPED)
		buf_add_text(out, "(dropped)");
	buf_add_slice(out, v.bytes);
}

static void a_rule_of_a_place_goes_before_that_of_a_column(void **state)
{
	struct scrubber *s = *state;
	struct sqlscrub_statement st;
	struct buf out = { 0 };
	char place[64];
	const char *text = "SELECT * FROM people WHERE secret = $1 AND name = $2";

	first_of(s, text, "abc", &out);
	assert_string_equal(buf_text(&out), "(dropped)");
	sqlscrub_text(s->scrub, slice_of(text), &st);
	snprintf(place, sizeof(place), "%016llx:$1", (unsigned long long)st.fingerprint);
	assert_true(policy_put(&s->policy, POLICY_BIND, slice_of(place), POLICY_KEEP));
	assert_true(
		policy_put(&s->policy, POLICY_ROUTE, SLICE("SELECT ? FROM people"), POLICY_KEEP));
	struct sqlscrub *ruled = sqlscrub_new(&s->policy, s->key, 0);
	struct scrubber with = { .scrub = ruled };
	first_of(&with, text, "abc", &out);
	assert_string_equal(buf_text(&out), "abc");
	first_of(&with, "SELECT 1 FROM people WHERE secret = $1", "abc", &out);
	assert_string_equal(buf_text(&out), "(dropped)");
	first_of(&with, "SELECT 'some name' FROM people", NULL, &out);
	assert_string_equal(buf_text(&out), "'some name'");
	sqlscrub_free(ruled);
	buf_free(&out);
}

static void a_rule_of_a_json_path_holds_inside_documents(void **state)
{
	struct scrubber *s = *state;
	struct buf out = { 0 };

	assert_true(policy_put(&s->policy, POLICY_JSON, SLICE("$.a[*].b"), POLICY_KEEP));
	assert_true(policy_put(&s->policy, POLICY_JSON, SLICE("pin"), POLICY_DROP));
	assert_true(policy_put(&s->policy, POLICY_JSON, SLICE("zip"), POLICY_PERMUTE));
	struct sqlscrub *ruled = sqlscrub_new(&s->policy, s->key, 0);
	struct scrubber with = { .scrub = ruled };
	static const char *const places[] = { "INSERT INTO t (doc) VALUES ($1)",
		"UPDATE people SET email = $1", "SELECT $1::jsonb" };
	for (size_t i = 0; i < LENGTH(places); i++) {
		first_of(&with, places[i],
			"{\"a\": [{\"b\": \"kept text\"}], \"x\": {\"pin\": \"hidden\"}, \"zip\": 1234}",
			&out);
		assert_non_null(strstr(buf_text(&out), "[{\"b\": \"kept text\"}]"));
		assert_null(strstr(buf_text(&out), "hidden"));
		assert_null(strstr(buf_text(&out), "1234"));
	}
	/* A column that is kept keeps what no path speaks of. */
	first_of(&with, "UPDATE people SET email = $1", "{\"c\": \"kept too\"}", &out);
	assert_non_null(strstr(buf_text(&out), "kept too"));
	first_of(&with, "INSERT INTO t (doc) VALUES ('{\"b\": \"some text\"}')", NULL, &out);
	assert_null(strstr(buf_text(&out), "some text"));
	sqlscrub_free(ruled);
	buf_free(&out);
}

/* extract(month FROM born) = 2: the 2 is a month, not a birthday. */
static void what_is_measured_on_a_column_is_not_its_value(void **state)
{
	struct scrubber *s = *state;
	struct buf out = { 0 };

	assert_true(policy_put(&s->policy, POLICY_COLUMN, SLICE("born"), POLICY_SHIFT));
	assert_true(policy_put(&s->policy, POLICY_COLUMN, SLICE("zip"), POLICY_DROP));
	struct sqlscrub *ruled = sqlscrub_new(&s->policy, s->key, 0);
	struct scrubber with = { .scrub = ruled };
	first_of(&with, "SELECT id FROM people WHERE extract(month FROM born) = 2", NULL, &out);
	assert_string_equal(buf_text(&out), "2");
	first_of(&with, "SELECT id FROM people WHERE length(zip) = 5", NULL, &out);
	assert_string_equal(buf_text(&out), "5");
	first_of(&with, "SELECT id FROM people WHERE zip = 5", NULL, &out);
	assert_string_not_equal(buf_text(&out), "5");
	sqlscrub_free(ruled);
	buf_free(&out);
}

static void structure_stays_whatever_the_rule(void **state)
{
	struct scrubber *s = *state;
	struct buf out = { 0 };

	assert_true(policy_put(&s->policy, POLICY_COLUMN, SLICE("*"), POLICY_TOKEN));
	struct sqlscrub *ruled = sqlscrub_new(&s->policy, s->key, 0);
	struct scrubber with = { .scrub = ruled };
	first_of(&with, "SELECT date_trunc('day', born) FROM people", NULL, &out);
	assert_string_equal(buf_text(&out), "'day'");
	first_of(&with, "SELECT born FROM people WHERE born > now() - interval '3 days'", NULL,
		&out);
	assert_string_equal(buf_text(&out), "'3 days'");
	first_of(&with, "SELECT born FROM people LIMIT 17", NULL, &out);
	assert_string_equal(buf_text(&out), "17");
	first_of(&with, "SELECT born FROM people WHERE zip = 17", NULL, &out);
	assert_string_not_equal(buf_text(&out), "17");
	sqlscrub_free(ruled);
	buf_free(&out);
}

/* What PostgreSQL 15 cannot parse goes the lexer's way. */
static void newer_syntax_is_read_by_the_lexer(void **state)
{
	struct buf columns = { 0 };

	describe(*state,
		"SELECT j.a FROM people, json_table(doc, '$[*]' COLUMNS (a text PATH '$.a')) j "
		"WHERE people.email = 'x'",
		&columns);
	assert_non_null(strstr(buf_text(&columns), "people.email"));
	describe(*state, "MERGE INTO people USING o ON true WHEN MATCHED THEN DELETE RETURNING 'x'",
		&columns);
	buf_free(&columns);
}

static void hostile_texts_are_bounded(void **state)
{
	static const struct {
		const char *head, *part, *tail;
		size_t count;
	} cases[] = {
		{ "SELECT ", "(", "1", 60000 },
		{ "SELECT ", "1+", "1", 30000 },
		{ "SELECT ", "+", "1", 30000 },
		{ "SELECT ", "a and case when ", "1", 3000 },
		{ "SELECT ", "- ", "1", 30000 },
		{ "SELECT ", "NOT ", "true", 15000 },
		{ "SELECT 1", " UNION SELECT 1", "", 4000 },
		{ "SELECT ", "(SELECT ", "1", 5000 },
		{ "SELECT * FROM t WHERE a IN ", "(SELECT a FROM t WHERE a IN ", "(1)", 2000 },
		{ "SELECT a", "[1]", "", 20000 },
		{ "SELECT a", "::int", " = 1", 12000 },
		{ "SELECT 1 FROM t", " JOIN t ON true", "", 4000 },
		{ "SELECT ", "f(", "1", 20000 },
		{ "SELECT ", "a.", "b = 1", 30000 },
		{ "SELECT ", "case when true then ", "1", 3000 },
	};
	struct scrubber *s = *state;
	struct sqlscrub_statement st;
	struct buf text = { 0 };

	for (size_t i = 0; i < LENGTH(cases); i++) {
		buf_reset(&text);
		buf_add_text(&text, cases[i].head);
		for (size_t k = 0; k < cases[i].count; k++)
			buf_add_text(&text, cases[i].part);
		buf_add_text(&text, cases[i].tail);
		if (cases[i].head[7] == '\0' && strchr(cases[i].part, '('))
			for (size_t k = 0; k < cases[i].count; k++)
				buf_add_byte(&text, ')');
		sqlscrub_text(s->scrub, buf_slice(&text), &st);
		assert_true(st.route.n > 0);
	}
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_value_belongs_to_its_column, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_rule_of_a_place_goes_before_that_of_a_column, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_rule_of_a_json_path_holds_inside_documents, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_measured_on_a_column_is_not_its_value, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			structure_stays_whatever_the_rule, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			newer_syntax_is_read_by_the_lexer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hostile_texts_are_bounded, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
