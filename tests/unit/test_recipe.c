#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/model/recipe.h"

/* sha256 of nothing */
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define SPAN(n) "{\"from\":\"2026-01-01T00:00:0" #n "Z\",\"to\":\"2026-01-01T00:00:0" #n ".5Z\"}"
#define WINDOW(n)                                                                                  \
	"{\"from\":\"2026-01-01T00:00:0" #n "Z\",\"to\":\"2026-01-01T00:00:0" #n                   \
	".9Z\",\"inside_s\":[0.1,0.5],"                                                            \
	"\"occurrence\":" #n ",\"quiet\":true}"

static const char sound[] =
	"{\"format\":\"reprod-recipe\",\"version\":1,\"title\":\"t\",\"of_the_future\":{\"x\":1},"
	"\"traffic\":{\"capture\":\"c.rcap\",\"sha256\":\"" EMPTY "\",\"speed\":1},"
	"\"expectation\":{\"route\":\"SELECT ?\",\"fingerprint\":\"00ff\",\"quantile\":0.9,\"inside\":[" SPAN(1) "," SPAN(
		2) "," SPAN(3) "," SPAN(4) "," SPAN(5) "],\"quiet\":[]},"
						       "\"cell\":{\"windows\":[" WINDOW(1) "," WINDOW(2) "," WINDOW(
							       3) "," WINDOW(4) "," WINDOW(5) "]},"
											      "\"conditions\":["
											      "{\"id\":\"job:refresh\",\"kind\":\"job\",\"on\":{\"file\":\"j.sql\",\"offsets_s\":[0.1,1]}},"
											      "{\"id\":\"data\",\"kind\":\"data\"},{\"id\":\"setting:work_mem\",\"kind\":\"setting\","
											      "\"on\":{\"value\":\"4MB\"},\"off\":{\"value\":\"64MB\"}}]}";

struct place {
	char dir[64], path[96];
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	struct err e = { 0 };
	char path[96];

	snprintf(p->dir, sizeof(p->dir), "/tmp/reprod-recipe-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/r.json", p->dir);
	snprintf(path, sizeof(path), "%s/c.rcap", p->dir);
	assert_true(file_write(path, (struct slice){ "", 0 }, true, &e));
	snprintf(path, sizeof(path), "%s/j.sql", p->dir);
	assert_true(file_write(path, slice_of("SELECT 1"), true, &e));
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	assert_true(file_remove_tree(p->dir, &e));
	free(p);
	return 0;
}

/* The sound recipe with one piece of text replaced. */
static bool load(struct place *p, struct recipe *r, const char *from, const char *to, struct err *e)
{
	const char *at = from ? strstr(sound, from) : sound + strlen(sound);
	struct buf text = { 0 };
	bool ok;

	assert_non_null(at);
	buf_add(&text, sound, (size_t)(at - sound));
	buf_add_text(&text, to);
	buf_add_text(&text, at + (from ? strlen(from) : 0));
	assert_true(file_write(p->path, buf_slice(&text), true, e));
	buf_free(&text);
	ok = recipe_load(r, p->path, e);
	if (!ok)
		recipe_free(r);
	return ok;
}

static void a_sound_recipe_has_no_fault(void **state)
{
	struct recipe_faults f;
	struct recipe r;
	struct err e = { 0 };

	assert_true(load(*state, &r, NULL, "", &e));
	recipe_check(&r, &f);
	assert_int_equal(f.count, 0);
	assert_int_equal(r.inside_count, 5);
	assert_int_equal(r.fingerprint, 0xff);
	assert_int_equal(r.conditions[0].how, SWITCH_FILE);
	assert_int_equal(r.conditions[0].offset_count, 2);
	assert_string_equal(r.conditions[2].name, "work_mem");
	recipe_free(&r);
}

static void each_fault_is_named_by_its_pointer(void **state)
{
	static const struct {
		const char *from, *to, *pointer;
	} cases[] = {
		{ "\"c.rcap\"", "\"gone.rcap\"", "/traffic/capture" },
		{ "\"sha256\":\"e3", "\"sha256\":\"e4", "/traffic/capture" },
		{ "\"speed\":1", "\"speed\":0", "/traffic/speed" },
		{ "\"00ff\"", "\"xyz\"", "/expectation/fingerprint" },
		{ "\"quantile\":0.9", "\"quantile\":0.95", "/expectation/quantile" },
		{ SPAN(3) ",", "", "/expectation/inside" },
		{ SPAN(3), SPAN(4), "/expectation/inside/3" },
		{ WINDOW(2) ",", "", "/cell/windows" },
		{ "00:00:02Z\",\"to\":\"2026-01-01T00:00:02.9Z",
			"00:00:01.5Z\",\"to\":\"2026-01-01T00:00:02.9Z", "/cell/windows/1" },
		{ "\"inside_s\":[0.1,0.5]", "\"inside_s\":[0.1,1.5]", "/cell/windows/0" },
		{ "\"file\":\"j.sql\",", "", "/conditions/0/on/file" },
		{ "\"j.sql\"", "\"j.exe\"", "/conditions/0/on/file" },
		{ "\"j.sql\"", "\"no.sql\"", "/conditions/0/on/file" },
		{ "\"j.sql\"", "\"j.sql\",\"sha256\":\"" EMPTY "\"", "/conditions/0/on/file" },
		{ "[0.1,1]", "[]", "/conditions/0/on/offsets_s" },
		{ "[0.1,1]", "[0.1,-1]", "/conditions/0/on/offsets_s/1" },
		{ "[0.1,1]", "[0.1],\"timeout_s\":0", "/conditions/0/on/timeout_s" },
		{ "\"id\":\"data\"", "\"id\":\"job:refresh\"", "/conditions/1/id" },
		{ "\"kind\":\"data\"", "\"kind\":\"cache\"", "/conditions/1" },
		{ "\"64MB\"", "\"\"", "/conditions/2" },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct recipe_faults f;
		struct recipe r;
		struct err e = { 0 };

		assert_true(load(*state, &r, cases[i].from, cases[i].to, &e));
		recipe_check(&r, &f);
		assert_int_equal(f.count, 1);
		assert_string_equal(f.items[0].pointer, cases[i].pointer);
		assert_true(f.items[0].what[0] != '\0');
		recipe_free(&r);
	}
}

static void what_is_no_recipe_of_ours_is_bad_input(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{ "{\"format\"", "" },
		{ "reprod-recipe", "reprod-result" },
		{ "\"version\":1", "\"version\":2" },
		{ "\"version\":1", "\"version\":\"1\"" },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct recipe r;
		struct err e = { 0 };

		assert_false(load(*state, &r, cases[i].from, cases[i].to, &e));
		assert_int_equal(e.kind, ERR_INPUT);
		assert_true(e.what[0] != '\0');
	}
}

static void a_minor_version_is_read(void **state)
{
	struct recipe r;
	struct err e = { 0 };

	assert_true(load(*state, &r, "\"version\":1", "\"version\":1.7", &e));
	recipe_free(&r);
}

static void unknown_fields_are_kept(void **state)
{
	struct recipe r;
	struct err e = { 0 };

	assert_true(load(*state, &r, NULL, "", &e));
	assert_true(json_save(r.document, r.path, true, &e));
	recipe_free(&r);
	assert_true(recipe_load(&r, ((struct place *)*state)->path, &e));
	assert_int_equal(json_int(json_path(r.document, "of_the_future.x"), 0), 1);
	recipe_free(&r);
}

static void a_condition_with_sql_can_be_of_any_kind(void **state)
{
	struct recipe_faults f;
	struct recipe r;
	struct err e = { 0 };

	assert_true(load(*state, &r, "\"kind\":\"data\"",
		"\"kind\":\"index\",\"off\":{\"sql\":\"CREATE INDEX i ON t (x)\"}", &e));
	recipe_check(&r, &f);
	assert_int_equal(f.count, 0);
	assert_int_equal(r.conditions[1].how, SWITCH_SQL);
	recipe_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_sound_recipe_has_no_fault, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			each_fault_is_named_by_its_pointer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_no_recipe_of_ours_is_bad_input, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_minor_version_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unknown_fields_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_condition_with_sql_can_be_of_any_kind, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
