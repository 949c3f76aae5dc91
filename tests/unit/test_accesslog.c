#include "tests/lib/unit.h"

#include "capture/sniff.h"
#include "core/base/clock.h"
#include "core/format/accesslog.h"

static struct accesslog *open_spec(const char *spec)
{
	struct accesslog_options o = { .spec = spec };
	struct err e = { 0 };
	struct accesslog *a = accesslog_new(&o, &e);

	if (!a)
		fail_msg("%s: %s (%s)", spec, e.what, e.hint);
	return a;
}

static struct accesslog *open_preset(const char *name)
{
	struct accesslog_options o = { .preset = name };
	struct err e = { 0 };
	struct accesslog *a = accesslog_new(&o, &e);

	if (!a)
		fail_msg("%s: %s", name, e.what);
	return a;
}

static void is_text(struct slice got, const char *wanted)
{
	char text[512];

	snprintf(text, sizeof text, "%.*s", (int)got.n, got.p ? got.p : "");
	assert_string_equal(text, wanted);
}

static void is_time(int64_t ns, const char *wanted)
{
	char text[CLOCK_TEXT_MAX];

	assert_string_equal(ns == ACCESSLOG_UNKNOWN ? "" : clock_text(ns, text), wanted);
}

struct sample {
	const char *preset, *line;
	const char *method, *target, *protocol, *host, *user, *address, *port;
	int status;
	const char *start, *end;
	int64_t duration_ns;
	uint64_t bytes_in, bytes_out;
};

static const struct
	sample
		samples
			[] = {
				{ "common",
					"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET /apache_pb.gif HTTP/1.0\" 200 2326",
					"GET", "/apache_pb.gif", "HTTP/1.0", "", "frank",
					"127.0.0.1", "", 200, "2000-10-10T20:55:36Z", "", -1, 0,
					2326 },
				{ "combined",
					"::1 - - [10/Oct/2000:13:55:36 +0000] \"GET /a?b=\\\"c\\\" HTTP/1.1\" 304 - \"http://x/\" \"Mozilla/4.08 [en] (a; \\\"b\\\")\"",
					"GET", "/a?b=\"c\"", "HTTP/1.1", "", "", "::1", "", 304,
					"2000-10-10T13:55:36Z", "", -1, 0, 0 },
				{ "vhost-combined",
					"example.org:443 10.0.0.9 - - [10/Oct/2000:13:55:36 +0000] \"POST /a HTTP/1.1\" 201 9 \"-\" \"curl/7\"",
					"POST", "/a", "HTTP/1.1", "example.org", "", "10.0.0.9", "",
					201, "2000-10-10T13:55:36Z", "", -1, 0, 9 },
				{ "nginx-main",
					"10.0.0.9 - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/2.0\" 200 9 \"-\" \"curl/7\" \"1.2.3.4, 5.6.7.8\"",
					"GET", "/", "HTTP/2.0", "", "", "10.0.0.9", "", 200, "",
					"2000-10-10T13:55:36Z", -1, 0, 9 },
				{ "combined-time",
					"10.0.0.9 - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\" 200 9 \"-\" \"curl/7\" 1.250",
					"GET", "/", "HTTP/1.1", "", "", "10.0.0.9", "", 200, "",
					"2000-10-10T13:55:36Z", 1250 * NS_PER_MS, 0, 9 },
				{ "ingress-nginx",
					"10.0.0.9 - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\" 502 150 \"-\" \"kube-probe/1.1\" 120 0.010 [default-web-80] [] 10.1.0.1:80, 10.1.0.2:80 0, 150 0.001, 0.002 502, 502 5d3c",
					"GET", "/", "HTTP/1.1", "", "", "10.0.0.9", "", 502, "",
					"2000-10-10T13:55:36Z", 10 * NS_PER_MS, 120, 150 },
				{ "traefik",
					"10.0.0.9 - - [10/Oct/2000:13:55:36 +0000] \"GET /x HTTP/1.1\" 200 57 \"-\" \"curl/7\" 12 \"web@docker\" \"http://10.1.0.1:80\" 4ms",
					"GET", "/x", "HTTP/1.1", "", "", "10.0.0.9", "", 200,
					"2000-10-10T13:55:36Z", "", 4 * NS_PER_MS, 0, 57 },
				{ "envoy",
					"[2016-04-15T20:17:00.310Z] \"POST /api/v1/locations HTTP/2\" 204 - 154 0 226 100 \"10.0.35.28\" \"nsq2http\" \"cc21d9b0\" \"locations\" \"tcp://10.0.2.1:80\"",
					"POST", "/api/v1/locations", "HTTP/2", "locations", "", "",
					"", 204, "2016-04-15T20:17:00.310Z", "", 226 * NS_PER_MS,
					154, 0 },
				{ "istio",
					"[2020-11-25T21:26:18.409Z] \"GET /status/418 HTTP/1.1\" 418 - via_upstream - \"-\" 0 135 4 4 \"-\" \"curl/7.73.0-DEV\" \"84961386\" \"httpbin:8000\" \"127.0.0.1:80\" inbound|8000|| 127.0.0.1:41854 10.44.1.27:80 10.44.1.23:37652 outbound_.8000 default",
					"GET", "/status/418", "HTTP/1.1", "httpbin:8000", "",
					"10.44.1.23", "37652", 418, "2020-11-25T21:26:18.409Z", "",
					4 * NS_PER_MS, 0, 135 },
				{ "alb",
					"https 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 \"GET https://www.example.com:443/ HTTP/1.1\" \"curl/7.46.0\" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:x \"Root=1-58337281\" \"www.example.com\" \"arn:y\" 1 2018-07-02T22:22:48.364000Z \"authenticate,forward\" \"-\" \"-\" \"10.0.0.1:80\" \"200\" \"-\" \"-\"",
					"GET", "https://www.example.com:443/", "HTTP/1.1", "", "",
					"192.168.131.39", "2817", 200, "2018-07-02T22:22:48.364Z",
					"2018-07-02T22:23:00.186641Z", 171 * NS_PER_MS, 0, 57 },
				{ "elb",
					"2015-05-13T23:39:43.945958Z my-loadbalancer 192.168.131.39:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 \"GET http://www.example.com:80/ HTTP/1.1\" \"curl/7.38.0\" - -",
					"GET", "http://www.example.com:80/", "HTTP/1.1", "", "",
					"192.168.131.39", "2817", 200,
					"2015-05-13T23:39:43.945958Z", "", 1178 * NS_PER_US, 0,
					29 },
				{ "haproxy",
					"Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 \"GET /index.html HTTP/1.1\"",
					"GET", "/index.html", "HTTP/1.1", "", "", "10.0.1.2",
					"33317", 200, "2009-02-06T12:14:14.655Z", "",
					109 * NS_PER_MS, 0, 2750 },
				{ "haproxy-captures",
					"Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} \"GET /index.html HTTP/1.1\"",
					"GET", "/index.html", "HTTP/1.1", "", "", "10.0.1.2",
					"33317", 200, "2009-02-06T12:14:14.655Z", "",
					109 * NS_PER_MS, 0, 2750 },
				{ "caddy",
					"{\"level\":\"info\",\"ts\":1646861401.5241024,\"logger\":\"http.log.access\",\"msg\":\"handled request\",\"request\":{\"remote_ip\":\"127.0.0.1\",\"remote_port\":\"41342\",\"proto\":\"HTTP/2.0\",\"method\":\"GET\",\"host\":\"localhost\",\"uri\":\"/a?b\",\"headers\":{\"User-Agent\":[\"curl/7.82.0\",\"x\"],\"Accept\":[\"*/*\"]},\"tls\":{\"resumed\":false,\"version\":772}},\"bytes_read\":3,\"user_id\":\"\",\"duration\":0.000929675,\"size\":10900,\"status\":200,\"resp_headers\":{\"Server\":[\"Caddy\"]}}",
					"GET", "/a?b", "HTTP/2.0", "localhost", "", "127.0.0.1",
					"41342", 200, "", "2022-03-09T21:30:01.524102400Z", 929675,
					3, 10900 },
				{ "traefik-json",
					"{\"ClientAddr\":\"10.0.0.9:5\",\"ClientHost\":\"10.0.0.9\",\"ClientPort\":\"5\",\"ClientUsername\":\"-\",\"DownstreamContentSize\":9,\"DownstreamStatus\":200,\"Duration\":1500000,\"RequestHost\":\"a.b\",\"RequestMethod\":\"GET\",\"RequestPath\":\"/x\",\"RequestProtocol\":\"HTTP/1.1\",\"StartUTC\":\"2021-03-10T10:00:00.5Z\",\"time\":\"2021-03-10T10:00:00Z\"}",
					"GET", "/x", "HTTP/1.1", "a.b", "", "10.0.0.9", "5", 200,
					"2021-03-10T10:00:00.500Z", "", 1500000, 0, 9 },
				{ "envoy-json",
					"{\"start_time\":\"2021-03-10T10:00:00.500Z\",\"method\":\"GET\",\"path\":\"/x\",\"protocol\":\"HTTP/1.1\",\"response_code\":503,\"response_flags\":\"UF\",\"bytes_received\":1,\"bytes_sent\":2,\"duration\":7,\"authority\":\"a\",\"user_agent\":null,\"downstream_remote_address\":\"10.0.0.9:555\"}",
					"GET", "/x", "HTTP/1.1", "a", "", "10.0.0.9", "555", 503,
					"2021-03-10T10:00:00.500Z", "", 7 * NS_PER_MS, 1, 2 },
				{ "nginx-json",
					"{\"time_local\":\"10/Oct/2000:13:55:36 +0000\",\"msec\":\"971186136.123\",\"request\":\"GET /\\u00e9?x=\\\"1\\\" HTTP/1.1\",\"status\":\"200\",\"request_time\":\"0.004\",\"remote_addr\":\"10.0.0.9\",\"connection\":\"44\"}",
					"GET", "/\xc3\xa9?x=\"1\"", "HTTP/1.1", "", "", "10.0.0.9",
					"", 200, "", "2000-10-10T13:55:36.123Z", 4 * NS_PER_MS, 0,
					0 },
				{ "gclb",
					"{\"httpRequest\":{\"requestMethod\":\"GET\",\"requestUrl\":\"https://a.b/c\",\"requestSize\":\"10\",\"status\":200,\"responseSize\":\"20\",\"remoteIp\":\"1.2.3.4\",\"latency\":\"0.016s\"},\"timestamp\":\"2021-03-10T10:00:00.5Z\"}",
					"GET", "https://a.b/c", "", "", "", "1.2.3.4", "", 200,
					"2021-03-10T10:00:00.500Z", "", 16 * NS_PER_MS, 10, 20 },
			};

static void check(const struct sample *s, const struct accesslog_line *got)
{
	is_text(got->method, s->method);
	is_text(got->target, s->target);
	is_text(got->protocol, s->protocol);
	is_text(got->host, s->host);
	is_text(got->user, s->user);
	is_text(got->address, s->address);
	is_text(got->port, s->port);
	assert_int_equal(got->status, s->status);
	is_time(got->start_ns, s->start);
	is_time(got->end_ns, s->end);
	assert_int_equal(got->duration_ns, s->duration_ns);
	assert_int_equal(got->bytes_in, s->bytes_in);
	assert_int_equal(got->bytes_out, s->bytes_out);
}

static void each_preset_reads_its_server(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++) {
		struct accesslog *a = open_preset(samples[i].preset);
		struct accesslog_line line;
		const char *why;

		if (accesslog_read(a, slice_of(samples[i].line), &line, &why) != STEP_ITEM)
			fail_msg("%s: %s", samples[i].preset, why);
		check(&samples[i], &line);
		accesslog_free(a);
	}
}

static void each_preset_is_told_by_its_lines(void **state)
{
	char text[4096];

	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++) {
		int n = snprintf(text, sizeof text, "%s\n%s\n", samples[i].line, samples[i].line);
		const char *name = accesslog_detect((struct slice){ text, (size_t)n });

		if (!name || strcmp(name, samples[i].preset) != 0)
			fail_msg("%s is taken for %s", samples[i].preset, name ? name : "nothing");
		/* Nor for a log of Postgres, nor for a .gor file. */
		enum input_kind kind;
		struct err e = { 0 };
		assert_true(sniff_bytes((struct slice){ text, (size_t)n }, &kind, &name, &e));
		if (kind != INPUT_ACCESS)
			fail_msg("%s is taken for %s", samples[i].preset, name);
	}
}

static void other_texts_are_no_access_log(void **state)
{
	static const char *const others[] = {
		"",
		"\n\n",
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"2026-11-30 12:00:01.000 UTC [7] LOG:  duration: 1.000 ms  statement: select 1\n",
		"{\"timestamp\":\"2026-11-30 12:00:01.000 UTC\",\"pid\":7,\"message\":\"x\"}\n",
		"{\"t\":\"2026-11-30T12:00:00Z\",\"kind\":\"job\",\"name\":\"x\"}\n",
		"127.0.0.1 - - [10/Oct/2000:13:55:36 +0000] \"\\x16\\x03\\x01\" 400 157\n",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(others); i++)
		assert_null(accesslog_detect(slice_of(others[i])));
}

/* ---- format strings */

static void format_strings_of_servers_compile(void **state)
{
	static const struct {
		const char *spec, *line;
		const char *method, *target;
		const char *start, *end;
		int64_t duration_ns;
	} cases[] = {
		{ "$msec $connection $connection_requests $request_method $uri $args $request_time",
			"1700000000.123 7 2 GET /a b=1 0.500", "GET", "/a?b=1", "",
			"2023-11-14T22:13:20.123Z", 500 * NS_PER_MS },
		{ "log_format  main escape=none '[$time_iso8601] $request'\n   ' ${request_time}';",
			"[2023-11-14T22:13:20+01:00] GET /\\x41 HTTP/1.1 0.001", "GET", "/\\x41",
			"", "2023-11-14T21:13:20Z", NS_PER_MS },
		{ "escape=json {\"t\":\"$msec\",\"r\":\"$request\",\"d\":$request_time,\"n\":{}}",
			"{\"t\":\"1700000000.123\",\"r\":\"GET /\\u0041 HTTP/1.1\",\"d\":0.5,\"n\":{}}",
			"GET", "/A", "", "2023-11-14T22:13:20.123Z", 500 * NS_PER_MS },
		{ "%h %l %u %t \\\"%r\\\" %>s %b %D",
			"h - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\" 200 5 1500", "GET",
			"/", "2000-10-10T13:55:36Z", "", 1500 * NS_PER_US },
		{ "%t %m %U%q %{ms}T %!200,304{Referer}i",
			"[10/Oct/2000:13:55:36 +0000] PUT /a?b 12 -", NULL, NULL, NULL, NULL, 0 },
		{ "%t %m %U %q %{ms}T", "[10/Oct/2000:13:55:36 +0000] PUT /a ?b 12", "PUT", "/a?b",
			"2000-10-10T13:55:36Z", "", 12 * NS_PER_MS },
		{ "%{end:usec}t %{us}T \"%r\"", "1700000000123456 17 \"GET / HTTP/1.1\"", "GET",
			"/", "", "2023-11-14T22:13:20.123456Z", 17 * NS_PER_US },
		{ "%START_TIME(%Y-%m-%dT%H:%M:%S.%3fZ)% %REQ(:METHOD)% %REQ(:PATH)% %DURATION%",
			"2023-11-14T22:13:20.123Z GET /a 9", "GET", "/a",
			"2023-11-14T22:13:20.123Z", "", 9 * NS_PER_MS },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct accesslog_options o = { .spec = cases[i].spec };
		struct err e = { 0 };
		struct accesslog *a = accesslog_new(&o, &e);
		struct accesslog_line line;
		const char *why;

		if (!cases[i].method) {
			assert_null(a);
			assert_int_equal(e.kind, ERR_USAGE);
			continue;
		}
		if (!a)
			fail_msg("%s: %s", cases[i].spec, e.what);
		if (accesslog_read(a, slice_of(cases[i].line), &line, &why) != STEP_ITEM)
			fail_msg("%s: %s", cases[i].spec, why);
		is_text(line.method, cases[i].method);
		is_text(line.target, cases[i].target);
		is_time(line.start_ns, cases[i].start);
		is_time(line.end_ns, cases[i].end);
		assert_int_equal(line.duration_ns, cases[i].duration_ns);
		accesslog_free(a);
	}
}

static void a_format_without_time_or_request_is_refused(void **state)
{
	static const struct accesslog_options bad[] = {
		{ .spec = "hello" },
		{ .spec = "$request $request_time" },
		{ .spec = "$time_local $status" },
		{ .spec = "$time_local$request" },
		{ .fields = "end=.t" },
		{ .fields = "end=.t,request=.r,speed=.s" },
		{ .fields = "end=.t,request" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct err e = { 0 };

		assert_null(accesslog_new(&bad[i], &e));
		assert_int_equal(e.kind, ERR_USAGE);
		assert_true(e.what[0]);
	}
}

static void a_field_map_reads_nested_json(void **state)
{
	struct accesslog_options o = {
		.fields =
			"end_ms=.t,method=.req.method,target=.req.url,status=.res.code,duration_ms=.ms"
	};
	struct err e = { 0 };
	struct accesslog *a = accesslog_new(&o, &e);
	struct accesslog_line line;
	const char *why;

	(void)state;
	assert_non_null(a);
	assert_int_equal(
		accesslog_read(a,
			SLICE("stamp {\"t\":1700000000123,\"req\":{\"method\":\"GET\",\"url\":\"\\/a\"},"
			      "\"res\":{\"code\":200,\"x\":[1,{\"code\":7}]},\"ms\":2.5}"),
			&line, &why),
		STEP_ITEM);
	is_text(line.target, "/a");
	assert_int_equal(line.status, 200);
	assert_int_equal(line.duration_ns, 2500 * NS_PER_US);
	is_time(line.end_ns, "2023-11-14T22:13:20.123Z");
	assert_int_equal(
		accesslog_read(a, SLICE("{\"t\":1700000000123,\"req\":{"), &line, &why), STEP_FAIL);
	assert_string_equal(why, "not JSON, or cut");
	accesslog_free(a);
}

/* ---- what is no request */

static void lines_that_tell_no_request_have_a_reason(void **state)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
		{ "h - - [10/Oct/2000:13:55:36 +0000] \"-\" 408 0",
			"no request line (TLS or junk on the port)" },
		{ "h - - [10/Oct/2000:13:55:36 +0000] \"\\x16\\x03 x\" 400 0",
			"no request line (TLS or junk on the port)" },
		{ "h - - [10/Okt/2000:13:55:36 +0000] \"GET / HTTP/1.1\" 200 0",
			"a time that does not read" },
		{ "h - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\" 2000 0",
			"a status that is no number" },
		{ "h - - [10/Oct/2000:13:55:36 +0000] \"GET / HTT", "not of this format" },
	};
	struct accesslog *a = open_preset("common");
	struct accesslog_line line;
	const char *why;

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		assert_int_equal(
			accesslog_read(a, slice_of(cases[i].line), &line, &why), STEP_FAIL);
		assert_string_equal(why, cases[i].why);
	}
	assert_int_equal(accesslog_read(a, SLICE("\r\n"), &line, &why), STEP_END);
	accesslog_free(a);
}

static void upstreams_of_a_retry_do_not_shift_the_fields(void **state)
{
	struct accesslog *a = open_spec(
		"$remote_addr [$time_local] \"$request\" $upstream_addr $upstream_response_time $request_time");
	struct accesslog_line line;
	const char *why;

	(void)state;
	assert_int_equal(
		accesslog_read(a,
			SLICE("h [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\" 10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80 0.1, 0.2 : 0.3 0.7"),
			&line, &why),
		STEP_ITEM);
	assert_int_equal(line.duration_ns, 700 * NS_PER_MS);
	accesslog_free(a);
}

static void a_stamp_without_a_zone_is_told(void **state)
{
	struct accesslog *a = open_spec("%{%d/%b/%Y:%T}t \"%r\"");
	struct accesslog_line line;
	const char *why;

	(void)state;
	assert_int_equal(
		accesslog_read(a, SLICE("10/Oct/2000:13:55:36 \"GET / HTTP/1.1\""), &line, &why),
		STEP_ITEM);
	assert_true(line.is_zoneless);
	assert_int_equal(line.fineness_ns, NS_PER_S);
	accesslog_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_preset_reads_its_server),
		cmocka_unit_test(each_preset_is_told_by_its_lines),
		cmocka_unit_test(other_texts_are_no_access_log),
		cmocka_unit_test(format_strings_of_servers_compile),
		cmocka_unit_test(a_format_without_time_or_request_is_refused),
		cmocka_unit_test(a_field_map_reads_nested_json),
		cmocka_unit_test(lines_that_tell_no_request_have_a_reason),
		cmocka_unit_test(upstreams_of_a_retry_do_not_shift_the_fields),
		cmocka_unit_test(a_stamp_without_a_zone_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
