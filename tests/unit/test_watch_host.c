/* /proc as kernels write it becomes the sections of the host. */
#include "tests/lib/unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "correlate/stats_scan.h"
#include "correlate/watch_host.h"

static void save(const char *path, const char *text)
{
	struct err e = { 0 };

	assert_true(file_write(path, slice_of(text), true, &e));
}

static void make_proc(void)
{
	struct err e = { 0 };

	assert_true(file_make_dirs("proc/pressure", 0700, &e));
	assert_true(file_make_dirs("sys/block/sda", 0700, &e));
	save("proc/pressure/io", "some avg10=1.00 avg60=0.50 avg300=0.10 total=4711\n"
				 "full avg10=0.00 avg60=0.00 avg300=0.00 total=42\n");
	/* Before Linux 5.13 there is no full line of the processors. */
	save("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
	save("proc/stat", "cpu  10 20 30 40 50 60 70 80 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n"
			  "intr 5 1 2\nctxt 1000\nbtime 1\nprocesses 77\nprocs_running 3\n"
			  "procs_blocked 2\n");
	save("proc/meminfo", "MemTotal: 9 kB\nMemFree:  2 kB\nMemAvailable:  3 kB\n"
			     "Cached: 4 kB\nSwapCached: 8 kB\nSwapFree: 5 kB\nDirty: 6 kB\n"
			     "Writeback: 7 kB\nWritebackTmp: 1 kB\n");
	save("proc/vmstat", "pgfault 1\npgmajfault 12\npswpin 3\npswpout 4\n");
	save("proc/diskstats", "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 0 0 0 0\n"
			       "   8       1 sda1 1 2 3 4 5 6 7 8 9 10 11 0 0 0 0\n"
			       "   7       0 loop0 1 2 3 4 5 6 7 8 9 10 11 0 0 0 0\n");
}

static void check(
	const struct stats_table *t, size_t section, const char *key, const int64_t *wanted)
{
	int64_t row = stats_table_find(t, section, slice_of(key));

	assert_true(row >= 0);
	for (size_t c = 0; c < t->sections[section].schema.column_count; c++)
		assert_int_equal(stats_values(&t->sections[section], (size_t)row)[c], wanted[c]);
}

static void proc_becomes_sections(void **state)
{
	struct err e = { 0 };
	struct stats_section sections[HOST_SECTIONS];
	struct json *head = json_object();
	uint64_t bytes;
	struct stats_round round;

	(void)state;
	make_proc();
	for (int i = 0; i < HOST_SECTIONS; i++)
		watch_host_section((enum watch_host_section)i, &sections[i]);
	struct stats_writer *w =
		stats_create("host.rstat", true, sections, HOST_SECTIONS, head, &e);
	json_free(head);
	assert_non_null(w);
	stats_begin(w, NS_PER_S);
	watch_host_put(w, 0, ".");
	assert_true(stats_commit(w, &e) && stats_finish(w, &bytes, &e));
	struct stats_scan *s = stats_scan_open("host.rstat", &e);
	assert_non_null(s);
	assert_int_equal(stats_scan_next(s, &round, &e), STEP_ITEM);
	const struct stats_table *t = stats_scan_table(s);
	check(t, HOST_PSI, "io", (int64_t[]){ 4711, 42 });
	check(t, HOST_PSI, "cpu", (int64_t[]){ 99, STATS_NONE });
	assert_int_equal(t->sections[HOST_PSI].count, 2);
	check(t, HOST_CPU, "", (int64_t[]){ 10, 20, 30, 40, 50, 60, 70, 80, 1000, 77, 3, 2 });
	check(t, HOST_MEMORY, "", (int64_t[]){ 2048, 3072, 4096, 6144, 7168, 5120, 12, 3, 4 });
	/* Reads, sectors, ms, writes, sectors, ms, in flight, busy ms; no partition, no loop. */
	check(t, HOST_DISKS, "sda", (int64_t[]){ 1, 3 * 512, 4, 5, 7 * 512, 8, 9, 10 });
	assert_int_equal(t->sections[HOST_DISKS].count, 1);
	stats_scan_close(s);
}

static int enter_folder(void **state)
{
	char dir[] = "/tmp/host-XXXXXX";

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
	const struct CMUnitTest tests[] = { cmocka_unit_test(proc_becomes_sections) };

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
