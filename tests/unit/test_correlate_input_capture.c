#include "tests/lib/unit.h"

#include <unistd.h>

#include "core/model/rcap.h"
#include "tests/lib/loaded.h"

static const int64_t t0 = INT64_C(1796040000) * NS_PER_S;

static struct request_record request(
	uint32_t route, int64_t start_ns, int64_t latency_ns, uint32_t flags)
{
	struct request_record q = { .session = 1,
		.start_ns = start_ns,
		.first_byte_ns = start_ns + latency_ns,
		.end_ns = start_ns + latency_ns,
		.route = route,
		.form = FORM_SIMPLE,
		.state_before = 'I',
		.state_after = 'I',
		.flags = flags };

	record_seal_request(&q);
	return q;
}

static void capture_files_give_service_times_by_arrival(void **state)
{
	char path[] = "/tmp/reprod-input-XXXXXX";
	int fd = mkstemp(path);
	struct err e = { 0 };
	struct json *head = json_object();
	struct loaded l;

	(void)state;
	struct rcap_writer *w = rcap_create_fd(fd, path, &e);
	assert_non_null(w);
	uint32_t route = rcap_add_route(w, PROTOCOL_PG, 0xabcdef, SLICE("SELECT ?"));
	struct request_record all[] = {
		request(route, t0, 5 * NS_PER_MS, 0),
		request(route, t0 + NS_PER_S, 2 * NS_PER_S, REQUEST_GAP),
		request(route, t0 + NS_PER_S, 3 * NS_PER_S, REQUEST_UNANSWERED),
		request(route, t0 + NS_PER_S, 0, REQUEST_SKIPPED),
		request(route, t0 + 2 * NS_PER_S, 7 * NS_PER_MS, 0),
	};
	all[4].sqlstate[0] = '5';
	memcpy(all[4].sqlstate, "57014", 6);
	for (size_t i = 0; i < LENGTH(all); i++)
		assert_true(rcap_put_request(w, &all[i], &e));
	struct request_record prepare = request(route, t0, NS_PER_MS, 0);
	prepare.form = FORM_PREPARE;
	assert_true(rcap_put_request(w, &prepare, &e));
	assert_true(rcap_finish(w, head, &e));

	loaded_path(&l, path);
	if (!l.ok)
		fail_msg("%s: %s", l.e.where, l.e.what);
	assert_true(series_finish(&l.series));
	const struct series_route *r = l.series.routes[0];
	assert_int_equal(r->fingerprint, 0xabcdef);
	assert_int_equal(r->requests, 2);
	assert_int_equal(r->unanswered, 1);
	assert_int_equal(r->errors, 1);
	assert_int_equal(l.in.gap, 1);
	assert_int_equal(r->top[0].latency_us, 7000);
	assert_true(l.in.has_packets && !l.in.is_torn);
	series_free(&l.series);

	/* Cut in the middle: what was whole is used, and it is said. */
	assert_int_equal(truncate(path, 30), 0);
	loaded_path(&l, path);
	assert_true(!l.ok || l.in.is_torn);
	series_free(&l.series);
	unlink(path);
	json_free(head);
}

/* A live capture says what it gave up; only time without any session is a gap. */
static void time_that_a_capture_gave_up_is_a_gap(void **state)
{
	static const char head_text[] =
		"{\"end\": \"2026-11-30T12:10:00Z\", \"cost\": {\"drops\": {\"kernel\": 7, \"interface\": 1}},"
		"\"shedding\": {\"intervals\": ["
		"{\"start\": \"2026-11-30T12:01:00Z\", \"end\": \"2026-11-30T12:02:00Z\", \"sessions_kept\": 0.5},"
		"{\"start\": \"2026-11-30T12:05:00Z\", \"end\": null, \"sessions_kept\": 0}]}}";
	char path[] = "/tmp/reprod-input-XXXXXX";
	int fd = mkstemp(path);
	struct err e = { 0 };
	struct json *head = json_parse(slice_of(head_text), "head", &e);
	struct loaded l;

	(void)state;
	assert_non_null(head);
	struct rcap_writer *w = rcap_create_fd(fd, path, &e);
	uint32_t route = rcap_add_route(w, PROTOCOL_PG, 1, SLICE("SELECT ?"));
	struct request_record q = request(route, t0, 5 * NS_PER_MS, 0);
	assert_true(rcap_put_request(w, &q, &e));
	assert_true(rcap_finish(w, head, &e));
	loaded_path(&l, path);
	assert_true(l.ok && series_finish(&l.series));
	assert_int_equal(l.in.dropped, 8);
	assert_int_equal(l.in.shed, 1);
	assert_false(series_is_gap(&l.series, t0, t0 + 300 * NS_PER_S));
	assert_true(series_is_gap(&l.series, t0 + 599 * NS_PER_S, t0 + 600 * NS_PER_S));
	assert_false(series_is_gap(&l.series, t0 + 600 * NS_PER_S, t0 + 900 * NS_PER_S));
	/* Its one request came over a connection. */
	assert_int_equal(series_sessions(&l.series, l.series.routes[0], 0, 1000, 0), 1);
	series_free(&l.series);
	unlink(path);
	json_free(head);
}

static void a_log_without_fast_statements_has_a_floor(void **state)
{
	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		char path[] = "/tmp/reprod-input-XXXXXX";
		struct err e = { 0 };
		struct json *head =
			json_parse(slice_of(kind ? "{\"sources\": [{\"kind\": \"pcap\"}]}"
						 : "{\"sources\": [{\"kind\": \"pglog\"}]}"),
				"head", &e);
		struct rcap_writer *w = rcap_create_fd(mkstemp(path), path, &e);
		uint32_t route = rcap_add_route(w, PROTOCOL_PG, 1, SLICE("SELECT ?"));
		struct loaded l;

		for (int i = 0; i < 30; i++) {
			struct request_record q =
				request(route, t0 + i * NS_PER_S, (250 + i) * NS_PER_MS, 0);

			assert_true(rcap_put_request(w, &q, &e));
		}
		assert_true(rcap_finish(w, head, &e));
		loaded_path(&l, path);
		assert_true(l.ok);
		assert_int_equal(l.series.routes[0]->floor_us, kind ? 0 : 250000);
		assert_int_equal(l.in.found_floor_ns, kind ? 0 : 250 * NS_PER_MS);
		series_free(&l.series);
		unlink(path);
		json_free(head);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capture_files_give_service_times_by_arrival),
		cmocka_unit_test(a_log_without_fast_statements_has_a_floor),
		cmocka_unit_test(time_that_a_capture_gave_up_is_a_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
