#include "tests/lib/unit.h"

#include <unistd.h>

#include <zlib.h>

#include "tests/lib/loaded.h"

static const int64_t t0 = INT64_C(1796040000) * NS_PER_S;

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

		loaded_text(&l, files[i]);
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
	loaded_text(&l, "1796040000,\"SELECT a, \"\"b\"\" FROM t\",2\n");
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

		loaded_text(&l, bad[i]);
		assert_false(l.ok);
		assert_int_equal(l.e.kind, ERR_INPUT);
		assert_non_null(strstr(l.e.where, "line 1"));
		series_free(&l.series);
		snprintf(text, sizeof(text), "%s\n%s\n",
			*bad[i] == '{' ? "{\"t\": 1796040000, \"route\": \"a\", \"ms\": 1}"
				       : "1796040000,a,1",
			bad[i]);
		loaded_text(&l, text);
		assert_true(l.ok);
		assert_int_equal(l.in.read, 1);
		assert_int_equal(l.in.bad, 1);
		assert_non_null(strstr(l.in.first_bad.where, "line 2"));
		series_free(&l.series);
	}
}

static void delimiters_names_and_units_are_told_from_the_header(void **state)
{
	static const char *const files[] = {
		"\xef\xbb\xbft,route,ms\r\n2026-11-30T12:00:00Z,GET /a,1.5\r\n",
		"Time\tEndpoint\tlatency_us\n2026-11-30 12:00:00+00\tGET /a\t1500\n",
		"timestamp;route;duration_s\n2026-11-30 12:00:00 UTC;GET /a;0,0015\n",
		"\"ts\";\"path\";\"ms\"\n\"1796040000000\";\"GET /a\";\"1.5\"\n",
		"ms|t|url\n1500e-3|1796040000|GET /a\n",
		"1796040000000000000,GET /a,1.50000000000000000000000\n",
		"{\"@timestamp\": 1796040000000000, \"uri\": \"GET /a\", \"request_time\": 0.0015}\n",
		"{\"t\": 1.79604e9, \"route\": \"GET \\/a\", \"ns\": 1500000, \"x\": {\"ms\": 9}}\n",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(files); i++) {
		struct loaded l;

		loaded_text(&l, files[i]);
		if (!l.ok)
			fail_msg("file %zu: %s", i, l.e.what);
		assert_int_equal(l.in.read, 1);
		assert_int_equal(l.in.bad, 0);
		if (l.series.first_ns != t0 || l.series.routes[0]->top[0].latency_us != 1500)
			fail_msg("file %zu: %lld ns, %lld us", i,
				(long long)(l.series.first_ns - t0),
				(long long)l.series.routes[0]->top[0].latency_us);
		assert_string_equal(l.series.routes[0]->text.p, "GET /a");
		assert_int_equal(l.in.scaled, i == 3 || i == 5 || i == 6);
		series_free(&l.series);
	}
}

static void a_header_that_lacks_something_is_told_and_nothing_guessed(void **state)
{
	static const struct {
		const char *text, *why;
	} files[] = {
		{ "t,route,duration\n1796040000,a,5\n", "unit" },
		{ "t,bytes,route\n1796040000,5,a\n1796040000,a,5\n", "no latency" },
		{ "time,ms\n1796040000,5\n", "no route" },
		{ "{\"t\": 1796040000, \"route\": \"a\", \"latency\": 5}", "unit" },
		{ "{\"route\": \"a\", \"ms\": 5}", "no time" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(files); i++) {
		struct loaded l;

		loaded_text(&l, files[i].text);
		assert_false(l.ok);
		assert_int_equal(l.series.requests, 0);
		if (!strstr(l.e.what, files[i].why))
			fail_msg("file %zu: %s", i, l.e.what);
		series_free(&l.series);
	}
}

static void line_breaks_inside_of_quotes_belong_to_the_field(void **state)
{
	struct loaded l;

	(void)state;
	loaded_text(&l, "1796040000,\"SELECT 1\n,\"\"a\"\"\r\n FROM t\",2\n1796040001,b,3\n");
	assert_true(l.ok);
	assert_int_equal(l.in.read, 2);
	assert_string_equal(l.series.routes[0]->text.p, "SELECT 1\n,\"a\"\r\n FROM t");
	series_free(&l.series);
	/* Quotes that never end cost one line, not the file. */
	loaded_text(&l,
		"1796040000,\"a,2\n1796040001,b,3\n1796040002,c,3\n1796040003,d\"x,3\n1796040004,d\"\"x,3\n");
	assert_true(l.ok);
	assert_int_equal(l.in.read, 4);
	assert_int_equal(l.in.bad, 1);
	assert_non_null(strstr(l.in.first_bad.where, "line 1"));
	series_free(&l.series);
}

static void files_written_one_behind_the_other_are_read(void **state)
{
	struct loaded l;

	(void)state;
	loaded_text(&l, "t,route,ms\n1796040000,a,1\nid,ms,route,t\n7,2,a,1796040001\n"
			"{\"t\": 1796040002, \"route\": \"a\", \"ms\": 3}\n8,4,a,1796040003\n");
	assert_true(l.ok);
	assert_int_equal(l.in.read, 4);
	assert_int_equal(l.in.bad, 0);
	assert_int_equal(l.series.routes[0]->max_us, 4000);
	series_free(&l.series);
}

static void local_times_need_a_zone(void **state)
{
	static const char text[] = "2026-11-30T13:00:00,a,1\n2026-10-25 02:30:00,a,1\n"
				   "2026-10-25 02:29:59,a,1\n";
	struct zone berlin;
	struct err e;
	struct loaded l;

	(void)state;
	loaded_text(&l, text);
	assert_false(l.ok);
	assert_non_null(strstr(l.e.what, "no zone"));
	assert_non_null(strstr(l.e.hint, "--zone"));
	series_free(&l.series);
	assert_true(zone_open(&berlin, "Europe/Berlin", &e));
	loaded_in_zone(&l, slice_of(text + strlen("2026-11-30T13:00:00,a,1\n")), &berlin);
	assert_true(l.ok);
	/* The first of the two half past two, though the lines are a second out of order. */
	assert_int_equal(l.series.last_ns - l.series.first_ns, NS_PER_S + NS_PER_MS);
	series_free(&l.series);
	loaded_in_zone(&l, slice_of(text), &berlin);
	assert_int_equal(l.series.last_ns, t0 + NS_PER_MS);
	assert_int_equal(l.in.local, 3);
	series_free(&l.series);
	zone_close(&berlin);
}

static void sessions_come_from_their_column(void **state)
{
	struct loaded l;

	(void)state;
	loaded_text(&l,
		"t,route,ms,session\n1796040000,a,1,x\n1796040001,a,1,x\n1796040001,b,1,x\n1796040001,b,1,y\n");
	assert_true(l.ok && series_finish(&l.series));
	assert_int_equal(series_sessions(&l.series, l.series.routes[0], 0, 1000, 0), 1);
	assert_int_equal(series_sessions(&l.series, l.series.routes[1], 0, 1000, 0), 2);
	series_free(&l.series);
}

static void a_file_given_twice_is_read_once(void **state)
{
	static const char text[] = "1796040000,a,1\n1796040100,a,1\n1796040000,a,1\n";
	char one[] = "/tmp/reprod-input-XXXXXX", copy[] = "/tmp/reprod-input-XXXXXX",
	     other[] = "/tmp/reprod-input-XXXXXX";
	struct loaded l;

	(void)state;
	loaded_write(one, slice_of(text));
	loaded_write(copy, slice_of(text));
	loaded_write(other, slice_of("1796040000,a,2\n1796040100,a,1\n1796040000,a,1\n"));
	loaded_path(&l, one);
	loaded_more(&l, one);
	loaded_more(&l, copy);
	assert_ptr_equal(l.in.twice, one);
	loaded_more(&l, other);
	assert_true(l.ok);
	assert_int_equal(l.in.read, 6);
	assert_int_equal(l.in.disordered, 2);
	series_free(&l.series);
	unlink(one);
	unlink(copy);
	unlink(other);
}

static void compressed_and_cut_files_give_what_is_there(void **state)
{
	enum { LINES = 20000 };
	char path[] = "/tmp/reprod-input-XXXXXX", line[64];
	struct loaded l;

	(void)state;
	loaded_write(path, SLICE(""));
	gzFile gz = gzopen(path, "wb");
	for (int i = 0; i < LINES; i++)
		gzwrite(gz, line,
			(unsigned)snprintf(
				line, sizeof(line), "%d,a,%d.5\n", 1796040000 + i, i % 97));
	gzclose(gz);
	loaded_path(&l, path);
	assert_true(l.ok);
	assert_int_equal(l.in.read, LINES);
	assert_null(l.in.cut_path);
	series_free(&l.series);
	assert_int_equal(truncate(path, 9000), 0);
	loaded_path(&l, path);
	assert_true(l.ok);
	assert_true(l.in.read > 100 && l.in.read < LINES);
	assert_ptr_equal(l.in.cut_path, path);
	series_free(&l.series);
	unlink(path);
	loaded_text(&l, "1796040000,a,1\n1796040001,a");
	assert_true(l.ok && l.in.is_cut);
	assert_int_equal(l.in.bad, 1);
	series_free(&l.series);
}

static void lines_longer_than_a_block_are_one_bad_line(void **state)
{
	size_t n = (size_t)3 << 20;
	char *text = malloc(n + 64);
	struct loaded l;

	(void)state;
	memset(text, 'x', n);
	memcpy(text, "1796040000,a,1\n", 15);
	memcpy(text + n, "\n1796040001,a,1\n", 17);
	loaded_in_zone(&l, (struct slice){ text, n + 16 }, NULL);
	assert_true(l.ok);
	assert_int_equal(l.in.read, 2);
	assert_int_equal(l.in.bad, 1);
	series_free(&l.series);
	/* A field of half a megabyte with line breaks is none of those. */
	memset(text, '\n', n);
	memcpy(text, "1796040000,\"", 12);
	memcpy(text + (n >> 2), "\",5\n1796040001,a,1\n", 19);
	loaded_in_zone(&l, (struct slice){ text, n }, NULL);
	assert_true(l.ok);
	assert_int_equal(l.in.read, 2);
	assert_int_equal(l.in.bad, 0);
	series_free(&l.series);
	free(text);
}

static void empty_inputs_say_so(void **state)
{
	static const char *const files[] = { "", "\n\n \n", "t,route,ms\n" };

	(void)state;
	for (size_t i = 0; i < LENGTH(files); i++) {
		struct loaded l;

		loaded_text(&l, files[i]);
		assert_false(l.ok);
		assert_int_equal(l.e.kind, ERR_INPUT);
		assert_string_equal(l.e.what, "no request in it");
		series_free(&l.series);
	}
}

static void other_files_are_refused_with_advice(void **state)
{
	struct loaded l;

	(void)state;
	loaded_text(&l, "\xd4\xc3\xb2\xa1 and so on");
	assert_false(l.ok);
	assert_non_null(strstr(l.e.what, "capture it first"));
	series_free(&l.series);
	loaded_path(&l, "/nonexistent/file");
	assert_false(l.ok);
	assert_int_equal(l.e.kind, ERR_INPUT);
	series_free(&l.series);
	loaded_path(&l, "prometheus:http://x?query=y");
	assert_false(l.ok);
	assert_int_equal(l.e.kind, ERR_USAGE);
	series_free(&l.series);
	loaded_text(&l, "2026-11-30 12:00:00 UTC [1] LOG:  database system is ready\n");
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
		cmocka_unit_test(delimiters_names_and_units_are_told_from_the_header),
		cmocka_unit_test(a_header_that_lacks_something_is_told_and_nothing_guessed),
		cmocka_unit_test(line_breaks_inside_of_quotes_belong_to_the_field),
		cmocka_unit_test(files_written_one_behind_the_other_are_read),
		cmocka_unit_test(local_times_need_a_zone),
		cmocka_unit_test(sessions_come_from_their_column),
		cmocka_unit_test(a_file_given_twice_is_read_once),
		cmocka_unit_test(compressed_and_cut_files_give_what_is_there),
		cmocka_unit_test(lines_longer_than_a_block_are_one_bad_line),
		cmocka_unit_test(empty_inputs_say_so),
		cmocka_unit_test(other_files_are_refused_with_advice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
