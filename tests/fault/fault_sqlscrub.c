/*
 * Out of memory anywhere, the scrubber drops what it could not scrub: nothing of a
 * value comes out, nothing leaks, and the next statement is scrubbed as ever.
 */
#include "tests/lib/unit.h"
#include "tests/fault/wrap.h"

#include "core/model/sqlscrub.h"

struct scrubber {
	struct policy policy;
	struct token_key *key;
};

static bool holds(struct slice s)
{
	return s.n && (memmem(s.p, s.n, "zeisig", 6) || memmem(s.p, s.n, "741852963", 9));
}

static void attempt(void *data)
{
	static const char *const texts[] = {
		"SELECT * FROM t WHERE a = 'zeisig' AND b = 741852963 AND c = E'zeisig\\n'",
		"SELECT '{\"a\": \"zeisig\", \"b\": [\"\\u007aeisig\", 741852963]}'::jsonb, '{zeisig,\"zeisig x\"}'",
		"SET application_name = zeisig",
		"SELECT x'741852963', U&'zeisig', $$zeisig$$",
		"SELECT * FROM t WHERE a LIKE '%zeisig%' AND d = '[741852963,741852964)'",
	};
	const struct scrubber *s = data;
	struct sqlscrub *scrub = sqlscrub_new(&s->policy, s->key, 1 << 16);
	struct sqlscrub_statement st;
	struct value v;
	char text[4096];

	if (!scrub) {
		assert_true(fault_hit());
		return;
	}
	for (size_t i = 0; i < LENGTH(texts); i++) {
		sqlscrub_text(scrub, slice_of(texts[i]), &st);
		assert_false(holds(st.template_text) || holds(st.route));
		for (size_t n = 0; n < st.value_count; n++)
			assert_false(holds(st.values[n].bytes));
		assert_true(st.value_count > 0 || fault_hit());
	}
	sqlscrub_bind(scrub, SLICE("zeisig"), 0, 25, false, &v);
	assert_false(holds(v.bytes));
	assert_true(v.action == VALUE_TOKEN || fault_hit());
	/* Longer than what the stack serves. */
	memset(text, 'z', sizeof(text));
	sqlscrub_bind(scrub, (struct slice){ text, sizeof(text) }, 1, 25, false, &v);
	assert_true(v.action == VALUE_DROPPED ? fault_hit() && v.bytes.n == 0
					      : v.bytes.n == sizeof(text));
	sqlscrub_free(scrub);
}

static void each_failed_allocation_drops_what_it_was_for(void **state)
{
	const unsigned char key[32] = "fault";
	struct scrubber s;
	struct err e = { 0 };
	(void)state;

	assert_true(policy_defaults(&s.policy, &e));
	s.key = token_key_of(key, &e);
	assert_non_null(s.key);
	assert_true(fault_each(attempt, &s) > 10);
	token_key_free(s.key);
	policy_free(&s.policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_failed_allocation_drops_what_it_was_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
