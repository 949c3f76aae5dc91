#include "capture/log/source_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/unzip.h"

enum { READ_BYTES = 64 << 10 };

struct source_lines {
	const char *name;
	int fd;
	bool is_own_fd;
	struct unzip *unzip;
	char *bytes; /* SOURCE_LINES_MAX + READ_BYTES */
	size_t at, n; /* taken, and there */
	size_t searched; /* no newline up to here */
	uint64_t total;
	bool is_end, is_skipping;
};

static bool read_more(struct source_lines *l, struct err *e)
{
	size_t n;

	if (l->at) {
		memmove(l->bytes, l->bytes + l->at, l->n - l->at);
		l->n -= l->at;
		l->searched -= l->at;
		l->at = 0;
	}
	switch (unzip_read_or_stop(l->unzip, l->bytes + l->n, READ_BYTES, &n, e)) {
	case STEP_ITEM:
		l->n += n;
		l->total += n;
		return true;
	case STEP_END:
		l->is_end = true;
		return true;
	default:
		return false;
	}
}

/* A pipe gives its bytes piece by piece: enough to tell a format by. */
static bool read_first(struct source_lines *l, struct err *e)
{
	while (!l->is_end && l->n < READ_BYTES / 2)
		if (!read_more(l, e))
			return false;
	return true;
}

struct source_lines *source_lines_open(const char *path, struct err *e)
{
	struct source_lines *l = calloc(1, sizeof *l);
	bool is_stdin = strcmp(path, "-") == 0;

	if (!l || !(l->bytes = malloc(SOURCE_LINES_MAX + READ_BYTES))) {
		free(l);
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	l->name = is_stdin ? "standard input" : path;
	l->is_own_fd = !is_stdin;
	l->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (l->fd < 0)
		err_os(e, ERR_INPUT, errno, "could not open");
	else if ((l->unzip = unzip_open(l->fd, e)) && read_first(l, e))
		return l;
	err_in(e, "%s", l->name);
	source_lines_close(l);
	return NULL;
}

void source_lines_close(struct source_lines *l)
{
	if (!l)
		return;
	unzip_close(l->unzip);
	if (l->is_own_fd && l->fd >= 0)
		close(l->fd);
	free(l->bytes);
	free(l);
}

struct slice source_lines_first(const struct source_lines *l)
{
	return (struct slice){ l->bytes, l->n };
}

const char *source_lines_name(const struct source_lines *l)
{
	return l->name;
}

uint64_t source_lines_bytes(const struct source_lines *l)
{
	return l->total;
}

bool source_lines_was_cut(const struct source_lines *l)
{
	const char *why;

	return unzip_was_cut(l->unzip, &why);
}

enum step source_lines_next(struct source_lines *l, struct slice *ret, struct err *e)
{
	for (;;) {
		const char *from = l->bytes + l->at;
		const char *end = memchr(l->bytes + l->searched, '\n', l->n - l->searched);

		if (!end && !l->is_end) {
			l->searched = l->n;
			if (l->n - l->at > SOURCE_LINES_MAX - READ_BYTES) {
				l->is_skipping = true;
				l->at = l->n;
			}
			if (!read_more(l, e))
				return STEP_FAIL;
			continue;
		}
		if (!end && l->at == l->n && !l->is_skipping)
			return STEP_END;
		size_t stop = end ? (size_t)(end - l->bytes) : l->n;
		*ret = l->is_skipping ? (struct slice){ 0 } : (struct slice){ from, stop - l->at };
		l->is_skipping = false;
		l->at = l->searched = end ? stop + 1 : stop;
		return STEP_ITEM;
	}
}
