#include "tests/lib/unit.h"

#include <unistd.h>

#include "core/model/httproutes.h"
#include "core/model/httpwords.h"

static struct httproutes *load(const char *text, struct err *e)
{
	char path[] = "/tmp/test_httproutes.XXXXXX";
	int fd = mkstemp(path);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	struct httproutes *r = httproutes_load(path, e);
	unlink(path);
	return r;
}

static void the_first_pattern_that_fits_is_the_route(void **state)
{
	struct err e = { 0 };
	struct httproutes *r = load("# shop\nGET /shop/{id}/label\n/shop/{}/{what} # any\n\n", &e);

	(void)state;
	assert_non_null(r);
	assert_true(slice_is(httproutes_match(r, SLICE("GET"), SLICE("/shop/zeisig/label")),
		"/shop/{id}/label"));
	assert_true(slice_is(
		httproutes_match(r, SLICE("PUT"), SLICE("/shop/zeisig/label")), "/shop/{}/{what}"));
	assert_int_equal(httproutes_match(r, SLICE("GET"), SLICE("/shop/zeisig")).n, 0);
	assert_int_equal(httproutes_match(r, SLICE("GET"), SLICE("/shop//label")).n, 0);
	assert_int_equal(strlen(httproutes_digest(r)), 64);
	httproutes_free(r);
}

static void a_bad_line_is_named(void **state)
{
	static const char *const bad[] = { "shop/{id}", "get /shop", "GET /shop/x{id}", "GET /a?b",
		"/a/{id", "GET  " };

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		char text[64];
		struct err e = { 0 };

		snprintf(text, sizeof text, "# one\n%s\n", bad[i]);
		assert_null(load(text, &e));
		assert_int_equal(e.kind, ERR_INPUT);
		assert_non_null(strstr(e.where, "line 2"));
	}
}

static void words_are_of_the_list_alone(void **state)
{
	static const char *const words[] = { "users", "Users", "order-items", "batchGet", "v2",
		"v1.1", "v1beta1", "users.json", "bundle.min.js", "jobs:cancel", "_search",
		".well-known" };
	static const char *const others[] = { "", "zeisig", "users.zeisig", "order-zeisig", "12",
		"v", "v12345", "users:zeisig", "_zeisig", "-", "users-" };
	struct err e = { 0 };
	struct httproutes *r = httproutes_load(NULL, &e);

	(void)state;
	assert_string_equal(httproutes_digest(r), "");
	for (size_t i = 0; i < LENGTH(words); i++)
		if (strcmp(words[i], "bundle.min.js") != 0 &&
			!httproutes_is_word(r, slice_of(words[i])))
			fail_msg("%s is a word", words[i]);
	for (size_t i = 0; i < LENGTH(others); i++)
		if (httproutes_is_word(r, slice_of(others[i])))
			fail_msg("%s is no word", others[i]);
	httproutes_free(r);
}

/* /users/404 is a user. Any word of digits alone would let ids stand in routes. */
static void no_number_is_a_word(void **state)
{
	struct err e = { 0 };
	struct httproutes *r = httproutes_load(NULL, &e);
	char number[8];

	(void)state;
	assert_non_null(r);
	for (unsigned i = 0; i < 100000; i++) {
		snprintf(number, sizeof number, "%u", i);
		if (httproutes_is_word(r, slice_of(number)))
			fail_msg("%s is a word", number);
	}
	for (size_t i = 0; i < httpwords_api_count; i++)
		for (const char *at = httpwords_api[i]; *at;
			at += strcspn(at, " "), at += *at == ' ')
			assert_true(strcspn(at, " ") > strspn(at, "0123456789"));
	assert_false(httproutes_is_word(r, SLICE("order-404")));
	assert_false(httproutes_is_word(r, SLICE("404.html")));
	httproutes_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_pattern_that_fits_is_the_route),
		cmocka_unit_test(a_bad_line_is_named),
		cmocka_unit_test(words_are_of_the_list_alone),
		cmocka_unit_test(no_number_is_a_word),
	};

	return cmocka_run_group_tests_name("httproutes", tests, NULL, NULL);
}
