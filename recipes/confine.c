#include "recipes/confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP_MAX 120
#define PARTS_MAX 24

/* Where the new root is put together; the old root stays beneath until it is left. */
static const char build_at[] = "/mnt";

/* What is seen of the system, read-only. Links are made again as links. */
static const char *const system_parts[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64",
	"/libx32", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/ld.so.cache",
	"/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime",
	"/etc/postgresql-common", "/etc/ssl/openssl.cnf", "/dev/null", "/dev/zero", "/dev/full",
	"/dev/random", "/dev/urandom" };

static bool fail(char step[STEP_MAX], const char *what, const char *path)
{
	snprintf(step, STEP_MAX, "%s%s%.80s", what, path ? " " : "", path ? path : "");
	return false;
}

/* ---- the new root: async-signal-safe is not needed, the caller is single-threaded */

struct part {
	char at[PATH_MAX]; /* below the new root */
	char link[PATH_MAX]; /* target, when it is a link */
	int fd; /* a detached mount, or -1 */
	bool is_dir;
};

static bool take_part(struct part *p, const char *from, const char *at, char step[STEP_MAX])
{
	struct stat st;
	ssize_t n;

	*p = (struct part){ .fd = -1 };
	snprintf(p->at, sizeof(p->at), "%s%s", build_at, at);
	if (lstat(from, &st) != 0)
		return errno == ENOENT ? true : fail(step, "look at", from);
	if (S_ISLNK(st.st_mode)) {
		n = readlink(from, p->link, sizeof(p->link) - 1);
		return n > 0 ? true : fail(step, "read the link", from);
	}
	p->is_dir = S_ISDIR(st.st_mode);
	p->fd = (int)syscall(SYS_open_tree, AT_FDCWD, from,
		OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (p->is_dir ? AT_RECURSIVE : 0));
	return p->fd >= 0 ? true : fail(step, "take hold of", from);
}

static bool make_parents(const char *path, char step[STEP_MAX])
{
	char part[PATH_MAX];

	for (const char *at = path + 1; (at = strchr(at, '/')); at++) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		if (mkdir(part, 0755) != 0 && errno != EEXIST)
			return fail(step, "make the folder", part);
	}
	return true;
}

static bool put_part(const struct part *p, bool is_read_only, char step[STEP_MAX])
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };
	int fd;

	if (p->link[0])
		return make_parents(p->at, step) &&
		       (symlink(p->link, p->at) == 0 || fail(step, "make the link", p->at));
	if (p->fd < 0)
		return true;
	if (!make_parents(p->at, step))
		return false;
	if (p->is_dir) {
		if (mkdir(p->at, 0755) != 0 && errno != EEXIST)
			return fail(step, "make the folder", p->at);
	} else {
		fd = open(p->at, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0)
			return fail(step, "make the place", p->at);
		close(fd);
	}
	if (is_read_only && syscall(SYS_mount_setattr, p->fd, "", AT_EMPTY_PATH | AT_RECURSIVE,
				    &attr, sizeof(attr)) != 0)
		return fail(step, "protect", p->at);
	if (syscall(SYS_move_mount, p->fd, "", AT_FDCWD, p->at, MOVE_MOUNT_F_EMPTY_PATH) != 0)
		return fail(step, "mount", p->at);
	return true;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A copy, because the unprivileged user may not be allowed to read the original. */
static bool put_file(int from, const char *at, char step[STEP_MAX])
{
	char bytes[65536];
	ssize_t n;
	int to;

	if (!make_parents(at, step))
		return false;
	to = open(at, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (to < 0)
		return fail(step, "make", at);
	while ((n = read(from, bytes, sizeof(bytes))) > 0 && write(to, bytes, (size_t)n) == n)
		;
	return (n == 0 && fchmod(to, 0755) == 0 && close(to) == 0) || fail(step, "copy", at);
}

static bool make_folders(char step[STEP_MAX])
{
	static const struct {
		const char *at;
		mode_t mode;
	} folders[] = { { "/mnt/tmp", 01777 }, { "/mnt/home", 0755 }, { "/mnt/home/job", 0777 },
		{ "/mnt/proc", 0755 } };

	for (size_t i = 0; i < LENGTH(folders); i++) {
		if ((mkdir(folders[i].at, 0755) != 0 && errno != EEXIST) ||
			chmod(folders[i].at, folders[i].mode) != 0)
			return fail(step, "make the folder", folders[i].at);
	}
	return true;
}

static bool leave_old_root(char step[STEP_MAX])
{
	if (chdir(build_at) != 0)
		return fail(step, "enter", build_at);
	if (syscall(SYS_pivot_root, ".", ".") != 0)
		return fail(step, "change the root to", build_at);
	if (umount2(".", MNT_DETACH) != 0)
		return fail(step, "let go of the old root", NULL);
	return chdir("/job") == 0 || fail(step, "enter", "/job");
}

static bool new_root(const struct confine *c, char step[STEP_MAX])
{
	struct part parts[PARTS_MAX], socket;
	int file = open(c->file, O_RDONLY | O_CLOEXEC);
	char at[PATH_MAX], file_at[PATH_MAX];
	struct stat st;
	bool ok = true;

	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return fail(step, "keep mounts apart", NULL);
	for (size_t i = 0; i < LENGTH(system_parts); i++) {
		if (!take_part(&parts[i], system_parts[i], system_parts[i], step))
			return false;
	}
	snprintf(at, sizeof(at), "/target/%s", base_name(c->socket));
	if (!take_part(&socket, c->socket, at, step))
		return false;
	snprintf(file_at, sizeof(file_at), "%s/job/%s", build_at, base_name(c->file));
	if (socket.fd < 0 || file < 0)
		return fail(step, "open", socket.fd < 0 ? c->socket : c->file);
	if (stat(build_at, &st) != 0)
		return fail(step, "find", build_at);
	if (mount("none", build_at, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=64m") != 0)
		return fail(step, "mount memory at", build_at);
	for (size_t i = 0; i < LENGTH(system_parts) && ok; i++)
		ok = put_part(&parts[i], strncmp(system_parts[i], "/dev/", 5) != 0, step);
	return ok && put_part(&socket, false, step) && put_file(file, file_at, step) &&
	       make_folders(step) && leave_old_root(step);
}

/* ---- namespaces */

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* A user namespace in which we are who we were, and may mount. */
static bool enter_user_namespace(char step[STEP_MAX])
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char line[64];

	if (unshare(CLONE_NEWUSER) != 0)
		return fail(step, "make a user namespace", NULL);
	if (!write_text("/proc/self/setgroups", "deny"))
		return fail(step, "deny groups in the user namespace", NULL);
	snprintf(line, sizeof(line), "%u %u 1", uid, uid);
	if (!write_text("/proc/self/uid_map", line))
		return fail(step, "map the user", NULL);
	snprintf(line, sizeof(line), "%u %u 1", gid, gid);
	return write_text("/proc/self/gid_map", line) || fail(step, "map the group", NULL);
}

static bool enter_namespaces(const struct confine *c, char step[STEP_MAX])
{
	if (!c->has_user && !enter_user_namespace(step))
		return false;
	if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS) != 0)
		return fail(step, "make namespaces", NULL);
	return true;
}

static bool drop_rights(const struct confine *c, char step[STEP_MAX])
{
	if (c->has_user && (setgroups(0, NULL) != 0 || setgid(c->gid) != 0 || setuid(c->uid) != 0))
		return fail(step, "become the unprivileged user", NULL);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ||
	       fail(step, "give up new rights", NULL);
}

static void say(int fd, const char *step)
{
	char line[STEP_MAX + 64];
	int n = snprintf(line, sizeof(line), "could not %s: %s", step, strerror(errno));
	ssize_t written = write(fd, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);

	(void)written;
}

/* ---- the command */

struct environment {
	char words[13][PATH_MAX + 64];
	char *list[14];
};

/* PGOPTIONS is split at white space; a backslash keeps a character. */
static void escape_option(const char *text, char *to)
{
	for (; *text; text++) {
		if (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\\')
			*to++ = '\\';
		*to++ = *text;
	}
	*to = '\0';
}

static char **environment(struct environment *v, const struct confine *c)
{
	char role[2 * sizeof(c->role)];
	size_t n = 0;

	escape_option(c->role, role);
#define WORD(...) snprintf(v->words[n++], sizeof(v->words[0]), __VA_ARGS__)
	WORD("PATH=%s%s/usr/local/bin:/usr/bin:/bin", c->bin_dir, *c->bin_dir ? ":" : "");
	WORD("HOME=%s", c->is_open ? "/nonexistent" : "/home/job");
	WORD("PGHOST=%s", c->is_open ? c->host : "/target");
	WORD("PGPORT=%d", c->port);
	WORD("PGDATABASE=%s", c->database);
	WORD("PGUSER=%s", c->user);
	WORD("PGPASSFILE=/nonexistent");
	WORD("PGSERVICEFILE=/nonexistent");
	WORD("PGSYSCONFDIR=/nonexistent");
	WORD("PGAPPNAME=reprod job");
	WORD("LANG=C.UTF-8");
	if (*c->role)
		WORD("PGOPTIONS=-c role=%s", role);
#undef WORD
	for (size_t i = 0; i < n; i++)
		v->list[i] = v->words[i];
	v->list[n] = NULL;
	return v->list;
}

static void plain_signals(void)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &plain, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void run_command(const struct confine *c, int log_fd, int say_fd)
{
	struct environment v;
	char sh[] = "sh", path[PATH_MAX], *argv[3] = { sh, path, NULL };
	char step[STEP_MAX];
	int null_fd = open("/dev/null", O_RDONLY);

	if (c->is_open)
		snprintf(path, sizeof(path), "%s", c->file);
	else
		snprintf(path, sizeof(path), "/job/%s", base_name(c->file));
	if (!c->is_open)
		mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	if (!drop_rights(c, step)) {
		say(say_fd, step);
		_exit(126);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (null_fd >= 0)
		dup2(null_fd, 0);
	dup2(log_fd, 1);
	dup2(log_fd, 2);
	close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
	execve("/bin/sh", argv, environment(&v, c));
	snprintf(step, sizeof(step), "start /bin/sh");
	say(say_fd, step);
	_exit(127);
}

/* Waits for the command, which is process 1 of its namespace, and ends as it did. */
_Noreturn static void stand_by(pid_t pid, int say_fd)
{
	int status = 0;

	close(say_fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		_exit(128 + WTERMSIG(status));
	_exit(WEXITSTATUS(status));
}

_Noreturn static void enter(const struct confine *c, int log_fd, int say_fd, pid_t parent)
{
	char step[STEP_MAX] = "";
	pid_t pid;

	setpgid(0, 0);
	plain_signals();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(126);
	if (c->is_open)
		run_command(c, log_fd, say_fd);
	if (!enter_namespaces(c, step)) {
		say(say_fd, step);
		_exit(126);
	}
	pid = fork();
	if (pid > 0)
		stand_by(pid, say_fd);
	if (pid < 0 || !new_root(c, step)) {
		say(say_fd, pid < 0 ? "start a process" : step);
		_exit(126);
	}
	if (log_fd < 0) {
		if (!drop_rights(c, step))
			say(say_fd, step);
		_exit(step[0] ? 126 : 0);
	}
	run_command(c, log_fd, say_fd);
}

/* log_fd -1: only try, run nothing. */
static pid_t spawn(const struct confine *c, int log_fd, struct err *e)
{
	char said[STEP_MAX + 64] = "";
	pid_t pid, parent = getpid();
	int fds[2];
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC) != 0) {
		err_os(e, ERR_ENV, errno, "could not make a pipe");
		return -1;
	}
	pid = fork();
	if (pid == 0)
		enter(c, log_fd, fds[1], parent);
	close(fds[1]);
	if (pid < 0) {
		err_os(e, ERR_ENV, errno, "could not start a process");
		close(fds[0]);
		return -1;
	}
	setpgid(pid, pid);
	do
		n = read(fds[0], said, sizeof(said) - 1);
	while (n < 0 && errno == EINTR);
	close(fds[0]);
	if (n <= 0)
		return pid;
	said[n] = '\0';
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	err_set(e, ERR_REFUSED, "a command cannot be confined here: %s", said);
	err_hint(
		e, "run it where namespaces are allowed, or accept the risk with --allow-commands");
	return -1;
}

pid_t confine_spawn(const struct confine *c, int log_fd, struct err *e)
{
	if (!c->is_open && !c->socket[0]) {
		err_set(e, ERR_REFUSED,
			"a confined command has no network, and the target is reached by TCP");
		err_hint(
			e, "give the target by its socket (host=/folder), or use --allow-commands");
		return -1;
	}
	return spawn(c, log_fd, e);
}

bool confine_check(const struct confine *c, struct err *e)
{
	int status = 0;
	pid_t pid;

	if (c->is_open)
		return true;
	if (!c->socket[0])
		return confine_spawn(c, -1, e) > 0;
	pid = spawn(c, -1, e);
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	return err_set(e, ERR_REFUSED, "a command cannot be confined here");
}

bool confine_user(struct confine *c, struct err *e)
{
	const struct passwd *pw;

	c->has_user = false;
	if (geteuid() != 0)
		return true;
	pw = getpwnam("nobody");
	if (!pw)
		return err_set(e, ERR_ENV, "there is no user 'nobody' to run commands as");
	c->uid = pw->pw_uid;
	c->gid = pw->pw_gid;
	c->has_user = true;
	return true;
}
