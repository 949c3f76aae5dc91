#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/log/source_pglog.h"
#include "core/format/pglog_csv.h"

/* ---- messages */

static struct pglog_meaning mean(const char *severity, const char *message, const char *tag)
{
	struct pglog_line line = { .severity = slice_of(severity),
		.message = slice_of(message),
		.command_tag = slice_of(tag),
		.query = SLICE("select 1/0") };

	return pglog_mean(&line);
}

static void each_message_is_known(void **state)
{
	static const struct {
		const char *message, *tag;
		enum pglog_kind kind;
		int64_t duration_ns; /* -1: none */
		const char *text, *statement, *portal;
	} cases[] = {
		{ "statement: select 1", "SELECT", PGLOG_STATEMENT, -1, "select 1", "", "" },
		{ "duration: 0.045 ms  statement: select 1", "SELECT", PGLOG_STATEMENT, 45000,
			"select 1", "", "" },
		{ "duration: 12.5 ms", "SELECT", PGLOG_DURATION, 12500000, "", "", "" },
		{ "duration: 12 ms", "SELECT", PGLOG_DURATION, 12000000, "", "", "" },
		{ "duration: 0.5 ms", "PARSE", PGLOG_PARSE_BIND, 500000, "", "", "" },
		{ "duration: 0.5 ms", "BIND", PGLOG_PARSE_BIND, 500000, "", "", "" },
		{ "duration: 0.5 ms  parse <unnamed>: select $1", "PARSE", PGLOG_PARSE_BIND, 500000,
			"", "", "" },
		{ "duration: 0.5 ms  bind S_1: select $1", "BIND", PGLOG_PARSE_BIND, 500000, "", "",
			"" },
		{ "execute <unnamed>: select $1", "SELECT", PGLOG_EXECUTE, -1, "select $1", "",
			"" },
		{ "duration: 3.000 ms  execute S_3: select $1", "SELECT", PGLOG_EXECUTE, 3000000,
			"select $1", "S_3", "" },
		{ "duration: 3.000 ms  execute my stmt/C_4: select a: b", "SELECT", PGLOG_EXECUTE,
			3000000, "select a: b", "my stmt", "C_4" },
		{ "execute fetch from S_1/C_2: select 2", "SELECT", PGLOG_FETCH, -1, "select 2",
			"S_1", "C_2" },
		{ "duration: 1.000 ms  plan:\nQuery Text: select 1", "SELECT", PGLOG_PLAN, 1000000,
			"", "", "" },
		{ "duration: 1.000 ms  fastpath function call: \"lo_open\" (OID 952)", "fastpath",
			PGLOG_FASTPATH, 1000000, "", "", "" },
		{ "connection received: host=[local]", "", PGLOG_RECEIVED, -1, "", "", "" },
		{ "connection authorized: user=u database=d", "authentication", PGLOG_AUTHORIZED,
			-1, "", "", "" },
		{ "disconnection: session time: 0:00:00.012 user=u", "idle", PGLOG_DISCONNECTED, -1,
			"", "", "" },
		{ "checkpoint starting: time", "", PGLOG_OTHER, -1, "", "", "" },
		{ "duration: soon", "", PGLOG_OTHER, -1, "", "", "" },
		{ "duration: 3200000000009 ms", "", PGLOG_DURATION, INT64_C(3200000000009000000),
			"", "", "" },
		{ "duration: 11111111111111 ms", "", PGLOG_OTHER, -1, "", "", "" },
		{ "duration: 99999999999999999999 ms", "", PGLOG_OTHER, -1, "", "", "" },
		{ "execute without its end", "", PGLOG_OTHER, -1, "", "", "" },
		{ "", "", PGLOG_OTHER, -1, "", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct pglog_meaning m = mean("LOG", cases[i].message, cases[i].tag);

		if (m.kind != cases[i].kind)
			fail_msg("'%s' is kind %d", cases[i].message, m.kind);
		assert_int_equal(m.has_duration, cases[i].duration_ns >= 0);
		if (m.has_duration)
			assert_int_equal(m.duration_ns, cases[i].duration_ns);
		if (m.kind == PGLOG_PARSE_BIND || m.kind == PGLOG_OTHER)
			continue;
		assert_true(slice_is(m.text, cases[i].text));
		assert_true(slice_is(m.statement, cases[i].statement));
		assert_true(slice_is(m.portal, cases[i].portal));
	}
	assert_int_equal(mean("ERROR", "division by zero", "SELECT").kind, PGLOG_ERROR);
	assert_true(slice_is(mean("FATAL", "x", "").text, "select 1/0"));
}

static void bind_values_lose_their_quotes_and_nothing_else(void **state)
{
	static const char *const details[] = {
		"parameters: $1 = '5', $2 = 'it''s, $9 = ''x', $3 = NULL, $4 = '', $5 = 'a\nb'",
		"Parameters: $1 = '5', $2 = 'it''s, $9 = ''x', $3 = NULL, $4 = '', $5 = 'a\nb'",
	};
	static const char *const wanted[] = { "5", "it's, $9 = 'x", NULL, "", "a\nb" };

	(void)state;
	for (size_t k = 0; k < LENGTH(details); k++) {
		struct buf scratch = { 0 };
		struct slice rest, value;
		bool is_null;

		assert_true(pglog_has_parameters(slice_of(details[k]), &rest));
		buf_room(&scratch, rest.n);
		for (size_t i = 0; i < LENGTH(wanted); i++) {
			assert_int_equal(
				pglog_next_parameter(&rest, &scratch, &value, &is_null), STEP_ITEM);
			assert_int_equal(is_null, wanted[i] == NULL);
			if (wanted[i])
				assert_true(slice_is(value, wanted[i]));
		}
		assert_int_equal(pglog_next_parameter(&rest, &scratch, &value, &is_null), STEP_END);
		buf_free(&scratch);
	}
	struct slice rest;
	assert_false(pglog_has_parameters(SLICE("prepare: prepare p as select 1"), &rest));
	struct buf scratch = { 0 };
	struct slice value;
	bool is_null;
	rest = SLICE("$1 = 'without end");
	buf_room(&scratch, rest.n);
	assert_int_equal(pglog_next_parameter(&rest, &scratch, &value, &is_null), STEP_FAIL);
	buf_free(&scratch);
}

static void stamps_know_their_offset_or_say_that_they_do_not(void **state)
{
	static const struct {
		const char *text;
		bool is_ok, has_offset;
		int64_t offset_s;
	} cases[] = {
		{ "2026-11-30 12:00:00.123 UTC", true, true, 0 },
		{ "2026-11-30 12:00:00 GMT", true, true, 0 },
		{ "2026-11-30 12:00:00.123 +03", true, true, 10800 },
		{ "2026-11-30 12:00:00.123 -0330", true, true, -12600 },
		{ "2026-11-30 12:00:00.123 +05:45", true, true, 20700 },
		{ "2026-11-30 12:00:00.123 CET", true, false, 0 },
		{ "2026-11-30 12:00:00.123", false, false, 0 },
		{ "2026-13-30 12:00:00 UTC", false, false, 0 },
		{ "2026-11-30T12:00:00 UTC", false, false, 0 },
		{ "", false, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct pglog_stamp stamp;

		assert_int_equal(
			pglog_parse_stamp(slice_of(cases[i].text), &stamp), cases[i].is_ok);
		if (!cases[i].is_ok)
			continue;
		assert_int_equal(stamp.has_offset, cases[i].has_offset);
		assert_int_equal(stamp.offset_ns, cases[i].offset_s * NS_PER_S);
	}
	struct pglog_stamp stamp;
	assert_true(pglog_parse_stamp(SLICE("2026-11-30 12:00:00.123 UTC"), &stamp));
	assert_int_equal(stamp.local_ns, INT64_C(1796040000123000000));
}

static void formats_are_told_apart(void **state)
{
	static const struct {
		const char *text;
		enum pglog_format format;
	} cases[] = {
		{ "2026-11-30 12:00:00.123 UTC,\"u\",\"d\",12,", PGLOG_CSV },
		{ "{\"timestamp\":\"2026-11-30 12:00:00.123 UTC\",\"pid\":1,\"session_id\":\"1.1\"",
			PGLOG_JSON },
		{ "2026-11-30 12:00:00.123 UTC [12] LOG:  duration: 1 ms", PGLOG_STDERR },
		{ "2026-11-30 12:00:00 CET [12]: db=x,user=y LOG:  duration: 1 ms", PGLOG_STDERR },
		{ "\"2026-11-30 12:00:00.123 UTC\",\"u\",\"d\",12,", PGLOG_CSV },
		{ "{\"t\":1}", PGLOG_NONE },
		{ "t,route,ms\n", PGLOG_NONE },
		{ "", PGLOG_NONE },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++)
		assert_int_equal(pglog_detect(slice_of(cases[i].text)), cases[i].format);
}

/* ---- csv */

static const char tail_of[] = ",SELECT,2026-11-30 12:00:00 UTC,3/4,0,LOG,00000,";

static void add_row(struct buf *to, const char *time, const char *session, int line,
	const char *message, const char *detail, int columns)
{
	buf_addf(to, "2026-11-30 12:00:%s UTC,\"u\",\"d\",77,\"[local]\",%s,%d%s\"%s\",\"%s\"",
		time, session, line, tail_of, message, detail);
	for (int i = 15; i < columns; i++)
		buf_addf(to, ",%s", i == 22 ? "\"app\"" : i == 23 ? "\"client backend\"" : "");
	buf_add_byte(to, '\n');
}

static void records_come_whole_however_the_bytes_arrive(void **state)
{
	struct buf text = { 0 };
	const int columns[] = { 22, 23, 24, 26 };

	(void)state;
	for (size_t i = 0; i < LENGTH(columns); i++)
		add_row(&text, "01.500", "6a.4d", (int)i + 1, "statement: select '\"\"', 1,\n2", "",
			columns[i]);
	for (size_t piece = 1; piece < text.n + 7; piece += piece < 40 ? 1 : 97) {
		struct pglog_csv csv = { 0 };
		struct pglog_line line;
		const char *why;
		size_t have = 0, used = 0, records = 0;
		enum step step;

		do {
			have = have + piece < text.n ? have + piece : text.n;
			struct slice rest = { text.p + used, have - used };
			while ((step = pglog_csv_next(&csv, &rest, have == text.n, &line, &why)) ==
				STEP_ITEM) {
				records++;
				assert_true(
					slice_is(line.message, "statement: select '\"', 1,\n2"));
				assert_true(slice_is(line.session_id, "6a.4d"));
				assert_int_equal(line.application.n, records > 1 ? 3 : 0);
			}
			used = have - rest.n;
		} while (step == STEP_MORE);
		assert_int_equal(step, STEP_END);
		assert_int_equal(records, 4);
		pglog_csv_free(&csv);
	}
	buf_free(&text);
}

static void every_field_may_be_quoted(void **state)
{
	struct pglog_csv csv = { 0 };
	struct pglog_line line;
	const char *why;
	struct slice rest = SLICE(
		"\"2026-11-30 12:00:00.123 UTC\",\"u\",\"d\",\"7\",\"[local]\",\"6a.1\",\"1\","
		"\"SELECT\",\"2026-11-30 11:00:00 UTC\",\"1/1\",\"0\",\"LOG\",\"00000\","
		"\"duration: 1 ms\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"app\"\n");

	(void)state;
	assert_int_equal(pglog_csv_next(&csv, &rest, false, &line, &why), STEP_ITEM);
	assert_true(slice_is(line.message, "duration: 1 ms"));
	assert_true(slice_is(line.application, "app"));
	assert_int_equal(line.time.local_ns, INT64_C(1796040000123000000));
	pglog_csv_free(&csv);
}

static void a_broken_record_costs_only_itself(void **state)
{
	static const char *const broken[] = {
		"2026-11-30 12:00:02.000 UTC,\"u\",\"d\",77,\"[lo\n", /* cut */
		"2026-11-30 12:00:02.000 UTC,1,2,3\n", /* too few columns */
		"tail of a record\",,,\n", /* begins within */
		"\n",
		"2026-11-30 12:00:02.000 NOWHERE AT ALL AND FAR TOO LONG FOR A ZONE,\"u\"\n",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(broken); i++) {
		struct buf text = { 0 };
		struct pglog_csv csv = { 0 };
		struct pglog_line line;
		const char *why;
		size_t records = 0, failures = 0, used = 0;
		enum step step = STEP_MORE;

		add_row(&text, "01.000", "1.1", 1, "statement: a", "", 26);
		buf_add_text(&text, broken[i]);
		size_t broken_end = text.n;
		add_row(&text, "03.000", "1.1", 3, "statement: b", "", 26);
		/* All at once, then also with a pause early in the record behind it. */
		for (size_t pause = text.n; pause >= broken_end + 5;
			pause -= text.n - broken_end - 5) {
			records = failures = used = 0;
			for (size_t have = pause; step != STEP_END; have = text.n) {
				struct slice rest = { text.p + used, have - used };

				while ((step = pglog_csv_next(&csv, &rest, have == text.n, &line,
						&why)) != STEP_END &&
					step != STEP_MORE) {
					records += step == STEP_ITEM;
					failures += step == STEP_FAIL;
					if (step == STEP_FAIL)
						assert_non_null(why);
				}
				used = have - rest.n;
			}
			assert_int_equal(records, 2);
			assert_int_equal(failures, 1);
			step = STEP_MORE;
		}
		pglog_csv_free(&csv);
		buf_free(&text);
	}
}

/* ---- whole logs */

struct seen {
	struct raw_session sessions[16];
	struct raw_request requests[64];
	char texts[64][80];
	char values[64][80];
	size_t session_count, request_count;
	struct json *lines, *pairs;
	struct err e;
};

static bool see_session(void *data, const struct raw_session *s, struct err *e)
{
	struct seen *seen = data;

	(void)e;
	assert_in_range(seen->session_count, 0, 15);
	seen->sessions[seen->session_count++] = *s;
	return true;
}

static bool see_request(void *data, const struct raw_request *q, struct err *e)
{
	struct seen *seen = data;
	size_t i = seen->request_count++, n = 0;

	(void)e;
	assert_in_range(i, 0, 63);
	seen->requests[i] = *q;
	snprintf(seen->texts[i], 80, "%.*s", (int)q->text.n, q->text.p);
	for (size_t k = 0; k < q->bind_count; k++)
		n += (size_t)snprintf(seen->values[i] + n, 80 - n, "%s%.*s", k ? "|" : "",
			(int)q->binds[k].bytes.n, q->binds[k].bytes.p);
	return true;
}

static bool read_log(struct seen *seen, struct slice text, const char *zone)
{
	struct source_pglog_options options = { .zone = zone, .server = "10.0.0.1:5432" };
	struct request_sink sink = { see_session, see_request, seen };
	char path[] = "/tmp/test_pglog.XXXXXX";
	int fd = mkstemp(path);

	*seen = (struct seen){ .lines = json_object(), .pairs = json_object() };
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text.p, text.n), text.n);
	close(fd);
	struct source_pglog *s = source_pglog_new(&options, &sink, &seen->e);
	bool ok = s && source_pglog_read(s, path, &seen->e) &&
		  source_pglog_finish(s, seen->lines, seen->pairs, &seen->e);
	source_pglog_free(s);
	unlink(path);
	return ok;
}

static void forget(struct seen *seen)
{
	json_free(seen->lines);
	json_free(seen->pairs);
}

static void starts_are_ends_minus_durations(void **state)
{
	struct buf text = { 0 };
	struct seen seen;

	(void)state;
	add_row(&text, "01.000", "a.1", 1, "connection authorized: user=u database=d", "", 26);
	add_row(&text, "02.000", "a.1", 2, "duration: 500.250 ms  statement: select 1", "", 26);
	/* A Bind that waited for a lock belongs to its Execute; a Parse long before does not. */
	add_row(&text, "02.300", "a.1", 3, "duration: 90.000 ms  parse S_1: select $1, $2", "", 26);
	add_row(&text, "02.750", "a.1", 3, "duration: 200.000 ms  bind S_1: select $1, $2", "", 26);
	add_row(&text, "03.000", "a.1", 4, "duration: 250.000 ms  execute S_1: select $1, $2",
		"Parameters: $1 = 'x''y', $2 = NULL", 26);
	add_row(&text, "03.100", "a.1", 5, "checkpoint complete", "", 26);
	add_row(&text, "04.000", "a.1", 6, "disconnection: session time: 0:00:03", "", 26);
	assert_true(read_log(&seen, buf_slice(&text), NULL));
	assert_int_equal(seen.session_count, 2);
	assert_int_equal(seen.sessions[0].id, 1);
	assert_int_equal(seen.sessions[0].flags, 0);
	assert_int_equal(seen.sessions[1].close_ns, INT64_C(1796040004000000000));
	assert_int_equal(seen.request_count, 2);
	const struct raw_request *q = seen.requests;
	assert_int_equal(q[0].end_ns, INT64_C(1796040002000000000));
	assert_int_equal(q[0].end_ns - q[0].start_ns, 500250000);
	assert_int_equal(q[0].think_ns, -1);
	assert_int_equal(q[0].form, FORM_SIMPLE);
	assert_true(q[0].flags & REQUEST_DERIVED);
	assert_int_equal(q[1].end_ns - q[1].start_ns, 450000000);
	assert_int_equal(q[1].think_ns, 550000000);
	assert_int_equal(q[1].form, FORM_NAMED);
	assert_int_equal(q[1].statement, 1);
	assert_int_equal(q[1].bind_count, 2);
	assert_string_equal(seen.values[1], "x'y|");
	assert_int_equal(json_int(json_get(seen.lines, "read"), 0), 6);
	assert_int_equal(json_int(json_path(seen.lines, "unread.not about a statement"), 0), 1);
	assert_int_equal(json_int(json_get(seen.pairs, "paired"), 0), 2);
	forget(&seen);
	buf_free(&text);
}

static void in_flight_counts_those_that_end_later(void **state)
{
	struct buf text = { 0 };
	struct seen seen;

	(void)state;
	/* b runs 1.0-2.0, a 0.5-9.0, c 8.0-9.5, d 9.0-9.6 */
	add_row(&text, "02.000", "b.1", 1, "duration: 1000 ms  statement: b", "", 26);
	add_row(&text, "09.000", "a.1", 1, "duration: 8500 ms  statement: a", "", 26);
	add_row(&text, "09.500", "c.1", 1, "duration: 1500 ms  statement: c", "", 26);
	add_row(&text, "09.600", "d.1", 1, "duration: 600 ms  statement: d", "", 26);
	assert_true(read_log(&seen, buf_slice(&text), NULL));
	assert_int_equal(seen.request_count, 4);
	assert_string_equal(seen.texts[0], "b");
	assert_int_equal(seen.requests[0].in_flight, 2);
	assert_int_equal(seen.requests[1].in_flight, 1);
	assert_int_equal(seen.requests[2].in_flight, 2);
	assert_int_equal(seen.requests[3].in_flight, 2);
	assert_true(seen.sessions[0].flags & SESSION_JOINED_LATE);
	forget(&seen);
	buf_free(&text);
}

static void a_statement_line_and_its_duration_are_one_request(void **state)
{
	struct buf text = { 0 };
	struct seen seen;

	(void)state;
	add_row(&text, "01.000", "a.1", 1, "statement: begin", "", 26);
	add_row(&text, "01.001", "a.1", 2, "duration: 0.900 ms", "", 26);
	add_row(&text, "01.001", "a.1", 3, "execute <unnamed>: select $1", "parameters: $1 = '7'",
		26);
	add_row(&text, "01.201", "a.1", 4, "duration: 200.000 ms", "", 26);
	add_row(&text, "01.300", "a.1", 5, "duration: 1.000 ms", "", 26);
	add_row(&text, "01.400", "a.1", 6, "statement: rollback", "", 26);
	assert_true(read_log(&seen, buf_slice(&text), NULL));
	assert_int_equal(seen.request_count, 2);
	assert_int_equal(seen.requests[0].state_after, 'T');
	assert_int_equal(seen.requests[1].state_before, 'T');
	assert_int_equal(seen.requests[1].form, FORM_UNNAMED);
	assert_string_equal(seen.values[1], "7");
	assert_int_equal(seen.requests[0].end_ns - seen.requests[0].start_ns, 900000);
	assert_int_equal(seen.requests[1].end_ns - seen.requests[1].start_ns, 200000000);
	assert_int_equal(
		json_int(json_path(seen.lines, "unread.duration without its statement"), 0), 1);
	assert_int_equal(
		json_int(json_path(seen.pairs, "unpaired.still running at the end"), 0), 1);
	forget(&seen);
	buf_free(&text);
}

static void an_error_ends_its_statement(void **state)
{
	struct buf text = { 0 };
	struct seen seen;

	(void)state;
	add_row(&text, "01.000", "a.1", 1, "statement: select pg_sleep(9)", "", 26);
	buf_add_text(&text,
		"2026-11-30 12:00:01.250 UTC,\"u\",\"d\",77,\"[local]\",a.1,2,SELECT,"
		"2026-11-30 12:00:00 UTC,3/4,0,ERROR,57014,\"canceling statement\",,,,,,"
		"\"select pg_sleep(9)\",,,\"\",\"client backend\",,0\n");
	buf_add_text(&text, "2026-11-30 12:00:02.000 UTC,\"u\",\"d\",77,\"[local]\",a.1,3,SELECT,"
			    "2026-11-30 12:00:00 UTC,3/4,0,ERROR,42601,\"syntax error\",,,,,,"
			    "\"selec 1\",,,\"\",\"client backend\",,0\n");
	assert_true(read_log(&seen, buf_slice(&text), NULL));
	assert_int_equal(seen.request_count, 2);
	assert_int_equal(seen.requests[0].end_ns - seen.requests[0].start_ns, 250000000);
	assert_string_equal(seen.requests[0].sqlstate, "57014");
	assert_true(seen.requests[0].flags & REQUEST_CANCELLED);
	assert_false(seen.requests[0].flags & REQUEST_GAP);
	assert_string_equal(seen.texts[1], "selec 1");
	assert_true(seen.requests[1].flags & REQUEST_GAP);
	forget(&seen);
	buf_free(&text);
}

static void zones_need_a_name_and_the_abbreviation_decides(void **state)
{
	struct seen seen;
	const char *row = ",\"u\",\"d\",77,\"[local]\",a.1,2,SELECT,,3/4,0,LOG,00000,"
			  "\"duration: 1 ms  statement: x\",,,,,,,,,\"\",\"client backend\",,0\n";
	struct buf text = { 0 };

	(void)state;
	/* the hour that occurs twice: 2026-10-25 02:30 is 00:30 and 01:30 UTC */
	buf_addf(&text, "2026-10-25 02:30:00.000 CEST%s2026-10-25 02:30:00.000 CET%s", row, row);
	struct buf china = { 0 };
	buf_addf(&china, "2026-10-25 02:30:00.000 CST%s", row);
	assert_false(read_log(&seen, buf_slice(&china), NULL));
	assert_int_equal(seen.e.kind, ERR_INPUT);
	assert_non_null(strstr(seen.e.hint, "--log-zone"));
	forget(&seen);
	buf_free(&china);
	/* these two mean one thing */
	assert_true(read_log(&seen, buf_slice(&text), NULL));
	assert_int_equal(seen.requests[0].end_ns, INT64_C(1792888200000000000));
	assert_int_equal(seen.requests[1].end_ns, INT64_C(1792891800000000000));
	forget(&seen);
	assert_true(read_log(&seen, buf_slice(&text), "+01:00"));
	assert_int_equal(seen.requests[0].end_ns, INT64_C(1792891800000000000));
	forget(&seen);
	if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0) {
		assert_true(read_log(&seen, buf_slice(&text), "Europe/Berlin"));
		assert_int_equal(seen.requests[0].end_ns, INT64_C(1792888200000000000));
		assert_int_equal(seen.requests[1].end_ns, INT64_C(1792891800000000000));
		forget(&seen);
	}
	if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0) {
		/* no summer time in January */
		struct buf winter = { 0 };

		buf_addf(&winter, "2026-01-15 12:00:00.000 CEST%s", row);
		assert_false(read_log(&seen, buf_slice(&winter), "Europe/Berlin"));
		assert_non_null(strstr(seen.e.what, "CEST"));
		forget(&seen);
		buf_free(&winter);
	}
	assert_false(read_log(&seen, buf_slice(&text), "../../etc/passwd"));
	assert_int_equal(seen.e.kind, ERR_USAGE);
	forget(&seen);
	buf_free(&text);
}

static void a_log_without_requests_says_what_to_set(void **state)
{
	struct buf text = { 0 };
	struct seen seen;

	(void)state;
	add_row(&text, "01.000", "a.1", 1, "checkpoint starting: time", "", 26);
	add_row(&text, "01.100", "a.1", 2, "Dauer: 1.000 ms  Anweisung: select 1", "", 26);
	assert_false(read_log(&seen, buf_slice(&text), NULL));
	assert_int_equal(seen.e.kind, ERR_INPUT);
	assert_non_null(strstr(seen.e.what, "0 of 2 lines are understood"));
	assert_non_null(strstr(seen.e.hint, "lc_messages"));
	forget(&seen);
	buf_free(&text);
	add_row(&text, "01.000", "a.1", 1, "checkpoint starting: time", "", 26);
	assert_false(read_log(&seen, buf_slice(&text), NULL));
	assert_non_null(strstr(seen.e.what, "0 of 1 lines"));
	assert_non_null(strstr(seen.e.hint, "log_min_duration_statement"));
	forget(&seen);
	add_row(&text, "01.200", "a.1", 3, "statement: select 1", "", 26);
	assert_false(read_log(&seen, buf_slice(&text), NULL));
	assert_non_null(strstr(seen.e.what, "durations are not"));
	assert_non_null(strstr(seen.e.hint, "log_duration"));
	forget(&seen);
	buf_free(&text);
	add_row(&text, "01.100", "a.1", 2, "duration: 1.000 ms", "", 26);
	assert_false(read_log(&seen, buf_slice(&text), NULL));
	assert_non_null(strstr(seen.e.what, "statements are not"));
	assert_non_null(strstr(seen.e.hint, "log_statement"));
	forget(&seen);
	buf_free(&text);
}

static void what_is_no_log_is_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "{\"timestamp\":\"2026-11-30 12:00:00.123 UTC\",\"session_id\":\"1.1\"}\n",
			"0 of 1 lines" },
		{ "2026-11-30 12:00:00.123 UTC LOG:  duration: 1 ms\n",
			"does not tell sessions apart" },
		{ "alice [12] LOG:  duration: 1 ms\n", "has no time" },
		{ "2018-09-12 16:09:05.313 3394 LOG C-0x562376c014e0: a/b@127.0.0.1:43866 closing\n",
			"PgBouncer" },
		{ "what is this\n", "not a log of Postgres" },
		{ "", "empty" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct seen seen;

		assert_false(read_log(&seen, slice_of(cases[i].text), NULL));
		assert_int_equal(seen.e.kind, ERR_INPUT);
		assert_non_null(strstr(seen.e.what, cases[i].says));
		forget(&seen);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_message_is_known),
		cmocka_unit_test(bind_values_lose_their_quotes_and_nothing_else),
		cmocka_unit_test(stamps_know_their_offset_or_say_that_they_do_not),
		cmocka_unit_test(formats_are_told_apart),
		cmocka_unit_test(records_come_whole_however_the_bytes_arrive),
		cmocka_unit_test(every_field_may_be_quoted),
		cmocka_unit_test(a_broken_record_costs_only_itself),
		cmocka_unit_test(starts_are_ends_minus_durations),
		cmocka_unit_test(in_flight_counts_those_that_end_later),
		cmocka_unit_test(a_statement_line_and_its_duration_are_one_request),
		cmocka_unit_test(an_error_ends_its_statement),
		cmocka_unit_test(zones_need_a_name_and_the_abbreviation_decides),
		cmocka_unit_test(a_log_without_requests_says_what_to_set),
		cmocka_unit_test(what_is_no_log_is_refused),
	};

	return cmocka_run_group_tests_name("pglog", tests, NULL, NULL);
}
