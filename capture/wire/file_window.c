#include "capture/wire/file_window.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/wire/sniff_peek.h"
#include "core/base/unzip.h"

enum { READ_N = 1 << 16 }; /* stays in the second level cache */

/* Of a pipe nothing can be put back, but standard input can be looked into. */
static bool is_zipped(int fd)
{
	char first[4];
	struct err unused = { 0 };
	off_t at = lseek(fd, 0, SEEK_CUR);
	ssize_t got = at < 0 ? -1 : pread(fd, first, sizeof first, at);
	size_t n = got > 0 ? (size_t)got : 0;

	if (at < 0 && fd == STDIN_FILENO && !sniff_peek("-", first, sizeof first, &n, &unused))
		return false;
	return n && unzip_detect((struct slice){ first, n });
}

bool file_window_open(struct file_window *w, int fd, size_t most_n, struct err *e)
{
	*w = (struct file_window){ .fd = fd, .room = most_n + READ_N };
	w->bytes = malloc(w->room);
	if (!w->bytes)
		return err_set(e, ERR_ENV, "out of memory");
	if (!is_zipped(fd))
		return true;
	w->unzip = unzip_open(fd, e);
	if (!w->unzip)
		file_window_close(w);
	return w->unzip != NULL;
}

void file_window_close(struct file_window *w)
{
	unzip_close(w->unzip);
	free(w->bytes);
	*w = (struct file_window){ .fd = w->fd };
}

static enum step read_zipped(struct file_window *w, size_t *ret_n, struct err *e)
{
	enum step step = unzip_read_or_stop(w->unzip, (char *)w->bytes + w->end, READ_N, ret_n, e);

	if (step == STEP_END)
		unzip_was_cut(w->unzip, &w->cut);
	return step;
}

static enum step read_more(struct file_window *w, size_t *ret_n, struct err *e)
{
	ssize_t got;

	if (w->unzip)
		return read_zipped(w, ret_n, e);
	if (w->fd < 0)
		return STEP_END;
	got = read(w->fd, w->bytes + w->end, READ_N);
	/* Asked to stop while a pipe is quiet: what came is the end. */
	if (got == 0 || (got < 0 && errno == EINTR))
		return STEP_END;
	if (got < 0) {
		err_os(e, ERR_INPUT, errno, "could not read");
		return STEP_FAIL;
	}
	*ret_n = (size_t)got;
	return STEP_ITEM;
}

bool file_window_fill(struct file_window *w, size_t n, struct err *e)
{
	enum step step = STEP_ITEM;
	size_t got;

	memmove(w->bytes, w->bytes + w->at, w->end - w->at);
	w->end -= w->at;
	w->at = 0;
	while (w->end < n && (step = read_more(w, &got, e)) == STEP_ITEM)
		w->end += got;
	return step != STEP_FAIL;
}

bool file_window_skip(struct file_window *w, uint64_t n, struct err *e)
{
	while (n > file_window_left(w)) {
		n -= file_window_left(w);
		w->at = w->end;
		if (!file_window_fill(w, 1, e))
			return false;
		if (!file_window_left(w))
			return err_set(e, ERR_INPUT, "truncated dump file; %llu bytes are missing",
				(unsigned long long)n);
	}
	w->at += n;
	return true;
}
