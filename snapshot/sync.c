#include "snapshot/sync.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"

enum { DEPTH_MAX = 32, PIECE = 256 * 1024, BLOCK = 8192 };

struct sync {
	const char *from, *to;
	const char *const *skip;
	struct sync_counts *counts;
	char *a, *b; /* PIECE bytes each */
	bool is_dry, is_root, no_reflink;
	struct err *e;
};

static bool failed(const struct sync *s, const char *verb, const char *name)
{
	return err_os(s->e, ERR_ENV, errno, "could not %s '%s' in '%s'", verb, name, s->to);
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static DIR *open_folder(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

static struct dirent *next_entry(const struct sync *s, DIR *dir, int depth)
{
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		bool is_skipped =
			strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;

		for (size_t i = 0; depth == 0 && s->skip && s->skip[i] && !is_skipped; i++)
			is_skipped = strcmp(s->skip[i], entry->d_name) == 0;
		if (!is_skipped)
			return entry;
	}
	return NULL;
}

/* ---- one file's bytes */

static bool write_block(struct sync *s, int fd, const char *p, size_t n, off_t at)
{
	while (n) {
		ssize_t done = pwrite(fd, p, n, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		s->counts->written_bytes += done;
		p += done;
		n -= (size_t)done;
		at += done;
	}
	return true;
}

static ssize_t read_fully(int fd, char *p, size_t n, off_t at)
{
	size_t used = 0;

	while (used < n) {
		ssize_t got = pread(fd, p + used, n - used, at + (off_t)used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

static bool copy_piece(struct sync *s, int out, off_t at, size_t have, size_t had)
{
	for (size_t i = 0; i < have; i += BLOCK) {
		size_t n = have - i < BLOCK ? have - i : BLOCK;

		if (i + n <= had && memcmp(s->a + i, s->b + i, n) == 0)
			continue;
		if (!write_block(s, out, s->a + i, n, at + (off_t)i))
			return false;
	}
	return true;
}

/* Measured on 374 MB after 8 s of pgbench: comparing takes as long as copying (0.3 s
 * from page cache), but 33 MB are then left for write-back instead of 374, which
 * would come down on the run that follows. */
static bool copy_differences(struct sync *s, int in, int out, off_t size)
{
	if (ftruncate(out, size) != 0)
		return false;
	for (off_t at = 0; at < size;) {
		ssize_t have = read_fully(in, s->a, PIECE, at),
			had = read_fully(out, s->b, PIECE, at);

		if (have <= 0 || had < 0 || !copy_piece(s, out, at, (size_t)have, (size_t)had))
			return false;
		at += have;
	}
	return true;
}

static bool copy_bytes(struct sync *s, int in, int out, off_t size)
{
	if (!s->no_reflink) {
		if (ioctl(out, FICLONE, in) == 0)
			return ftruncate(out, size) == 0;
		s->no_reflink = true;
		s->counts->is_reflink = false;
	}
	return copy_differences(s, in, out, size);
}

static bool put_file(struct sync *s, int from, int to, const char *name, const struct stat *st)
{
	CLEANUP(file_close_fd) int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP(file_close_fd)
	int out = openat(to, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct timespec times[2] = { st->st_atim, st->st_mtim };

	if (in < 0 || out < 0 || !copy_bytes(s, in, out, st->st_size))
		return failed(s, "put back", name);
	if ((s->is_root && fchown(out, st->st_uid, st->st_gid) != 0) ||
		fchmod(out, st->st_mode & 07777) != 0 || futimens(out, times) != 0)
		return failed(s, "put back", name);
	return true;
}

static bool put_link(struct sync *s, int from, int to, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return failed(s, "read the link", name);
	target[n] = '\0';
	return symlinkat(target, to, name) == 0 || failed(s, "put back the link", name);
}

/* ---- trees */

static bool is_same(int from, int to, const char *name, const struct stat *a, const struct stat *b)
{
	char x[PATH_MAX], y[PATH_MAX];

	if ((a->st_mode & S_IFMT) != (b->st_mode & S_IFMT))
		return false;
	if (S_ISREG(a->st_mode))
		return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
		       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
	if (!S_ISLNK(a->st_mode))
		return true;
	ssize_t n = readlinkat(from, name, x, sizeof(x)), m = readlinkat(to, name, y, sizeof(y));
	return n >= 0 && n == m && memcmp(x, y, (size_t)n) == 0;
}

static bool remove_entry(struct sync *s, int parent, const char *name, int depth);

static bool remove_inside(struct sync *s, int parent, const char *name, int depth)
{
	CLEANUP(close_dir) DIR *dir = depth > DEPTH_MAX ? NULL : open_folder(parent, name);
	struct dirent *entry;

	if (!dir)
		return failed(s, "open", name);
	while ((entry = next_entry(s, dir, depth)))
		if (!remove_entry(s, dirfd(dir), entry->d_name, depth + 1))
			return false;
	return true;
}

static bool remove_entry(struct sync *s, int parent, const char *name, int depth)
{
	s->counts->removed++;
	if (s->is_dry || unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return true;
	if (errno != EISDIR && errno != EPERM)
		return failed(s, "remove", name);
	return remove_inside(s, parent, name, depth + 1) &&
	       (unlinkat(parent, name, AT_REMOVEDIR) == 0 || failed(s, "remove", name));
}

static bool sync_folder(struct sync *s, DIR *from, DIR *to, int depth);

static bool enter(struct sync *s, int from, int to, const char *name, const struct stat *st,
	bool exists, int depth)
{
	CLEANUP(close_dir) DIR *in = open_folder(from, name), *out = NULL;

	if (!in)
		return failed(s, "open", name);
	if (!exists) {
		s->counts->changed++;
		if (s->is_dry)
			return true;
		if (mkdirat(to, name, st->st_mode & 07777) != 0 ||
			(s->is_root && fchownat(to, name, st->st_uid, st->st_gid,
					       AT_SYMLINK_NOFOLLOW) != 0))
			return failed(s, "make", name);
	}
	out = open_folder(to, name);
	return out ? sync_folder(s, in, out, depth + 1) : failed(s, "open", name);
}

static bool sync_entry(struct sync *s, int from, int to, const char *name, int depth)
{
	struct stat a, b;
	bool exists = fstatat(to, name, &b, AT_SYMLINK_NOFOLLOW) == 0;

	if (fstatat(from, name, &a, AT_SYMLINK_NOFOLLOW) != 0)
		return failed(s, "read", name);
	if (exists && (a.st_mode & S_IFMT) != (b.st_mode & S_IFMT)) {
		if (!remove_entry(s, to, name, depth))
			return false;
		exists = false;
	}
	if (S_ISDIR(a.st_mode))
		return enter(s, from, to, name, &a, exists, depth);
	s->counts->files++;
	s->counts->bytes += a.st_size;
	if (exists && is_same(from, to, name, &a, &b))
		return true;
	s->counts->changed++;
	if (s->is_dry)
		return true;
	if (S_ISREG(a.st_mode))
		return put_file(s, from, to, name, &a);
	if (exists && unlinkat(to, name, 0) != 0)
		return failed(s, "replace", name);
	return !S_ISLNK(a.st_mode) || put_link(s, from, to, name);
}

static bool remove_extra(struct sync *s, int from, DIR *to, int depth)
{
	struct dirent *entry;
	struct stat st;

	rewinddir(to);
	while ((entry = next_entry(s, to, depth)))
		if (fstatat(from, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
			errno == ENOENT && !remove_entry(s, dirfd(to), entry->d_name, depth))
			return false;
	return true;
}

static bool sync_folder(struct sync *s, DIR *from, DIR *to, int depth)
{
	struct dirent *entry;

	if (depth > DEPTH_MAX)
		return err_set(s->e, ERR_INPUT, "'%s' has folders too deep", s->from);
	while ((entry = next_entry(s, from, depth)))
		if (!sync_entry(s, dirfd(from), dirfd(to), entry->d_name, depth))
			return false;
	return remove_extra(s, dirfd(from), to, depth);
}

static bool sync_any(struct sync *s)
{
	CLEANUP(close_dir) DIR *from = open_folder(AT_FDCWD, s->from);
	CLEANUP(close_dir) DIR *to = open_folder(AT_FDCWD, s->to);
	bool ok;

	*s->counts = (struct sync_counts){ .is_reflink = true };
	if (!from)
		return err_os(s->e, ERR_ENV, errno, "could not open '%s'", s->from);
	if (!to)
		return err_os(s->e, ERR_ENV, errno, "could not open '%s'", s->to);
	s->is_root = geteuid() == 0;
	s->a = malloc(2 * PIECE);
	if (!s->a)
		return err_set(s->e, ERR_ENV, "out of memory");
	s->b = s->a + PIECE;
	ok = sync_folder(s, from, to, 0);
	free(s->a);
	return ok;
}

bool sync_tree(const char *from, const char *to, const char *const *skip, struct sync_counts *ret,
	struct err *e)
{
	struct sync s = { .from = from, .to = to, .skip = skip, .counts = ret, .e = e };

	return sync_any(&s);
}

bool sync_compare(const char *from, const char *to, const char *const *skip,
	struct sync_counts *ret, struct err *e)
{
	struct sync s = {
		.from = from, .to = to, .skip = skip, .counts = ret, .e = e, .is_dry = true
	};

	return sync_any(&s);
}
