#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/log/source_pglog.h"
#include "core/format/pglog_json.h"
#include "core/format/pglog_learn.h"

/* ---- prefixes */

static struct pglog_prefix prefix(const char *source)
{
	struct pglog_prefix p;
	struct err e = { 0 };

	assert_true(pglog_prefix_compile(&p, source, &e));
	return p;
}

#define IS(slice, text) assert_true(slice_is(slice, text))

static void a_separator_may_occur_in_a_name(void **state)
{
	struct pglog_prefix p = prefix("%m|%u|%d|%a|%r|");
	struct pglog_prefix_head h;

	(void)state;
	assert_true(pglog_prefix_match(&p,
		SLICE("2026-11-30 12:00:00.123 +03|al|shop|a|b LOG:  c|10.0.0.1(54321)|LOG:  x"),
		&h));
	IS(h.user, "al");
	IS(h.application, "a|b LOG:  c");
	IS(h.client, "10.0.0.1(54321)");
	IS(h.text, "x");
	IS(h.severity, "LOG");
}

static void padding_and_what_has_no_session_are_understood(void **state)
{
	struct pglog_prefix p = prefix("%t [%-7p] %e %q%10u@%-8d ");
	struct pglog_prefix_head h;

	(void)state;
	assert_true(pglog_prefix_match(&p,
		SLICE("2026-11-30 12:00:00 UTC [12     ] 00000      alice@shop     ERROR:  no"),
		&h));
	IS(h.pid, "12");
	IS(h.user, "alice");
	IS(h.database, "shop");
	assert_true(pglog_prefix_match(
		&p, SLICE("2026-11-30 12:00:00 UTC [12     ] 00000 LOG:  checkpoint"), &h));
	assert_int_equal(h.user.n, 0);
	assert_false(
		pglog_prefix_match(&p, SLICE("2026-11-30 12:00:00 UTC [x] 00000 LOG:  c"), &h));
}

static void an_unknown_escape_is_refused(void **state)
{
	struct pglog_prefix p;
	struct err e = { 0 };

	(void)state;
	assert_false(pglog_prefix_compile(&p, "%m %z ", &e));
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.what, "%z"));
}

static void prefixes_are_learned_from_lines(void **state)
{
	static const struct {
		const char *line, *other, *source;
	} cases[] = {
		{ "2026-11-30 12:00:00.123 UTC [12] LOG:  x",
			"2026-11-30 12:00:01.123 UTC [13] LOG:  y", "%m [%p] %q%u@%d " },
		{ "2026-11-30 12:00:00 UTC:10.0.0.1(5):al@shop:[12]:LOG:  x",
			"2026-11-30 12:00:00 UTC::@:[13]:LOG:  y", "%t:%r:%u@%d:[%p]:" },
		{ "2026-11-30 12:00:00.123 CET|al|shop|6b0db806.1cfc|LOG:  x",
			"2026-11-30 12:00:00.123 CET|[unknown]|[unknown]|6b0db806.1cfd|LOG:  y",
			"%m|%u|%d|%c|" },
		{ "1796061202.380 [77] 00000 user=al,db=shop,app=psql,client=10.0.0.1(5) LOG:  x",
			"1796061202.380 [78] 00000 user=,db=,app=,client= LOG:  y",
			"%n [%p] %e user=%u,db=%d,app=%a,client=%r " },
		{ "<2026-11-30 12:00:00.123 UTC>;6b0db806.1cfc;3/17;host=10.0.0.1;LOG:  x",
			"<2026-11-30 12:00:00.123 UTC>;6b0db806.1cfd;4/0;host=[local];LOG:  y",
			"<%m>;%c;%v;host=%r;" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct slice lines[] = { slice_of(cases[i].line), slice_of(cases[i].other) };
		struct pglog_learned learned;

		assert_true(pglog_learn(lines, 2, &learned));
		assert_int_equal(learned.matched, 2);
		assert_string_equal(learned.prefix.source, cases[i].source);
	}
}

/* ---- JSON */

static void a_jsonlog_line_gives_its_members(void **state)
{
	struct pglog_json j = { 0 };
	struct pglog_line line;
	const char *why;

	(void)state;
	assert_true(pglog_json_line(&j,
		SLICE("{\"timestamp\":\"2026-11-30 12:00:00.123 UTC\",\"user\":\"old\",\"user\":\"a\\u00e9"
		      "\\ud83d\\ude00\",\"dbname\":null,\"pid\":7,\"remote_host\":\"::1\",\"remote_port\":5,"
		      "\"session_id\":\"6a.1\",\"error_severity\":\"LOG\",\"message\":\"q \\\"\\\\\\n\\ud800x\","
		      "\"extra\":[1,{\"a\":\"]\"}],\"nested\":{\"message\":\"other\"}}"),
		&line, &why));
	IS(line.user, "a\303\251\360\237\230\200");
	assert_int_equal(line.database.n, 0);
	IS(line.client, "::1");
	IS(line.port, "5");
	IS(line.sqlstate, "00000");
	IS(line.message, "q \"\\\n\357\277\275x");
	pglog_json_free(&j);
}

static void json_that_is_none_is_refused(void **state)
{
	static const char *const texts[] = { "", "{", "[]", "{}", "{\"a\":1,}", "{\"a\" 1}",
		"{\"a\":01x}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}", "{\"a\":tru}",
		"{\"a\":1}{\"b\":2}", "{\"a\":\"cut", "{\"a\":[1,2}", "{\"a\":-}" };
	struct pglog_json j = { 0 };
	struct pglog_line line;
	const char *why;

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		why = NULL;
		assert_false(pglog_json_line(&j, slice_of(texts[i]), &line, &why));
		assert_non_null(why);
	}
	pglog_json_free(&j);
}

/* ---- whole logs, wrapped or not */

struct seen {
	size_t sessions, requests;
	uint64_t session_of[32];
	char texts[32][64], values[32][64], states[32][6];
	int64_t durations_us[32], ends_ns[32];
	struct err e;
	bool is_damaged;
};

static bool see_session(void *data, const struct raw_session *s, struct err *e)
{
	struct seen *seen = data;

	(void)e;
	if (s->id > seen->sessions)
		seen->sessions = s->id;
	return true;
}

static bool see_request(void *data, const struct raw_request *q, struct err *e)
{
	struct seen *seen = data;
	size_t i = seen->requests++, n = 0;

	(void)e;
	assert_in_range(i, 0, 31);
	seen->session_of[i] = q->session;
	snprintf(seen->texts[i], 64, "%.*s", (int)q->text.n, q->text.p);
	memcpy(seen->states[i], q->sqlstate, 6);
	seen->durations_us[i] = (q->end_ns - q->start_ns) / 1000;
	seen->ends_ns[i] = q->end_ns;
	for (size_t k = 0; k < q->bind_count; k++)
		n += (size_t)snprintf(seen->values[i] + n, 64 - n, "%.*s;",
			(int)q->binds[k].bytes.n, q->binds[k].bytes.p);
	return true;
}

static bool read_texts(
	struct seen *seen, const char *const *texts, size_t count, struct source_pglog_options o)
{
	struct request_sink sink = { see_session, see_request, seen };
	char paths[4][32];
	const char *names[4];
	struct json *lines = json_object(), *requests = json_object();

	*seen = (struct seen){ 0 };
	for (size_t i = 0; i < count; i++) {
		snprintf(paths[i], 32, "/tmp/test_lines.XXXXXX");
		int fd = mkstemp(paths[i]);
		assert_true(fd >= 0);
		assert_true(write(fd, texts[i], strlen(texts[i])) == (ssize_t)strlen(texts[i]));
		close(fd);
		names[i] = paths[i];
	}
	struct source_pglog *s = source_pglog_new(&o, &sink, &seen->e);
	bool ok = s && source_pglog_read_all(s, names, count, &seen->e) &&
		  source_pglog_finish(s, lines, requests, &seen->e);
	seen->is_damaged = s && source_pglog_is_damaged(s);
	source_pglog_free(s);
	json_free(lines);
	json_free(requests);
	for (size_t i = 0; i < count; i++)
		unlink(paths[i]);
	return ok;
}

static bool read_text(struct seen *seen, const char *text)
{
	return read_texts(seen, &text, 1, (struct source_pglog_options){ .zone = "UTC" });
}

#define T "2026-11-30 12:00:0"

static void parts_and_continuations_join_their_message(void **state)
{
	struct seen seen;

	(void)state;
	assert_true(read_text(&seen, T
		"1.000 UTC [12] al@shop LOG:  duration: 1.500 ms  execute a/b: c/d: select $1,\n\t$2\n" T
		"1.000 UTC [12] al@shop DETAIL:  Parameters: $1 = 'it''s\n\ttwo', $2 = NULL\n" T
		"2.000 UTC [12] al@shop ERROR:  division by zero\n" T
		"2.000 UTC [12] al@shop CONTEXT:  unnamed portal with parameters: $1 = '0'\n" T
		"2.000 UTC [12] al@shop STATEMENT:  select 1/$1\n\tfrom t\n"));
	assert_int_equal(seen.requests, 2);
	assert_string_equal(seen.texts[0], "select $1,\n$2");
	assert_string_equal(seen.values[0], "it's\ntwo;;");
	assert_int_equal(seen.durations_us[0], 1500);
	assert_string_equal(seen.texts[1], "select 1/$1\nfrom t");
	assert_string_equal(seen.values[1], "0;");
	assert_string_equal(seen.states[1], "22012");
	assert_false(seen.is_damaged);
}

static void a_pid_that_comes_again_is_another_session(void **state)
{
	struct seen seen;

	(void)state;
	assert_true(read_text(&seen,
		T "1 UTC:h(1):a@d:[12]:LOG:  duration: 1 ms  statement: select 1\n" T
		  "1 UTC:h(1):a@d:[12]:LOG:  disconnection: session time: 0:00:00.1\n" T
		  "2 UTC:h(1):[unknown]@[unknown]:[12]:LOG:  connection received: host=h port=1\n" T
		  "2 UTC:h(1):a@d:[12]:LOG:  connection authorized: user=a database=d\n" T
		  "2 UTC:h(1):a@d:[12]:LOG:  duration: 1 ms  statement: select 2\n" T
		  "2 UTC:h(2):a@d:[12]:LOG:  duration: 1 ms  statement: select 3\n" T
		  "2 UTC:h(2):b@d:[12]:LOG:  duration: 1 ms  statement: select 4\n"));
	assert_int_equal(seen.sessions, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(seen.session_of[i], i + 1);
}

static void every_wrapping_gives_the_same_request(void **state)
{
	static const char *const texts[] = {
		/* Kubernetes, in parts, and beside another stream */
		"2026-11-30T12:00:01.1Z stderr P 2026-11-30 12:00:01.000 UTC [12] a@d LOG:  dur\n"
		"2026-11-30T12:00:01.1Z stdout F something else\n"
		"2026-11-30T12:00:01.1Z stderr F ation: 2 ms  statement: select 1,\n"
		"2026-11-30T12:00:01.1Z stderr F \t2\n",
		"{\"log\":\"2026-11-30 12:00:01.000 UTC [12] a@d LOG:  duration: 2 ms  statement: "
		"select 1,\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-30T12:00:01.1Z\"}\n"
		"{\"log\":\"\\t2\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-30T12:00:01.1Z\"}\n",
		"2026-11-30T12:00:01.000Z 2026-11-30 12:00:01 UTC:h(5):a@d:[12]:LOG:  duration: 2 ms  "
		"statement: select 1,\n\t2\n",
		"Nov 30 12:00:01 h postgres[12]: [3-1] db=d,user=a LOG:  duration: 2 ms  statement: select\n"
		"Nov 30 12:00:01 h postgres[13]: [3-1] db=d,user=a LOG:  checkpoint\n"
		"Nov 30 12:00:01 h cron[13]: hello\n"
		"Nov 30 12:00:01 h postgres[12]: [3-2]  1,\n"
		"Nov 30 12:00:01 h postgres[12]: [3-3] #0112\n",
		"<134>1 2026-11-30T12:00:01.000000+00:00 h postgres 12 - - [3-1] db=d,user=a LOG:  "
		"duration: 2 ms  statement: select 1,#012#0112\n",
		"2026-11-30T12:00:01+00:00 app[postgres.12]: [GREEN] [15-1]  sql_error_code = 00000 LOG:  "
		"duration: 2 ms  statement: select 1,\n"
		"2026-11-30T12:00:01+00:00 app[postgres.12]: [GREEN] [15-2] \t2\n",
		"{\"__REALTIME_TIMESTAMP\":\"1796040001000000\",\"_COMM\":\"postgres\",\"_PID\":\"12\","
		"\"MESSAGE\":\"[7-1] db=d,user=a LOG:  duration: 2 ms  statement: select 1,\"}\n"
		"{\"__REALTIME_TIMESTAMP\":\"1796040001000000\",\"_COMM\":\"postgres\",\"_PID\":\"12\","
		"\"MESSAGE\":[91,55,45,50,93,32,9,50]}\n",
		"{\"textPayload\":\"[12]: [1-1] db=d,user=a LOG:  duration: 2 ms  statement: select 1,\\n2\","
		"\"timestamp\":\"2026-11-30T12:00:01Z\"}\n",
		"{\"level\":\"info\",\"ts\":\"x\",\"logger\":\"postgres\",\"msg\":\"record\",\"record\":{"
		"\"log_time\":\"2026-11-30 12:00:01.000 UTC\",\"user_name\":\"a\",\"database_name\":\"d\","
		"\"process_id\":\"12\",\"connection_from\":\"h:5\",\"session_id\":\"6a.12\","
		"\"error_severity\":\"LOG\",\"message\":\"duration: 2 ms  statement: select 1,\\n2\"}}\n"
		"{\"level\":\"info\",\"msg\":\"of the operator\"}\n",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		struct seen seen;

		if (!read_text(&seen, texts[i]))
			fail_msg("case %zu: %s: %s", i, seen.e.what, seen.e.hint);
		if (seen.requests != 1 || strcmp(seen.texts[0], "select 1,\n2") != 0)
			fail_msg("case %zu: %zu requests, '%s'", i, seen.requests, seen.texts[0]);
		assert_int_equal(seen.durations_us[0], 2000);
		assert_int_equal(seen.ends_ns[0], INT64_C(1796040001000000000));
	}
}

static void rotated_files_are_read_in_the_order_of_their_times(void **state)
{
	static const char *const texts[] = {
		T "5.000 UTC [12] a@d LOG:  duration: 1 ms  statement: select 3\n",
		T "1.000 UTC [12] a@d LOG:  duration: 1 ms  statement: select 1\n",
		T "3.000 UTC [12] a@d LOG:  duration: 1 ms  statement: select 2\n",
	};
	struct seen seen;

	(void)state;
	assert_true(read_texts(&seen, texts, 3, (struct source_pglog_options){ 0 }));
	assert_int_equal(seen.requests, 3);
	assert_int_equal(seen.sessions, 1);
	assert_string_equal(seen.texts[0], "select 1");
	assert_string_equal(seen.texts[1], "select 2");
	assert_string_equal(seen.texts[2], "select 3");
}

static void a_given_prefix_is_used_and_told_when_it_does_not_fit(void **state)
{
	const char *text = T "1.000 UTC [12] a@d LOG:  duration: 1 ms  statement: select 3\n";
	struct seen seen;

	(void)state;
	assert_true(read_texts(
		&seen, &text, 1, (struct source_pglog_options){ .prefix = "%m [%p] %u@%d " }));
	assert_false(
		read_texts(&seen, &text, 1, (struct source_pglog_options){ .prefix = "%m <%p> " }));
	assert_non_null(strstr(seen.e.what, "0 of 1 lines begin as '%m <%p> '"));
	assert_true(seen.is_damaged);
	assert_false(read_texts(&seen, &text, 1, (struct source_pglog_options){ .prefix = "%y" }));
	assert_int_equal(seen.e.kind, ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_separator_may_occur_in_a_name),
		cmocka_unit_test(padding_and_what_has_no_session_are_understood),
		cmocka_unit_test(an_unknown_escape_is_refused),
		cmocka_unit_test(prefixes_are_learned_from_lines),
		cmocka_unit_test(a_jsonlog_line_gives_its_members),
		cmocka_unit_test(json_that_is_none_is_refused),
		cmocka_unit_test(parts_and_continuations_join_their_message),
		cmocka_unit_test(a_pid_that_comes_again_is_another_session),
		cmocka_unit_test(every_wrapping_gives_the_same_request),
		cmocka_unit_test(rotated_files_are_read_in_the_order_of_their_times),
		cmocka_unit_test(a_given_prefix_is_used_and_told_when_it_does_not_fit),
	};

	return cmocka_run_group_tests_name("pglog_lines", tests, NULL, NULL);
}
