/*
 * A canary of each class is planted in every kind of statement. None may be in
 * template, route or values, neither plain nor in another case, in hex or base64.
 */
#include "tests/lib/unit.h"

#include "core/model/sqlscrub.h"

/* %s is where a canary goes; quoted ones stand between quotes of the statement. */
static const char *const statements[] = {
	"SELECT '%s'",
	"SELECT * FROM t WHERE a = '%s' AND b > 1",
	"SELECT E'%s\\n', N'%s', U&'%s'",
	"SELECT E'x'\n'y\\'%s'",
	"SELECT E'x'\n'y\\' %s ' -- '\n",
	"SELECT 'a' -- %s\n'%s'",
	"SELECT $$%s$$, $tag$ %s $tag$",
	"SELECT 1 /* %s /* %s */ %s */",
	"SELECT 1 -- %s",
	"INSERT INTO t (a, b) VALUES ('%s', 1), ('%s', 2) ON CONFLICT (a) DO UPDATE SET a = '%s'",
	"INSERT INTO t SELECT '%s' FROM u WHERE v = '%s' RETURNING '%s'",
	"UPDATE t SET a = '%s', b = b || '%s' WHERE c IN ('%s', '%s')",
	"DELETE FROM t USING u WHERE t.a LIKE '%%%s%%' OR t.a ~ '^%s$' OR a SIMILAR TO '%s'",
	"MERGE INTO t USING u ON t.a = u.a WHEN MATCHED AND u.b = '%s' THEN UPDATE SET b = '%s'",
	"WITH w AS (INSERT INTO t VALUES ('%s') RETURNING a) SELECT * FROM w WHERE a = '%s'",
	"PREPARE p (text) AS SELECT * FROM t WHERE a = $1 AND b = '%s'",
	"EXECUTE p('%s', 5)",
	"EXPLAIN (ANALYZE, FORMAT JSON) SELECT '%s'",
	"CALL proc('%s')",
	"DO $$ BEGIN PERFORM '%s'; END $$",
	"DO LANGUAGE plpgsql 'BEGIN PERFORM ''%s''; END'",
	"COPY t FROM PROGRAM 'curl -u %s http://x'",
	"COPY t (a) TO '/tmp/%s.csv' WITH (FORMAT csv, NULL '%s')",
	"COPY (SELECT * FROM t WHERE a = '%s') TO STDOUT",
	"NOTIFY chan, '%s'",
	"SELECT pg_notify('chan', '%s')",
	"COMMENT ON TABLE t IS '%s'",
	"SECURITY LABEL ON TABLE t IS '%s'",
	"CREATE TABLE t (a text DEFAULT '%s' CHECK (a <> '%s'))",
	"CREATE TYPE mood AS ENUM ('%s', 'b')",
	"CREATE INDEX i ON t (a) WHERE a = '%s'",
	"CREATE VIEW v AS SELECT '%s' AS x",
	"CREATE POLICY p ON t USING (a = '%s')",
	"CREATE FUNCTION f() RETURNS text LANGUAGE sql AS 'SELECT ''%s'''",
	"CREATE OR REPLACE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $f$ BEGIN RETURN '%s'; END $f$",
	"CREATE FUNCTION f() RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT '%s'; END",
	"CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ -- %s\n$$",
	"CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f('%s')",
	"CREATE RULE r AS ON INSERT TO t DO INSTEAD (INSERT INTO u VALUES ('%s'))",
	"ALTER TABLE t ALTER a SET DEFAULT '%s'",
	"ALTER TABLE t ADD PARTITION p VALUES IN ('%s')",
	"ALTER SYSTEM SET primary_conninfo = 'host=x password=%s'",
	"ALTER SYSTEM SET cluster_name = '%s'",
	"ALTER DATABASE d SET myapp.token = '%s'",
	"ALTER ROLE bob SET search_path = '%s'",
	"ALTER ROLE bob WITH LOGIN PASSWORD '%s' VALID UNTIL 'infinity'",
	"CREATE ROLE bob ENCRYPTED PASSWORD '%s'",
	"CREATE USER bob PASSWORD '%s'",
	"CREATE SUBSCRIPTION s CONNECTION 'host=x password=%s' PUBLICATION p",
	"ALTER SUBSCRIPTION s CONNECTION 'password=%s'",
	"CREATE USER MAPPING FOR bob SERVER s OPTIONS (user 'u', password '%s')",
	"ALTER USER MAPPING FOR bob SERVER s OPTIONS (SET password '%s')",
	"CREATE SERVER s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s')",
	"SELECT * FROM dblink('password=%s', 'SELECT 1') AS t(a int)",
	"SELECT dblink_connect('c', 'host=x password=%s')",
	"SELECT crypt('%s', gen_salt('bf')), pgp_sym_encrypt('a', '%s')",
	"SELECT digest('%s', 'sha256'), hmac('%s', 'k', 'sha1')",
	"SET application_name = '%s'",
	"SET SESSION myapp.user_name TO '%s'",
	"SET LOCAL search_path TO public, '%s'",
	"SELECT set_config('myapp.user', '%s', true), current_setting('%s !')",
	"SET TIME ZONE '%s'",
	"DECLARE c CURSOR FOR SELECT * FROM t WHERE a = '%s'",
	"PREPARE TRANSACTION '%s'",
	"COMMIT PREPARED '%s'",
	"SELECT '{\"name\": \"%s\", \"list\": [\"%s\"]}'::jsonb, '{%s,b}'::text[]",
	"SELECT data -> '%s x', data @> '{\"k\": \"%s\"}' FROM t",
	"SELECT date_trunc('%s', now()), interval '%s', '%s !'::regclass = 5, nextval('%s !')",
	"SELECT '%s' AT TIME ZONE '%s', to_char(now(), '%s'), '%s'::bool",
	"BEGIN; UPDATE t SET a = '%s'; COMMIT",
	"SELECT * FROM t LIMIT '%s'",
	"LOAD '%s'",
	"SELECT ARRAY['%s', 'b'], ROW('%s', 1), CASE WHEN a = '%s' THEN '%s' ELSE '%s' END",
	"VALUES ('%s'), ('b')",
	"SELECT x'%s', b'01'",
	"TABLE t; SELECT \"Col\" FROM t WHERE \"Col\" = '%s'",
};

static const char *const canaries[] = {
	"Zeisig",
	"zeisigvogel@example.com",
	"741852963014",
	"a7f3c9d1-52be-4c08-9d1e-6f0b8a4c2e71",
	"+4915735998765",
	"192.168.117.203",
	"73.918264551",
};

struct scrubber {
	struct policy policy;
	struct token_key *key;
	struct sqlscrub *scrub;
};

static int set_up(void **state)
{
	struct scrubber *s = calloc(1, sizeof(*s));
	const unsigned char key[32] = "canary canary canary canary";
	struct err e = { 0 };

	assert_non_null(s);
	assert_true(policy_defaults(&s->policy, &e));
	s->key = token_key_of(key, &e);
	s->scrub = sqlscrub_new(&s->policy, s->key, 0);
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

static void base64(struct slice s, char *to)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	/* Whole groups of three only: the rest depends on what follows. */
	for (size_t i = 0; i + 3 <= s.n; i += 3) {
		unsigned v = (unsigned)(unsigned char)s.p[i] << 16 |
			     (unsigned)(unsigned char)s.p[i + 1] << 8 | (unsigned char)s.p[i + 2];

		for (int shift = 18; shift >= 0; shift -= 6)
			*to++ = digits[v >> shift & 63];
	}
	*to = '\0';
}

static bool holds(struct slice s, const char *needle)
{
	return s.n && memmem(s.p, s.n, needle, strlen(needle));
}

static bool leaks(struct slice out, const char *canary)
{
	char upper[64] = "", lower[64] = "", hex[128] = "", coded[128];
	char *folded = strndup(out.n ? out.p : "", out.n);

	for (size_t i = 0; canary[i]; i++) {
		bool is_upper = canary[i] >= 'A' && canary[i] <= 'Z';
		bool is_lower = canary[i] >= 'a' && canary[i] <= 'z';

		upper[i] = is_lower ? (char)(canary[i] - 32) : canary[i];
		lower[i] = is_upper ? (char)(canary[i] + 32) : canary[i];
		sprintf(hex + 2 * i, "%02x", (unsigned char)canary[i]);
	}
	base64(slice_of(canary), coded);
	bool is_leak = holds(out, canary) || holds(out, upper) || holds(out, lower) ||
		       holds(out, hex) || holds(out, coded) ||
		       (folded && strcasestr(folded, canary));
	free(folded);
	return is_leak;
}

static void plant(const char *statement, const char *canary, char *to, size_t size)
{
	size_t n = 0;

	for (const char *p = statement; *p && n + 64 < size; p++) {
		if (p[0] == '%' && p[1] == 's') {
			n += (size_t)snprintf(to + n, size - n, "%s", canary);
			p++;
		} else if (p[0] == '%' && p[1] == '%') {
			to[n++] = '%';
			p++;
		} else {
			to[n++] = *p;
		}
	}
	to[n] = '\0';
}

static void check(struct scrubber *s, const char *text, const char *canary)
{
	struct sqlscrub_statement st;

	sqlscrub_text(s->scrub, slice_of(text), &st);
	if (leaks(st.template_text, canary) || leaks(st.route, canary))
		fail_msg("'%s' is in the template or route of: %s", canary, text);
	for (size_t i = 0; i < st.value_count; i++)
		if (leaks(st.values[i].bytes, canary))
			fail_msg("'%s' is in value %zu of: %s", canary, i, text);
}

static void no_canary_comes_out_of_any_kind_of_statement(void **state)
{
	char text[4096];

	for (size_t i = 0; i < LENGTH(statements); i++)
		for (size_t c = 0; c < LENGTH(canaries); c++) {
			plant(statements[i], canaries[c], text, sizeof(text));
			check(*state, text, canaries[c]);
			/* Again from the cache. */
			check(*state, text, canaries[c]);
		}
}

static void no_bare_canary_comes_out_of_settings_and_roles(void **state)
{
	static const char *const bare[] = {
		"SET application_name = %s",
		"SET SESSION myapp.name TO %s",
		"SET ROLE %s",
		"SET SESSION AUTHORIZATION \"%s\"",
		"ALTER SYSTEM SET cluster_name = %s",
		"ALTER ROLE ALL SET myapp.name = %s",
		"CREATE ROLE %s LOGIN",
		"DROP ROLE IF EXISTS %s",
		"ALTER USER %s NOLOGIN",
		"SELECT * FROM t WHERE a = 1%s",
	};
	char text[256];

	for (size_t i = 0; i < LENGTH(bare); i++) {
		plant(bare[i], "Zeisigvogel", text, sizeof(text));
		check(*state, text, "Zeisigvogel");
	}
}

static void no_long_number_comes_out_in_any_notation(void **state)
{
	static const char *const numbers[] = {
		"SELECT * FROM t WHERE a = 741852963014",
		"SELECT -741852963014",
		"SELECT + -741852963014",
		"SELECT 741852963014.25, 741852963014e2",
		"SELECT 741_852_963_014",
		"SELECT 0xacba7ad2c6",
		"INSERT INTO t VALUES (741852963014)",
		"EXECUTE p(741852963014)",
		"CALL p(741852963014)",
		"SELECT nextval(741852963014)",
		"SELECT 1 LIMIT 5 OFFSET 7",
		"SELECT a[741852963014]",
		"SELECT '741852963014'",
		"SELECT '741852963014'::bigint",
		"SELECT '{741852963014,1}'::int8[]",
		"SELECT '[741852963014,8]'::int8range",
		"SELECT '{\"a\": 741852963014}'::json",
		"CREATE TABLE t (a bigint DEFAULT 741852963014)",
	};

	for (size_t i = 0; i < LENGTH(numbers); i++) {
		check(*state, numbers[i], "741852963014");
		check(*state, numbers[i], "acba7ad2c6");
	}
}

static void secrets_leave_no_value_and_no_template(void **state)
{
	static const char *const secrets[] = {
		"ALTER ROLE a PASSWORD 'x'",
		"CREATE USER a PASSWORD 'x'",
		"CREATE SUBSCRIPTION s CONNECTION 'x' PUBLICATION p",
		"CREATE USER MAPPING FOR u SERVER s OPTIONS (password 'x')",
		"SELECT dblink('x', 'y')",
		"SELECT public.crypt('x', s) FROM u",
		"SELECT \"crypt\"('x', s)",
		"ALTER SYSTEM SET primary_conninfo = 'x'",
		"SELECT pgp_sym_decrypt(a, 'x') FROM t",
	};
	struct scrubber *s = *state;
	struct sqlscrub_statement st;

	for (size_t i = 0; i < LENGTH(secrets); i++) {
		sqlscrub_text(s->scrub, slice_of(secrets[i]), &st);
		if (!(st.flags & REQUEST_SECRET) || st.value_count || st.template_text.n ||
			!st.route.n)
			fail_msg("not treated as a secret: %s", secrets[i]);
	}
}

static void binds_of_a_secret_statement_are_dropped(void **state)
{
	struct scrubber *s = *state;
	struct sqlscrub_statement st;
	struct value v;

	sqlscrub_text(s->scrub, SLICE("SELECT * FROM u WHERE pw = crypt($1, pw) AND id = $2"), &st);
	assert_int_equal(st.param_count, 2);
	for (uint16_t place = 0; place < 2; place++) {
		sqlscrub_param(s->scrub, place, SLICE("12"), 0, 0, false, &v);
		assert_int_equal(v.action, VALUE_DROPPED);
		assert_int_equal(v.bytes.n, 0);
	}
}

static void backslashes_hide_nothing_when_they_escape(void **state)
{
	static const char text[] = "SELECT * FROM t WHERE a = 'x\\' zeisigvogel ' AND b = 1";
	struct scrubber *s = *state;
	struct sqlscrub_statement st;

	/* The server's reading, with standard_conforming_strings off: one literal. */
	sqlscrub_set_backslash_escape(s->scrub, true);
	check(s, text, "zeisigvogel");
	check(s, text, "zeisigvogel");
	sqlscrub_text(s->scrub, slice_of(text), &st);
	assert_int_equal(st.value_count, 2);
	sqlscrub_set_backslash_escape(s->scrub, false);
	sqlscrub_text(s->scrub, slice_of(text), &st);
	assert_true(st.flags & REQUEST_UNLEXABLE);
}

static void no_number_hides_in_another_form(void **state)
{
	static const char *const texts[] = {
		"SELECT '2024-01-01 00:00:00.741852963014'",
		"SELECT interval '741852963014 days'",
		"SELECT 1e741852963014",
		"SELECT '1e741852963014'",
		"SELECT '741852963014kB'",
		"SET work_mem = '741852963014'",
		"SELECT a -> '741852963014' FROM t",
		"SET TIME ZONE '741852963014'",
		"SELECT to_char(a, '741852963014')",
		"SELECT 'k741852963014'::regclass",
		"SELECT a::numeric(741852963014)",
		"SELECT 1 LIMIT 741852963014",
	};

	for (size_t i = 0; i < LENGTH(texts); i++)
		check(*state, texts[i], "741852963014");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_canary_comes_out_of_any_kind_of_statement),
		cmocka_unit_test(no_bare_canary_comes_out_of_settings_and_roles),
		cmocka_unit_test(no_long_number_comes_out_in_any_notation),
		cmocka_unit_test(secrets_leave_no_value_and_no_template),
		cmocka_unit_test(binds_of_a_secret_statement_are_dropped),
		cmocka_unit_test(backslashes_hide_nothing_when_they_escape),
		cmocka_unit_test(no_number_hides_in_another_form),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
