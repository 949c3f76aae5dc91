#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/unzip.h"

/* What a tool makes of the text, several members one after the other. */
static int zipped(const char *tool, const char *const *parts, size_t count)
{
	char path[] = "/tmp/test_unzip.XXXXXX", command[256];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (size_t i = 0; i < count; i++) {
		snprintf(command, sizeof(command), "%s >>%s", tool, path);
		FILE *f = popen(command, "w");
		assert_non_null(f);
		assert_true(fwrite(parts[i], 1, strlen(parts[i]), f) == strlen(parts[i]));
		assert_int_equal(pclose(f), 0);
	}
	unlink(path);
	return fd;
}

static bool read_all(int fd, struct buf *ret, const char **ret_why)
{
	struct err e = { 0 };
	struct unzip *u = unzip_open(fd, &e);
	char bytes[7]; /* small, so that nothing fits at once */
	size_t n;
	enum step step;

	assert_non_null(u);
	while ((step = unzip_read(u, bytes, sizeof(bytes), &n, &e)) == STEP_ITEM) {
		assert_in_range(n, 1, sizeof(bytes));
		buf_add(ret, bytes, n);
	}
	bool was_cut = unzip_was_cut(u, ret_why);
	unzip_close(u);
	return step == STEP_END && !was_cut;
}

static const char *const tools[] = { "cat", "gzip -c", "bzip2 -c", "zstd -qc" };

static void members_that_follow_each_other_are_one_stream(void **state)
{
	const char *const parts[] = { "first line\n", "second line\n", "third" };

	(void)state;
	for (size_t i = 0; i < LENGTH(tools); i++) {
		struct buf got = { 0 };
		const char *why;
		int fd = zipped(tools[i], parts, LENGTH(parts));

		lseek(fd, 0, SEEK_SET);
		assert_true(read_all(fd, &got, &why));
		assert_string_equal(buf_text(&got), "first line\nsecond line\nthird");
		buf_free(&got);
		close(fd);
	}
}

static void a_cut_stream_gives_what_came_before(void **state)
{
	struct buf text = { 0 };
	unsigned seed = 1;

	(void)state;
	for (int i = 0; i < 300000; i++)
		buf_addf(&text, "%u\n", seed = seed * 1103515245u + 12345u);
	const char *const parts[] = { buf_text(&text) };
	for (size_t i = 1; i < LENGTH(tools); i++) {
		struct buf got = { 0 };
		const char *why;
		int fd = zipped(tools[i], parts, 1);
		off_t size = lseek(fd, 0, SEEK_END);

		assert_int_equal(ftruncate(fd, size - 5), 0);
		lseek(fd, 0, SEEK_SET);
		assert_false(read_all(fd, &got, &why));
		assert_non_null(strstr(why, "too early"));
		assert_true(got.n > 100000 && got.n <= text.n);
		assert_memory_equal(got.p, text.p, got.n);
		buf_free(&got);
		close(fd);
	}
	buf_free(&text);
}

static void a_damaged_stream_says_so(void **state)
{
	const char *const parts[] = {
		"a line that is long enough to be compressed at all, all, all\n"
	};

	(void)state;
	for (size_t i = 1; i < LENGTH(tools); i++) {
		struct buf got = { 0 };
		const char *why;
		int fd = zipped(tools[i], parts, 1);

		off_t size = lseek(fd, 0, SEEK_END);
		for (off_t at = size / 2; at < size; at++)
			assert_int_equal(pwrite(fd, "\xff", 1, at), 1);
		lseek(fd, 0, SEEK_SET);
		assert_false(read_all(fd, &got, &why));
		assert_non_null(why);
		buf_free(&got);
		close(fd);
	}
}

static void other_bytes_behind_a_member_are_told_and_zeros_are_padding(void **state)
{
	const char *const parts[] = { "text\n" };
	struct buf got = { 0 };
	const char *why;
	int fd = zipped("gzip -c", parts, 1);

	(void)state;
	off_t size = lseek(fd, 0, SEEK_END);
	assert_int_equal(ftruncate(fd, size + 512), 0);
	lseek(fd, 0, SEEK_SET);
	assert_true(read_all(fd, &got, &why));
	assert_string_equal(buf_text(&got), "text\n");
	buf_reset(&got);
	assert_int_equal(pwrite(fd, "junk", 4, size), 4);
	lseek(fd, 0, SEEK_SET);
	assert_false(read_all(fd, &got, &why));
	assert_non_null(strstr(why, "behind"));
	buf_free(&got);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_that_follow_each_other_are_one_stream),
		cmocka_unit_test(a_cut_stream_gives_what_came_before),
		cmocka_unit_test(a_damaged_stream_says_so),
		cmocka_unit_test(other_bytes_behind_a_member_are_told_and_zeros_are_padding),
	};

	return cmocka_run_group_tests_name("unzip", tests, NULL, NULL);
}
