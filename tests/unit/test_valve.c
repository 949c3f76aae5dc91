#include "tests/lib/unit.h"

#include "capture/valve.h"

struct seen {
	struct raw_session session;
	struct raw_request request;
	struct raw_http http;
	unsigned tapped, hash;
};

static bool take_session(void *data, const struct raw_session *s, struct err *e)
{
	(void)e;
	((struct seen *)data)->session = *s;
	return true;
}

static bool take_request(void *data, const struct raw_request *q, struct err *e)
{
	struct seen *s = data;

	(void)e;
	s->request = *q;
	if (q->http)
		s->http = *q->http;
	return true;
}

static void tap(void *data, const struct raw_request *q, unsigned hash)
{
	struct seen *s = data;

	(void)q;
	s->tapped++;
	s->hash = hash;
}

static struct valve valve_of(struct seen *s)
{
	return (struct valve){ .next = { take_session, take_request, s }, .tap = { tap, s } };
}

static bool pass(struct valve *v, const struct raw_request *q)
{
	struct request_sink sink = valve_sink(v);
	struct err e = { 0 };

	return sink.request(sink.data, q, &e);
}

static void open_it_changes_nothing(void **state)
{
	struct seen seen = { 0 };
	struct valve v = valve_of(&seen);
	struct raw_value bind = { 0 };
	struct raw_request q = {
		.seq = 7, .binds = &bind, .bind_count = 1, .copy_data = SLICE("1\t2\n")
	};

	(void)state;
	v.hash = 11;
	assert_true(pass(&v, &q));
	assert_memory_equal(&seen.request, &q, sizeof q);
	assert_int_equal(seen.tapped, 1);
	assert_int_equal(seen.hash, 11);
	assert_int_equal(v.flagged, 0);
}

static void detail_goes_and_is_flagged(void **state)
{
	struct seen seen = { 0 };
	struct valve v = valve_of(&seen);
	struct raw_value bind = { 0 };
	struct edge edge = { 0 };
	struct raw_request q = { .binds = &bind,
		.bind_count = 1,
		.copy_data = SLICE("1\t2\n"),
		.edges = &edge,
		.edge_count = 1,
		.text = SLICE("select $1") };

	(void)state;
	v.level = SHED_DETAIL;
	assert_true(pass(&v, &q));
	assert_int_equal(seen.request.flags, REQUEST_SHED | REQUEST_VALUE_LOST);
	assert_int_equal(seen.request.bind_count + seen.request.edge_count, 0);
	assert_int_equal(seen.request.copy_data.n, 0);
	assert_true(slice_is(seen.request.text, "select $1"));
	assert_int_equal(v.flagged, 1);
	/* What had none is as it was. */
	q = (struct raw_request){ .text = SLICE("select 1") };
	assert_true(pass(&v, &q));
	assert_int_equal(seen.request.flags, 0);
	assert_int_equal(v.flagged, 1);
}

static void a_body_goes_and_its_size_stays(void **state)
{
	struct seen seen = { 0 };
	struct valve v = valve_of(&seen);
	struct raw_http http = { .body = SLICE("secret"), .body_n = 6 };
	struct raw_request q = { .form = FORM_HTTP, .http = &http };

	(void)state;
	v.level = SHED_HALF;
	assert_true(pass(&v, &q));
	assert_true(seen.http.is_body_cut);
	assert_int_equal(seen.http.body.n, 0);
	assert_int_equal(seen.http.body_n, 6);
	assert_int_equal(http.body.n, 6);
}

static void a_session_given_up_counts_in_no_latency(void **state)
{
	struct seen seen = { 0 };
	struct valve v = valve_of(&seen);
	struct request_sink sink = valve_sink(&v);
	struct raw_session s = { .id = 3 };
	struct raw_request q = { .start_ns = 100, .end_ns = 900, .flags = REQUEST_UNANSWERED };
	struct err e = { 0 };

	(void)state;
	v.level = SHED_HALF;
	v.is_cutting = true;
	assert_true(pass(&v, &q));
	assert_int_equal(seen.request.flags, REQUEST_UNANSWERED | REQUEST_SHED | REQUEST_GAP);
	assert_int_equal(seen.request.end_ns, 100);
	assert_true(sink.session(sink.data, &s, &e));
	assert_int_equal(seen.session.flags, SESSION_UNCLOSED);
	v.is_cutting = false;
	assert_true(sink.session(sink.data, &s, &e));
	assert_int_equal(seen.session.flags, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_it_changes_nothing),
		cmocka_unit_test(detail_goes_and_is_flagged),
		cmocka_unit_test(a_body_goes_and_its_size_stays),
		cmocka_unit_test(a_session_given_up_counts_in_no_latency),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
