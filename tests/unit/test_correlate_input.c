#include "tests/lib/unit.h"

#include <unistd.h>

#include "core/model/rcap.h"
#include "correlate/input.h"

static const int64_t t0 = INT64_C(1796040000) * NS_PER_S;

struct loaded {
	struct series series;
	struct input in;
	struct err e;
	bool ok;
};

static void read_path(struct loaded *l, const char *path)
{
	struct run run = { .is_quiet = true, .log = stderr };

	*l = (struct loaded){ 0 };
	series_init(&l->series, 0);
	l->in.series = &l->series;
	l->ok = input_read(&l->in, path, &run, &l->e);
}

static void load(struct loaded *l, const char *text)
{
	char path[] = "/tmp/reprod-input-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	read_path(l, path);
	unlink(path);
}

static void csv_columns_go_by_header_or_by_place(void **state)
{
	static const char *const files[] = {
		"t,route,ms,status\n2026-11-30T12:00:00Z,GET /a,1.5,200\n",
		"ms,x,route,T\n1.5,,GET /a,1796040000\n",
		"2026-11-30T13:00:00+01:00,GET /a,1.5\n",
		"\n1796040000.000,\"GET /a\",1.5,503\r\n",
		"{\"t\": 1796040000, \"route\": \"GET /a\", \"ms\": 1.5}\n",
		"{\"route\": \"GET /a\", \"ms\": 1.5, \"t\": \"2026-11-30T12:00:00Z\", \"status\": \"57014\"}",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(files); i++) {
		struct loaded l;

		load(&l, files[i]);
		if (!l.ok)
			fail_msg("file %zu: %s", i, l.e.what);
		assert_int_equal(l.in.read, 1);
		assert_int_equal(l.series.first_ns, t0);
		assert_string_equal(l.series.routes[0]->text.p, "GET /a");
		assert_int_equal(l.series.routes[0]->top[0].latency_us, 1500);
		assert_int_equal(l.series.routes[0]->errors, i == 3 || i == 5);
		series_free(&l.series);
	}
}

static void quoted_fields_keep_commas_and_quotes(void **state)
{
	struct loaded l;

	(void)state;
	load(&l, "1796040000,\"SELECT a, \"\"b\"\" FROM t\",2\n");
	assert_true(l.ok);
	assert_string_equal(l.series.routes[0]->text.p, "SELECT a, \"b\" FROM t");
	series_free(&l.series);
}

static void bad_lines_are_counted_and_the_first_is_told(void **state)
{
	static const char *const bad[] = { "2026-11-30T12:00:00,a,1", "1796040000,a",
		"1796040000,a,fast", "1796040000,a,-1", "1796040000,a,nan", "soon,a,1",
		"1796040000,\"a,1", "{\"t\": 1}", "{\"t\": 1, \"route\": \"a\", \"ms\": \"1\"}",
		"{\"t\"", "{\"t\": 1e99, \"route\": \"a\", \"ms\": 1}" };

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct loaded l;
		char text[200];

		load(&l, bad[i]);
		assert_false(l.ok);
		assert_int_equal(l.e.kind, ERR_INPUT);
		assert_non_null(strstr(l.e.where, "line 1"));
		series_free(&l.series);
		snprintf(text, sizeof(text), "%s\n%s\n",
			*bad[i] == '{' ? "{\"t\": 1796040000, \"route\": \"a\", \"ms\": 1}"
				       : "1796040000,a,1",
			bad[i]);
		load(&l, text);
		assert_true(l.ok);
		assert_int_equal(l.in.read, 1);
		assert_int_equal(l.in.bad, 1);
		assert_non_null(strstr(l.in.first_bad.where, "line 2"));
		series_free(&l.series);
	}
}

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

	read_path(&l, path);
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
	read_path(&l, path);
	assert_true(!l.ok || l.in.is_torn);
	series_free(&l.series);
	unlink(path);
	json_free(head);
}

static void other_files_are_refused_with_advice(void **state)
{
	struct loaded l;

	(void)state;
	load(&l, "\xd4\xc3\xb2\xa1 and so on");
	assert_false(l.ok);
	assert_non_null(strstr(l.e.what, "capture it first"));
	series_free(&l.series);
	read_path(&l, "/nonexistent/file");
	assert_false(l.ok);
	assert_int_equal(l.e.kind, ERR_INPUT);
	series_free(&l.series);
	read_path(&l, "prometheus:http://x?query=y");
	assert_false(l.ok);
	assert_int_equal(l.e.kind, ERR_USAGE);
	series_free(&l.series);
	load(&l, "2026-11-30 12:00:00 UTC [1] LOG:  database system is ready\n");
	assert_false(l.ok);
	assert_non_null(strstr(l.e.hint, "reprod capture"));
	series_free(&l.series);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(csv_columns_go_by_header_or_by_place),
		cmocka_unit_test(quoted_fields_keep_commas_and_quotes),
		cmocka_unit_test(bad_lines_are_counted_and_the_first_is_told),
		cmocka_unit_test(capture_files_give_service_times_by_arrival),
		cmocka_unit_test(other_files_are_refused_with_advice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
