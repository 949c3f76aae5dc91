#include "core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void file_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool open_for_read(const char *path, int *ret_fd, struct err *e)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0) {
		err_os(e, errno == ENOENT || errno == ENOTDIR ? ERR_INPUT : ERR_ENV, errno,
			"could not open '%s'", path);
		return false;
	}
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return err_set(e, ERR_INPUT, "'%s' is a folder, not a file", path);
	}
	*ret_fd = fd;
	return true;
}

bool file_read(const char *path, size_t max_bytes, struct buf *into, struct err *e)
{
	CLEANUP(file_close_fd) int fd = -1;
	size_t before = into->n;

	if (!open_for_read(path, &fd, e))
		return false;
	for (;;) {
		char *p = buf_room(into, 64 * 1024);
		if (!p)
			return err_set(
				e, ERR_INPUT, "'%s' does not fit in the memory given to it", path);
		ssize_t n = read(fd, p, 64 * 1024);
		if (n < 0)
			return err_os(e, ERR_ENV, errno, "could not read '%s'", path);
		into->n += (size_t)n;
		into->p[into->n] = '\0';
		if (n == 0)
			return true;
		if (into->n - before > max_bytes)
			return err_set(
				e, ERR_INPUT, "'%s' is larger than %zu bytes", path, max_bytes);
	}
}

bool file_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

bool file_is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool file_may_write(const char *path, bool is_forced, struct err *e)
{
	if (file_is_dir(path))
		return err_set(e, ERR_USAGE, "'%s' is a folder", path);
	if (is_forced || !file_exists(path))
		return true;
	err_set(e, ERR_USAGE, "'%s' exists", path);
	return err_hint(e, "--force overwrites it");
}

bool file_is_apart(const char *output, const char *const *inputs, size_t count, struct err *e)
{
	struct stat out, in;

	if (!output || stat(output, &out) != 0 || !S_ISREG(out.st_mode))
		return true;
	for (size_t i = 0; i < count; i++)
		if (inputs[i] && stat(inputs[i], &in) == 0 && in.st_dev == out.st_dev &&
			in.st_ino == out.st_ino) {
			err_set(e, ERR_USAGE, "'%s' is both input and output", output);
			return err_hint(e, "name another file with -o");
		}
	return true;
}

static bool write_all(int fd, struct slice bytes)
{
	while (bytes.n) {
		ssize_t n = write(fd, bytes.p, bytes.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		bytes.p += n;
		bytes.n -= (size_t)n;
	}
	return true;
}

/* A device or pipe (-o /dev/stdout) cannot be renamed over. */
static bool is_plain_target(const char *path)
{
	struct stat st;

	return stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
}

static bool write_in_place(const char *path, struct slice bytes, struct err *e)
{
	CLEANUP(file_close_fd) int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 || !write_all(fd, bytes))
		return err_os(e, ERR_ENV, errno, "could not write '%s'", path);
	return true;
}

/* The mode a plain open() would give: umask is per process, so asking for it is a race. */
static mode_t new_file_mode(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mode & 0777 : 0;
}

int file_open_beside(const char *path, char beside[4096])
{
	beside[0] = '\0';
	if (!is_plain_target(path))
		return open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	for (unsigned i = 0; i < 100; i++) {
		int n = snprintf(beside, 4096, "%s.%d-%u.new", path, (int)getpid(), i);

		if (n < 0 || n >= 4096) {
			errno = ENAMETOOLONG;
			return -1;
		}
		int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

bool file_write(const char *path, struct slice bytes, bool is_forced, struct err *e)
{
	CLEANUP(file_close_fd) int fd = -1;
	char beside[4096];

	if (!is_plain_target(path))
		return write_in_place(path, bytes, e);
	if (!file_may_write(path, is_forced, e))
		return false;
	fd = file_open_beside(path, beside);
	if (fd < 0)
		return err_os(e, ERR_ENV, errno, "could not write '%s'", path);
	mode_t mode = new_file_mode(path);
	if ((mode && fchmod(fd, mode) != 0) || !write_all(fd, bytes) || fsync(fd) != 0 ||
		rename(beside, path) != 0) {
		int failed = errno;

		unlink(beside);
		return err_os(e, ERR_ENV, failed, "could not write '%s'", path);
	}
	return true;
}

bool file_make_dirs(const char *path, mode_t mode, struct err *e)
{
	char at[4096];
	size_t n = strlen(path);

	if (n == 0 || n >= sizeof(at))
		return err_set(e, ERR_USAGE, "cannot make a folder named '%s'", path);
	memcpy(at, path, n + 1);
	for (size_t i = 1; i <= n; i++) {
		if (at[i] != '/' && at[i] != '\0')
			continue;
		char kept = at[i];
		at[i] = '\0';
		if (mkdir(at, mode) != 0) {
			int failed = errno; /* that of the stat says nothing */

			if (!file_is_dir(at))
				return err_os(
					e, ERR_ENV, failed, "could not make the folder '%s'", at);
		}
		at[i] = kept;
	}
	return true;
}
