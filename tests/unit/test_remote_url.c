#include "tests/lib/unit.h"

#include <unistd.h>

#include "correlate/remote.h"
#include "correlate/remote_labels.h"
#include "correlate/remote_url.h"

static const char *const known[] = { "query", "from", "to", "step", "table", NULL };

static void values_are_decoded_and_a_plus_stays(void **state)
{
	struct remote_url u;
	struct err e = { 0 };

	(void)state;
	assert_true(remote_url_parse(
		&u, "prometheus:http://h:9090/p?query=a+b%20%3d%26c?d=e&&from=-6h", known, &e));
	assert_string_equal(u.word, "prometheus");
	assert_string_equal(u.address, "http://h:9090/p");
	assert_string_equal(remote_url_get(&u, "query"), "a+b =&c?d=e");
	assert_string_equal(remote_url_get(&u, "from"), "-6h");
	assert_null(remote_url_get(&u, "to"));
	assert_true(remote_url_is_web(&u));
	remote_url_free(&u);
}

static void libpqs_own_parameters_stay_in_its_url(void **state)
{
	struct remote_url u;
	struct err e = { 0 };

	(void)state;
	assert_true(remote_url_parse(&u,
		"sql:postgresql://u:p%3F@h/d?sslmode=require&table=t&options=-c%20a", known, &e));
	assert_string_equal(u.address, "postgresql://u:p%3F@h/d?sslmode=require&options=-c%20a");
	assert_string_equal(remote_url_get(&u, "table"), "t");
	remote_url_free(&u);
	assert_true(remote_url_parse(&u, "sql:host=/tmp dbname=x?table=t", known, &e));
	assert_string_equal(u.address, "host=/tmp dbname=x");
	remote_url_free(&u);
}

static void what_is_no_parameter_is_refused(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "sql:x?tabel=t", "no parameter 'tabel'" },
		{ "sql:x?table", "no '=value'" },
		{ "sql:x?table=a&table=b", "given twice" },
		{ "sql:x?table=5%", "two hex digits" },
		{ "sql:x?table=5%4", "two hex digits" },
		{ "sql:x?table=5%zz", "two hex digits" },
		{ "sql:x?table=5%00", "two hex digits" },
		{ "sql:x?query=@/nonexistent/file", "/nonexistent/file" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct remote_url u;
		struct err e = { 0 };

		assert_false(remote_url_parse(&u, cases[i].text, known, &e));
		if (!strstr(e.what, cases[i].words))
			fail_msg("%s: %s", cases[i].text, e.what);
		remote_url_free(&u);
	}
}

static void times_are_dates_or_ages(void **state)
{
	const int64_t now = INT64_C(1796040000) * NS_PER_S;
	struct clock clock = { .is_fake = true, .fake_wall_ns = now };
	static const struct {
		const char *text;
		int64_t from_s, to_s; /* from now; 0 and 0: refused */
	} cases[] = {
		{ "p:x?from=-6h&to=now", -6 * 3600, 0 },
		{ "p:x?from=1796039000&to=1796039001.5", -1000, -998 },
		{ "p:x?from=2026-11-30T13:00:00%2B01:00&to=2026-11-30T12:00:01Z", 0, 1 },
		{ "p:x?from=-1h&to=-2h", 0, 0 },
		{ "p:x?from=2026-11-30T12:00:00", 0, 0 },
		{ "p:x?from=-soon", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		int64_t from = INT64_MIN, to = INT64_MAX;
		struct remote_url u;
		struct err e = { 0 };

		assert_true(remote_url_parse(&u, cases[i].text, known, &e));
		bool ok = remote_url_range(&u, &clock, &from, &to, &e);
		assert_int_equal(ok, cases[i].from_s || cases[i].to_s);
		if (ok) {
			assert_int_equal((from - now) / NS_PER_S, cases[i].from_s);
			assert_int_equal((to - now) / NS_PER_S, cases[i].to_s);
		}
		remote_url_free(&u);
	}
}

static void names_hold_no_credentials(void **state)
{
	static const struct {
		const char *path, *name;
	} cases[] = {
		{ "file.csv", "file.csv" },
		{ "prometheus:http://u:hunter2@h:9090/p?query=a_bucket&from=-1h",
			"prometheus:http://h:9090/p?query=a_bucket" },
		{ "prometheus:http://u:hun/ter2@h:9090/p?query=a",
			"prometheus:http://h:9090/p?query=a" },
		{ "prometheus:saved.json?route=a", "prometheus:saved.json" },
		{ "grafana:https://h/g?tags=a", "grafana:https://h/g" },
		{ "clickhouse:https://u:hunter2@h/?table=d.t", "clickhouse:https://h/?table=d.t" },
		{ "sql:host=db.example port=5433 password=hunter2?table=t",
			"sql:db.example:5433?table=t" },
		{ "sql:postgresql://u:hunter2@db.example:5433/d?sslmode=disable&table=t",
			"sql:db.example:5433?table=t" },
		{ "sql:postgresql://u:hun ter2@db.example?tabel=t", "sql:" },
		{ "sql:host=h port=1?query=SELECT 'hunter2'", "sql:h:1?query=#" },
	};
	struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 16);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		const char *name = remote_name(&arena, cases[i].path);

		if (strncmp(name, cases[i].name, strlen(cases[i].name)) != 0 ||
			strstr(name, "hun") || strstr(name, "ter2"))
			fail_msg("%s: %s", cases[i].path, name);
	}
	arena_free(&arena);
}

static void selectors_are_told_from_expressions(void **state)
{
	static const char *const yes[] = { "a", "a:b_bucket", "a{}", "a{b=\"}\",c='d'} ",
		"a{b=\"\\\"}\"}", "{__name__=\"a\"}" };
	static const char *const no[] = { "", "a+b", "rate(a[1m])", "a{", "a{b=\"}",
		"a{b=\"c\"}[5m]", "a offset 5m", "a and b" };

	(void)state;
	for (size_t i = 0; i < LENGTH(yes); i++)
		assert_true(remote_labels_is_selector(yes[i]));
	for (size_t i = 0; i < LENGTH(no); i++)
		assert_false(remote_labels_is_selector(no[i]));
}

static void units_go_by_name_unless_given(void **state)
{
	static const struct {
		const char *unit, *name;
		double us;
	} cases[] = {
		{ NULL, "http_request_duration_seconds_bucket", 1e6 },
		{ NULL, "rpc_milliseconds_bucket", 1e3 },
		{ NULL, "request_duration_ms_bucket", 1e3 },
		{ NULL, "rpc_microseconds", 1 },
		{ NULL, "latency", 1e6 },
		{ NULL, "get_msgs_seconds", 1e6 },
		{ "ms", "latency_seconds", 1e3 },
	};
	struct err e = { 0 };
	double us;

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		assert_true(remote_labels_unit(cases[i].unit, cases[i].name, &us, &e));
		assert_true(us == cases[i].us);
	}
	assert_false(remote_labels_unit("h", "latency", &us, &e));
	assert_int_equal(e.kind, ERR_USAGE);
}

static void labels_make_a_route(void **state)
{
	static const char text[] =
		"{\"__name__\": \"d_bucket\", \"handler\": \"/a\", \"instance\": \"h:1\", "
		"\"le\": \"1\", \"method\": \"GET\"}";
	struct err e = { 0 };
	struct json *metric = json_parse(slice_of(text), "", &e);
	struct buf to = { 0 };

	(void)state;
	remote_labels_text(&to, metric, "method,handler");
	assert_string_equal(buf_text(&to), "GET /a");
	remote_labels_text(&to, metric, NULL);
	assert_string_equal(buf_text(&to), "handler=/a method=GET");
	remote_labels_text(&to, metric, "none");
	assert_string_equal(buf_text(&to), "d_bucket");
	remote_labels_key(&to, metric);
	assert_null(strstr(buf_text(&to), "le="));
	assert_non_null(strstr(buf_text(&to), "instance=\"h:1\""));
	buf_free(&to);
	json_free(metric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_decoded_and_a_plus_stays),
		cmocka_unit_test(libpqs_own_parameters_stay_in_its_url),
		cmocka_unit_test(what_is_no_parameter_is_refused),
		cmocka_unit_test(times_are_dates_or_ages),
		cmocka_unit_test(names_hold_no_credentials),
		cmocka_unit_test(selectors_are_told_from_expressions),
		cmocka_unit_test(units_go_by_name_unless_given),
		cmocka_unit_test(labels_make_a_route),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
