#include "tests/lib/unit.h"

#include <math.h>
#include <unistd.h>

#include "core/model/event.h"

struct loaded {
	struct event_list list;
	uint64_t read, bad;
	struct err e;
	bool ok;
};

static void load(struct loaded *l, const char *text)
{
	char path[] = "/tmp/reprod-event-XXXXXX";
	int fd = mkstemp(path);

	*l = (struct loaded){ 0 };
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	l->ok = event_load(&l->list, path, 0, &l->read, &l->bad, &l->e);
	unlink(path);
}

static void times_have_many_spellings(void **state)
{
	struct loaded l;

	(void)state;
	load(&l,
		"{\"t\": \"2026-11-30T12:00:00.250Z\", \"kind\": \"job\", \"name\": \"a\"}\n"
		"\n"
		"{\"t\": \"2026-11-30T14:00:00.250+02:00\", \"kind\": \"job\", \"name\": \"b\"}\n"
		"{\"t\": 1796040000.25, \"t_end\": 1796040001.5, \"kind\": \"job\", \"name\": \"c\", \"dose\": 3}\n"
		"{\"t\": \"1796040000.25\", \"kind\": \"job\", \"name\": \"d\"}\n"
		"{\"t\": \"2026-11-30 13:00:00.25\", \"zone\": \"+01:00\", \"kind\": \"job\", \"name\": \"e\"}\r\n");
	assert_true(l.ok);
	assert_int_equal(l.read, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(l.list.items[i].start_ns, INT64_C(1796040000250000000));
	assert_string_equal(l.list.items[2].name, "c");
	assert_true(l.list.items[2].has_end && l.list.items[2].dose == 3);
	assert_int_equal(l.list.items[2].end_ns, INT64_C(1796040001500000000));
	assert_true(!l.list.items[0].has_end && isnan(l.list.items[0].dose));
	event_free(&l.list);
}

static void a_time_without_zone_is_refused_with_its_line(void **state)
{
	struct loaded l;

	(void)state;
	load(&l, "{\"t\": 1, \"kind\": \"job\", \"name\": \"a\"}\n"
		 "{\"t\": \"2026-11-30T12:00:00\", \"kind\": \"job\", \"name\": \"a\"}\n");
	assert_true(l.ok);
	assert_int_equal(l.read, 1);
	assert_int_equal(l.bad, 1);
	assert_non_null(strstr(l.e.where, "line 2"));
	assert_non_null(strstr(l.e.what, "no zone"));
	assert_non_null(strstr(l.e.hint, "RFC 3339"));
	event_free(&l.list);
}

static void bad_lines_are_counted_and_only_bad_ones_fail(void **state)
{
	static const char *const bad[] = { "nonsense", "{\"t\": 1", "[]",
		"{\"kind\": \"a\", \"name\": \"b\"}", "{\"t\": 1, \"name\": \"b\"}",
		"{\"t\": 1, \"kind\": \"a\"}", "{\"t\": 1, \"kind\": \"\", \"name\": \"b\"}",
		"{\"t\": \"soon\", \"kind\": \"a\", \"name\": \"b\"}",
		"{\"t\": 1e300, \"kind\": \"a\", \"name\": \"b\"}",
		"{\"t\": 2, \"t_end\": 1, \"kind\": \"a\", \"name\": \"b\"}" };
	struct loaded l;

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		load(&l, bad[i]);
		assert_false(l.ok);
		assert_int_equal(l.bad, 1);
		assert_int_equal(l.e.kind, ERR_INPUT);
		assert_non_null(strstr(l.e.where, "line 1"));
		event_free(&l.list);
	}
}

static void an_empty_file_says_that_nothing_happened(void **state)
{
	struct loaded l;

	(void)state;
	load(&l, "\n");
	assert_true(l.ok);
	assert_int_equal(l.read + l.bad, 0);
	event_free(&l.list);
	event_free(&l.list);
}

static void events_are_sorted_whatever_their_order(void **state)
{
	struct loaded l;

	(void)state;
	load(&l,
		"{\"t\": 3, \"kind\": \"a\", \"name\": \"x\"}\n{\"t\": 1, \"kind\": \"a\", \"name\": \"x\"}\n"
		"{\"t\": 2, \"kind\": \"a\", \"name\": \"x\"}\n");
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(l.list.items[i].start_ns, (int64_t)(i + 1) * NS_PER_S);
	event_free(&l.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_have_many_spellings),
		cmocka_unit_test(a_time_without_zone_is_refused_with_its_line),
		cmocka_unit_test(bad_lines_are_counted_and_only_bad_ones_fail),
		cmocka_unit_test(an_empty_file_says_that_nothing_happened),
		cmocka_unit_test(events_are_sorted_whatever_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
