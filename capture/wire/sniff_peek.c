#include "capture/wire/sniff_peek.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/file.h"

/* Copies what the pipe holds into one of ours: tee(2) takes nothing. */
static ssize_t peek_pipe(int fd, char *to, size_t room)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	ssize_t n = tee(fd, ends[1], room, 0);
	if (n > 0)
		n = read(ends[0], to, (size_t)n);
	int os_errno = errno;
	close(ends[0]);
	close(ends[1]);
	errno = os_errno;
	return n;
}

static ssize_t peek_once(int fd, const struct stat *st, char *to, size_t room)
{
	if (S_ISFIFO(st->st_mode))
		return peek_pipe(fd, to, room);
	if (S_ISSOCK(st->st_mode))
		return recv(fd, to, room, MSG_PEEK);
	off_t at = lseek(fd, 0, SEEK_CUR);
	return at < 0 ? 0 : pread(fd, to, room, at);
}

/* Packets are told by four bytes; text needs a line. The pipe's end shows as a hang-up. */
static bool is_enough(int fd, const struct stat *st, const char *p, size_t n, size_t room)
{
	struct pollfd poll_fd = { .fd = fd, .events = 0 };

	if (!S_ISFIFO(st->st_mode) || n == room || memchr(p, '\n', n))
		return true;
	if (n >= 4 && ((unsigned char)p[0] > 126 || (unsigned char)p[0] < 9))
		return true;
	return poll(&poll_fd, 1, 10) > 0 && poll_fd.revents & POLLHUP;
}

static bool peek_stdin(char *to, size_t room, size_t *ret_n, struct err *e)
{
	struct stat st;
	int64_t until_ns = clock_real_mono_ns() + NS_PER_S;
	ssize_t n;

	errno = 0;
	if (fstat(STDIN_FILENO, &st) != 0)
		return err_os(e, ERR_INPUT, errno, "could not read standard input");
	do {
		/* A signal in the look before: nobody would hear it in the read to come. */
		if (errno == EINTR)
			return err_set(e, ERR_INTERRUPTED, "interrupted");
		n = peek_once(STDIN_FILENO, &st, to, room);
		if (n < 0 && errno == EINTR)
			return err_set(e, ERR_INTERRUPTED, "interrupted");
		if (n < 0)
			return err_os(e, ERR_INPUT, errno, "could not read standard input");
	} while (n && !is_enough(STDIN_FILENO, &st, to, (size_t)n, room) &&
		 clock_real_mono_ns() < until_ns);
	*ret_n = (size_t)n;
	return true;
}

bool sniff_peek(const char *path, char *to, size_t room, size_t *ret_n, struct err *e)
{
	CLEANUP(file_close_fd) int fd = -1;

	if (strcmp(path, "-") == 0)
		return peek_stdin(to, room, ret_n, e);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_os(e, ERR_INPUT, errno, "could not open '%s'", path);
	ssize_t n = read(fd, to, room);
	if (n < 0)
		return err_os(e, ERR_INPUT, errno, "could not read '%s'", path);
	*ret_n = (size_t)n;
	return true;
}
