/*
 * fuzz_unzip.c - laws: a read gives at least one byte and no more than there is room for;
 * what ends early says why; where the reads are cut makes no difference, but to how much
 * comes out in front of damage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/unzip.h"

enum { OUT_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

/* Reads all of it, up to a megabyte, in steps of so many bytes: FNV-1a of it. */
static uint64_t read_all(int fd, size_t step_bytes, size_t *ret_n, bool *ret_was_cut)
{
	static const uint64_t prime = UINT64_C(0x100000001b3);
	struct err e = { 0 };
	char room[4096];
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	enum step step = STEP_END;
	const char *why = NULL;
	size_t n;

	must(lseek(fd, 0, SEEK_SET) == 0, "a file goes back");
	struct unzip *u = unzip_open(fd, &e);
	must(u != NULL, "a file can be opened");
	*ret_n = 0;
	while (*ret_n < OUT_MAX && (step = unzip_read(u, room, step_bytes, &n, &e)) == STEP_ITEM) {
		must(n >= 1 && n <= step_bytes, "a read fits its room");
		for (size_t i = 0; i < n && *ret_n < OUT_MAX; i++, (*ret_n)++)
			h = (h ^ (unsigned char)room[i]) * prime;
	}
	must(step != STEP_FAIL || e.what[0], "a failure has a message");
	*ret_was_cut = unzip_was_cut(u, &why);
	if (step == STEP_END && *ret_was_cut)
		must(why && why[0], "what ends early says why");
	unzip_close(u);
	return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("packed", 0);
	size_t n, again_n;
	bool was_cut, again_cut;

	must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, "a file is made");
	uint64_t h = read_all(fd, 4096, &n, &was_cut);
	uint64_t again = read_all(fd, 7, &again_n, &again_cut);
	must(was_cut || again_cut || (h == again && n == again_n), "the steps make no difference");
	close(fd);
	return 0;
}
