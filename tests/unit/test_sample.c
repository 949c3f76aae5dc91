#include "tests/lib/unit.h"

#include <unistd.h>

#include "capture/coverage.h"
#include "capture/sample.h"

static const char rules_text[] =
	"{\"format\": \"sampling\", \"version\": 1, \"seed\": 7, \"baseline\": 0.1,"
	" \"rules\": [{\"route\": \"GET /Checkout\", \"rate\": 1},"
	" {\"route\": \"get /hot\", \"rate\": 0}, {\"fingerprint\": \"00000000000000aa\", \"rate\": 0.5}]}";

struct scene {
	char path[32];
	struct sample_rules rules;
	struct token_key *key;
	struct rcap_writer *writer;
	struct sample *sample;
	struct store store;
	uint32_t checkout, hot, cold;
	int64_t at_ns;
};

static void begin(struct scene *s, size_t waiting_max)
{
	static const unsigned char key[32] = "a key for tests, not for others";
	struct err e = { 0 };

	*s = (struct scene){ .path = "/tmp/test_sample.XXXXXX", .at_ns = NS_PER_S };
	close(mkstemp(s->path));
	assert_true(sample_rules_parse(&s->rules, slice_of(rules_text), "rules", &e));
	s->key = token_key_of(key, &e);
	s->writer = rcap_create(s->path, true, &e);
	s->sample = sample_new(&s->rules, s->key, s->writer, waiting_max);
	assert_non_null(s->sample);
	s->store = sample_store(s->sample);
	s->checkout = rcap_add_route(s->writer, PROTOCOL_HTTP, 1, SLICE("GET  /checkout/{id}"));
	s->hot = rcap_add_route(s->writer, PROTOCOL_HTTP, 2, SLICE("GET /hot"));
	s->cold = rcap_add_route(s->writer, PROTOCOL_HTTP, 3, SLICE("GET /cold"));
}

static void open_or_close(struct scene *s, uint64_t id, bool is_close)
{
	struct session_record r = { .id = id, .protocol = PROTOCOL_HTTP, .open_ns = s->at_ns };
	struct err e = { 0 };

	r.close_ns = is_close ? s->at_ns + 1 : 0;
	record_seal_session(&r);
	assert_true(s->store.session(s->store.data, &r, &e));
}

static void ask(struct scene *s, uint64_t session, uint32_t route)
{
	struct request_record q = { .session = session,
		.form = FORM_HTTP,
		.route = route,
		.in_flight = 2,
		.start_ns = s->at_ns };
	struct err e = { 0 };

	s->at_ns += NS_PER_MS;
	q.end_ns = s->at_ns;
	record_seal_request(&q);
	assert_true(s->store.request(s->store.data, &q, &e));
}

static struct rcap *finish(struct scene *s, struct json **ret_head)
{
	struct err e = { 0 };
	struct rcap *r;

	*ret_head = sample_json(s->sample, true);
	assert_int_equal(sample_waiting(s->sample), 0);
	assert_true(rcap_finish(s->writer, *ret_head, &e));
	r = rcap_open(s->path, &e);
	assert_non_null(r);
	return r;
}

static void end(struct scene *s, struct rcap *r, struct json *head)
{
	rcap_close(r);
	json_free(head);
	sample_free(s->sample);
	sample_rules_free(&s->rules);
	token_key_free(s->key);
	unlink(s->path);
}

/* Requests of a session in the file; *ret_flags those of its record, or -1. */
static size_t stored_of(struct rcap *r, uint64_t session, int64_t *ret_flags)
{
	struct rcap_item item;
	struct err e = { 0 };
	size_t n = 0;

	*ret_flags = -1;
	rcap_rewind(r);
	while (rcap_next(r, &item, &e) == STEP_ITEM)
		if (item.kind == RCAP_REQUEST)
			n += item.request.session == session;
		else if (item.session.id == session && *ret_flags < 0)
			*ret_flags = item.session.flags;
	return n;
}

static void sessions_are_whole_and_counts_exact(void **state)
{
	struct scene s;
	struct json *head;
	size_t kept = 0;
	int64_t flags;

	(void)state;
	begin(&s, 0);
	for (uint64_t id = 1; id <= 1000; id++) {
		open_or_close(&s, id, false);
		for (int i = 0; i < 5; i++)
			ask(&s, id, i % 2 ? s.hot : s.cold);
		/* The critical route comes last. */
		if (id % 50 == 0)
			ask(&s, id, s.checkout);
		open_or_close(&s, id, true);
	}
	struct rcap *r = finish(&s, &head);

	for (uint64_t id = 1; id <= 1000; id++) {
		size_t n = stored_of(r, id, &flags);

		assert_true(n == 0 || n == 5 + (id % 50 == 0));
		assert_true(id % 50 || n == 6);
		assert_true((n > 0) == (flags >= 0));
		kept += n > 0;
	}
	/* 20 of 20, and a tenth of 980: 98 with a deviation of 9.4. */
	assert_in_range(kept, 20 + 60, 20 + 136);
	assert_int_equal(rcap_route(r, s.hot)->requests, 2000);
	assert_int_equal(rcap_route(r, s.cold)->requests, 3000);
	assert_int_equal(rcap_route(r, s.checkout)->requests, 20);
	assert_int_equal(rcap_route(r, s.checkout)->latency_us.total, 20);
	assert_int_equal(rcap_totals(r).sessions, 1000);
	assert_int_equal(rcap_totals(r).requests, 5020);
	assert_int_equal(json_int(json_path(head, "sessions.stored"), -1), kept);
	assert_int_equal(json_int(json_path(head, "requests.seen"), -1), 5020);
	assert_int_equal(json_int(json_path(head, "requests.stored"), -1), rcap_totals(r).stored);
	assert_int_equal(json_int(json_path(head, "in_flight.max"), -1), 2);
	end(&s, r, head);
}

static void a_session_kept_late_says_so(void **state)
{
	struct scene s;
	struct json *head;
	int64_t flags;

	(void)state;
	begin(&s, 0);
	open_or_close(&s, 3, false);
	for (int i = 0; i < 20000; i++)
		ask(&s, 3, s.hot);
	assert_true(sample_waiting(s.sample) <= 2 * SAMPLE_SESSION_MAX);
	ask(&s, 3, s.checkout);
	ask(&s, 3, s.hot);
	open_or_close(&s, 3, true);
	struct rcap *r = finish(&s, &head);
	size_t n = stored_of(r, 3, &flags);

	assert_true(n >= 2 && n < 20000);
	assert_true(flags & SESSION_JOINED_LATE);
	assert_int_equal(json_int(json_path(head, "sessions.late"), -1), 1);
	assert_int_equal(json_int(json_path(head, "requests.over_cap"), -1) + (int64_t)n, 20002);
	assert_int_equal(rcap_route(r, s.hot)->requests, 20001);
	end(&s, r, head);
}

static void what_waits_has_one_cap_for_all(void **state)
{
	struct scene s;
	struct json *head;
	size_t most = 0;

	(void)state;
	begin(&s, 100000);
	for (uint64_t id = 1; id <= 3000; id++) {
		open_or_close(&s, id, false);
		ask(&s, id, s.hot);
		most = sample_waiting(s.sample) > most ? sample_waiting(s.sample) : most;
	}
	/* One session's buffer more, for it is grown before it is counted. */
	assert_true(most > 50000 && most <= 100000 + SAMPLE_SESSION_MAX);
	for (uint64_t id = 1; id <= 3000; id++)
		open_or_close(&s, id, true);
	struct rcap *r = finish(&s, &head);
	assert_int_equal(rcap_route(r, s.hot)->requests, 3000);
	end(&s, r, head);
}

static void rules_that_are_wrong_are_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "{}", "not sampling rules" },
		{ "[]", "not sampling rules" },
		{ "{\"format\": \"sampling\", \"version\": 2, \"baseline\": 1}", "version" },
		{ "{\"format\": \"sampling\", \"version\": 1}", "baseline" },
		{ "{\"format\": \"sampling\", \"version\": 1, \"baseline\": 1.5}", "baseline" },
		{ "{\"format\": \"sampling\", \"version\": 1, \"baseline\": 1, \"rule\": []}",
			"unknown key 'rule'" },
		{ "{\"format\": \"sampling\", \"version\": 1, \"baseline\": 1, \"rules\": {}}",
			"list" },
		{ "{\"format\": \"sampling\", \"version\": 1, \"baseline\": 1, \"rules\": [{\"route\": \"a\"}]}",
			"'rate'" },
		{ "{\"format\": \"sampling\", \"version\": 1, \"baseline\": 1, \"rules\": [{\"rate\": 1}]}",
			"needed" },
		{ "{\"format\": \"sampling\", \"version\": 1, \"baseline\": 1, \"rules\": [{\"route\": \" \", \"rate\": 1}]}",
			"empty" },
		{ "{\"format\": \"sampling\", \"version\": 1, \"baseline\": 1, \"rules\": [{\"route\": \"a\", \"rates\": 1}]}",
			"unknown key 'rates'" },
		{ "{\"format\": \"sampling\", \"version\": 1, \"baseline\": 1, \"rules\": [{\"fingerprint\": \"xy\", \"rate\": 1}]}",
			"16 hex" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct sample_rules r;
		struct err e = { 0 };

		if (sample_rules_parse(&r, slice_of(cases[i].text), "rules", &e))
			fail_msg("%s was taken", cases[i].text);
		assert_int_equal(e.kind, ERR_INPUT);
		if (!strstr(e.what, cases[i].why))
			fail_msg("%s: %s", cases[i].text, e.what);
		sample_rules_free(&r);
	}
}

static void a_renamed_route_is_named_beside_its_rule(void **state)
{
	static const char text[] =
		"{\"format\": \"sampling\", \"version\": 1, \"baseline\": 0.1, \"rules\":"
		" [{\"route\": \"GET /v1/orders/{id}/pay\", \"rate\": 1}, {\"route\": \"GET /hot\", \"rate\": 0.2}]}";
	char path[] = "/tmp/test_cover.XXXXXX";
	struct err e = { 0 };
	struct sample_rules rules;
	struct json *head = json_object(), *doc;
	struct request_record q = { .form = FORM_HTTP, .start_ns = 1, .end_ns = 2 };

	(void)state;
	close(mkstemp(path));
	assert_true(sample_rules_parse(&rules, slice_of(text), "rules", &e));
	struct rcap_writer *w = rcap_create(path, true, &e);
	rcap_add_route(w, PROTOCOL_HTTP, 1, SLICE("GET /hot"));
	rcap_add_route(w, PROTOCOL_HTTP, 2, SLICE("GET /v2/orders/{id}/pay"));
	rcap_add_route(w, PROTOCOL_HTTP, 3, SLICE("DELETE /carts/{id}"));
	record_seal_request(&q);
	for (uint32_t i = 0; i < 300; i++) {
		q.route = 1 + i % 3;
		assert_true(i % 30 ? rcap_count_request(w, &q, &e) : rcap_put_request(w, &q, &e));
	}
	assert_true(rcap_finish(w, head, &e));
	struct coverage_input in = { .capture = rcap_open(path, &e), .rules = &rules };
	doc = coverage_json(&in, &e);
	assert_non_null(doc);
	assert_false(json_is_true(json_get(doc, "ok"), true));
	const struct json *rule = json_at(json_get(doc, "rules"), 0);
	assert_string_equal(json_text(json_get(rule, "like"), ""), "GET /v2/orders/{id}/pay");
	const struct json *route = json_at(json_get(doc, "routes"), 0);
	assert_int_equal(json_int(json_get(route, "traffic"), 0), 100);
	assert_int_equal(json_int(json_get(route, "samples"), 0), 10);
	assert_false(json_is_true(json_get(route, "p99_ok"), true));
	json_free(doc);
	json_free(head);
	rcap_close(in.capture);
	sample_rules_free(&rules);
	unlink(path);
}

static void similarity_is_of_words(void **state)
{
	(void)state;
	assert_true(coverage_similarity(SLICE("a b c"), SLICE("a b c")) == 1);
	assert_true(coverage_similarity(SLICE("a b c"), SLICE("x y z")) == 0);
	assert_true(coverage_similarity(SLICE(""), SLICE("")) == 0);
	assert_true(coverage_similarity(SLICE("select * from orders where id = ?"),
			    SLICE("select * from orders_v2 where id = ?")) > 0.8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_are_whole_and_counts_exact),
		cmocka_unit_test(a_session_kept_late_says_so),
		cmocka_unit_test(what_waits_has_one_cap_for_all),
		cmocka_unit_test(rules_that_are_wrong_are_refused),
		cmocka_unit_test(a_renamed_route_is_named_beside_its_rule),
		cmocka_unit_test(similarity_is_of_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
