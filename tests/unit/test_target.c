#include "tests/lib/unit.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include "core/base/file.h"
#include "core/driver/target.h"

#define IDENTIFIER "7713952568351154186"

static struct mark lab_mark(void)
{
	struct mark m = { .nonce = "0123456789abcdef0123456789abcdef",
		.system_identifier = IDENTIFIER,
		.data_directory = "/srv/lab",
		.database_oid = 16384,
		.tier = "clone",
		.is_neutralised = true };

	return m;
}

static bool judge(const struct mark *m, const char *const live[4], struct err *e)
{
	struct json *j = mark_json(m);
	struct buf text = { 0 };
	struct mark got;

	json_write(j, false, &text);
	const char *cells[5] = { buf_text(&text), live[0], live[1], live[2], live[3] };
	bool ok = target_judge(cells, &got, e);
	buf_free(&text);
	json_free(j);
	return ok;
}

static void a_mark_of_this_very_server_is_accepted(void **state)
{
	static const char *const live[4] = { IDENTIFIER, "/srv/lab", "16384", "f" };
	struct mark m = lab_mark();
	struct err e = { 0 };

	(void)state;
	assert_true(judge(&m, live, &e));
}

static void a_mark_of_anything_else_is_refused(void **state)
{
	static const char *const live[][4] = {
		{ "1", "/srv/lab", "16384", "f" },
		{ IDENTIFIER, "/var/lib/postgresql/15/main", "16384", "f" },
		{ IDENTIFIER, "/srv/lab", "5", "f" },
		{ IDENTIFIER, "/srv/lab", "16384", "t" },
		{ IDENTIFIER, "/srv/lab", "16384", NULL },
		{ NULL, "/srv/lab", "16384", "f" },
	};
	struct mark m = lab_mark();

	(void)state;
	for (size_t i = 0; i < LENGTH(live); i++) {
		struct err e = { 0 };

		assert_false(judge(&m, live[i], &e));
		assert_int_equal(e.kind, ERR_REFUSED);
		assert_true(e.hint[0] != '\0');
	}
}

static void plan_twins_and_unneutralised_copies_are_refused(void **state)
{
	static const char *const live[4] = { IDENTIFIER, "/srv/lab", "16384", "f" };
	struct mark m = lab_mark();
	struct err e = { 0 };

	(void)state;
	m.is_neutralised = false;
	assert_false(judge(&m, live, &e));
	snprintf(m.tier, sizeof(m.tier), "test");
	assert_true(judge(&m, live, &e));
	m.is_neutralised = true;
	snprintf(m.tier, sizeof(m.tier), "plan");
	assert_false(judge(&m, live, &e));
	assert_int_equal(e.kind, ERR_REFUSED);
}

static void what_is_no_mark_is_refused(void **state)
{
	static const char *const proofs[] = { NULL, "", "{}", "[1]",
		"{\"format\":\"reprod.mark\"}" };

	(void)state;
	for (size_t i = 0; i < LENGTH(proofs); i++) {
		const char *const cells[5] = { proofs[i], IDENTIFIER, "/srv/lab", "16384", "f" };
		struct mark m;
		struct err e = { 0 };

		assert_false(target_judge(cells, &m, &e));
		assert_int_equal(e.kind, ERR_REFUSED);
	}
}

static struct json *head_of(const char *text)
{
	struct err e = { 0 };
	struct json *head = json_parse(slice_of(text), "head", &e);

	assert_non_null(head);
	return head;
}

static void the_captured_address_is_refused_in_every_spelling(void **state)
{
	static const struct {
		const char *dsn, *address;
		bool is_refused;
	} cases[] = {
		{ "host=10.1.2.3 port=5433 dbname=x", "10.1.2.3", true },
		{ "postgresql://u@10.1.2.3:5433/x", "10.1.2.3", true },
		{ "host=nowhere.invalid hostaddr=10.1.2.3 port=5433", "10.1.2.3", true },
		{ "host=10.9.9.9,10.1.2.3 port=5432,5433", "10.1.2.3", true },
		{ "host=10.9.9.9,10.1.2.3 port=5433", "10.1.2.3", true },
		{ "host=::ffff:10.1.2.3 port=5433", "10.1.2.3", true },
		{ "host=10.1.2.3 port=5433", "::ffff:10.1.2.3", true },
		{ "host=localhost port=5433", "127.0.0.1", true },
		{ "host=/var/run/postgresql port=5433", "127.0.0.1", true },
		{ "port=5433", "127.0.0.1", true },
		{ "host=10.1.2.3 port=5434", "10.1.2.3", false },
		{ "host=10.1.2.4 port=5433", "10.1.2.3", false },
		{ "host=0.0.0.0 port=5433", "127.0.0.1", true },
		{ "host=/tmp/reprod-Ab12Cd/../../var/run/postgresql port=5433", "127.0.0.1", true },
		{ "host=/tmp/reprod-Ab12Cd port=5433", "127.0.0.1", false },
		{ "host=/var/run/postgresql port=5433", "10.1.2.3", false },
		{ "host=10.1.2.3 port=5433", "", false },
	};

	(void)state;
	unsetenv("PGHOST");
	unsetenv("PGPORT");
	unsetenv("PGHOSTADDR");
	unsetenv("PGSERVICE");
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct err e = { 0 };
		struct json *head = json_object(), *server = json_object();

		json_set_text(server, "address", cases[i].address);
		json_set_int(server, "port", 5433);
		json_set(head, "server", server);
		if (target_is_not_source(cases[i].dsn, head, &e) == cases[i].is_refused)
			fail_msg("case %zu: '%s' against '%s'", i, cases[i].dsn, cases[i].address);
		if (cases[i].is_refused)
			assert_int_equal(e.kind, ERR_REFUSED);
		json_free(head);
	}
}

/* One that is not the loopback's, on a machine that has one. */
static void own_address(char text[INET_ADDRSTRLEN])
{
	struct ifaddrs *list = NULL;
	bool found = false;

	snprintf(text, INET_ADDRSTRLEN, "127.0.0.9");
	assert_int_equal(getifaddrs(&list), 0);
	for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
			(i->ifa_flags & IFF_LOOPBACK))
			continue;
		const struct sockaddr_in *a = (const void *)i->ifa_addr;

		found = inet_ntop(AF_INET, &a->sin_addr, text, INET_ADDRSTRLEN) != NULL;
	}
	freeifaddrs(list);
}

static void all_addresses_of_this_machine_are_one_server(void **state)
{
	struct json *head = head_of("{\"server\":{\"address\":\"127.0.0.1\",\"port\":5433}}");
	char address[INET_ADDRSTRLEN], dsn[128];
	struct err e = { 0 };

	(void)state;
	own_address(address);
	snprintf(dsn, sizeof(dsn), "host=%s port=5433", address);
	assert_false(target_is_not_source(dsn, head, &e));
	assert_int_equal(e.kind, ERR_REFUSED);
	snprintf(dsn, sizeof(dsn), "postgresql://%s:5433/x", address);
	assert_false(target_is_not_source(dsn, head, &e));
	snprintf(dsn, sizeof(dsn), "host=%s port=5434", address);
	assert_true(target_is_not_source(dsn, head, &e));
	json_free(head);
}

static void a_service_name_is_refused_because_it_hides_the_address(void **state)
{
	struct json *head = head_of("{\"server\":{\"address\":\"10.1.2.3\",\"port\":5433}}");
	struct err e = { 0 };

	(void)state;
	assert_false(target_is_not_source("service=prod", head, &e));
	assert_int_equal(e.kind, ERR_REFUSED);
	json_free(head);
}

static bool fits(const struct mark *m, const char *head_text, struct err *e)
{
	struct json *head = head_of(head_text);
	bool ok = target_fits_capture(m, head, e);

	json_free(head);
	return ok;
}

static void the_captured_server_itself_is_no_target_even_when_marked(void **state)
{
	struct mark m = lab_mark();
	struct err e = { 0 };
	char hex[65], head[256];

	(void)state;
	file_sha256_bytes(slice_of(IDENTIFIER), hex);
	snprintf(head, sizeof(head), "{\"predicates_kept\":true,\"server\":{\"source_id\":\"%s\"}}",
		hex);
	assert_true(fits(&m, head, &e));
	snprintf(m.tier, sizeof(m.tier), "test");
	assert_false(fits(&m, head, &e));
	assert_int_equal(e.kind, ERR_REFUSED);
	snprintf(m.tier, sizeof(m.tier), "clone");
	m.is_neutralised = false;
	assert_false(fits(&m, head, &e));
	snprintf(head, sizeof(head),
		"{\"predicates_kept\":true,\"server\":{\"system_identifier\":\"" IDENTIFIER "\"}}");
	assert_false(fits(&m, head, &e));
}

static void keys_and_policies_must_fit_unless_every_predicate_was_kept(void **state)
{
	static const struct {
		const char *key_id, *digest, *head;
		bool ok;
	} cases[] = {
		{ "", "", "{\"predicates_kept\":true}", true },
		{ "", "", "{\"key_id\":\"aa\",\"policy_digest\":\"p\"}", false },
		{ "", "", "{}", false },
		{ "aa", "p", "{\"key_id\":\"aa\",\"policy_digest\":\"p\"}", true },
		{ "aa", "p", "{\"key_id\":\"aa\",\"policy\":{\"digest\":\"p\"}}", true },
		{ "aa", "p", "{\"key_id\":\"bb\",\"policy_digest\":\"p\",\"is_key_fresh\":true}",
			false },
		{ "aa", "p", "{\"key_id\":\"aa\",\"policy_digest\":\"q\"}", false },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct mark m = lab_mark();
		struct err e = { 0 };

		snprintf(m.key_id, sizeof(m.key_id), "%s", cases[i].key_id);
		snprintf(m.policy_digest, sizeof(m.policy_digest), "%s", cases[i].digest);
		if (fits(&m, cases[i].head, &e) != cases[i].ok)
			fail_msg("case %zu: %s", i, e.what);
		if (!cases[i].ok)
			assert_int_equal(e.kind, ERR_REFUSED);
	}
}

static void a_plan_twin_fits_no_capture(void **state)
{
	struct mark m = lab_mark();
	struct err e = { 0 };

	(void)state;
	snprintf(m.tier, sizeof(m.tier), "plan");
	assert_false(fits(&m, "{\"predicates_kept\":true}", &e));
	assert_int_equal(e.kind, ERR_REFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mark_of_this_very_server_is_accepted),
		cmocka_unit_test(a_mark_of_anything_else_is_refused),
		cmocka_unit_test(plan_twins_and_unneutralised_copies_are_refused),
		cmocka_unit_test(what_is_no_mark_is_refused),
		cmocka_unit_test(the_captured_address_is_refused_in_every_spelling),
		cmocka_unit_test(all_addresses_of_this_machine_are_one_server),
		cmocka_unit_test(a_service_name_is_refused_because_it_hides_the_address),
		cmocka_unit_test(the_captured_server_itself_is_no_target_even_when_marked),
		cmocka_unit_test(keys_and_policies_must_fit_unless_every_predicate_was_kept),
		cmocka_unit_test(a_plan_twin_fits_no_capture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
