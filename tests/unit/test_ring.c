#include "tests/lib/unit.h"

#include <pthread.h>

#include "core/base/ring.h"

static void records_come_out_in_order(void **state)
{
	(void)state;
	struct ring *r = ring_new(64);
	struct buf b = { 0 };

	/* 40 rounds: the records wrap at every offset. */
	for (int i = 0; i < 40; i++) {
		char text[32];

		snprintf(text, sizeof(text), "record %d", i);
		ring_put(r, slice_of(text));
		ring_put(r, SLICE(""));
		assert_int_equal(ring_take(r, 0, &b), STEP_ITEM);
		assert_string_equal(buf_text(&b), text);
		assert_int_equal(ring_take(r, 0, &b), STEP_ITEM);
		assert_int_equal(b.n, 0);
	}
	assert_int_equal(ring_take(r, 0, &b), STEP_MORE);
	assert_int_equal(ring_dropped(r), 0);
	ring_finish(r);
	assert_int_equal(ring_take(r, NS_PER_S, &b), STEP_END);
	ring_destroy(r);
	ring_destroy(NULL);
	buf_free(&b);
}

static void the_oldest_is_dropped_and_counted(void **state)
{
	(void)state;
	struct ring *r = ring_new(30);
	struct buf b = { 0 };

	/* 4 + 6 bytes each: three fit. */
	for (int i = 0; i < 10; i++) {
		char text[32];

		snprintf(text, sizeof(text), "rec%03d", i);
		ring_put(r, slice_of(text));
	}
	assert_int_equal(ring_dropped(r), 7);
	for (int i = 7; i < 10; i++) {
		char text[32];

		snprintf(text, sizeof(text), "rec%03d", i);
		assert_int_equal(ring_take(r, 0, &b), STEP_ITEM);
		assert_string_equal(buf_text(&b), text);
	}
	ring_put(r, SLICE("a record larger than the whole ring"));
	assert_int_equal(ring_dropped(r), 8);
	assert_int_equal(ring_take(r, 0, &b), STEP_MORE);
	ring_destroy(r);
	buf_free(&b);
}

static void what_the_reader_cannot_hold_is_dropped(void **state)
{
	(void)state;
	struct ring *r = ring_new(1000);
	struct buf b;

	buf_init(&b, 10);
	ring_put(r, SLICE("longer than ten bytes"));
	ring_put(r, SLICE("short"));
	assert_int_equal(ring_take(r, 0, &b), STEP_MORE);
	assert_int_equal(ring_dropped(r), 1);
	assert_int_equal(ring_take(r, 0, &b), STEP_ITEM);
	assert_string_equal(buf_text(&b), "short");
	ring_destroy(r);
	buf_free(&b);
}

enum { THREAD_RECORDS = 50000 };

static void *write_numbers(void *data)
{
	struct ring *r = data;

	for (uint64_t i = 0; i < THREAD_RECORDS; i++) {
		char bytes[40];

		memset(bytes, (int)(i & 0xff), sizeof(bytes));
		memcpy(bytes, &i, sizeof(i));
		ring_put(r, (struct slice){ bytes, 8 + i % 32 });
	}
	ring_finish(r);
	return NULL;
}

static void between_threads_taken_and_dropped_are_all(void **state)
{
	(void)state;
	struct ring *r = ring_new(4096);
	struct buf b = { 0 };
	pthread_t writer;
	uint64_t taken = 0, next = 0, number;
	enum step step;

	assert_int_equal(pthread_create(&writer, NULL, write_numbers, r), 0);
	while ((step = ring_take(r, 10 * NS_PER_S, &b)) == STEP_ITEM) {
		memcpy(&number, b.p, sizeof(number));
		assert_true(number >= next);
		assert_int_equal(b.n, 8 + number % 32);
		for (size_t i = 8; i < b.n; i++)
			assert_int_equal((unsigned char)b.p[i], number & 0xff);
		next = number + 1;
		taken++;
	}
	assert_int_equal(step, STEP_END);
	pthread_join(writer, NULL);
	assert_int_equal(taken + ring_dropped(r), THREAD_RECORDS);
	assert_int_equal(next, THREAD_RECORDS);
	ring_destroy(r);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_out_in_order),
		cmocka_unit_test(the_oldest_is_dropped_and_counted),
		cmocka_unit_test(what_the_reader_cannot_hold_is_dropped),
		cmocka_unit_test(between_threads_taken_and_dropped_are_all),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
