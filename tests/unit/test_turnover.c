#include "tests/lib/unit.h"

#include <unistd.h>

#include "capture/coverage.h"
#include "capture/turnover.h"

static void see(struct turnover *t, uint32_t route, int64_t from_s, int64_t to_s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		turnover_add(t, &(struct request_record){ .route = route,
					.start_ns = from_s * NS_PER_S +
						    (to_s - from_s) * NS_PER_S * i / (n - 1) });
}

static void a_silence_is_judged_by_the_routes_own_pace(void **state)
{
	struct turnover t;
	struct err e = { 0 };

	(void)state;
	assert_true(turnover_init(&t, 6, &e));
	see(&t, 1, 1000, 2000, 1000); /* the whole time */
	see(&t, 2, 1000, 1500, 500); /* gone in the middle */
	see(&t, 3, 1490, 2000, 500); /* its successor, with an overlap */
	see(&t, 4, 1000, 1500, 9); /* too few to say */
	see(&t, 5, 1000, 1900, 11); /* slow: 100 s of silence are one of its own gaps */
	assert_false(turnover_is_gone(&t, 1));
	assert_true(turnover_is_gone(&t, 2));
	assert_false(turnover_is_gone(&t, 4));
	assert_false(turnover_is_gone(&t, 5));
	assert_true(turnover_is_succession(&t, 2, 3));
	assert_false(turnover_is_succession(&t, 3, 2));
	assert_false(turnover_is_succession(&t, 2, 1));
	turnover_free(&t);
}

static void what_comes_much_later_is_no_successor(void **state)
{
	struct turnover t;
	struct err e = { 0 };

	(void)state;
	assert_true(turnover_init(&t, 4, &e));
	see(&t, 1, 1000, 2000, 1000);
	see(&t, 2, 1000, 1300, 300);
	see(&t, 3, 1500, 2000, 500);
	assert_true(turnover_is_gone(&t, 2));
	assert_false(turnover_is_succession(&t, 2, 3));
	turnover_free(&t);
}

static void put(struct rcap_writer *w, uint32_t route, int64_t from_s, int64_t to_s)
{
	struct request_record q = { .form = FORM_HTTP, .route = route };
	struct err e = { 0 };

	for (int64_t s = from_s; s < to_s; s++) {
		q.start_ns = s * NS_PER_S;
		q.end_ns = q.start_ns + 1;
		record_seal_request(&q);
		assert_true(rcap_put_request(w, &q, &e));
	}
}

static void an_endpoint_renamed_within_a_capture_is_named(void **state)
{
	char path[] = "/tmp/test_turnover.XXXXXX";
	struct err e = { 0 };
	struct json *head = json_object(), *doc;

	(void)state;
	close(mkstemp(path));
	struct rcap_writer *w = rcap_create(path, true, &e);
	rcap_add_route(w, PROTOCOL_HTTP, 1, SLICE("GET /hot"));
	rcap_add_route(w, PROTOCOL_HTTP, 2, SLICE("GET /v1/orders/{id}/pay"));
	rcap_add_route(w, PROTOCOL_HTTP, 3, SLICE("GET /v2/orders/{id}/pay"));
	rcap_add_route(w, PROTOCOL_HTTP, 4, SLICE("DELETE /carts/{}"));
	put(w, 1, 1000, 1400);
	put(w, 2, 1000, 1200);
	put(w, 3, 1200, 1400);
	put(w, 4, 1200, 1400);
	assert_true(rcap_finish(w, head, &e));
	struct coverage_input in = { .capture = rcap_open(path, &e) };
	doc = coverage_json(&in, &e);
	assert_non_null(doc);
	assert_int_equal(json_count(json_get(doc, "renamed")), 1);
	const struct json *one = json_at(json_get(doc, "renamed"), 0);
	assert_string_equal(json_text(json_get(one, "route"), ""), "GET /v1/orders/{id}/pay");
	assert_string_equal(json_text(json_get(one, "like"), ""), "GET /v2/orders/{id}/pay");
	assert_false(json_is_true(json_get(doc, "ok"), true));
	json_free(doc);
	json_free(head);
	rcap_close(in.capture);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silence_is_judged_by_the_routes_own_pace),
		cmocka_unit_test(what_comes_much_later_is_no_successor),
		cmocka_unit_test(an_endpoint_renamed_within_a_capture_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
