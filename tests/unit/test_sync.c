#include "tests/lib/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "snapshot/sync.h"

struct trees {
	char root[64], from[80], to[80];
};

static const char *under(const char *tree, const char *name, char path[256])
{
	snprintf(path, 256, "%s/%s", tree, name);
	return path;
}

static void put(const char *tree, const char *name, const char *text)
{
	char path[256];
	struct err e = { 0 };

	assert_true(file_write(under(tree, name, path), slice_of(text), true, &e));
}

static void assert_holds(const char *tree, const char *name, const char *text)
{
	char path[256];
	struct buf b = { 0 };
	struct err e = { 0 };

	assert_true(file_read(under(tree, name, path), 1 << 20, &b, &e));
	assert_string_equal(buf_text(&b), text);
	buf_free(&b);
}

/* Kernel time has the fineness of a tick: a file written now and again within
 * milliseconds may keep its time, which no frozen state is young enough for. */
static void make_old(const char *tree, const char *name)
{
	const struct timespec old[2] = { { .tv_sec = 1700000000 },
		{ .tv_sec = 1700000000, .tv_nsec = 123456789 } };
	char path[256];

	assert_int_equal(utimensat(AT_FDCWD, under(tree, name, path), old, 0), 0);
}

static int make(void **state)
{
	struct trees *t = calloc(1, sizeof(*t));
	char path[256];
	struct err e = { 0 };

	snprintf(t->root, sizeof(t->root), "/tmp/rt-sync-XXXXXX");
	assert_non_null(mkdtemp(t->root));
	snprintf(t->from, sizeof(t->from), "%s/from", t->root);
	snprintf(t->to, sizeof(t->to), "%s/to", t->root);
	assert_true(file_make_dirs(under(t->from, "base/1", path), 0700, &e));
	put(t->from, "base/1/rows", "frozen rows");
	put(t->from, "base/1/index", "frozen index");
	put(t->from, "control", "frozen control");
	make_old(t->from, "base/1/rows");
	make_old(t->from, "base/1/index");
	make_old(t->from, "control");
	assert_int_equal(symlink("../elsewhere", under(t->from, "link", path)), 0);
	assert_true(file_copy_tree(t->from, t->to, NULL, &e));
	*state = t;
	return 0;
}

static int clear(void **state)
{
	struct trees *t = *state;
	struct err e = { 0 };
	bool ok = file_remove_tree(t->root, &e);

	free(t);
	return ok ? 0 : -1;
}

static struct sync_counts bring_back(const struct trees *t)
{
	static const char *const skip[] = { "note", NULL };
	struct sync_counts counts;
	struct err e = { 0 };

	if (!sync_tree(t->from, t->to, skip, &counts, &e))
		fail_msg("%s", e.what);
	return counts;
}

static void equal_trees_are_left_alone(void **state)
{
	struct sync_counts counts = bring_back(*state);

	assert_int_equal(counts.files, 4);
	assert_int_equal(counts.changed, 0);
	assert_int_equal(counts.removed, 0);
	assert_int_equal(counts.written_bytes, 0);
}

static void changed_grown_cut_new_and_lost_files_come_back(void **state)
{
	struct trees *t = *state;
	char path[256];
	struct err e = { 0 };

	put(t->to, "base/1/rows", "changed row");
	put(t->to, "control", "frozen control, grown");
	assert_int_equal(unlink(under(t->to, "base/1/index", path)), 0);
	assert_true(file_make_dirs(under(t->to, "base/2/x", path), 0700, &e));
	put(t->to, "base/2/x/new", "new");
	assert_int_equal(unlink(under(t->to, "link", path)), 0);
	put(t->to, "link", "now a file");
	struct sync_counts counts = bring_back(t);
	assert_int_equal(counts.changed, 4);
	assert_holds(t->to, "base/1/rows", "frozen rows");
	assert_holds(t->to, "base/1/index", "frozen index");
	assert_holds(t->to, "control", "frozen control");
	assert_false(file_exists(under(t->to, "base/2", path)));
	struct stat st;
	assert_int_equal(lstat(under(t->to, "link", path), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	counts = bring_back(t);
	assert_int_equal(counts.changed + counts.removed, 0);
}

static void a_write_that_keeps_the_size_is_seen_by_its_time(void **state)
{
	struct trees *t = *state;
	char path[256];
	int fd = open(under(t->to, "base/1/rows", path), O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "F", 1, 0), 1);
	close(fd);
	assert_int_equal(bring_back(t).changed, 1);
	assert_holds(t->to, "base/1/rows", "frozen rows");
}

static void only_blocks_that_differ_are_written(void **state)
{
	enum { BLOCKS = 100, SIZE = 8192 };
	struct trees *t = *state;
	char path[256];
	char *bytes = calloc(BLOCKS, SIZE);
	struct err e = { 0 };
	struct sync_counts counts;

	memset(bytes, 'x', (size_t)BLOCKS * SIZE);
	assert_true(file_write(under(t->from, "big", path),
		(struct slice){ bytes, (size_t)BLOCKS * SIZE }, true, &e));
	make_old(t->from, "big");
	bring_back(t);
	int fd = open(under(t->to, "big", path), O_WRONLY);
	assert_int_equal(pwrite(fd, "yy", 2, 5 * SIZE - 1), 2);
	close(fd);
	counts = bring_back(t);
	/* The write touched two blocks; where files can be shared none is written. */
	assert_int_equal(counts.written_bytes, counts.is_reflink ? 0 : 2 * SIZE);
	fd = open(under(t->to, "big", path), O_RDONLY);
	char two[2];
	assert_int_equal(pread(fd, two, 2, 5 * SIZE - 1), 2);
	assert_memory_equal(two, "xx", 2);
	close(fd);
	free(bytes);
}

static void skipped_names_stay_on_both_sides(void **state)
{
	struct trees *t = *state;
	char path[256];

	put(t->from, "note", "of the frozen state");
	assert_int_equal(bring_back(t).changed, 0);
	assert_false(file_exists(under(t->to, "note", path)));
	put(t->to, "note", "of the lab");
	assert_int_equal(bring_back(t).removed, 0);
	assert_holds(t->to, "note", "of the lab");
}

static void comparing_changes_nothing(void **state)
{
	struct trees *t = *state;
	struct sync_counts counts;
	struct err e = { 0 };

	put(t->to, "control", "other");
	put(t->to, "extra", "x");
	assert_true(sync_compare(t->from, t->to, NULL, &counts, &e));
	assert_int_equal(counts.changed, 1);
	assert_int_equal(counts.removed, 1);
	assert_holds(t->to, "control", "other");
	assert_holds(t->to, "extra", "x");
}

static void a_link_is_never_written_through(void **state)
{
	struct trees *t = *state;
	char path[256], outside[256];

	put(t->root, "outside", "production");
	assert_int_equal(unlink(under(t->to, "control", path)), 0);
	assert_int_equal(symlink(under(t->root, "outside", outside), path), 0);
	bring_back(t);
	assert_holds(t->root, "outside", "production");
	assert_holds(t->to, "control", "frozen control");
}

#define WITH_TREES(f) cmocka_unit_test_setup_teardown(f, make, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREES(equal_trees_are_left_alone),
		WITH_TREES(changed_grown_cut_new_and_lost_files_come_back),
		WITH_TREES(a_write_that_keeps_the_size_is_seen_by_its_time),
		WITH_TREES(only_blocks_that_differ_are_written),
		WITH_TREES(skipped_names_stay_on_both_sides),
		WITH_TREES(comparing_changes_nothing),
		WITH_TREES(a_link_is_never_written_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
