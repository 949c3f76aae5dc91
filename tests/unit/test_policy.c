#include "tests/lib/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/model/policy.h"

static bool load(struct policy *p, const char *text, struct err *e)
{
	char path[] = "/tmp/reprod-policy-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	*e = (struct err){ 0 };
	bool ok = policy_load(p, path, e);
	unlink(path);
	return ok;
}

static uintptr_t column(const struct policy *p, const char *name)
{
	return (uintptr_t)table_get(&p->rules[POLICY_COLUMN], slice_of(name));
}

static void the_default_keeps_eight_digits(void **state)
{
	struct policy p;
	struct err e = { 0 };
	(void)state;

	assert_true(policy_defaults(&p, &e));
	assert_int_equal(p.keep_digits, 8);
	assert_false(p.is_permuting_ids);
	assert_int_equal(p.shift_weeks, 0);
	assert_int_equal(strlen(p.digest), 64);
	policy_free(&p);
	policy_free(&p);
}

static void reads_every_rule(void **state)
{
	struct policy p;
	struct err e;
	(void)state;

	assert_true(load(&p,
		"{\"format\": \"reprod-policy\", \"version\": 1, \"keep_digits\": 5, \"ids\": \"permute\","
		"\"shift_weeks\": -3, \"columns\": {\"orders.status\": \"keep\", \"email\": \"token\","
		"\"birthday\": \"shift\", \"ssn\": \"drop\"}, \"keep_words\": [\"open\", \"closed\"]}",
		&e));
	assert_int_equal(p.keep_digits, 5);
	assert_true(p.is_permuting_ids);
	assert_int_equal(p.shift_weeks, -3);
	assert_int_equal(column(&p, "orders.status"), VALUE_KEPT + 1);
	assert_int_equal(column(&p, "email"), VALUE_TOKEN + 1);
	assert_int_equal(column(&p, "birthday"), VALUE_SHIFTED + 1);
	assert_int_equal(column(&p, "ssn"), VALUE_DROPPED + 1);
	assert_int_equal(column(&p, "other"), 0);
	assert_non_null(table_get(&p.words, SLICE("open")));
	policy_free(&p);
}

static void equal_rules_have_equal_digests(void **state)
{
	struct policy a, b, c;
	struct err e;
	(void)state;

	assert_true(load(&a,
		"{\"format\":\"reprod-policy\",\"version\":1,\"columns\":{\"a\":\"keep\",\"b\":\"drop\"}}",
		&e));
	assert_true(load(&b,
		"{\"columns\":{\"b\":\"drop\",\"a\":\"keep\"},\"keep_digits\":8,\"version\":1,"
		"\"comment\":\"x\",\"format\":\"reprod-policy\"}",
		&e));
	assert_true(load(&c,
		"{\"format\":\"reprod-policy\",\"version\":1,\"columns\":{\"a\":\"keep\",\"b\":\"keep\"}}",
		&e));
	assert_string_equal(a.digest, b.digest);
	assert_string_not_equal(a.digest, c.digest);
	char before[65];
	memcpy(before, a.digest, sizeof(before));
	a.is_permuting_ids = true;
	policy_seal(&a);
	assert_string_not_equal(a.digest, before);
	policy_free(&a);
	policy_free(&b);
	policy_free(&c);
}

static void rules_of_every_scope_are_found(void **state)
{
	struct policy p;
	struct err e;
	(void)state;

	assert_true(load(&p,
		"{\"format\":\"reprod-policy\",\"version\":1,\"binds\":{\"$2\":\"keep\","
		"\"0123456789abcdef:$1\":\"permute\"},\"json\":{\"$.a[*].b\":\"drop\",\"c\":\"token\"},"
		"\"headers\":{\"X-Tenant\":\"keep\"},\"query\":{\"page\":\"keep\"},\"form\":{\"q\":\"shift\"},"
		"\"segments\":{\"/u/{}\":\"keep\"},\"routes\":{\"GET /u/{}\":\"drop\"}}",
		&e));
	assert_int_equal(policy_rule(&p, POLICY_BIND, SLICE("$2")), POLICY_KEEP);
	assert_int_equal(
		policy_rule(&p, POLICY_BIND, SLICE("0123456789abcdef:$1")), POLICY_PERMUTE);
	assert_int_equal(policy_rule(&p, POLICY_JSON, SLICE("$.a[*].b")), POLICY_DROP);
	assert_int_equal(policy_rule(&p, POLICY_JSON, SLICE("c")), POLICY_TOKEN);
	assert_int_equal(policy_rule(&p, POLICY_HEADER, SLICE("x-tenant")), POLICY_KEEP);
	assert_int_equal(policy_rule(&p, POLICY_QUERY, SLICE("page")), POLICY_KEEP);
	assert_int_equal(policy_rule(&p, POLICY_FORM, SLICE("q")), POLICY_SHIFT);
	assert_int_equal(policy_rule(&p, POLICY_SEGMENT, SLICE("/u/{}")), POLICY_KEEP);
	assert_int_equal(policy_rule(&p, POLICY_ROUTE, SLICE("GET /u/{}")), POLICY_DROP);
	assert_int_equal(policy_rule(&p, POLICY_QUERY, SLICE("q")), POLICY_NONE);
	assert_false(policy_has(&p, POLICY_COLUMN));
	assert_true(policy_has(&p, POLICY_ROUTE));
	policy_free(&p);
}

/* The same as before there were other scopes: captures name their policy by it. */
static void the_digest_of_an_old_policy_stays(void **state)
{
	struct policy p;
	struct err e;
	char hex[65];
	(void)state;

	assert_true(load(&p,
		"{\"format\":\"reprod-policy\",\"version\":1,\"keep_words\":[\"open\"],"
		"\"columns\":{\"orders.status\":\"keep\"}}",
		&e));
	file_sha256_bytes(SLICE("reprod-policy 1\nkeep_digits 8\nids keep\nshift_weeks 0\n"
				"column 13 orders.status keep\nword 4 open\n"),
		hex);
	assert_string_equal(p.digest, hex);
	assert_true(policy_put(&p, POLICY_HEADER, SLICE("X-Region"), POLICY_KEEP));
	policy_seal(&p);
	file_sha256_bytes(
		SLICE("reprod-policy 1\nkeep_digits 8\nids keep\nshift_weeks 0\n"
		      "column 13 orders.status keep\nword 4 open\nheader 8 x-region keep\n"),
		hex);
	assert_string_equal(p.digest, hex);
	policy_free(&p);
}

static void its_document_reads_back_the_same(void **state)
{
	struct policy a, b;
	struct err e;
	struct buf text = { 0 };
	(void)state;

	assert_true(load(&a,
		"{\"format\":\"reprod-policy\",\"version\":1,\"shift_weeks\":52,\"keep_words\":[\"x\"],"
		"\"columns\":{\"t.a\":\"keep\",\"b\":\"shift\"},\"headers\":{\"X-A\":\"keep\"},"
		"\"json\":{\"$.a\":\"drop\"}}",
		&e));
	struct json *j = policy_json(&a);
	json_write(j, true, &text);
	json_free(j);
	assert_true(load(&b, buf_text(&text), &e));
	assert_string_equal(a.digest, b.digest);
	buf_free(&text);
	policy_free(&a);
	policy_free(&b);
}

static void says_what_is_wrong(void **state)
{
	static const struct {
		const char *text, *what;
	} cases[] = {
		{ "{}", "not a scrub policy" },
		{ "[1]", "not a scrub policy" },
		{ "{\"format\":\"reprod-policy\"}", "version 0" },
		{ "{\"format\":\"reprod-policy\",\"version\":2}", "version 2" },
		{ "{\"format\":\"reprod-policy\",\"version\":1,\"colums\":{}}",
			"no such rule 'colums'" },
		{ "{\"format\":\"reprod-policy\",\"version\":1,\"columns\":{\"a\":\"hide\"}}",
			"'hide'" },
		{ "{\"format\":\"reprod-policy\",\"version\":1,\"columns\":[]}", "'columns'" },
		{ "{\"format\":\"reprod-policy\",\"version\":1,\"keep_digits\":-1}",
			"'keep_digits'" },
		{ "{\"format\":\"reprod-policy\",\"version\":1,\"keep_digits\":1.5}",
			"'keep_digits'" },
		{ "{\"format\":\"reprod-policy\",\"version\":1,\"keep_digits\":\"8\"}",
			"'keep_digits'" },
		{ "{\"format\":\"reprod-policy\",\"version\":1,\"ids\":\"no\"}", "'ids'" },
		{ "{\"format\":\"reprod-policy\",\"version\":1,\"keep_words\":[1]}",
			"'keep_words'" },
		{ "{\"format\":\"reprod-policy\",\"version\":1,\"binds\":{\"2\":\"keep\"}}",
			"'2' of 'binds'" },
		{ "{\"format\":\"reprod-policy\",\"version\":1,\"binds\":{\"$0\":\"keep\"}}",
			"'$0' of 'binds'" },
		{ "{\"format\":\"reprod-policy\",\"version\":1,\"json\":{\"$.a[0]\":\"keep\"}}",
			"'$.a[0]' of 'json'" },
		{ "{\"format\":\"reprod-policy\",\"version\":1,\"segments\":{\"u/{}\":\"keep\"}}",
			"'u/{}' of 'segments'" },
		{ "{\"format\":\"reprod-policy\",\"version\":1,\"headers\":{\"\":\"keep\"}}",
			"'' of 'headers'" },
		{ "{\"format\":\"reprod-policy\",\"version\":1,\"query\":{\"a\":\"\"}}",
			"no such action" },
		{ "not json", "" },
	};
	(void)state;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct policy p;
		struct err e;

		assert_false(load(&p, cases[i].text, &e));
		assert_int_equal(e.kind, ERR_INPUT);
		if (!strstr(e.what, cases[i].what) || !strstr(e.where, "/tmp/reprod-policy"))
			fail_msg("'%s': '%s' for %s", e.where, e.what, cases[i].text);
	}
	struct policy p;
	struct err e = { 0 };
	assert_false(policy_load(&p, "/nonexistent/policy.json", &e));
	assert_true(e.what[0] != '\0');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_keeps_eight_digits),
		cmocka_unit_test(reads_every_rule),
		cmocka_unit_test(equal_rules_have_equal_digests),
		cmocka_unit_test(rules_of_every_scope_are_found),
		cmocka_unit_test(the_digest_of_an_old_policy_stays),
		cmocka_unit_test(its_document_reads_back_the_same),
		cmocka_unit_test(says_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
