/*
 * file_tree.c - the parts of file.h that walk a folder: remove, copy, own.
 */
#include "core/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* The next entry but . and ..; NULL at the end or on an error (then errno is set). */
static struct dirent *next_entry(DIR *d)
{
	for (;;) {
		errno = 0;
		struct dirent *entry = readdir(d);

		if (!entry || (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0))
			return entry;
	}
}

/* Takes over fd. */
static bool open_dir(int fd, const char *path, DIR **ret, struct err *e)
{
	*ret = fd < 0 ? NULL : fdopendir(fd);
	if (*ret)
		return true;
	int failed = errno;
	if (fd >= 0)
		close(fd);
	return err_os(e, ERR_ENV, failed, "could not read the folder '%s'", path);
}

static int open_sub(int parent, const char *name)
{
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool too_deep(int depth, const char *path, struct err *e)
{
	if (depth < DEPTH_MAX)
		return false;
	err_set(e, ERR_INPUT, "'%s' has folders more than %d deep", path, DEPTH_MAX);
	return true;
}

/* ---- remove */

static bool remove_inside(int dir_fd, const char *path, int depth, struct err *e);

static bool remove_entry(int parent, const char *name, const char *path, int depth, struct err *e)
{
	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return true;
	if (errno != EISDIR && errno != EPERM)
		return err_os(e, ERR_ENV, errno, "could not remove '%s' in '%s'", name, path);
	if (too_deep(depth, path, e) || !remove_inside(open_sub(parent, name), path, depth, e))
		return false;
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		return true;
	return err_os(e, ERR_ENV, errno, "could not remove '%s' in '%s'", name, path);
}

static bool remove_inside(int dir_fd, const char *path, int depth, struct err *e)
{
	CLEANUP(close_dir) DIR *dir = NULL;
	struct dirent *entry;

	if (!open_dir(dir_fd, path, &dir, e))
		return false;
	while ((entry = next_entry(dir)))
		if (!remove_entry(dirfd(dir), entry->d_name, path, depth + 1, e))
			return false;
	if (errno)
		return err_os(e, ERR_ENV, errno, "could not read the folder '%s'", path);
	return true;
}

/* True for "/", "/tmp", "/tmp/", "//tmp": nobody means those. */
static bool is_top_level(const char *path)
{
	char real[PATH_MAX];

	if (realpath(path, real))
		path = real;
	if (path[0] != '/')
		return false;
	path += strspn(path, "/");
	path += strcspn(path, "/");
	return path[strspn(path, "/")] == '\0';
}

bool file_remove_tree(const char *path, struct err *e)
{
	struct stat st;

	if (!path[0] || is_top_level(path))
		return err_set(e, ERR_REFUSED, "refusing to remove '%s'", path);
	if (lstat(path, &st) != 0)
		return errno == ENOENT ? true
				       : err_os(e, ERR_ENV, errno, "could not remove '%s'", path);
	return remove_entry(AT_FDCWD, path, path, 0, e);
}

/* ---- copy */

struct copy {
	const char *from;
	bool has_copied_bytes; /* some file could not be shared by reflink */
	bool no_reflink; /* the file system said so: not asked again */
	bool is_root;
};

static bool copy_failed(const struct copy *c, const char *name, struct err *e)
{
	return err_os(e, ERR_ENV, errno, "could not copy '%s' of '%s'", name, c->from);
}

/* Bytes by read and write: between file systems that refuse copy_file_range. */
static bool copy_by_hand(int in, int out, off_t at, off_t end)
{
	enum { PIECE = 256 * 1024 };
	char *bytes = malloc(PIECE);

	if (!bytes)
		return false;
	while (at < end) {
		size_t want = end - at < PIECE ? (size_t)(end - at) : PIECE;
		ssize_t n = pread(in, bytes, want, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || pwrite(out, bytes, (size_t)n, at) != n)
			break;
		at += n;
	}
	free(bytes);
	return at >= end;
}

static bool copy_range(int in, int out, off_t at, off_t end)
{
	off_t to = at;

	while (at < end) {
		ssize_t n = copy_file_range(in, &at, out, &to, (size_t)(end - at), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS ||
				     errno == EOPNOTSUPP))
			return copy_by_hand(in, out, at, end);
		if (n < 0)
			return false;
		/* The file shrank under us: what is missing stays a hole. */
		if (n == 0)
			return true;
	}
	return true;
}

static bool copy_data(int in, int out, off_t size)
{
	for (off_t at = 0; at < size;) {
		off_t data = lseek(in, at, SEEK_DATA);

		if (data < 0 && errno == ENXIO)
			break;
		if (data < 0)
			return copy_range(in, out, at, size);
		off_t hole = lseek(in, data, SEEK_HOLE);
		if (hole < 0 || !copy_range(in, out, data, hole))
			return false;
		at = hole;
	}
	return ftruncate(out, size) == 0;
}

static bool keep_metadata(const struct copy *c, int fd, const struct stat *st)
{
	struct timespec times[2] = { st->st_atim, st->st_mtim };

	/* Owner first: chown clears the set-id bits. */
	if (c->is_root && fchown(fd, st->st_uid, st->st_gid) != 0)
		return false;
	return fchmod(fd, st->st_mode & 07777) == 0 && futimens(fd, times) == 0;
}

static bool copy_bytes(struct copy *c, int in, int out, off_t size)
{
	if (!c->no_reflink) {
		if (ioctl(out, FICLONE, in) == 0)
			return true;
		if (errno != EOPNOTSUPP && errno != EXDEV && errno != EINVAL && errno != ENOTTY &&
			errno != ETXTBSY)
			return false;
		c->no_reflink = true;
	}
	c->has_copied_bytes = c->has_copied_bytes || size > 0;
	return copy_data(in, out, size);
}

static bool copy_file(
	struct copy *c, int from, int to, const char *name, const struct stat *st, struct err *e)
{
	CLEANUP(file_close_fd) int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP(file_close_fd) int out = -1;

	if (in < 0)
		return copy_failed(c, name, e);
	out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0 || !copy_bytes(c, in, out, st->st_size) || !keep_metadata(c, out, st))
		return copy_failed(c, name, e);
	return true;
}

static bool copy_link(
	struct copy *c, int from, int to, const char *name, const struct stat *st, struct err *e)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return copy_failed(c, name, e);
	target[n] = '\0';
	if (symlinkat(target, to, name) != 0)
		return copy_failed(c, name, e);
	if (c->is_root && fchownat(to, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) != 0)
		return copy_failed(c, name, e);
	struct timespec times[2] = { st->st_atim, st->st_mtim };
	return utimensat(to, name, times, AT_SYMLINK_NOFOLLOW) == 0 || copy_failed(c, name, e);
}

static bool copy_dir(struct copy *c, int from, int to, const char *name, const struct stat *st,
	int depth, struct err *e);

static bool copy_entry(struct copy *c, int from, int to, const char *name, int depth, struct err *e)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		/* A running server's files may go at any instant. */
		return errno == ENOENT || copy_failed(c, name, e);
	if (S_ISDIR(st.st_mode))
		return copy_dir(c, from, to, name, &st, depth, e);
	if (S_ISREG(st.st_mode))
		return copy_file(c, from, to, name, &st, e);
	if (S_ISLNK(st.st_mode))
		return copy_link(c, from, to, name, &st, e);
	/* Sockets, pipes and devices belong to whoever made them. */
	return true;
}

static bool copy_inside(struct copy *c, DIR *from, int to, int depth, struct err *e)
{
	struct dirent *entry;

	while ((entry = next_entry(from)))
		if (!copy_entry(c, dirfd(from), to, entry->d_name, depth, e))
			return false;
	if (errno)
		return err_os(e, ERR_ENV, errno, "could not read the folder '%s'", c->from);
	return true;
}

static bool copy_dir(struct copy *c, int from, int to, const char *name, const struct stat *st,
	int depth, struct err *e)
{
	CLEANUP(close_dir) DIR *in = NULL;
	CLEANUP(file_close_fd) int out = -1;

	if (too_deep(depth, c->from, e) || !open_dir(open_sub(from, name), c->from, &in, e))
		return false;
	if (mkdirat(to, name, 0700) != 0)
		return copy_failed(c, name, e);
	out = open_sub(to, name);
	if (out < 0)
		return copy_failed(c, name, e);
	/* Times last: filling the folder changes them. */
	return copy_inside(c, in, out, depth + 1, e) &&
	       (keep_metadata(c, out, st) || copy_failed(c, name, e));
}

bool file_copy_tree(const char *from, const char *to, bool *ret_is_reflink, struct err *e)
{
	struct copy c = { .from = from, .is_root = geteuid() == 0 };
	CLEANUP(close_dir) DIR *in = NULL;
	CLEANUP(file_close_fd) int out = -1;
	struct stat st;

	if (!open_dir(open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC), from, &in, e))
		return false;
	if (fstat(dirfd(in), &st) != 0)
		return copy_failed(&c, ".", e);
	if (mkdir(to, 0700) != 0)
		return err_os(e, errno == EEXIST ? ERR_USAGE : ERR_ENV, errno,
			"could not make the folder '%s'", to);
	out = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out < 0)
		return err_os(e, ERR_ENV, errno, "could not open '%s'", to);
	if (!copy_inside(&c, in, out, 1, e))
		return false;
	if (!keep_metadata(&c, out, &st))
		return copy_failed(&c, ".", e);
	if (ret_is_reflink)
		*ret_is_reflink = !c.has_copied_bytes;
	return true;
}

/* ---- own */

static bool own_inside(int dir_fd, const char *path, uid_t uid, gid_t gid, int depth, struct err *e)
{
	CLEANUP(close_dir) DIR *dir = NULL;
	struct dirent *entry;

	if (too_deep(depth, path, e) || !open_dir(dir_fd, path, &dir, e))
		return false;
	while ((entry = next_entry(dir))) {
		struct stat st;
		int fd = dirfd(dir);

		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
			fchownat(fd, entry->d_name, uid, gid, AT_SYMLINK_NOFOLLOW) != 0) {
			if (errno == ENOENT)
				continue;
			return err_os(e, ERR_ENV, errno, "could not give '%s' of '%s' to user %u",
				entry->d_name, path, (unsigned)uid);
		}
		if (S_ISDIR(st.st_mode) &&
			!own_inside(open_sub(fd, entry->d_name), path, uid, gid, depth + 1, e))
			return false;
	}
	if (errno)
		return err_os(e, ERR_ENV, errno, "could not read the folder '%s'", path);
	return true;
}

bool file_own_tree(const char *path, uid_t uid, gid_t gid, struct err *e)
{
	if (geteuid() != 0)
		return true;
	if (lchown(path, uid, gid) != 0)
		return err_os(
			e, ERR_ENV, errno, "could not give '%s' to user %u", path, (unsigned)uid);
	return !file_is_dir(path) ||
	       own_inside(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), path, uid, gid, 0, e);
}
