#include "tests/lib/unit.h"

#include <unistd.h>

#include "core/model/httproutes.h"
#include "core/model/httpscrub.h"
#include "core/model/places.h"

struct fixture {
	struct policy policy;
	struct token_key *key;
	struct httpscrub *scrub;
	struct places *places;
	struct httpscrub_request got;
	struct buf shown; /* the template with its values put back; dropped: <n> */
	struct err err;
};

static struct fixture *begin(const char *policy_text)
{
	static const unsigned char bytes[32] = { 1, 2, 3 };
	struct fixture *x = calloc(1, sizeof *x);
	char path[] = "/tmp/test_httpscrub.XXXXXX";

	if (policy_text) {
		int fd = mkstemp(path);

		assert_int_equal(write(fd, policy_text, strlen(policy_text)), strlen(policy_text));
		close(fd);
		assert_true(policy_load(&x->policy, path, &x->err));
		unlink(path);
	} else {
		assert_true(policy_defaults(&x->policy, &x->err));
	}
	x->key = token_key_of(bytes, &x->err);
	x->scrub = httpscrub_new(&x->policy, x->key, NULL);
	assert_non_null(x->scrub);
	x->places = places_new(PLACES_REPORTED_MAX);
	httpscrub_set_places(x->scrub, x->places);
	return x;
}

static void end(struct fixture *x)
{
	httpscrub_free(x->scrub);
	places_free(x->places);
	policy_free(&x->policy);
	token_key_free(x->key);
	buf_free(&x->shown);
	free(x);
}

static void show(struct fixture *x)
{
	size_t slot = 0;

	buf_reset(&x->shown);
	for (size_t i = 0; i < x->got.template_text.n; i++) {
		const struct value *v = &x->got.values[slot];

		if (x->got.template_text.p[i] != TEMPLATE_SLOT) {
			buf_add_byte(&x->shown, (unsigned char)x->got.template_text.p[i]);
			continue;
		}
		assert_true(slot < x->got.value_count);
		assert_int_equal(v->place, slot);
		if (v->action == VALUE_DROPPED)
			buf_addf(&x->shown, "<%u>", v->type_oid);
		else
			buf_add_slice(&x->shown, v->bytes);
		slot++;
	}
	assert_int_equal(slot, x->got.value_count);
}

static void scrub(struct fixture *x, const struct raw_http *raw)
{
	httpscrub_request(x->scrub, raw, &x->got);
	show(x);
}

static const char *get(struct fixture *x, const char *target)
{
	struct raw_http raw = { .method = SLICE("GET"), .target = slice_of(target), .version = 11 };

	scrub(x, &raw);
	return buf_text(&x->shown);
}

/* Once as new, once to be put in the cache, then from it. */
static void a_target_that_came_before_reads_the_same(void **state)
{
	static const char *const targets[] = { "/users/4711/orders?name=Ada&n=5", "/",
		"/users/Ada%20L?token=secret", "/a;jsessionid=1/b" };
	struct fixture *x = begin(NULL);

	(void)state;
	for (size_t i = 0; i < LENGTH(targets); i++) {
		char *first = strdup(get(x, targets[i]));
		uint64_t fingerprint = x->got.fingerprint;
		uint32_t flags = x->got.flags;

		for (int again = 0; again < 3; again++) {
			assert_string_equal(get(x, targets[i]), first);
			assert_true(x->got.fingerprint == fingerprint);
			assert_int_equal(x->got.flags, flags);
		}
		free(first);
	}
	end(x);
}

static const char *post(struct fixture *x, const char *type, const char *body)
{
	struct raw_field fields[] = { { SLICE("Content-Type"), slice_of(type) } };
	struct raw_http raw = { .method = SLICE("POST"),
		.target = SLICE("/users"),
		.version = 11,
		.fields = fields,
		.field_count = 1,
		.body = slice_of(body),
		.body_n = strlen(body) };

	scrub(x, &raw);
	const char *at = strstr(buf_text(&x->shown), "\r\n\r\n");
	assert_non_null(at);
	return at + 4;
}

static void routes_keep_words_of_an_api_alone(void **state)
{
	static const char *const cases[][2] = {
		{ "/users/42/orders?page=3", "GET /users/{id}/orders" },
		{ "/users/zeisig/orders", "GET /users/{}/orders" },
		{ "/v1/order-items/6fa459ea-ee8a-3ca4-894e-db77e160355e",
			"GET /v1/order-items/{id}" },
		{ "/items/507f1f77bcf86cd799439011", "GET /items/{id}" },
		{ "/", "GET /" },
		{ "//api//users/", "GET //api//users/" },
		{ "/API/Users/../v2", "GET /API/Users/../v2" },
		{ "/api/%75sers", "GET /api/{}" },
		{ "/static/app.3f2a9c.js", "GET /static/{}.js" },
		{ "/index.html", "GET /index.html" },
		{ "/users;jsessionid=AB12CD/1", "GET /users/{id}" },
		{ "http://shop.example/api/users/7?x=1", "GET /api/users/{id}" },
		{ "http://shop.example", "GET /" },
		{ "*", "GET *" },
		{ "/jobs/9:cancel", "GET /jobs/{}" },
		{ "/jobs:batchGet", "GET /jobs:batchGet" },
		{ "/.well-known/openid-configuration", "GET /.well-known/openid-configuration" },
		{ "/zq.zqpkg.Thing/GetIt", "GET /{}/{}" },
		{ "nonsense", "GET {}" },
		{ "/users?zeisig", "GET /users" },
		{ "/\x01/\x7f", "GET /{}/{}" },
	};
	struct fixture *x = begin(NULL);

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		get(x, cases[i][0]);
		if (!slice_is(x->got.route, cases[i][1]))
			fail_msg("%s: %.*s", cases[i][0], (int)x->got.route.n, x->got.route.p);
	}
	end(x);
}

static void the_request_is_put_together_again(void **state)
{
	struct fixture *x = begin(NULL);

	(void)state;
	assert_string_equal(get(x, "/users/42/orders?page=3&sort=true&from=2026-01-02"),
		"GET /users/42/orders?page=3&sort=true&from=2026-01-02 HTTP/1.1\r\n\r\n");
	assert_int_equal(x->got.value_count, 4);
	assert_int_equal(x->got.values[0].role, ROLE_PREDICATE);
	assert_int_equal(x->got.flags, 0);
	assert_null(strstr(get(x, "/users/zeisig?q=zeisig+%C3%A4&zeisig%40x.org=1"), "zeisig"));
	assert_non_null(strstr(buf_text(&x->shown), "&"));
	/* The same word has the same token in path and query. */
	assert_int_equal(x->got.values[0].bytes.n, 6);
	assert_memory_equal(x->got.values[0].bytes.p, x->got.values[1].bytes.p, 0);
	assert_string_equal(get(x, "/users?flag&page"), "GET /users?flag&page HTTP/1.1\r\n\r\n");
	end(x);
}

static void credentials_are_dropped_whatever_the_policy_keeps(void **state)
{
	static const char policy[] =
		"{\"format\":\"reprod-policy\",\"version\":1,"
		"\"headers\":{\"authorization\":\"keep\",\"x-tenant\":\"keep\"},"
		"\"query\":{\"access_token\":\"keep\",\"q\":\"keep\"},"
		"\"json\":{\"$.password\":\"keep\",\"$.name\":\"keep\"}}";
	struct raw_field fields[] = { { SLICE("Authorization"), SLICE("Bearer canary") },
		{ SLICE("X-Tenant"), SLICE("acme") }, { SLICE("Cookie"), SLICE("sid=canary") },
		{ SLICE("X-Api-Key"), SLICE("canary") }, { SLICE("X-CSRF-Token"), SLICE("canary") },
		{ SLICE("Content-Type"), SLICE("application/json") } };
	static const char body[] = "{\"password\":\"canary\",\"name\":\"Bob\",\"n\":5,"
				   "\"card\":{\"a\":\"canary\",\"b\":4111}}";
	struct raw_http raw = { .method = SLICE("POST"),
		.target = SLICE("/login?access_token=canary&q=plain"),
		.version = 11,
		.fields = fields,
		.field_count = LENGTH(fields),
		.body = { body, sizeof body - 1 },
		.body_n = sizeof body - 1 };
	struct fixture *x = begin(policy);

	(void)state;
	scrub(x, &raw);
	const char *text = buf_text(&x->shown);
	assert_null(strstr(text, "canary"));
	assert_null(strstr(text, "4111"));
	assert_non_null(strstr(text, "X-Tenant: acme\r\n"));
	assert_non_null(strstr(text, "&q=plain "));
	assert_non_null(strstr(text, "Authorization: <13>\r\n"));
	assert_non_null(strstr(text, "\"password\":\"dropped\",\"name\":\"Bob\",\"n\":5"));
	assert_true(x->got.flags & REQUEST_VALUE_LOST);
	assert_true(x->got.flags & REQUEST_WRITES);
	end(x);
}

static void headers_stay_in_known_forms(void **state)
{
	static const struct {
		const char *name, *value, *out; /* out NULL: not the value */
	} cases[] = {
		{ "Accept", "text/html,application/json;q=0.9,*/*;q=0.8",
			"text/html,application/json;q=0.9,*/*;q=0.8" },
		{ "Accept-Language", "de-DE,de;q=0.9,en;q=0.8", "de-DE,de;q=0.9,en;q=0.8" },
		{ "Accept-Encoding", "gzip, deflate, br", "gzip, deflate, br" },
		{ "Accept", "text/zeisig", NULL },
		{ "Cache-Control", "max-age=0, no-cache", "max-age=0, no-cache" },
		{ "Range", "bytes=0-1023", "bytes=0-1023" },
		{ "If-Modified-Since", "Tue, 15 Nov 1994 08:12:31 GMT",
			"Tue, 15 Nov 1994 08:12:31 GMT" },
		{ "User-Agent", "curl/7.88.1", "curl/7.88.1" },
		{ "User-Agent", "zeisig/1.0", NULL },
		{ "If-None-Match", "W/\"zeisig\"", NULL },
		{ "X-Forwarded-For", "192.0.2.77, 10.1.2.3:99", NULL },
		{ "X-Request-Id", "12345", NULL },
		{ "X-Page", "12345", "12345" },
		{ "Host", "zeisig.example:8080", NULL },
		{ "Host", "localhost:8080", "localhost:8080" },
		{ "Referer", "http://localhost/users/5?page=2#zeisig",
			"http://localhost/users/5?page=2" },
	};
	struct fixture *x = begin(NULL);

	(void)state;
	for (unsigned round = 0; round < 2; round++)
		for (size_t i = 0; i < LENGTH(cases); i++) {
			struct raw_field field = { slice_of(cases[i].name),
				slice_of(cases[i].value) };
			struct raw_http raw = { .method = SLICE("GET"),
				.target = SLICE("/"),
				.version = 11,
				.fields = &field,
				.field_count = 1 };
			char want[256];

			scrub(x, &raw);
			snprintf(want, sizeof want, "GET / HTTP/1.1\r\n%s: %s\r\n\r\n",
				cases[i].name, cases[i].out ? cases[i].out : cases[i].value);
			if (cases[i].out ? strcmp(buf_text(&x->shown), want) != 0
					 : strstr(buf_text(&x->shown), cases[i].value) != NULL)
				fail_msg("%s: %s gave %s", cases[i].name, cases[i].value,
					buf_text(&x->shown));
			assert_null(strstr(buf_text(&x->shown), "zeisig"));
		}
	end(x);
}

static void bodies_are_scrubbed_by_their_type(void **state)
{
	struct fixture *x = begin(NULL);
	const char *got;

	(void)state;
	got = post(
		x, "application/json; charset=utf-8", "{\"id\": 7, \"tags\": [\"zeisig\", true]}");
	assert_non_null(strstr(got, "{\"id\": 7, \"tags\": [\""));
	assert_null(strstr(got, "zeisig"));
	assert_non_null(strstr(buf_text(&x->shown), "Content-Length: 35\r\n"));
	got = post(x, "application/x-www-form-urlencoded", "name=zeisig&n=5&pin=1234&a%5Bb%5D=1");
	assert_non_null(strstr(got, "&n=5&pin=<4>&a%5Bb%5D=1"));
	assert_null(strstr(got, "zeisig"));
	got = post(x, "application/json", "{\"broken\": zeisig");
	assert_string_equal(got, "<17>");
	got = post(x, "application/octet-stream", "zeisig");
	assert_string_equal(got, "<6>");
	got = post(x, "text/plain", "zeisig 12");
	assert_int_equal(strlen(got), 9);
	assert_null(strstr(got, "zeisig"));
	got = post(x, "application/xml", "<a>zeisig</a>");
	assert_int_equal(strlen(got), 13);
	assert_null(strstr(got, "zeisig"));
	got = post(x, "application/x-ndjson", "{\"a\":1}\n{\"a\":2}\n");
	assert_string_equal(got, "{\"a\":1}\n{\"a\":2}\n");
	end(x);
}

static void a_multipart_body_keeps_its_frame(void **state)
{
	static const char body[] =
		"--zeisigXX\r\nContent-Disposition: form-data; name=\"page\"\r\n\r\n5"
		"\r\n--zeisigXX\r\nContent-Disposition: form-data; name=\"file\"; "
		"filename=\"zeisig.png\"\r\nContent-Type: image/png\r\n\r\nzeisig"
		"\r\n--zeisigXX--\r\n";
	struct fixture *x = begin(NULL);
	const char *got;

	(void)state;
	got = post(x, "multipart/form-data; boundary=zeisigXX", body);
	assert_null(strstr(buf_text(&x->shown), "zeisig"));
	assert_non_null(strstr(got, "name=\"page\"\r\n\r\n5\r\n--"));
	assert_non_null(strstr(got, "Content-Type: image/png\r\n\r\n<6>\r\n--"));
	assert_string_equal(got + strlen(got) - 4, "--\r\n");
	end(x);
}

static void chunks_and_coded_bodies_have_their_size(void **state)
{
	struct raw_field fields[] = { { SLICE("Content-Encoding"), SLICE("gzip") },
		{ SLICE("Transfer-Encoding"), SLICE("chunked") } };
	struct raw_http raw = { .method = SLICE("PUT"),
		.target = SLICE("/files"),
		.version = 11,
		.fields = fields,
		.field_count = 2,
		.body = SLICE("zeisig"),
		.body_n = 3000,
		.is_body_cut = true,
		.is_chunked = true };
	struct fixture *x = begin(NULL);

	(void)state;
	scrub(x, &raw);
	assert_string_equal(buf_text(&x->shown),
		"PUT /files HTTP/1.1\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
		"bb8\r\n<3000>\r\n0\r\n\r\n");
	end(x);
}

static void rules_reach_segments_and_routes(void **state)
{
	static const char policy[] =
		"{\"format\":\"reprod-policy\",\"version\":1,"
		"\"segments\":{\"/users/{}\":\"token\",\"/shops/{}\":\"keep\"},"
		"\"routes\":{\"GET /items/{id}\":\"drop\",\"GET /tags/{}\":\"keep\"}}";
	struct fixture *x = begin(policy);

	(void)state;
	assert_null(strstr(get(x, "/users/42"), "/42"));
	assert_non_null(strstr(get(x, "/shops/zeisig"), "/shops/zeisig "));
	assert_non_null(strstr(get(x, "/items/42?x=1"), "/items/<2>?x=<1> "));
	assert_non_null(strstr(get(x, "/tags/zeisig?q=zeisig"), "/tags/zeisig?q=zeisig "));
	end(x);
}

static void the_report_counts_places(void **state)
{
	struct fixture *x = begin(NULL);
	struct json *j = json_object();

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		get(x, "/users/zeisig?page=1&q=zeisig");
		post(x, "application/json", "{\"user\":{\"email\":\"a@example.org\"},\"n\":[1,2]}");
	}
	places_json(x->places, j);
	assert_int_equal(json_int(json_path(j, "query.page.kept"), 0), 3);
	assert_int_equal(json_int(json_path(j, "query.q.token"), 0), 3);
	assert_int_equal(
		json_int(json_get(json_get(json_get(j, "json"), "$.user.email"), "token"), 0), 3);
	assert_int_equal(json_int(json_get(json_get(json_get(j, "json"), "$.n[*]"), "kept"), 0), 6);
	assert_int_equal(
		json_int(json_get(json_get(json_get(j, "segments"), "/users/{}"), "token"), 0), 3);
	/* The literal header is counted on cached requests, too. */
	assert_int_equal(
		json_int(json_get(json_get(json_get(j, "headers"), "content-type"), "kept"), 0), 3);
	json_free(j);
	end(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes_keep_words_of_an_api_alone),
		cmocka_unit_test(a_target_that_came_before_reads_the_same),
		cmocka_unit_test(the_request_is_put_together_again),
		cmocka_unit_test(credentials_are_dropped_whatever_the_policy_keeps),
		cmocka_unit_test(headers_stay_in_known_forms),
		cmocka_unit_test(bodies_are_scrubbed_by_their_type),
		cmocka_unit_test(a_multipart_body_keeps_its_frame),
		cmocka_unit_test(chunks_and_coded_bodies_have_their_size),
		cmocka_unit_test(rules_reach_segments_and_routes),
		cmocka_unit_test(the_report_counts_places),
	};

	return cmocka_run_group_tests_name("httpscrub", tests, NULL, NULL);
}
