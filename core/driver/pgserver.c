#include "core/driver/pgserver.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/driver/pg.h"
#include "core/driver/pginstall.h"

#define POLL_NS (10 * NS_PER_MS)
#define FAST_STOP_NS (120 * NS_PER_S)
/* The postmaster itself sends SIGKILL to children that outlive SIGQUIT by 5 s. */
#define QUICK_STOP_NS (15 * NS_PER_S)
#define ARGS_MAX 96
/* Names the socket folder of a server that could not clean up after itself. */
#define LEFTOVER_NAME "reprod.socket"
#define EMPTY_FOR_S 60

static void nap(int64_t ns)
{
	struct timespec t = { .tv_nsec = (long)ns };

	nanosleep(&t, NULL);
}

bool pgserver_dir_major(const char *data_dir, int *ret_major, struct err *e)
{
	char path[1100];
	struct buf text = { 0 };
	bool ok;

	snprintf(path, sizeof(path), "%s/PG_VERSION", data_dir);
	if (!file_exists(path)) {
		err_set(e, ERR_INPUT, "'%s' is not a Postgres data directory: no PG_VERSION",
			data_dir);
		return false;
	}
	ok = file_read(path, 64, &text, e);
	*ret_major = ok ? atoi(buf_text(&text)) : 0;
	buf_free(&text);
	if (ok && *ret_major < 10)
		return err_set(
			e, ERR_INPUT, "%s: no version that is supported (10 and later)", path);
	return ok;
}

/* ---- reaching the data directory as the unprivileged user */

/* The first folder on the way that others may not enter, for the message. */
static void find_closed_folder(const char *path, char found[PATH_MAX])
{
	char prefix[PATH_MAX];
	struct stat st;

	snprintf(found, PATH_MAX, "%s", path);
	for (size_t i = 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		snprintf(prefix, sizeof(prefix), "%.*s", (int)i, path);
		if (stat(prefix, &st) == 0 && !(st.st_mode & S_IXOTH)) {
			snprintf(found, PATH_MAX, "%s", prefix);
			return;
		}
	}
}

bool pgserver_can_reach(const char *dir, const struct run *r, struct err *e)
{
	const char *const argv[] = { "test", "-r", dir, "-a", "-x", dir, NULL };
	char closed[PATH_MAX];
	struct proc_spec spec = { .argv = argv, .cwd = "/" };
	struct proc p = { 0 };
	bool ok;

	if (!pgserver_user(&spec.uid, &spec.gid, &spec.has_user, e))
		return false;
	if (!proc_open(&p, &spec, e))
		return false;
	ok = proc_wait(&p, r, e);
	if (ok && proc_exit_code(&p) != 0) {
		find_closed_folder(dir, closed);
		err_set(e, ERR_ENV, "the server's user (uid %d) cannot reach '%s'", (int)spec.uid,
			closed);
		ok = err_hint(e,
			"as root, Postgres runs as an unprivileged user: use a folder it "
			"can enter, such as one under /var/tmp, or chmod o+x '%s'",
			closed);
	}
	proc_close(&p, 0);
	return ok;
}

/* ---- initdb */

bool pgserver_init(const char *data_dir, const struct run *r, struct err *e)
{
	char bin_dir[1024], initdb[1100], locale[32], real[PATH_MAX];
	struct proc_spec spec = { .cwd = "/" };

	if (!pgserver_find(0, bin_dir, e) ||
		!pgserver_user(&spec.uid, &spec.gid, &spec.has_user, e) ||
		!file_make_dirs(data_dir, 0700, e))
		return false;
	if (!realpath(data_dir, real))
		return err_os(e, ERR_ENV, errno, "could not find '%s'", data_dir);
	if (spec.has_user && !file_own_tree(real, spec.uid, spec.gid, e))
		return false;
	if (!pgserver_can_reach(real, r, e))
		return false;
	snprintf(initdb, sizeof(initdb), "%s/initdb", bin_dir);
	snprintf(locale, sizeof(locale), "--locale=%s",
		pginstall_has_locale("C.UTF-8") ? "C.UTF-8" : "C");
	const char *const argv[] = { initdb, "-D", real, "-U", "postgres", "-E", "UTF8", locale,
		"--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync", NULL };
	spec.argv = argv;
	return proc_run(&spec, r, NULL, e) || err_in(e, "initdb");
}

/* ---- start */

static bool free_port(int *ret_port, struct err *e)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
		  getsockname(fd, (struct sockaddr *)&a, &n) == 0;

	if (!ok)
		err_os(e, ERR_ENV, errno, "could not find a free port on 127.0.0.1");
	if (fd >= 0)
		close(fd);
	*ret_port = ntohs(a.sin_port);
	return ok;
}

static void leftover_path(const struct pgserver *s, char path[1100])
{
	snprintf(path, 1100, "%s/%s", s->data_dir, LEFTOVER_NAME);
}

/* A server that died with a parent killed by -9 leaves its socket folder. */
static void sweep_leftover(const struct pgserver *s)
{
	char path[1100];
	struct buf text = { 0 };
	struct err ignored = { 0 };

	leftover_path(s, path);
	if (!file_exists(path))
		return;
	if (file_read(path, 200, &text, &ignored)) {
		const char *dir = buf_text(&text);

		if (strncmp(dir, "/tmp/reprod-", 12) == 0 && !strchr(dir + 12, '/'))
			rmdir(dir);
	}
	buf_free(&text);
	unlink(path);
}

static bool is_socket_dir_name(const char *name)
{
	return strncmp(name, "reprod-", 7) == 0 && strlen(name) == 13 && !strchr(name + 7, '-');
}

/* A server stopped because we were killed by -9 empties its folder and cannot remove it.
 * Empty ones of ours are removed a while after; a server's is empty for a moment only. */
static void sweep_empty(const struct pgserver *s)
{
	DIR *dir = opendir("/tmp");
	struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir))) {
		if (!is_socket_dir_name(entry->d_name) ||
			fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
			!S_ISDIR(st.st_mode) || time(NULL) - st.st_mtime < EMPTY_FOR_S ||
			(st.st_uid != geteuid() && !(s->has_user && st.st_uid == s->uid)))
			continue;
		(void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	}
	if (dir)
		closedir(dir);
}

static bool make_socket_dir(struct pgserver *s, struct err *e)
{
	char path[1100];

	sweep_leftover(s);
	sweep_empty(s);
	snprintf(s->socket_dir, sizeof(s->socket_dir), "/tmp/reprod-XXXXXX");
	if (!mkdtemp(s->socket_dir)) {
		s->socket_dir[0] = '\0';
		return err_os(e, ERR_ENV, errno, "could not make a folder for the socket in /tmp");
	}
	if (s->has_user && chown(s->socket_dir, s->uid, s->gid) != 0)
		return err_os(e, ERR_ENV, errno, "could not give '%s' to the server's user",
			s->socket_dir);
	leftover_path(s, path);
	return file_write(path, slice_of(s->socket_dir), true, e);
}

static void remove_socket_dir(struct pgserver *s)
{
	char path[1100];

	if (!s->socket_dir[0])
		return;
	snprintf(path, sizeof(path), "%s/.s.PGSQL.%d", s->socket_dir, s->port);
	unlink(path);
	snprintf(path, sizeof(path), "%s/.s.PGSQL.%d.lock", s->socket_dir, s->port);
	unlink(path);
	rmdir(s->socket_dir);
	s->socket_dir[0] = '\0';
	leftover_path(s, path);
	unlink(path);
}

struct args {
	char text[16][1200];
	const char *argv[ARGS_MAX];
	size_t texts, count;
};

static void add_setting(struct args *a, const char *setting)
{
	if (a->count + 3 > ARGS_MAX)
		return;
	a->argv[a->count++] = "-c";
	a->argv[a->count++] = setting;
	a->argv[a->count] = NULL;
}

static void add_own(struct args *a, const char *name, const char *value)
{
	char *text = a->text[a->texts++];

	snprintf(text, sizeof(a->text[0]), "%s=%s", name, value);
	add_setting(a, text);
}

static bool build_args(
	struct args *a, const struct pgserver *s, const struct pgserver_options *o, struct err *e)
{
	char port[16];

	*a = (struct args){ 0 };
	snprintf(port, sizeof(port), "%d", s->port);
	snprintf(a->text[a->texts], sizeof(a->text[0]), "%s/postgres", s->bin_dir);
	a->argv[a->count++] = a->text[a->texts++];
	a->argv[a->count++] = "-D";
	a->argv[a->count++] = s->data_dir;
	/* A copied configuration's collector would take the log elsewhere; a caller's may. */
	add_own(a, "logging_collector", "off");
	for (size_t i = 0; o->settings && o->settings[i]; i++) {
		if (a->count + 20 > ARGS_MAX)
			return err_set(e, ERR_USAGE, "too many server settings");
		add_setting(a, o->settings[i]);
	}
	/* The later -c wins: where it listens is ours to say, and where the data is: a
	 * copied postgresql.conf may name another server's folder. */
	add_own(a, "data_directory", s->data_dir);
	add_own(a, "listen_addresses", s->has_tcp ? "127.0.0.1" : "");
	add_own(a, "port", port);
	add_own(a, "unix_socket_directories", s->socket_dir);
	/* Its folder, 0700, keeps others out; a confined job of another user is handed the
	 * socket alone. */
	add_own(a, "unix_socket_permissions", "0777");
	return true;
}

static bool fail_start(const struct pgserver *s, const char *what, struct err *e)
{
	char tail[400];

	pgserver_log_tail(s, tail, sizeof(tail));
	err_set(e, ERR_ENV, "the server in '%s' %s: %s", s->data_dir, what,
		tail[0] ? tail : "no output");
	return err_hint(e, "its log is %s", s->log_path);
}

static bool wait_until_up(
	struct pgserver *s, int64_t timeout_ns, const struct run *r, struct err *e)
{
	int64_t deadline_ns = clock_real_mono_ns() + timeout_ns;
	char dsn[1400];

	pgserver_dsn(s, "postgres", dsn, sizeof(dsn));
	for (;;) {
		proc_poll(&s->proc);
		if (s->proc.has_ended)
			return fail_start(s, "did not start", e);
		if (pg_answers(dsn))
			return true;
		if (run_stopped(r))
			return err_set(e, ERR_INTERRUPTED, "stopped while the server was starting");
		if (clock_real_mono_ns() > deadline_ns)
			return fail_start(s, "did not take connections in time", e);
		nap(POLL_NS);
	}
}

/* Trust ends at the socket's folder: over TCP every local user could come. The words
 * are kept out of the log, which may be read by others. */
static bool lock_tcp(struct pgserver *s, struct err *e)
{
	unsigned char key[16];
	char dsn[1400];
	struct pg *c CLEANUP(pg_cleanup) = NULL;

	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return err_os(e, ERR_ENV, errno, "could not get random bytes");
	for (size_t i = 0; i < sizeof(key); i++)
		snprintf(s->tcp_password + 2 * i, 3, "%02x", key[i]);
	pgserver_dsn(s, "postgres", dsn, sizeof(dsn));
	c = pg_open(dsn, &(struct pg_options){ 0 }, e);
	return c &&
	       pg_exec(c, e,
		       "SET log_statement = 'none'; SET log_min_duration_statement = -1; "
		       "SET password_encryption = 'scram-sha-256'") &&
	       pg_execf(c, e, "ALTER ROLE postgres PASSWORD '%s'", s->tcp_password);
}

static bool launch(
	struct pgserver *s, const struct pgserver_options *o, const struct run *r, struct err *e)
{
	struct args args;
	/* SIGQUIT is Postgres' immediate shutdown: its children go too, which SIGKILL to
	 * the postmaster would leave running for a while. */
	struct proc_spec spec = { .cwd = "/",
		.out_path = s->log_path,
		.uid = s->uid,
		.gid = s->gid,
		.has_user = s->has_user,
		.death_signal = SIGQUIT };

	if (!build_args(&args, s, o, e))
		return false;
	spec.argv = args.argv;
	if (!proc_open(&s->proc, &spec, e))
		return false;
	return wait_until_up(s, o->start_timeout_ns ? o->start_timeout_ns : 60 * NS_PER_S, r, e) &&
	       (!s->has_tcp || lock_tcp(s, e));
}

static bool prepare(struct pgserver *s, const char *data_dir, struct err *e)
{
	int major;

	if (!realpath(data_dir, s->data_dir))
		return err_os(e, ERR_ENV, errno, "could not open '%s'", data_dir);
	if (!s->log_path[0])
		snprintf(s->log_path, sizeof(s->log_path), "%.1000s.log", s->data_dir);
	return pgserver_dir_major(s->data_dir, &major, e) && pgserver_find(major, s->bin_dir, e) &&
	       pgserver_user(&s->uid, &s->gid, &s->has_user, e);
}

bool pgserver_start(struct pgserver *s, const char *data_dir, const struct pgserver_options *o,
	const struct run *r, struct err *e)
{
	const struct pgserver_options none = { 0 };

	o = o ? o : &none;
	/* realpath() writes PATH_MAX bytes at most; longer names than ours are refused. */
	if (strlen(data_dir) >= sizeof(s->data_dir))
		return err_set(e, ERR_USAGE, "the path of the data directory is too long");
	if (!prepare(s, data_dir, e) || !pgserver_can_reach(s->data_dir, r, e))
		return false;
	s->has_tcp = o->wants_tcp;
	/* Between finding a free port and the server's bind somebody else may take it. */
	for (int attempt = 0;; attempt++) {
		s->port = o->tcp_port ? o->tcp_port : 5432;
		if (o->wants_tcp && !o->tcp_port && !free_port(&s->port, e))
			return false;
		if (!make_socket_dir(s, e))
			break;
		if (launch(s, o, r, e))
			return true;
		bool lost_port = o->wants_tcp && !o->tcp_port && strstr(e->what, "could not bind");
		pgserver_kill(s);
		if (!lost_port || attempt == 5)
			break;
	}
	remove_socket_dir(s);
	return false;
}

bool pgserver_is_up(struct pgserver *s)
{
	if (!s->proc.pid)
		return false;
	proc_poll(&s->proc);
	return !s->proc.has_ended;
}

/* ---- stop */

static bool end_by(struct pgserver *s, int signal_number, int64_t timeout_ns)
{
	int64_t deadline_ns = clock_real_mono_ns() + timeout_ns;

	proc_poll(&s->proc);
	if (!s->proc.has_ended)
		kill(s->proc.pid, signal_number);
	while (!s->proc.has_ended && clock_real_mono_ns() < deadline_ns) {
		nap(2 * NS_PER_MS);
		proc_poll(&s->proc);
	}
	return s->proc.has_ended;
}

static void forget(struct pgserver *s)
{
	proc_close(&s->proc, 0);
	s->proc = (struct proc){ 0 };
	remove_socket_dir(s);
}

bool pgserver_stop(struct pgserver *s, struct err *e)
{
	bool is_clean;

	if (!s->proc.pid)
		return true;
	is_clean = end_by(s, SIGINT, FAST_STOP_NS) && proc_exit_code(&s->proc) == 0;
	if (!is_clean)
		fail_start(s, "did not shut down cleanly", e);
	if (!s->proc.has_ended)
		end_by(s, SIGQUIT, QUICK_STOP_NS);
	forget(s);
	return is_clean;
}

void pgserver_kill(struct pgserver *s)
{
	if (!s->proc.pid)
		return;
	end_by(s, SIGQUIT, QUICK_STOP_NS);
	forget(s);
}

/* ---- words about it */

static void write_dsn(
	const char *host, int port, const char *role, const char *database, char *dsn, size_t size)
{
	char quoted[256];
	size_t n = 0;

	for (; *database && n + 3 < sizeof(quoted); database++) {
		if (*database == '\'' || *database == '\\')
			quoted[n++] = '\\';
		quoted[n++] = *database;
	}
	quoted[n] = '\0';
	/* Everything that PG* variables could say otherwise is said here. */
	snprintf(dsn, size, "host=%s port=%d dbname='%s' user=%s sslmode=disable", host, port,
		quoted, role);
}

void pgserver_dsn(const struct pgserver *s, const char *database, char *dsn, size_t size)
{
	write_dsn(s->socket_dir, s->port, "postgres", database, dsn, size);
}

void pgserver_dsn_as(
	const struct pgserver *s, const char *role, const char *database, char *dsn, size_t size)
{
	write_dsn(s->socket_dir, s->port, role, database, dsn, size);
}

void pgserver_tcp_dsn(const struct pgserver *s, const char *database, char *dsn, size_t size)
{
	size_t n;

	write_dsn("127.0.0.1", s->port, "postgres", database, dsn, size);
	n = strlen(dsn);
	snprintf(dsn + n, size - n, " password=%s", s->tcp_password);
}

void pgserver_log_tail(const struct pgserver *s, char *text, size_t size)
{
	char bytes[4096];
	int fd = open(s->log_path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;
	off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;

	text[0] = '\0';
	if (fd >= 0) {
		off_t from = end > (off_t)size - 1 ? end - ((off_t)size - 1) : 0;

		n = pread(fd, bytes, size - 1 < sizeof(bytes) ? size - 1 : sizeof(bytes), from);
		close(fd);
	}
	if (n <= 0)
		return;
	size_t used = 0;
	for (ssize_t i = 0; i < n; i++)
		text[used++] = bytes[i] == '\n' ? ' ' : bytes[i];
	while (used && text[used - 1] == ' ')
		used--;
	text[used] = '\0';
}
