/* Detection, our own format, CSV, and what is damaged. */
#include "tests/lib/eventread.h"
#include "tests/lib/unit.h"

static void check(const char *format, const char *zone, const char *text, const char *told)
{
	struct eventread r;
	char got[4096];

	eventread_init(&r, zone);
	eventread_text(&r, format, text);
	if (!r.ok)
		print_message("%s %s\n", r.e.where, r.e.what);
	assert_true(r.ok);
	eventread_finish(&r);
	assert_string_equal(eventread_told(&r, got), told);
	eventread_free(&r);
}

static void times_have_many_spellings(void **state)
{
	(void)state;
	check("", NULL,
		"{\"t\": \"2026-11-30T12:00:00.250Z\", \"kind\": \"job\", \"name\": \"a\"}\n"
		"\n"
		"{\"t\": \"2026-11-30T14:00:00.250+02:00\", \"kind\": \"job\", \"name\": \"b\"}\n"
		"{\"t\": 1796040000.25, \"t_end\": 1796040001.5, \"kind\": \"job\", \"name\": \"c\", \"dose\": 3}\n"
		"{\"t\": \"1796040000.25\", \"kind\": \"job\", \"name\": \"d\"}\n"
		"{\"t\": \"2026-11-30 13:00:00.25+01\", \"kind\": \"job\", \"name\": \"e\"}\n"
		"{\"t\": \"2026-11-30 07:00:00,25 -0500\", \"kind\": \"job\", \"name\": \"f\"}\n"
		"{\"t\": \"2026-11-30 12:00:00.25 UTC\", \"kind\": \"job\", \"name\": \"g\"}\n"
		"{\"t\": \"2026-11-30 13:00:00.25\", \"zone\": \"Europe/Berlin\", \"kind\": \"job\", \"name\": \"h\"}\n"
		"{\"t\": \"2026-11-30 13:00:00.25\", \"zone\": \"+01:00\", \"kind\": \"job\", \"name\": \"i\"}\r\n",
		"job:a 0.25\njob:b 0.25\njob:c 0.25..1.5 dose 3\njob:d 0.25\njob:e 0.25\njob:f 0.25\n"
		"job:g 0.25\njob:h 0.25\njob:i 0.25\n");
}

static void a_time_without_zone_is_refused_with_its_line(void **state)
{
	struct eventread r;

	(void)state;
	eventread_init(&r, NULL);
	eventread_text(&r, "",
		"{\"t\": 1796040000, \"kind\": \"job\", \"name\": \"a\"}\n"
		"{\"t\": \"2026-11-30T12:00:00\", \"kind\": \"job\", \"name\": \"a\"}\n");
	assert_true(r.ok);
	assert_int_equal(r.reaches.items[0].read, 1);
	assert_int_equal(r.reaches.items[0].bad, 1);
	assert_non_null(strstr(r.reaches.items[0].first_bad.where, "line 2"));
	assert_non_null(strstr(r.reaches.items[0].first_bad.what, "no zone"));
	assert_non_null(strstr(r.reaches.items[0].first_bad.hint, "--zone"));
	assert_true(r.notes.is_incomplete);
	eventread_free(&r);
	check("", "+02:00",
		"{\"t\": \"2026-11-30T14:00:00\", \"kind\": \"job\", \"name\": \"a\"}\n",
		"job:a 0\n");
}

static void bad_lines_are_counted_and_only_bad_ones_fail(void **state)
{
	static const char *const bad[] = { "nonsense", "{\"t\": 1", "[1]", "{}",
		"{\"kind\": \"a\", \"name\": \"b\"}", "{\"t\": 1, \"name\": \"b\"}",
		"{\"t\": 1, \"kind\": \"a\"}", "{\"t\": 1, \"kind\": \"\", \"name\": \"b\"}",
		"{\"t\": \"soon\", \"kind\": \"a\", \"name\": \"b\"}",
		"{\"t\": 1e300, \"kind\": \"a\", \"name\": \"b\"}",
		"{\"t\": 1, \"kind\": \"a\", \"name\": \"b\\u001b[31m\"}",
		"{\"t\": 2, \"t_end\": 1, \"kind\": \"a\", \"name\": \"b\"}" };

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct eventread r;

		eventread_init(&r, NULL);
		eventread_text(&r, "", bad[i]);
		assert_false(r.ok);
		assert_int_equal(r.e.kind, ERR_INPUT);
		assert_non_null(strstr(r.e.where, "/tmp/reprod-event-"));
		assert_true(r.e.what[0]);
		eventread_free(&r);
	}
}

static void an_empty_file_says_that_nothing_happened(void **state)
{
	static const char *const empty[] = { "", "\n", "[]", "\xef\xbb\xbf", "t,kind,name\n",
		"{\"items\": []}" };

	(void)state;
	for (size_t i = 0; i < LENGTH(empty); i++) {
		struct eventread r;

		eventread_init(&r, NULL);
		eventread_text(&r, "", empty[i]);
		assert_true(r.ok);
		eventread_finish(&r);
		assert_int_equal(r.list.count, 0);
		assert_true(eventread_is_noted(&r, "no event in"));
		assert_true(r.reaches.items[0].from_ns == INT64_MIN);
		assert_false(r.notes.is_incomplete);
		eventread_free(&r);
	}
}

static void csv_has_a_header_and_any_separator(void **state)
{
	(void)state;
	check("", NULL,
		"t,t_end,kind,name,dose\n1796040001,1796040002,backup,\"a, \"\"b\"\"\",12\n",
		"backup:a, \"b\" 1..2 dose 12\n");
	check("", NULL,
		"name;kind;t;zone\r\nx;job;2026-11-30 12:00:05;UTC\r\n\r\ny;job;2026-11-30 13:00:06;+01:00\r\n",
		"job:x 5\njob:y 6\n");
	check("", NULL, "kind\tname\tt\njob\tx\t2026-11-30T12:00:05Z\n", "job:x 5\n");
	/* A name over two lines is refused, what follows is read. */
	struct eventread r;
	eventread_init(&r, NULL);
	eventread_text(&r, "",
		"t,kind,name\n1796040001,job,\"a\nb\"\n1796040002,job,c,d\n1796040003,job,e\n");
	assert_true(r.ok);
	assert_int_equal(r.reaches.items[0].read, 1);
	assert_int_equal(r.reaches.items[0].bad, 2);
	assert_non_null(strstr(r.reaches.items[0].first_bad.where, "line 2"));
	eventread_free(&r);
}

static void a_cut_document_gives_what_was_whole(void **state)
{
	struct eventread r;
	char got[4096];

	(void)state;
	eventread_init(&r, NULL);
	eventread_text(&r, "",
		"[\n  {\"t\": 1796040001, \"kind\": \"job\", \"name\": \"}{\"},\n"
		"  {\"t\": 1796040002, \"kind\": \"job\", \"name\": \"b\"},\n"
		"  {\"t\": 1796040003, \"ki");
	assert_true(r.ok);
	assert_int_equal(r.reaches.items[0].read, 2);
	assert_int_equal(r.reaches.items[0].bad, 1);
	eventread_finish(&r);
	assert_string_equal(eventread_told(&r, got), "job:}{ 1\njob:b 2\n");
	eventread_free(&r);
	/* gh api --paginate writes one list behind the other: nothing is wrong. */
	eventread_init(&r, NULL);
	eventread_text(&r, "",
		"[{\"t\": 1796040001, \"kind\": \"job\", \"name\": \"a\"}]"
		"[{\"t\": 1796040002, \"kind\": \"job\", \"name\": \"a\"}]\n");
	assert_true(r.ok);
	assert_int_equal(r.reaches.items[0].read, 2);
	assert_int_equal(r.reaches.items[0].bad, 0);
	eventread_free(&r);
}

static void lines_that_are_cut_do_not_take_others_along(void **state)
{
	struct eventread r;

	(void)state;
	eventread_init(&r, NULL);
	eventread_text(&r, "",
		"{\"t\": 1796040001, \"kind\": \n"
		"{\"t\": 1796040001, \"kind\": \"job\", \"name\": \"a\"}\n"
		"{\"t\": 1796040001, \"t\": 2, \"kind\": \"job\", \"name\": \"a\"}\n"
		"Nov 30 12:00:00 db CRON[1]: (root) CMD (x)\n"
		"{\"t\": 1796040002, \"kind\": \"job\", \"name\": \"a\"}\n{\"t\": 17960400");
	assert_true(r.ok);
	assert_int_equal(r.reaches.items[0].read, 2);
	assert_int_equal(r.reaches.items[0].bad, 4);
	assert_non_null(strstr(r.reaches.items[0].first_bad.where, "line 1"));
	eventread_free(&r);
}

static void the_same_file_twice_counts_once(void **state)
{
	const char *text = "{\"t\": 1796040001, \"kind\": \"job\", \"name\": \"a\"}\n"
			   "{\"t\": 1796040009, \"kind\": \"job\", \"name\": \"a\"}\n";
	struct eventread r;
	char got[4096];

	(void)state;
	eventread_init(&r, NULL);
	eventread_text(&r, "", text);
	eventread_text(&r, "", text);
	eventread_finish(&r);
	assert_string_equal(eventread_told(&r, got), "job:a 1\njob:a 9\n");
	assert_true(eventread_is_noted(&r, "2 events were given twice"));
	eventread_free(&r);
}

static void other_files_are_told_where_they_belong(void **state)
{
	static const struct {
		const char *text, *hint;
	} cases[] = {
		{ "2026-11-30 12:00:00.000 UTC [1] LOG:  checkpoint starting: time\n", "--pglog" },
		{ " jobid | runid | start_time\n-------+-------+-----\n", "psql --csv" },
		{ "*/5 * * * * /opt/tidy.sh\n", "--crontab" },
		{ "\xff\xfe{\0", "iconv" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct eventread r;

		eventread_init(&r, NULL);
		eventread_text(&r, "", cases[i].text);
		assert_false(r.ok);
		assert_non_null(strstr(r.e.hint, cases[i].hint));
		eventread_free(&r);
	}
}

static void a_file_of_another_time_is_noted(void **state)
{
	struct eventread r;

	(void)state;
	eventread_init(&r, NULL);
	eventread_text(
		&r, "", "{\"t\": \"2025-11-30T12:00:00Z\", \"kind\": \"job\", \"name\": \"a\"}\n");
	assert_true(r.ok);
	assert_true(eventread_is_noted(&r, "not the time of the traffic"));
	eventread_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_have_many_spellings),
		cmocka_unit_test(a_time_without_zone_is_refused_with_its_line),
		cmocka_unit_test(bad_lines_are_counted_and_only_bad_ones_fail),
		cmocka_unit_test(an_empty_file_says_that_nothing_happened),
		cmocka_unit_test(csv_has_a_header_and_any_separator),
		cmocka_unit_test(a_cut_document_gives_what_was_whole),
		cmocka_unit_test(lines_that_are_cut_do_not_take_others_along),
		cmocka_unit_test(the_same_file_twice_counts_once),
		cmocka_unit_test(other_files_are_told_where_they_belong),
		cmocka_unit_test(a_file_of_another_time_is_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
