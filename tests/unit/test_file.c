#include "tests/lib/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"

static char root[64];

static const char *at(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, 128, "%s/%s", root, name);
	return path;
}

static int make_root(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/rt-file-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	(void)state;
	struct err e = { 0 };

	return file_remove_tree(root, &e) ? 0 : -1;
}

static void put(const char *name, const char *text)
{
	struct err e = { 0 };

	assert_true(file_write(at(name), slice_of(text), true, &e));
}

static void assert_holds(const char *name, const char *text)
{
	struct err e = { 0 };
	struct buf b = { 0 };

	assert_true(file_read(at(name), 1 << 20, &b, &e));
	assert_string_equal(buf_text(&b), text);
	buf_free(&b);
}

static void an_output_that_exists_needs_force(void **state)
{
	(void)state;
	struct err e = { 0 };

	assert_true(file_write(at("out"), SLICE("one"), false, &e));
	assert_false(file_write(at("out"), SLICE("two"), false, &e));
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.hint, "--force"));
	assert_holds("out", "one");
	assert_true(file_write(at("out"), SLICE("two"), true, &e));
	assert_holds("out", "two");
	assert_false(file_write(root, SLICE("x"), true, &e));
	assert_int_equal(e.kind, ERR_USAGE);
}

static void a_write_that_fails_leaves_the_old_file_and_nothing_beside(void **state)
{
	(void)state;
	struct err e = { 0 };

	put("kept", "old");
	assert_false(file_write(at("no/such/folder"), SLICE("x"), true, &e));
	assert_int_equal(e.kind, ERR_ENV);
	assert_false(file_write("/dev/full", SLICE("x"), false, &e));
	assert_int_equal(e.kind, ERR_ENV);
	assert_true(file_write("/dev/null", SLICE("x"), false, &e));
	assert_holds("kept", "old");
}

static void the_mode_of_an_overwritten_file_stays(void **state)
{
	(void)state;
	struct stat st;

	put("secret", "a");
	assert_int_equal(chmod(at("secret"), 0600), 0);
	put("secret", "b");
	assert_int_equal(stat(at("secret"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void reading_has_a_cap(void **state)
{
	(void)state;
	struct err e = { 0 };
	struct buf b = { 0 };

	put("five", "12345");
	assert_true(file_read(at("five"), 5, &b, &e));
	assert_false(file_read(at("five"), 4, &b, &e));
	assert_int_equal(e.kind, ERR_INPUT);
	assert_false(file_read(at("absent"), 4, &b, &e));
	assert_int_equal(e.kind, ERR_INPUT);
	assert_false(file_read(root, 4, &b, &e));
	assert_int_equal(e.kind, ERR_INPUT);
	buf_free(&b);
}

static void folders_are_made_to_any_depth(void **state)
{
	(void)state;
	struct err e = { 0 };

	assert_true(file_make_dirs(at("a/b/c"), 0755, &e));
	assert_true(file_make_dirs(at("a/b/c/"), 0755, &e));
	assert_true(file_is_dir(at("a/b/c")));
	put("a/file", "x");
	assert_false(file_make_dirs(at("a/file/d"), 0755, &e));
	assert_int_equal(e.kind, ERR_ENV);
}

static void a_tree_is_copied_with_all_it_has(void **state)
{
	(void)state;
	struct err e = { 0 };
	struct stat st;
	struct timespec times[2] = { { 1000000000, 5 }, { 1100000000, 7 } };
	bool is_reflink = true;
	char link[16] = "";
	char big[4096];

	assert_true(file_make_dirs(at("tree/sub"), 0750, &e));
	put("tree/sub/file", "content");
	put("tree/empty", "");
	assert_int_equal(chmod(at("tree/sub/file"), 0640), 0);
	assert_int_equal(symlink("sub/file", at("tree/link")), 0);
	/* 64 MiB with 4 KiB of data at its end, and data at its start. */
	int fd = open(at("tree/sparse"), O_RDWR | O_CREAT, 0600);
	memset(big, 'd', sizeof(big));
	assert_int_equal(write(fd, big, sizeof(big)), (ssize_t)sizeof(big));
	assert_int_equal(pwrite(fd, big, sizeof(big), (64 << 20) - 8192), (ssize_t)sizeof(big));
	assert_int_equal(ftruncate(fd, 64 << 20), 0);
	close(fd);
	if (geteuid() == 0)
		assert_int_equal(chown(at("tree/sub/file"), 65534, 65534), 0);
	assert_int_equal(utimensat(AT_FDCWD, at("tree/sub/file"), times, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, at("tree/sub"), times, 0), 0);

	assert_true(file_copy_tree(at("tree"), at("copy"), &is_reflink, &e));
	assert_holds("copy/sub/file", "content");
	assert_holds("copy/empty", "");
	assert_int_equal(stat(at("copy/sub/file"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(st.st_mtim.tv_sec, 1100000000);
	assert_int_equal(st.st_mtim.tv_nsec, 7);
	assert_int_equal(st.st_uid, geteuid() == 0 ? 65534 : geteuid());
	assert_int_equal(stat(at("copy/sub"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0750);
	assert_int_equal(st.st_mtim.tv_sec, 1100000000);
	assert_int_equal(readlink(at("copy/link"), link, sizeof(link) - 1), 8);
	assert_string_equal(link, "sub/file");
	assert_int_equal(stat(at("copy/sparse"), &st), 0);
	assert_int_equal(st.st_size, 64 << 20);
	assert_true(st.st_blocks * 512 < 1 << 20);
	char one[65], two[65];
	assert_true(file_sha256(at("tree/sparse"), one, &e));
	assert_true(file_sha256(at("copy/sparse"), two, &e));
	assert_string_equal(one, two);
	assert_false(file_copy_tree(at("tree"), at("copy"), NULL, &e));
	assert_int_equal(e.kind, ERR_USAGE);
	assert_false(file_copy_tree(at("absent"), at("copy2"), NULL, &e));
}

static void a_tree_is_removed_but_links_are_not_followed(void **state)
{
	(void)state;
	struct err e = { 0 };

	assert_true(file_make_dirs(at("gone/deep/er"), 0755, &e));
	assert_true(file_make_dirs(at("outside"), 0755, &e));
	put("outside/stays", "x");
	put("gone/deep/file", "x");
	assert_int_equal(symlink("../../outside", at("gone/deep/link")), 0);
	assert_true(file_remove_tree(at("gone"), &e));
	assert_false(file_exists(at("gone")));
	assert_holds("outside/stays", "x");
	assert_true(file_remove_tree(at("never"), &e));
}

static void top_level_folders_are_never_removed(void **state)
{
	(void)state;
	static const char *const cases[] = { "/", "//", "/tmp", "/tmp/", "//tmp", "/tmp/.",
		"/usr/..", "", "/tmp/../etc" };

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct err e = { 0 };

		assert_false(file_remove_tree(cases[i], &e));
		assert_int_equal(e.kind, ERR_REFUSED);
	}
}

static void a_tree_is_given_away(void **state)
{
	(void)state;
	struct err e = { 0 };
	struct stat st;

	assert_true(file_make_dirs(at("mine/sub"), 0755, &e));
	put("mine/sub/file", "x");
	assert_true(file_own_tree(at("mine"), 65534, 65534, &e));
	assert_int_equal(stat(at("mine/sub/file"), &st), 0);
	assert_int_equal(st.st_uid, geteuid() == 0 ? 65534 : geteuid());
}

/* FIPS 180-4's examples, by way of every implementation's tests. */
static void digests_are_sha256(void **state)
{
	(void)state;
	struct err e = { 0 };
	char hex[65], of_file[65];

	file_sha256_bytes(SLICE("abc"), hex);
	assert_string_equal(
		hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	file_sha256_bytes((struct slice){ NULL, 0 }, hex);
	assert_string_equal(
		hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	put("empty", "");
	assert_true(file_sha256(at("empty"), of_file, &e));
	assert_string_equal(of_file, hex);
	assert_false(file_sha256(at("absent"), of_file, &e));
	assert_int_equal(e.kind, ERR_INPUT);
}

static void an_output_that_is_an_input_is_refused(void **state)
{
	(void)state;
	struct err e = { 0 };
	const char *inputs[] = { NULL, at("in"), "/nonexistent/x" };

	put("in", "1");
	put("other", "2");
	assert_int_equal(link(at("in"), at("in-too")), 0);
	assert_true(file_is_apart(NULL, inputs, 3, &e));
	assert_true(file_is_apart(at("other"), inputs, 3, &e));
	assert_true(file_is_apart(at("not-there"), inputs, 3, &e));
	assert_false(file_is_apart(at("in"), inputs, 3, &e));
	assert_int_equal(e.kind, ERR_USAGE);
	assert_false(file_is_apart(at("in-too"), inputs, 3, &e));
}

static void a_device_is_written_as_it_is_and_no_draft_of_another_is_taken(void **state)
{
	(void)state;
	char beside[4096], again[4096];
	int fd = file_open_beside("/dev/null", beside);

	assert_true(fd >= 0);
	assert_string_equal(beside, "");
	close(fd);
	fd = file_open_beside(at("draft"), beside);
	assert_true(fd >= 0);
	close(fd);
	fd = file_open_beside(at("draft"), again);
	assert_true(fd >= 0);
	close(fd);
	assert_string_not_equal(beside, again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_output_that_exists_needs_force),
		cmocka_unit_test(a_write_that_fails_leaves_the_old_file_and_nothing_beside),
		cmocka_unit_test(the_mode_of_an_overwritten_file_stays),
		cmocka_unit_test(reading_has_a_cap),
		cmocka_unit_test(an_output_that_is_an_input_is_refused),
		cmocka_unit_test(a_device_is_written_as_it_is_and_no_draft_of_another_is_taken),
		cmocka_unit_test(folders_are_made_to_any_depth),
		cmocka_unit_test(a_tree_is_copied_with_all_it_has),
		cmocka_unit_test(a_tree_is_removed_but_links_are_not_followed),
		cmocka_unit_test(top_level_folders_are_never_removed),
		cmocka_unit_test(a_tree_is_given_away),
		cmocka_unit_test(digests_are_sha256),
	};

	return cmocka_run_group_tests_name("file", tests, make_root, remove_root);
}
