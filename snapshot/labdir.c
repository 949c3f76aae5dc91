#include "snapshot/labdir.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/driver/pgserver.h"

#define JSON_MAX (16 << 20)
#define QUIET_NS (20 * NS_PER_S)

bool labdir_of(struct labdir *d, const char *path, struct err *e)
{
	char parent[PATH_MAX], name[PATH_MAX], real[PATH_MAX];

	*d = (struct labdir){ 0 };
	if (!path[0] || strlen(path) >= PATH_MAX)
		return err_set(e, ERR_USAGE, "a folder is needed");
	snprintf(parent, sizeof(parent), "%s", path);
	snprintf(name, sizeof(name), "%s", path);
	if (realpath(path, real)) {
		snprintf(parent, sizeof(parent), "%s", real);
		snprintf(name, sizeof(name), "%s", real);
	}
	const char *last = basename(name);
	if (strcmp(last, "/") == 0 || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
		return err_set(e, ERR_USAGE, "'%s' cannot be a lab", path);
	if (!realpath(dirname(parent), real))
		return err_os(
			e, ERR_ENV, errno, "could not find the folder that '%s' lies in", path);
	int n = snprintf(d->dir, sizeof(d->dir), "%s/%s", strcmp(real, "/") == 0 ? "" : real, last);
	if (n < 0 || (size_t)n >= sizeof(d->dir))
		return err_set(e, ERR_USAGE, "the path '%.80s...' is too long", path);
	snprintf(d->frozen, sizeof(d->frozen), "%s.frozen", d->dir);
	snprintf(d->lock, sizeof(d->lock), "%s.lock", d->dir);
	snprintf(d->log, sizeof(d->log), "%s.log", d->dir);
	snprintf(d->building, sizeof(d->building), "%s.building", d->dir);
	return true;
}

void labdir_path(const char *dir, const char *name, char path[1100])
{
	snprintf(path, 1100, "%s/%s", dir, name);
}

static bool has(const char *dir, const char *name)
{
	char path[1100];

	labdir_path(dir, name, path);
	return file_exists(path);
}

bool labdir_is_ours(const struct labdir *d)
{
	return file_exists(d->building) || has(d->dir, LABDIR_MANIFEST);
}

bool labdir_check(const struct labdir *d, struct err *e)
{
	if (!file_is_dir(d->dir)) {
		err_set(e, ERR_INPUT, "there is no lab at '%s'", d->dir);
		return err_hint(e, "make one: reprod snapshot build SOURCE --into '%s'", d->dir);
	}
	if (file_exists(d->building)) {
		err_set(e, ERR_INPUT, "'%s' is half built: its build was interrupted", d->dir);
		return err_hint(e, "build it again with --force");
	}
	if (has(d->dir, LABDIR_MANIFEST))
		return true;
	err_set(e, ERR_REFUSED, "'%s' was not made by reprod: no %s", d->dir, LABDIR_MANIFEST);
	return err_hint(e, "make a lab of it: reprod snapshot build '%s' --into NEWDIR", d->dir);
}

/* ---- one process at a time */

/* The process that took the lock, 0 when it has not said so yet. */
static pid_t holder(int fd)
{
	char pid[32] = "";
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	return n > 0 ? atoi(pid) : 0;
}

static void say_holder(pid_t pid, const struct labdir *d, struct err *e)
{
	char id[32] = "";

	if (pid)
		snprintf(id, sizeof(id), ", id %d", (int)pid);
	err_set(e, ERR_ENV, "the lab '%s' is in use by another process%s", d->dir, id);
	err_hint(e, "wait until it has ended; labs in other folders can be used meanwhile");
}

/* The file may have been removed by its last holder since it was opened. */
static bool is_still_there(int fd, const char *path)
{
	struct stat ours, there;

	return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino &&
	       ours.st_dev == there.st_dev;
}

/* A holder that is gone was killed; its tools hold the lock until they notice. */
static bool try_lock(int fd, const struct labdir *d, const struct run *r)
{
	int64_t until_ns = clock_mono_ns(&r->clock) + QUIET_NS;
	const struct timespec nap = { .tv_nsec = 5 * NS_PER_MS };
	pid_t pid;

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		pid = holder(fd);
		if (!pid || kill(pid, 0) == 0 || errno != ESRCH || run_stopped(r) ||
			clock_mono_ns(&r->clock) > until_ns)
			return false;
		nanosleep(&nap, NULL);
	}
	return is_still_there(fd, d->lock);
}

bool labdir_lock(const struct labdir *d, int *ret_fd, const struct run *r, struct err *e)
{
	int fd = open(d->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	char pid[32];

	*ret_fd = -1;
	if (fd < 0)
		return err_os(e, ERR_ENV, errno, "could not open '%s'", d->lock);
	if (!try_lock(fd, d, r)) {
		say_holder(holder(fd), d, e);
		close(fd);
		return false;
	}
	int n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) != 0 || pwrite(fd, pid, (size_t)n, 0) != n) {
		err_os(e, ERR_ENV, errno, "could not write '%s'", d->lock);
		close(fd);
		return false;
	}
	*ret_fd = fd;
	return true;
}

void labdir_unlock(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void labdir_unlock_removed(const struct labdir *d, int *fd)
{
	if (*fd >= 0 && !file_exists(d->dir))
		unlink(d->lock);
	labdir_unlock(fd);
}

int labdir_postmaster(const char *dir)
{
	char path[1100];
	struct buf text = { 0 };
	struct err ignored = { 0 };
	int pid = 0;

	labdir_path(dir, "postmaster.pid", path);
	if (file_exists(path) && file_read(path, 4096, &text, &ignored))
		pid = atoi(buf_text(&text));
	buf_free(&text);
	/* A negative id is a single-user backend. */
	if (pid < 0)
		pid = -pid;
	return pid > 1 && (kill(pid, 0) == 0 || errno == EPERM) ? pid : 0;
}

bool labdir_wait_for_quiet(const char *dir, const struct run *r, struct err *e)
{
	int64_t until_ns = clock_mono_ns(&r->clock) + QUIET_NS;
	const struct timespec nap = { .tv_nsec = 5 * NS_PER_MS };
	int pid;

	/* Our servers die with their owner, within the time of an immediate shutdown. */
	while ((pid = labdir_postmaster(dir))) {
		if (run_stopped(r))
			return err_set(
				e, ERR_INTERRUPTED, "stopped while waiting for a server to end");
		if (clock_mono_ns(&r->clock) > until_ns) {
			err_set(e, ERR_ENV, "a server, process %d, runs on '%s'", pid, dir);
			return err_hint(e, "stop it: pg_ctl stop -D '%s'", dir);
		}
		nanosleep(&nap, NULL);
	}
	return true;
}

/* ---- files */

bool labdir_write(const char *dir, const char *name, struct slice bytes, struct err *e)
{
	char path[1100];
	uid_t uid;
	gid_t gid;
	bool has_user;

	labdir_path(dir, name, path);
	return file_write(path, bytes, true, e) && pgserver_user(&uid, &gid, &has_user, e) &&
	       file_own_tree(path, uid, gid, e);
}

bool labdir_write_json(const char *dir, const char *name, const struct json *j, struct err *e)
{
	struct buf text = { 0 };
	bool ok;

	json_write(j, true, &text);
	ok = labdir_write(dir, name, buf_slice(&text), e);
	buf_free(&text);
	return ok;
}

struct json *labdir_read_json(const char *dir, const char *name, struct err *e)
{
	char path[1100];

	labdir_path(dir, name, path);
	return json_load(path, JSON_MAX, e);
}
