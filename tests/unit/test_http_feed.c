#include "tests/lib/unit.h"

#include "capture/log/http_feed.h"

enum { SEEN_MAX = 64 };

struct seen {
	struct raw_request items[SEEN_MAX];
	char targets[SEEN_MAX][16];
	size_t count;
	uint64_t opened, closed;
};

static bool take_session(void *data, const struct raw_session *s, struct err *e)
{
	struct seen *seen = data;

	(void)e;
	seen->opened += s->close_ns == 0;
	seen->closed += s->close_ns != 0;
	return true;
}

static bool take_request(void *data, const struct raw_request *q, struct err *e)
{
	struct seen *seen = data;

	(void)e;
	assert_true(seen->count < SEEN_MAX);
	assert_int_equal(q->form, FORM_HTTP);
	seen->items[seen->count] = *q;
	snprintf(seen->targets[seen->count++], 16, "%.*s", (int)q->http->target.n,
		q->http->target.p);
	return true;
}

struct given {
	const char *target, *key;
	int64_t start_ms, end_ms, fineness_ms;
	bool is_connection, is_opening, is_start_stamped;
};

static void feed(const struct given *given, size_t n, struct seen *seen)
{
	struct request_sink sink = { take_session, take_request, seen };
	struct http_feed *f = http_feed_new(&sink);
	struct err e = { 0 };

	*seen = (struct seen){ 0 };
	for (size_t i = 0; i < n; i++) {
		/* On the stack of the loop: it must have been copied. */
		char target[16], key[16];
		snprintf(target, sizeof target, "%s", given[i].target);
		snprintf(key, sizeof key, "%s", given[i].key);
		struct raw_http http = { .method = SLICE("GET"), .target = slice_of(target) };
		struct http_feed_item item = { .http = &http,
			.start_ns = NS_PER_S * 1000 + given[i].start_ms * NS_PER_MS,
			.end_ns = NS_PER_S * 1000 + given[i].end_ms * NS_PER_MS,
			.fineness_ns =
				(given[i].fineness_ms ? given[i].fineness_ms : 1) * NS_PER_MS,
			.key = slice_of(key),
			.is_connection = given[i].is_connection,
			.is_opening = given[i].is_opening,
			.is_start_stamped = given[i].is_start_stamped };
		assert_true(http_feed_take(f, &item, &e));
		memset(target, 'x', sizeof target);
		memset(key, 'x', sizeof key);
	}
	assert_true(http_feed_finish(f, &e));
	assert_int_equal(seen->opened, seen->closed);
	http_feed_free(f);
}

static int64_t ms_of(int64_t ns)
{
	return (ns - NS_PER_S * 1000) / NS_PER_MS;
}

static void requests_come_in_the_order_of_their_ends(void **state)
{
	static const struct given given[] = {
		{ "/3", "a", 0, 30, 0, true, false, false },
		{ "/1", "b", 5, 10, 0, true, false, false },
		{ "/2", "a", 12, 20, 0, true, false, false },
	};
	struct seen s;

	(void)state;
	feed(given, LENGTH(given), &s);
	assert_int_equal(s.count, 3);
	assert_string_equal(s.targets[0], "/1");
	assert_string_equal(s.targets[1], "/2");
	assert_string_equal(s.targets[2], "/3");
	/* /3 ran while both others came. */
	assert_int_equal(s.items[0].in_flight, 2);
	assert_int_equal(s.items[1].in_flight, 2);
	assert_int_equal(s.items[2].in_flight, 1);
	assert_int_equal(s.items[1].session, s.items[2].session);
	assert_int_equal(s.opened, 2);
}

static void a_connection_is_one_session_with_think_times(void **state)
{
	static const struct given given[] = {
		{ "/1", "7", 0, 10, 0, true, true, false },
		{ "/2", "7", 40, 50, 0, true, false, false },
		{ "/3", "7", 90, 95, 0, true, true, false }, /* the number was given again */
	};
	struct seen s;

	(void)state;
	feed(given, LENGTH(given), &s);
	assert_int_equal(s.items[0].think_ns, -1);
	assert_int_equal(s.items[1].think_ns, 30 * NS_PER_MS);
	assert_int_equal(s.items[1].seq, 1);
	assert_int_equal(s.items[2].session, 2);
	assert_int_equal(s.items[2].think_ns, -1);
}

static void a_client_asks_one_after_the_other(void **state)
{
	static const struct given given[] = {
		{ "/1", "c", 0, 10, 0, false, false, false },
		{ "/2", "c", 5, 20, 0, false, false, false }, /* overlaps: another session */
		{ "/3", "c", 30, 40, 0, false, false, false }, /* follows the one that ended last */
		{ "/4", "c", 70000, 70010, 0, false, false, false }, /* after the gap */
	};
	struct seen s;

	(void)state;
	feed(given, LENGTH(given), &s);
	assert_int_equal(s.items[0].session, 1);
	assert_int_equal(s.items[1].session, 2);
	assert_int_equal(s.items[2].session, 2);
	assert_int_equal(s.items[3].session, 3);
	assert_int_equal(s.opened, 3);
}

static void whole_seconds_are_spread_over_their_second(void **state)
{
	static const struct given given[] = {
		{ "/1", "a", 900, 1000, 1000, false, false, false },
		{ "/2", "b", 900, 1000, 1000, false, false, false },
		{ "/3", "c", 1900, 2000, 1000, false, false, false },
	};
	struct seen s;

	(void)state;
	feed(given, LENGTH(given), &s);
	assert_int_equal(ms_of(s.items[0].end_ns), 1250);
	assert_int_equal(ms_of(s.items[0].start_ns), 1150);
	assert_int_equal(ms_of(s.items[1].end_ns), 1750);
	assert_int_equal(s.items[1].in_flight, 1);
	assert_int_equal(ms_of(s.items[2].end_ns), 2500);
}

static void starts_of_whole_seconds_stay_in_their_second(void **state)
{
	struct given given[32];
	struct seen s;

	(void)state;
	for (int i = 0; i < 32; i++)
		given[i] = (struct given){ "/", "a", 1000, 1005, 1000, false, false, true };
	feed(given, LENGTH(given), &s);
	for (size_t i = 0; i < s.count; i++) {
		assert_in_range(ms_of(s.items[i].start_ns), 1000, 1999);
		assert_int_equal(s.items[i].end_ns - s.items[i].start_ns, 5 * NS_PER_MS);
		assert_true(s.items[i].in_flight <= 2);
	}
}

static void absurd_stamps_do_not_overflow(void **state)
{
	static const struct given given[] = {
		{ "/1", "a", 9222000000000, 9222000000000, 1000, false, false, false },
		{ "/2", "a", 9222000000000, 9222000000000, 1000, false, false, true },
		{ "/3", "b", -9222000000000, 9222000000000, 1, false, false, false },
		{ "/4", "c", -9222000000000, -9222000000000, 1000, false, false, true },
		{ "/5", "c", 0, 5, 1, false, false, false },
	};
	struct seen s;

	(void)state;
	feed(given, LENGTH(given), &s);
	assert_int_equal(s.count, LENGTH(given));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_come_in_the_order_of_their_ends),
		cmocka_unit_test(a_connection_is_one_session_with_think_times),
		cmocka_unit_test(a_client_asks_one_after_the_other),
		cmocka_unit_test(whole_seconds_are_spread_over_their_second),
		cmocka_unit_test(starts_of_whole_seconds_stay_in_their_second),
		cmocka_unit_test(absurd_stamps_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
