#include "tests/lib/unit.h"

#include <math.h>

#include "core/model/event.h"

static void add(struct event_list *l, const char *name, int64_t start_ns, int64_t end_ns,
	double dose, uint16_t source)
{
	struct event event = { .start_ns = start_ns,
		.end_ns = end_ns ? end_ns : start_ns,
		.has_end = end_ns != 0,
		.kind = "job",
		.name = name,
		.dose = dose,
		.source = source };

	assert_true(event_append(l, &event));
}

static void events_are_sorted_whatever_their_order(void **state)
{
	struct event_list l = { 0 };

	(void)state;
	add(&l, "x", 3, 0, NAN, 0);
	add(&l, "x", 1, 0, NAN, 0);
	add(&l, "x", 2, 0, NAN, 0);
	event_sort(&l);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(l.items[i].start_ns, i + 1);
	event_free(&l);
	event_free(&l);
}

static void what_was_told_twice_counts_once(void **state)
{
	struct event_list l = { 0 };

	(void)state;
	add(&l, "a", 1, 2, NAN, 0);
	add(&l, "b", 1, 2, NAN, 0); /* another job */
	add(&l, "a", 1, 2, NAN, 1);
	add(&l, "a", 1, 2, 7, 0); /* another dose: not the same */
	add(&l, "a", 1, 3, NAN, 0);
	assert_int_equal(event_unique(&l), 1);
	assert_int_equal(l.count, 4);
	assert_int_equal(event_unique(&l), 0);
	event_free(&l);
}

static void a_run_told_in_seconds_and_in_microseconds_is_one(void **state)
{
	struct event_list l = { 0 };

	(void)state;
	add(&l, "a", 5 * NS_PER_S, 0, NAN, 0);
	add(&l, "a", 5 * NS_PER_S + 123456000, 9 * NS_PER_S, NAN, 1);
	/* One source tells two runs a second: both happened. */
	add(&l, "b", 5 * NS_PER_S, 0, NAN, 0);
	add(&l, "b", 5 * NS_PER_S + 123456000, 0, NAN, 0);
	/* Neither is in whole seconds. */
	add(&l, "c", 5 * NS_PER_S + 1, 0, NAN, 0);
	add(&l, "c", 5 * NS_PER_S + 2, 0, NAN, 1);
	assert_int_equal(event_unique(&l), 1);
	assert_int_equal(l.count, 5);
	for (size_t i = 0; i < l.count; i++)
		if (strcmp(l.items[i].name, "a") == 0)
			assert_true(l.items[i].has_end); /* the one that tells more */
	event_free(&l);
}

static void long_names_are_cut_between_characters(void **state)
{
	struct event_list l = { 0 };
	char name[EVENT_NAME_MAX + 40];

	(void)state;
	memset(name, 'x', sizeof(name));
	memcpy(name + EVENT_NAME_MAX - 1, "\xc3\xa9", 2);
	name[sizeof(name) - 1] = '\0';
	add(&l, name, 1, 0, NAN, 0);
	assert_int_equal(strlen(l.items[0].name), EVENT_NAME_MAX - 1);
	event_free(&l);
}

static void names_with_control_characters_are_not_plain(void **state)
{
	(void)state;
	assert_true(event_name_is_plain(SLICE("nightly caf\xc3\xa9")));
	assert_false(event_name_is_plain(SLICE("a\x1b[31m")));
	assert_false(event_name_is_plain(SLICE("a\x7f")));
	assert_false(event_name_is_plain(SLICE("a\xc2\x9b")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_sorted_whatever_their_order),
		cmocka_unit_test(what_was_told_twice_counts_once),
		cmocka_unit_test(a_run_told_in_seconds_and_in_microseconds_is_one),
		cmocka_unit_test(long_names_are_cut_between_characters),
		cmocka_unit_test(names_with_control_characters_are_not_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
