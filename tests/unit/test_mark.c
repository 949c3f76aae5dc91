#include "tests/lib/unit.h"

#include "core/model/mark.h"

static struct mark example(void)
{
	struct mark m = { .nonce = "0123456789abcdef0123456789abcdef",
		.system_identifier = "7713952568351154186",
		.data_directory = "/srv/lab",
		.database_oid = 16384,
		.tier = "clone",
		.is_neutralised = true,
		.source_id = "aa",
		.frozen_id = "bb" };

	return m;
}

static void read_and_write_keep_every_field(void **state)
{
	struct mark m = example(), back;
	struct err e = { 0 };
	struct json *j = mark_json(&m);

	(void)state;
	snprintf(m.key_id, sizeof(m.key_id), "00ff");
	snprintf(m.policy_digest, sizeof(m.policy_digest), "dd");
	json_free(j);
	j = mark_json(&m);
	assert_true(mark_read(&back, j, &e));
	assert_memory_equal(&m, &back, sizeof(m));
	json_free(j);
}

static void faults_are_refused(void **state)
{
	static const struct {
		const char *key, *value;
	} cases[] = {
		{ "format", "reprod.manifest" },
		{ "tier", "production" },
		{ "nonce", "short" },
		{ "system_identifier", "" },
		{ "source_id",
			"0123456789012345678901234567890123456789012345678901234567890123456" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct mark m = example(), back;
		struct json *j = mark_json(&m);
		struct err e = { 0 };

		json_set_text(j, cases[i].key, cases[i].value);
		assert_false(mark_read(&back, j, &e));
		assert_int_equal(e.kind, ERR_INPUT);
		assert_true(e.what[0] != '\0');
		json_free(j);
	}
}

static void another_version_or_no_database_is_refused(void **state)
{
	static const char *const keys[] = { "version", "database_oid" };

	(void)state;
	for (size_t i = 0; i < LENGTH(keys); i++) {
		struct mark m = example(), back;
		struct json *j = mark_json(&m);
		struct err e = { 0 };

		json_set_int(j, keys[i], i == 0 ? MARK_VERSION + 1 : -1);
		assert_false(mark_read(&back, j, &e));
		json_free(j);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_and_write_keep_every_field),
		cmocka_unit_test(faults_are_refused),
		cmocka_unit_test(another_version_or_no_database_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
