/*
 * fault_base.c - core/base when memory runs out: every failure is told, nothing
 * leaks (the ASan run of the same test sees to that), what was there stays whole.
 */
#include "tests/lib/unit.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/cli.h"
#include "core/base/file.h"
#include "core/base/hist.h"
#include "core/base/json.h"
#include "core/base/ring.h"
#include "core/base/table.h"
#include "tests/fault/wrap.h"

static void fill_buf(void *data)
{
	struct buf b = { 0 };

	(void)data;
	for (int i = 0; i < 200; i++)
		buf_addf(&b, "%d,", i);
	assert_int_equal(b.is_full, fault_hit());
	if (!b.is_full)
		assert_int_equal(b.n, 690);
	assert_int_equal(strlen(buf_text(&b)), b.n);
	buf_free(&b);
}

static void a_buf_says_that_it_is_full(void **state)
{
	(void)state;
	assert_in_range(fault_each(fill_buf, NULL), 3, 10);
}

static void fill_arena(void *data)
{
	struct arena a;
	size_t refused = 0;

	(void)data;
	arena_init(&a, 1 << 20);
	for (int i = 0; i < 100; i++)
		refused += arena_take(&a, 100) == NULL;
	assert_int_equal(refused > 0, fault_hit());
	assert_int_equal(a.refused, refused);
	arena_free(&a);
}

static void an_arena_refuses_and_counts(void **state)
{
	(void)state;
	assert_in_range(fault_each(fill_arena, NULL), 3, 20);
}

static void fill_table(void *data)
{
	static const char keys[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct table t;
	size_t refused = 0;

	(void)data;
	table_init(&t, 1000);
	for (size_t i = 0; i + 1 < sizeof(keys); i++)
		refused +=
			!table_put(&t, (struct slice){ keys + i, 1 }, (void *)(uintptr_t)(i + 1));
	assert_int_equal(refused > 0, fault_hit());
	assert_int_equal(t.count, sizeof(keys) - 1 - refused);
	for (size_t i = 0, found = 0; i + 1 < sizeof(keys); i++) {
		uintptr_t v = (uintptr_t)table_get(&t, (struct slice){ keys + i, 1 });

		assert_true(v == 0 || v == i + 1);
		found += v != 0;
		if (i + 2 == sizeof(keys))
			assert_int_equal(found, t.count);
	}
	table_free(&t);
}

static void a_table_that_cannot_grow_keeps_what_it_has(void **state)
{
	(void)state;
	assert_in_range(fault_each(fill_table, NULL), 4, 20);
}

static void fill_hist(void *data)
{
	struct hist h = { 0 }, merged = { 0 };
	struct buf bytes = { 0 };
	uint64_t added = 0;

	(void)data;
	for (int64_t v = 1; v < INT64_C(1) << 40; v *= 16)
		added += hist_add(&h, v, 1);
	assert_int_equal(h.total, added);
	bool has_merged = hist_merge(&merged, &h);
	assert_int_equal(merged.total, has_merged ? h.total : 0);
	hist_write(&h, &bytes);
	struct cursor c = cursor_of(bytes.p, bytes.n);
	bool has_read = hist_read(&merged, &c);
	if (!fault_hit())
		assert_true(added == 10 && has_merged && has_read);
	else
		assert_true(added < 10 || !has_merged || !has_read || bytes.is_full);
	hist_free(&h);
	hist_free(&merged);
	buf_free(&bytes);
}

static void a_histogram_loses_no_count_silently(void **state)
{
	(void)state;
	assert_in_range(fault_each(fill_hist, NULL), 5, 40);
}

static void make_ring(void *data)
{
	struct ring *r = ring_new(1000);
	struct buf b = { 0 };

	(void)data;
	if (r) {
		ring_put(r,
			SLICE("a record of some length, more than a first allocation gives: 64"));
		enum step step = ring_take(r, 0, &b);
		assert_int_equal(step, fault_hit() ? STEP_MORE : STEP_ITEM);
		assert_int_equal(ring_dropped(r), fault_hit() ? 1 : 0);
	} else {
		assert_true(fault_hit());
	}
	ring_destroy(r);
	buf_free(&b);
}

static void a_ring_counts_what_the_reader_could_not_hold(void **state)
{
	(void)state;
	assert_int_equal(fault_each(make_ring, NULL), 2);
}

static void read_file(void *data)
{
	struct err e = { 0 };
	char hex[65];
	struct buf b = { 0 };
	bool ok = file_read(data, 1 << 20, &b, &e) && file_sha256(data, hex, &e);

	assert_int_equal(ok, !fault_hit());
	if (!ok)
		assert_true(e.kind != ERR_NONE && e.what[0]);
	buf_free(&b);
}

static void reading_a_file_fails_with_a_message(void **state)
{
	(void)state;
	char path[] = "/proc/self/status";

	assert_in_range(fault_each(read_file, path), 2, 10);
}

static void write_json(void *data)
{
	struct err e = { 0 };

	(void)data;
	/* Jansson's own allocations are the library's and do not fail here. */
	struct json *j = json_parse(SLICE("{\"a\": [1, 2, {\"b\": \"text\"}]}"), "x", &e);
	assert_non_null(j);
	bool ok = json_save(j, "/dev/null", true, &e);
	assert_int_equal(ok, !fault_hit());
	if (!ok)
		assert_true(e.kind == ERR_ENV && e.what[0]);
	json_free(j);
}

static void saving_a_document_fails_with_a_message(void **state)
{
	(void)state;
	assert_in_range(fault_each(write_json, NULL), 1, 10);
}

static enum outcome do_nothing(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	(void)args;
	(void)ops;
	(void)e;
	fputs("done", r->out);
	return OUTCOME_YES;
}

static void run_command(void *data)
{
	static const struct cli_command command = {
		.name = "x", .summary = "x", .main = do_nothing
	};
	char name[] = "x";
	char *argv[] = { name };
	struct run *r = data;

	int code = cli_main(&command, r, 1, argv);
	assert_int_equal(code, fault_hit() ? ERR_ENV : 0);
}

static void a_command_line_fails_with_a_message(void **state)
{
	(void)state;
	struct run r = { .out = fopen("/dev/null", "w"), .log = fopen("/dev/null", "w") };

	assert_int_equal(fault_each(run_command, &r), 2);
	fclose(r.out);
	fclose(r.log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buf_says_that_it_is_full),
		cmocka_unit_test(an_arena_refuses_and_counts),
		cmocka_unit_test(a_table_that_cannot_grow_keeps_what_it_has),
		cmocka_unit_test(a_histogram_loses_no_count_silently),
		cmocka_unit_test(a_ring_counts_what_the_reader_could_not_hold),
		cmocka_unit_test(reading_a_file_fails_with_a_message),
		cmocka_unit_test(saving_a_document_fails_with_a_message),
		cmocka_unit_test(a_command_line_fails_with_a_message),
	};

	return cmocka_run_group_tests_name("fault: base", tests, NULL, NULL);
}
