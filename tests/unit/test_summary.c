#include "tests/lib/unit.h"

#include <unistd.h>

#include "capture/summary.h"
#include "capture/timegrid.h"

static void a_grid_that_grows_loses_nothing(void **state)
{
	struct timegrid g;
	double sum = 0;

	(void)state;
	assert_true(timegrid_init(&g, 1));
	timegrid_cover(&g, 100, 105);
	timegrid_cover(&g, 90, 102);
	assert_int_equal(g.width_ns, 1);
	assert_int_equal(g.first, 90);
	assert_true(g.amounts[10] == 2 && g.amounts[12] == 1);
	timegrid_cover(&g, 1000000, 1000007);
	timegrid_cover(&g, -50000, -49990);
	assert_true(g.width_ns > 1);
	for (int64_t i = 0; i < g.used; i++)
		sum += g.amounts[i];
	assert_true(sum == 5 + 12 + 7 + 10);
	assert_true(g.used <= TIMEGRID_SLICES);
	/* the narrowest power of two that covers 1,050,007 ns by 16,384 slices */
	assert_int_equal(g.width_ns, 128);
	assert_true(g.amounts[1000000 / 128 - g.first] == 7);
	assert_true(g.amounts[100 / 128 - g.first] == 17);
	timegrid_free(&g);
}

static void neighbours_join_by_their_place_in_time(void **state)
{
	struct timegrid g;

	(void)state;
	assert_true(timegrid_init(&g, 1));
	timegrid_add(&g, 3, 1);
	timegrid_add(&g, 4, 10);
	timegrid_add(&g, 5, 100);
	timegrid_add(&g, 3 + TIMEGRID_SLICES, 1000);
	assert_int_equal(g.width_ns, 2);
	assert_int_equal(g.first, 1);
	assert_true(g.amounts[0] == 1 && g.amounts[1] == 110);
	timegrid_free(&g);
}

static void put(struct rcap_writer *w, uint32_t route, uint64_t session, int64_t start_ms,
	int64_t length_ms, uint32_t in_flight, const char *sqlstate)
{
	struct err e = { 0 };
	struct request_record q = { .session = session,
		.start_ns = start_ms * NS_PER_MS,
		.end_ns = (start_ms + length_ms) * NS_PER_MS,
		.form = FORM_SIMPLE,
		.route = route,
		.in_flight = in_flight,
		.rows = 1 };

	memcpy(q.sqlstate, sqlstate, strlen(sqlstate) + 1);
	record_seal_request(&q);
	assert_true(rcap_put_request(w, &q, &e));
}

static struct rcap *make(const char *path, bool has_head)
{
	struct err e = { 0 };
	struct rcap_writer *w = rcap_create(path, true, &e);
	struct json *head = json_object();
	int64_t second = INT64_C(1796040000000);

	uint32_t a = rcap_add_route(w, PROTOCOL_PG, 0xabc, SLICE("select ?"));
	uint32_t b = rcap_add_route(w, PROTOCOL_PG, 0xdef, SLICE("rare"));
	for (uint64_t id = 1; id <= 2; id++) {
		struct session_record s = { .id = id, .protocol = PROTOCOL_PG, .open_ns = 1 };

		record_seal_session(&s);
		assert_true(rcap_put_session(w, &s, &e));
		s.close_ns = 2;
		assert_true(rcap_put_session(w, &s, &e));
	}
	/* Ten seconds; a takes 100 ms each 10 ms: ten in flight. */
	for (int i = 0; i < 1000; i++)
		put(w, a, 1, second + 10 * i, 100, 10, i % 100 ? "" : "40001");
	put(w, b, 2, second, 812, 11, "");
	if (has_head) {
		json_set_text(head, "start", "2026-11-30T12:00:00Z");
		json_set_text(head, "end", "2026-11-30T12:00:20Z");
		json_set_bool(head, "complete", true);
		json_set(head, "lost", json_object());
		json_set_int(json_get(head, "lost"), "kernel", 3);
	}
	assert_true(rcap_finish(w, head, &e));
	json_free(head);
	struct rcap *r = rcap_open(path, &e);
	assert_non_null(r);
	return r;
}

static double number(const struct json *j, const char *path)
{
	return json_number(json_path(j, path), -1);
}

static void the_summary_adds_up(void **state)
{
	char path[] = "/tmp/test_summary.XXXXXX";
	struct run run = { 0 };
	struct err e = { 0 };

	(void)state;
	close(mkstemp(path));
	for (int has_head = 0; has_head < 2; has_head++) {
		struct rcap *r = make(path, has_head);
		struct json *s = capture_summary(r, &run, &e);
		double span = has_head ? 20 : 10.09;

		assert_non_null(s);
		assert_true(number(s, "requests") == 1001);
		assert_true(number(s, "sessions") == 2);
		assert_true(number(s, "errors") == 10);
		assert_float_equal(number(s, "duration_s"), span, 1e-6);
		assert_float_equal(number(s, "in_flight.mean"), 100.812 / span, 1e-6);
		assert_float_equal(number(s, "in_flight.p95"), has_head ? 10 : 11, 1e-6);
		assert_true(number(s, "in_flight.max") == 11);
		assert_float_equal(number(s, "rate_per_s.mean"), 1001 / span, 1e-5);
		assert_float_equal(number(s, "rate_per_s.max"), 101, 1e-6);
		const struct json *a = json_at(json_get(s, "routes"), 0);
		const struct json *b = json_at(json_get(s, "routes"), 1);
		assert_string_equal(json_text(json_get(a, "route"), ""), "select ?");
		assert_string_equal(json_text(json_get(a, "fingerprint"), ""), "0000000000000abc");
		assert_float_equal(number(a, "latency_ms.p99"), 100, 0.1);
		assert_float_equal(number(a, "latency_ms.p99_high"), 100, 0.1);
		assert_float_equal(number(b, "latency_ms.max"), 812, 0);
		/* One request carries no percentile. */
		assert_int_equal(json_type(json_path(b, "latency_ms.p99")), JSON_NULL_VALUE);
		assert_true(json_is_true(json_get(s, "complete"), false));
		assert_int_equal(json_count(json_get(s, "routes")), 2);
		if (has_head)
			assert_true(number(s, "lost.kernel") == 3);
		json_free(s);
		rcap_close(r);
	}
	unlink(path);
}

static void people_read_it_on_one_screen(void **state)
{
	char path[] = "/tmp/test_summary.XXXXXX";
	struct run run = { 0 };
	struct err e = { 0 };
	char *text = NULL;
	size_t n = 0;

	(void)state;
	close(mkstemp(path));
	struct rcap *r = make(path, true);
	struct json *s = capture_summary(r, &run, &e);
	FILE *to = open_memstream(&text, &n);
	capture_summary_print(s, "shop.rcap", 20, to);
	fclose(to);
	assert_non_null(strstr(text, "shop.rcap: capture format 1, complete"));
	assert_non_null(strstr(text, "1,001 requests in 2 sessions, 10 errors"));
	assert_non_null(strstr(text, "kernel 3"));
	assert_non_null(strstr(text, "n=1: p99 not estimable"));
	assert_non_null(strstr(text, "812.0  rare"));
	free(text);
	json_free(s);
	rcap_close(r);
	unlink(path);
}

static void an_empty_capture_has_no_numbers(void **state)
{
	char path[] = "/tmp/test_summary.XXXXXX";
	struct run run = { 0 };
	struct err e = { 0 };

	(void)state;
	close(mkstemp(path));
	assert_true(rcap_finish(rcap_create(path, true, &e), NULL, &e));
	struct rcap *r = rcap_open(path, &e);
	struct json *s = capture_summary(r, &run, &e);
	assert_true(number(s, "requests") == 0);
	assert_int_equal(json_type(json_path(s, "in_flight.mean")), JSON_NULL_VALUE);
	assert_int_equal(json_type(json_path(s, "rate_per_s.max")), JSON_NULL_VALUE);
	assert_int_equal(json_type(json_get(s, "start")), JSON_NULL_VALUE);
	json_free(s);
	rcap_close(r);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_grid_that_grows_loses_nothing),
		cmocka_unit_test(neighbours_join_by_their_place_in_time),
		cmocka_unit_test(the_summary_adds_up),
		cmocka_unit_test(people_read_it_on_one_screen),
		cmocka_unit_test(an_empty_capture_has_no_numbers),
	};

	return cmocka_run_group_tests_name("summary", tests, NULL, NULL);
}
