/*
 * Laws of the canaries: the first line of the input is one, the rest is searched; a
 * canary is found in itself, as it stands, and nothing is read past the end.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/canary.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void count(void *data, struct canary_hit h)
{
	if (!h.line || !h.form)
		abort();
	++*(size_t *)data;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *text = (const char *)bytes, *end = memchr(text, '\n', size);
	size_t n = end ? (size_t)(end - text) : size, hits = 0, left = n;
	char path[64];
	struct err e = { 0 };
	int fd = memfd_create("canaries", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	struct canary_set *s = canary_load(path, &e);
	close(fd);
	if (!s)
		return 0;
	while (left && (text[left - 1] == '\r' || text[left - 1] == ' '))
		left--;
	if (canary_count(s)) {
		canary_search(s, (struct slice){ text, left }, count, &hits);
		if (!hits)
			abort();
	}
	if (end) {
		struct slice rest = { end + 1, size - n - 1 };

		canary_search(s, rest, count, &hits);
		canary_search_value(s, rest, count, &hits);
	}
	canary_free(s);
	return 0;
}
