/*
 * file_window.h - the bytes of a packet file from front to back, a stretch at a time.
 *
 * What lies between .at and .end was read and not yet taken: a reader looks at it in
 * place and moves .at. A file that is compressed (gzip, zstd, bzip2) is read as what
 * it holds, standard input too; another pipe is read as it is. The descriptor stays the caller's (-1: nothing
 * follows what is there). Memory is fixed at the opening. One thread.
 */
#ifndef REPROD_FILE_WINDOW_H
#define REPROD_FILE_WINDOW_H

#include "core/base/err.h"

struct unzip;

struct file_window {
	int fd;
	struct unzip *unzip; /* NULL: not compressed */
	unsigned char *bytes;
	size_t at, end, room;
	const char *cut; /* the compressed stream ended too early, or is damaged */
};

/* most_n: the largest n that will be asked for. */
bool file_window_open(struct file_window *w, int fd, size_t most_n, struct err *e) MUST_USE;
/* At least n bytes from .at on, else as many as there are; false on a read error. */
bool file_window_fill(struct file_window *w, size_t n, struct err *e) MUST_USE;
/* Passes over n bytes; false when there are fewer, or on a read error. */
bool file_window_skip(struct file_window *w, uint64_t n, struct err *e) MUST_USE;
void file_window_close(struct file_window *w);

static inline size_t file_window_left(const struct file_window *w)
{
	return w->end - w->at;
}

#endif
