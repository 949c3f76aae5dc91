/* A recording of statistics: what was put comes back, up to the last whole round wherever
 * the file is cut, and whatever is wrong with it. */
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/rng.h"
#include "correlate/stats_scan.h"

enum { TABLES = 0, WAITS = 1, ROUNDS = 40, T0_S = 1796040000 };

static const struct stats_section sections[] = {
	{ .name = "tables",
		.column_count = 3,
		.columns = { { .name = "scans", .kind = STATS_COUNTER },
			{ .name = "dead", .unit = "rows", .kind = STATS_GAUGE },
			{ .name = "last", .kind = STATS_STAMP } } },
	{ .name = "waits",
		.flags = STATS_GONE_IS_ZERO,
		.column_count = 1,
		.columns = { { .name = "count", .kind = STATS_GAUGE } } },
};

static int64_t time_of(int round)
{
	return (T0_S + 10 * (int64_t)round) * NS_PER_S;
}

/* What row `key` of tables has in a round; false when it is not there. */
static bool tables_row(int round, int key, int64_t to[3])
{
	if (key == 3 && round % 5 >= 3)
		return false;
	to[0] = key * INT64_C(1000000007) + (int64_t)round * round;
	to[1] = (round + key) % 4 ? round % 7 - 3 : STATS_NONE;
	to[2] = round > 10 ? INT64_MAX - round : STATS_NONE;
	return true;
}

static const char *key_name(int key, char text[32])
{
	snprintf(text, 32, "public.t%d", key);
	return text;
}

static void put_round(struct stats_writer *w, int round)
{
	char name[32];
	int64_t values[3], one = round;

	for (int key = 0; key < 6; key++)
		if (tables_row(round, key, values))
			stats_put(w, TABLES, slice_of(key_name(key, name)), values);
	stats_end_section(w, TABLES);
	if (round % 3 == 0)
		return;
	if (round % 2)
		stats_put(w, WAITS, SLICE("Lock.transactionid"), &one);
	stats_end_section(w, WAITS);
}

static struct stats_writer *create(const char *path)
{
	struct err e = { 0 };
	struct json *head = json_object();

	json_set_text(head, "format", "rstat");
	struct stats_writer *w = stats_create(path, true, sections, 2, head, &e);
	json_free(head);
	assert_non_null(w);
	return w;
}

static void write_file(const char *path)
{
	struct err e = { 0 };
	struct stats_writer *w = create(path);
	uint64_t bytes;

	for (int round = 0; round < ROUNDS; round++) {
		stats_begin(w, time_of(round));
		if (round == 20)
			stats_add_gap(w, time_of(18), time_of(20), STATS_GAP_CONNECTION);
		put_round(w, round);
		assert_true(stats_commit(w, &e));
	}
	assert_true(stats_finish(w, &bytes, &e));
}

static void check_round(const struct stats_round *got, const struct stats_table *table, int round)
{
	char name[32];
	int64_t values[3];

	assert_int_equal(got->t_ns, time_of(round));
	assert_true(got->has_section[TABLES]);
	assert_int_equal(got->has_section[WAITS], round % 3 != 0);
	for (int key = 0; key < 6; key++) {
		int64_t row = stats_table_find(table, TABLES, slice_of(key_name(key, name)));
		bool is_here = tables_row(round, key, values);

		assert_int_equal(row >= 0 && table->sections[TABLES].is_here[row], is_here);
		if (is_here)
			assert_memory_equal(stats_values(&table->sections[TABLES], (size_t)row),
				values, sizeof(values));
	}
}

static void what_was_put_comes_back(void **state)
{
	struct err e = { 0 };
	struct stats_round got;

	(void)state;
	write_file("whole.rstat");
	struct stats_scan *s = stats_scan_open("whole.rstat", &e);
	assert_non_null(s);
	for (int round = 0; round < ROUNDS; round++) {
		assert_int_equal(stats_scan_next(s, &got, &e), STEP_ITEM);
		check_round(&got, stats_scan_table(s), round);
		assert_int_equal(got.gap_count, round == 20);
		if (round % 3)
			assert_int_equal(stats_scan_table(s)->sections[WAITS].count &&
						 stats_scan_table(s)->sections[WAITS].is_here[0],
				round % 2);
	}
	assert_int_equal(stats_scan_next(s, &got, &e), STEP_END);
	assert_true(stats_scan_is_finished(s));
	assert_int_equal(stats_scan_damaged(s), 0);
	assert_string_equal(json_text(json_get(stats_scan_head(s), "format"), ""), "rstat");
	stats_scan_close(s);
}

static size_t load(const char *path, char *to, size_t size)
{
	struct buf text = { 0 };
	struct err e = { 0 };

	assert_true(file_read(path, size, &text, &e));
	memcpy(to, text.p, text.n);
	size_t n = text.n;
	buf_free(&text);
	return n;
}

static void save(const char *path, const char *bytes, size_t n)
{
	(void)unlink(path); /* a file cut to nothing is flushed by ext4, which is slow */
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

/* The rounds that can be read; -1: not opened. Times always rise. */
static int count_rounds(const char *path, struct err *e, uint64_t *ret_damaged)
{
	struct stats_scan *s = stats_scan_open(path, e);
	struct stats_round got;
	int n = 0;
	int64_t last = 0;

	if (!s)
		return -1;
	while (stats_scan_next(s, &got, e) == STEP_ITEM) {
		int round = (int)((got.t_ns / NS_PER_S - T0_S) / 10);

		assert_true(got.t_ns > last);
		check_round(&got, stats_scan_table(s), round);
		last = got.t_ns;
		n++;
	}
	*ret_damaged = stats_scan_damaged(s);
	stats_scan_close(s);
	return n;
}

static void a_file_that_is_cut_anywhere_has_all_whole_rounds(void **state)
{
	static char bytes[1 << 20];
	size_t n;
	int last = 0;

	(void)state;
	write_file("whole.rstat");
	n = load("whole.rstat", bytes, sizeof(bytes));
	for (size_t cut = 0; cut <= n; cut++) {
		struct err e = { 0 };
		uint64_t damaged = 0;

		save("cut.rstat", bytes, cut);
		int rounds = count_rounds("cut.rstat", &e, &damaged);
		if (rounds < 0) {
			assert_true(cut < STATS_FILE_HEADER);
			assert_true(e.kind == ERR_INPUT && e.what[0]);
			continue;
		}
		/* One more each time a block ends, none is ever lost. */
		assert_true(rounds == last || rounds == last + 1);
		assert_int_equal(damaged, 0);
		last = rounds;
	}
	assert_int_equal(last, ROUNDS);
}

static void damage_costs_rounds_never_wrong_values(void **state)
{
	static char bytes[1 << 20];
	struct rng rng;
	size_t n;

	(void)state;
	rng_seed(&rng, 7);
	write_file("whole.rstat");
	n = load("whole.rstat", bytes, sizeof(bytes));
	for (int i = 0; i < 600; i++) {
		size_t at = STATS_FILE_HEADER + rng_below(&rng, n - STATS_FILE_HEADER);
		char was = bytes[at];
		struct err e = { 0 };
		uint64_t damaged = 0;

		bytes[at] = (char)(was ^ (1 + (int)rng_below(&rng, 255)));
		save("bad.rstat", bytes, n);
		bytes[at] = was;
		assert_true(count_rounds("bad.rstat", &e, &damaged) >= 0);
		assert_true(damaged > 0);
	}
}

static void a_key_round_comes_each_hour_and_heals_damage(void **state)
{
	static char bytes[1 << 20];
	struct err e = { 0 };
	struct stats_writer *w = create("long.rstat");
	struct stats_round got;
	uint64_t length, first_round = stats_bytes(w);
	int keys = 0, rounds = 0;

	(void)state;
	for (int i = 0; i < 3 * 360; i++) {
		int64_t values[3] = { i, 0, 0 };

		stats_begin(w, time_of(i));
		stats_put(w, TABLES, SLICE("public.t"), values);
		stats_end_section(w, TABLES);
		assert_true(stats_commit(w, &e));
	}
	assert_true(stats_finish(w, &length, &e));
	size_t n = load("long.rstat", bytes, sizeof(bytes));
	bytes[first_round + 40] ^= 1;
	save("long.rstat", bytes, n);
	struct stats_scan *s = stats_scan_open("long.rstat", &e);
	while (stats_scan_next(s, &got, &e) == STEP_ITEM) {
		keys += got.is_new_table;
		rounds++;
		assert_int_equal(stats_values(&stats_scan_table(s)->sections[TABLES], 0)[0],
			(got.t_ns / NS_PER_S - T0_S) / 10);
	}
	assert_int_equal(keys, 2);
	assert_int_equal(rounds, 2 * 360);
	assert_true(stats_scan_damaged(s) > 0);
	stats_scan_close(s);
}

static void names_that_a_terminal_would_obey_are_changed(void **state)
{
	struct stats_table t;
	uint32_t number;
	bool is_new;

	(void)state;
	assert_true(stats_table_init(&t));
	assert_true(stats_table_name(&t,
		SLICE("a\033[31m\n\xc2\x9b"
		      "b\xff"),
		&number, &is_new));
	assert_int_equal(t.names[number].n, 11);
	for (size_t i = 0; i < t.names[number].n; i++)
		assert_true(t.names[number].p[i] >= ' ' && t.names[number].p[i] < 0x7f);
	assert_true(stats_table_name(&t, SLICE("caf\xc3\xa9"), &number, &is_new));
	assert_memory_equal(t.names[number].p, "caf\xc3\xa9", 5);
	stats_table_free(&t);
}

static void rows_beyond_the_cap_are_counted(void **state)
{
	struct err e = { 0 };
	struct stats_writer *w = create("many.rstat");
	int64_t values[3] = { 1, 2, 3 };
	uint64_t bytes;

	(void)state;
	stats_begin(w, time_of(0));
	for (int i = 0; i < STATS_ROWS_MAX + 5; i++) {
		char name[32];

		stats_put(w, TABLES, slice_of(key_name(i, name)), values);
	}
	stats_end_section(w, TABLES);
	assert_true(stats_commit(w, &e));
	assert_int_equal(stats_written(w)->refused, 5);
	assert_true(stats_finish(w, &bytes, &e));
}

static void other_files_are_told_apart(void **state)
{
	struct err e = { 0 };

	(void)state;
	save("text.rstat", "not a recording at all", 22);
	assert_null(stats_scan_open("text.rstat", &e));
	assert_int_equal(e.kind, ERR_INPUT);
	assert_non_null(strstr(e.what, "not a recording"));
	e = (struct err){ 0 };
	save("empty.rstat", "", 0);
	assert_null(stats_scan_open("empty.rstat", &e));
	assert_non_null(strstr(e.what, "empty"));
	e = (struct err){ 0 };
	assert_null(stats_scan_open("none.rstat", &e));
	assert_int_equal(e.kind, ERR_INPUT);
}

static int enter_folder(void **state)
{
	char dir[] = "/tmp/stats-XXXXXX";

	*state = strdup(mkdtemp(dir));
	return chdir(*state);
}

static int leave_folder(void **state)
{
	struct err e = { 0 };
	bool ok = chdir("/") == 0 && file_remove_tree(*state, &e);

	free(*state);
	return ok ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_comes_back),
		cmocka_unit_test(a_file_that_is_cut_anywhere_has_all_whole_rounds),
		cmocka_unit_test(damage_costs_rounds_never_wrong_values),
		cmocka_unit_test(a_key_round_comes_each_hour_and_heals_damage),
		cmocka_unit_test(names_that_a_terminal_would_obey_are_changed),
		cmocka_unit_test(rows_beyond_the_cap_are_counted),
		cmocka_unit_test(other_files_are_told_apart),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
