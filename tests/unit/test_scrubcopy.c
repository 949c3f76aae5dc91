#include "tests/lib/unit.h"

#include "capture/scrubcopy.h"

struct scrubber {
	struct policy policy;
	struct token_key *key;
	struct sqlscrub *sql;
	struct buf out;
};

static int set_up(void **state)
{
	const unsigned char key[32] = "copy";
	struct scrubber *s = calloc(1, sizeof(*s));
	struct err e = { 0 };

	assert_true(policy_defaults(&s->policy, &e));
	assert_true(policy_put(&s->policy, POLICY_COLUMN, SLICE("t.name"), POLICY_KEEP));
	assert_true(policy_put(&s->policy, POLICY_COLUMN, SLICE("t.pin"), POLICY_TOKEN));
	assert_true(policy_put(&s->policy, POLICY_COLUMN, SLICE("u.pin"), POLICY_DROP));
	policy_seal(&s->policy);
	s->key = token_key_of(key, &e);
	s->sql = sqlscrub_new(&s->policy, s->key, 0);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scrubber *s = *state;

	buf_free(&s->out);
	sqlscrub_free(s->sql);
	token_key_free(s->key);
	policy_free(&s->policy);
	free(s);
	return 0;
}

static bool rows(struct scrubber *s, const char *statement, const char *data)
{
	buf_reset(&s->out);
	return scrubcopy_rows(s->sql, slice_of(statement), slice_of(data), &s->out);
}

static void fields_go_by_the_rule_of_their_column(void **state)
{
	struct scrubber *s = *state;
	struct sqlscrub_statement st;
	struct value v;

	assert_true(rows(s, "COPY shop.T (id, \"name\", PIN) FROM STDIN",
		"1\tAnna\\tB\t1234\n2\t\\N\t99\n"));
	assert_non_null(strstr(buf_text(&s->out), "1\tAnna\\tB\t"));
	assert_non_null(strstr(buf_text(&s->out), "\n2\t\\N\t"));
	assert_null(strstr(buf_text(&s->out), "1234"));
	/* The same as a bind of that column. */
	sqlscrub_text(s->sql, SLICE("SELECT * FROM t WHERE pin = $1"), &st);
	sqlscrub_param(s->sql, 0, SLICE("1234"), 0, 0, false, &v);
	assert_non_null(strstr(buf_text(&s->out), "Anna"));
	assert_true(memmem(s->out.p, s->out.n, v.bytes.p, v.bytes.n) != NULL);
}

static void unknown_columns_are_not_kept_where_a_rule_may_hide_one(void **state)
{
	assert_false(rows(*state, "COPY t FROM STDIN", "1\tAnna\t1234\n"));
	assert_false(rows(*state, "COPY u (id, pin) FROM STDIN", "1\t1234\n"));
	assert_true(rows(*state, "COPY u (id) FROM STDIN", "1\n"));
	assert_true(rows(*state, "copy other from stdin with (freeze)", "1\t1234\n"));
	assert_string_equal(buf_text(&((struct scrubber *)*state)->out), "1\t1234\n");
}

static void other_formats_are_not_read(void **state)
{
	static const char *const statements[] = {
		"COPY other FROM STDIN WITH (FORMAT csv)",
		"COPY other FROM STDIN DELIMITER ','",
		"COPY other FROM STDIN BINARY",
		"COPY (SELECT 1) TO STDOUT",
		"COPY other FROM STDIN WITH (NULL 'x')",
		"INSERT INTO other VALUES (1)",
		"COPY 'open",
		"",
	};

	for (size_t i = 0; i < LENGTH(statements); i++)
		assert_false(rows(*state, statements[i], "some text\n"));
}

/* test_scrubcopy KEY POLICY "COPY t (a, b) FROM STDIN": the rows of standard input,
 * scrubbed, on standard output. For tests that need a copy of a table. */
static int scrub_rows(char *const *argv)
{
	struct policy policy;
	struct err e = { 0 };
	struct buf in = { 0 }, out = { 0 };
	char block[1 << 14];
	size_t n;

	while ((n = fread(block, 1, sizeof(block), stdin)) > 0)
		buf_add(&in, block, n);
	struct token_key *key = token_key_load(argv[1], &e);
	if (!key || !policy_load(&policy, argv[2], &e)) {
		err_print(&e, stderr);
		return 1;
	}
	struct sqlscrub *sql = sqlscrub_new(&policy, key, 0);
	bool ok = scrubcopy_rows(sql, slice_of(argv[3]), buf_slice(&in), &out);
	if (ok)
		fwrite(buf_text(&out), 1, out.n, stdout);
	sqlscrub_free(sql);
	token_key_free(key);
	policy_free(&policy);
	buf_free(&in);
	buf_free(&out);
	return !ok;
}

int main(int argc, char **argv)
{
	if (argc == 4)
		return scrub_rows(argv);

	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			fields_go_by_the_rule_of_their_column, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			unknown_columns_are_not_kept_where_a_rule_may_hide_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_formats_are_not_read, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
