#include "core/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OUTPUT_DEFAULT = 1 << 20, GRACE_MS = 2000, EXIT_NO_EXEC = 127, EXIT_NO_SETUP = 126 };

/* ---- the child, between fork and exec: async-signal-safe calls only */

/* What the child says through the pipe when exec did not happen. */
struct child_report {
	int os_errno;
	char step[28];
};

static void child_fail(int report_fd, const char *step, int code)
{
	struct child_report r = { .os_errno = errno };

	for (size_t i = 0; i + 1 < sizeof(r.step) && step[i]; i++)
		r.step[i] = step[i];
	ssize_t n = write(report_fd, &r, sizeof(r));
	(void)n;
	_exit(code);
}

static void child_signals(void)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &plain, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool child_streams(const struct proc_spec *spec, int pipe_fd)
{
	int in = open(spec->stdin_path ? spec->stdin_path : "/dev/null", O_RDONLY);
	int out = spec->out_path ? open(spec->out_path, O_WRONLY | O_CREAT | O_APPEND, 0644)
				 : open("/dev/null", O_WRONLY);

	if (in < 0 || out < 0 || dup2(in, 0) < 0)
		return false;
	if (dup2(spec->wants_output ? pipe_fd : out, 1) < 0)
		return false;
	return dup2(spec->wants_output && !spec->out_path ? pipe_fd : out, 2) >= 0;
}

/* 3 is the report, 4 what is held; what is above was the parent's. */
static void child_descriptors(const struct proc_spec *spec, int report_fd)
{
	int held = spec->held_fd ? fcntl(spec->held_fd, F_DUPFD, 5) : 0;

	if (held < 0 || (report_fd != 3 && dup3(report_fd, 3, O_CLOEXEC) < 0))
		child_fail(report_fd, "keep its files", EXIT_NO_SETUP);
	if (held && dup2(held, 4) < 0)
		child_fail(3, "keep its files", EXIT_NO_SETUP);
	close_range(held ? 5 : 4, UINT_MAX, 0);
}

static bool child_user(const struct proc_spec *spec)
{
	if (!spec->has_user || (spec->uid == geteuid() && spec->gid == getegid()))
		return true;
	return setgroups(0, NULL) == 0 && setgid(spec->gid) == 0 && setuid(spec->uid) == 0;
}

struct child_plan {
	const char *path;
	char *const *argv;
	char *const *env;
	pid_t parent;
	int pipe_fd; /* output, or -1 */
	int report_fd; /* close-on-exec: its closing says that exec happened */
};

_Noreturn static void child_main(const struct proc_spec *spec, struct child_plan plan)
{
	setpgid(0, 0);
	child_signals();
	if (!child_streams(spec, plan.pipe_fd))
		child_fail(plan.report_fd, "open its files", EXIT_NO_SETUP);
	child_descriptors(spec, plan.report_fd);
	if (!child_user(spec))
		child_fail(3, "become the other user", EXIT_NO_SETUP);
	if (spec->cwd && chdir(spec->cwd) != 0)
		child_fail(3, "enter its folder", EXIT_NO_SETUP);
	if (spec->before_exec && !spec->before_exec(spec->before_exec_data))
		child_fail(3, "get ready", EXIT_NO_SETUP);
	/* A change of user clears PDEATHSIG, so it comes last; the parent may be gone by now. */
	if (prctl(PR_SET_PDEATHSIG, spec->death_signal ? spec->death_signal : SIGKILL) != 0 ||
		getppid() != plan.parent)
		_exit(EXIT_NO_SETUP);
	execve(plan.path, plan.argv, plan.env);
	child_fail(3, "start", EXIT_NO_EXEC);
	_exit(EXIT_NO_EXEC);
}

/* ---- start */

static bool is_executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool proc_find(const char *name, char path[4096])
{
	const char *dirs = getenv("PATH");
	int n;

	if (strchr(name, '/')) {
		n = snprintf(path, 4096, "%s", name);
		return n > 0 && n < 4096 && is_executable(path);
	}
	/* Sbin is searched too: a user's PATH lacks it, tcpdump and ip live there. */
	for (const char *at = dirs && *dirs ? dirs : "/usr/bin:/bin";;) {
		size_t length = strcspn(at, ":");

		n = snprintf(path, 4096, "%.*s/%s", (int)length, length ? at : ".", name);
		if (n > 0 && n < 4096 && is_executable(path))
			return true;
		if (!at[length])
			break;
		at += length + 1;
	}
	n = snprintf(path, 4096, "/usr/sbin/%s", name);
	return n > 0 && n < 4096 && is_executable(path);
}

static bool make_pipe(int fds[2], struct err *e)
{
	if (pipe2(fds, O_CLOEXEC) == 0)
		return true;
	fds[0] = fds[1] = -1;
	return err_os(e, ERR_ENV, errno, "could not make a pipe");
}

/* execve() takes char *const *, and changes nothing. */
static char *const *as_vector(const char *const *words)
{
	union {
		const char *const *ours;
		char *const *theirs;
	} u = { .ours = words };

	return u.theirs;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Waits until exec has happened or failed; false with the reason when it failed. */
static bool read_report(int fd, const char *name, struct err *e)
{
	struct child_report r;
	ssize_t n;

	do
		n = read(fd, &r, sizeof(r));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(r))
		return true;
	err_os(e, ERR_ENV, r.os_errno, "'%s' could not %s", name, r.step);
	return false;
}

static pid_t fork_child(const struct proc_spec *spec, struct child_plan plan)
{
	sigset_t all, before;

	/* No handler of ours may run in the child before its signals are reset. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	if (pid == 0)
		child_main(spec, plan);
	int failed = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = failed;
	return pid;
}

static bool start(struct proc *p, const struct proc_spec *spec, const char *path, int report[2],
	int output[2], struct err *e)
{
	struct child_plan plan = { path, as_vector(spec->argv),
		spec->env ? as_vector(spec->env) : environ, getpid(), output[1], report[1] };

	p->started_ns = clock_real_mono_ns();
	p->pid = fork_child(spec, plan);
	if (p->pid < 0) {
		p->pid = 0;
		return err_os(e, ERR_ENV, errno, "could not start '%s'", spec->argv[0]);
	}
	/* Both sides set it: whoever comes first, the group exists before a kill. */
	setpgid(p->pid, p->pid);
	close_fd(&report[1]);
	close_fd(&output[1]);
	if (read_report(report[0], spec->argv[0], e)) {
		if (spec->death_signal || procguard_open(&p->guard, p->pid))
			return true;
		err_os(e, ERR_ENV, errno, "could not guard '%s'", spec->argv[0]);
		kill(-p->pid, SIGKILL);
	}
	while (waitpid(p->pid, &p->status, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
	return false;
}

bool proc_open(struct proc *p, const struct proc_spec *spec, struct err *e)
{
	char path[4096];
	int report[2] = { -1, -1 }, output[2] = { -1, -1 };

	*p = (struct proc){ .out_fd = -1 };
	p->output_max = spec->output_max ? spec->output_max : OUTPUT_DEFAULT;
	buf_init(&p->output, p->output_max);
	if (!proc_find(spec->argv[0], path)) {
		err_set(e, ERR_ENV, "could not find the program '%s'", spec->argv[0]);
		return err_hint(e, "install it, or add its folder to PATH");
	}
	bool ok = make_pipe(report, e) && (!spec->wants_output || make_pipe(output, e)) &&
		  start(p, spec, path, report, output, e);
	if (ok && spec->wants_output) {
		p->out_fd = output[0];
		output[0] = -1;
		fcntl(p->out_fd, F_SETFL, O_NONBLOCK);
	}
	if (ok && spec->timeout_ns)
		p->deadline_ns = p->started_ns + spec->timeout_ns;
	for (int i = 0; i < 2; i++) {
		close_fd(&report[i]);
		close_fd(&output[i]);
	}
	return ok;
}

/* ---- watch */

static void keep_output(struct proc *p, const char *bytes, size_t n)
{
	size_t room = p->output_max - p->output.n;
	size_t kept = n < room ? n : room;

	buf_add(&p->output, bytes, kept);
	p->output_dropped += n - kept;
}

static void collect(struct proc *p)
{
	char piece[16 * 1024];

	while (p->out_fd >= 0) {
		ssize_t n = read(p->out_fd, piece, sizeof(piece));

		if (n > 0)
			keep_output(p, piece, (size_t)n);
		else if (n < 0 && errno == EINTR)
			continue;
		else if (n < 0 && errno == EAGAIN)
			return;
		else
			close_fd(&p->out_fd);
	}
}

static void kill_group(const struct proc *p, int signal_number)
{
	if (p->pid > 0 && kill(-p->pid, signal_number) != 0)
		kill(p->pid, signal_number);
}

static int64_t time_ns(struct timeval t)
{
	return (int64_t)t.tv_sec * NS_PER_S + (int64_t)t.tv_usec * NS_PER_US;
}

static void reap(struct proc *p)
{
	struct rusage usage;
	siginfo_t info = { 0 };

	if (p->has_ended || p->pid <= 0)
		return;
	int answer = waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT);
	if (answer == 0 && info.si_pid == 0)
		return;
	/* While the leader is a zombie its number is not given to another group. */
	kill(-p->pid, SIGKILL);
	/* What it wrote before its end is in the pipe by now. */
	collect(p);
	p->has_ended = true;
	p->ended_ns = clock_real_mono_ns();
	if (wait4(p->pid, &p->status, 0, &usage) == p->pid)
		p->cpu_ns = time_ns(usage.ru_utime) + time_ns(usage.ru_stime);
	procguard_close(&p->guard);
}

void proc_poll(struct proc *p)
{
	if (p->pid <= 0 || p->has_ended)
		return;
	collect(p);
	if (p->deadline_ns && !p->timed_out && clock_real_mono_ns() >= p->deadline_ns) {
		p->timed_out = true;
		kill_group(p, SIGKILL);
	}
	reap(p);
}

/* Sleeps until output comes or the child ends, at most that long. */
static void nap(const struct proc *p, int ms)
{
	CLEANUP(close_fd) int pid_fd = pidfd_open(p->pid, 0);
	struct pollfd fds[] = { { .fd = pid_fd, .events = POLLIN },
		{ .fd = p->out_fd, .events = POLLIN } };

	/* A sandbox may forbid pidfd_open(): then the end is seen by asking often. */
	poll(fds, LENGTH(fds), pid_fd >= 0 || ms < 5 ? ms : 5);
}

/* TERM, grace, KILL; has_ended is true after it. */
static void end_group(struct proc *p, int grace_ms)
{
	int64_t until = clock_real_mono_ns() + grace_ms * NS_PER_MS;

	if (grace_ms > 0 && !p->has_ended) {
		kill_group(p, SIGTERM);
		for (reap(p); !p->has_ended && clock_real_mono_ns() < until; reap(p)) {
			collect(p);
			nap(p, 20);
		}
	}
	if (!p->has_ended)
		kill_group(p, SIGKILL);
	for (reap(p); !p->has_ended; reap(p))
		nap(p, 20);
}

bool proc_wait(struct proc *p, const struct run *r, struct err *e)
{
	for (proc_poll(p); p->pid > 0 && !p->has_ended; proc_poll(p)) {
		if (r && run_stopped(r)) {
			end_group(p, GRACE_MS);
			return err_set(e, ERR_INTERRUPTED, "interrupted");
		}
		/* A signal ends the nap too; the limit is for one that came just before it. */
		nap(p, 50);
	}
	if (p->timed_out)
		return err_set(e, ERR_ENV, "the command did not end within its time limit");
	return true;
}

void proc_close(struct proc *p, int grace_ms)
{
	if (p->pid > 0)
		end_group(p, grace_ms);
	/* A zeroed struct has 0 here, which is not ours. */
	if (p->out_fd > 0)
		close_fd(&p->out_fd);
	buf_free(&p->output);
	*p = (struct proc){ .out_fd = -1 };
}

int proc_exit_code(const struct proc *p)
{
	return WIFSIGNALED(p->status) ? 128 + WTERMSIG(p->status) : WEXITSTATUS(p->status);
}

/* ---- conveniences */

/* The line at the start of s, which loses it. */
static struct slice take_line(struct slice *s)
{
	const char *end = memchr(s->p, '\n', s->n);
	struct slice line = { s->p, end ? (size_t)(end - s->p) : s->n };
	size_t used = line.n + (end != NULL);

	s->p += used;
	s->n -= used;
	return line;
}

static bool names_an_error(struct slice line)
{
	static const char *const words[] = { "error:", "ERROR:", "fatal:", "FATAL:" };

	for (size_t i = 0; i < LENGTH(words); i++)
		if (memmem(line.p, line.n, words[i], strlen(words[i])))
			return true;
	return false;
}

/* Tools say the cause first and then what followed from it, each on a line of its own:
 * "error: ... No space left on device", "error: background process terminated
 * unexpectedly", "removing data directory". Without such a line the last one counts. */
static struct slice cause(struct slice s)
{
	struct slice last = { 0 };

	while (s.n) {
		struct slice line = take_line(&s);

		if (names_an_error(line))
			return line;
		if (line.n)
			last = line;
	}
	return last;
}

static bool exit_failed(const struct proc *p, const char *name, struct err *e)
{
	struct slice said = cause(buf_slice(&p->output));
	int code = proc_exit_code(p);

	if (WIFSIGNALED(p->status))
		err_set(e, ERR_ENV, "'%s' was ended by signal %d (%s)", name, code - 128,
			strsignal(code - 128));
	else
		err_set(e, ERR_ENV, "'%s' failed with exit code %d", name, code);
	size_t n = strlen(e->what);
	if (said.n && n + 3 < sizeof(e->what))
		snprintf(e->what + n, sizeof(e->what) - n, ": %.*s", (int)said.n, said.p);
	return false;
}

bool proc_run(const struct proc_spec *spec, const struct run *r, struct buf *output, struct err *e)
{
	struct proc_spec collecting = *spec;
	struct proc p;

	collecting.wants_output = true;
	bool ok = proc_open(&p, &collecting, e);
	if (ok && !proc_wait(&p, r, e)) {
		if (e->kind == ERR_ENV)
			err_in(e, "%s", spec->argv[0]);
		ok = false;
	}
	if (ok && p.status != 0)
		ok = exit_failed(&p, spec->argv[0], e);
	if (output)
		buf_add_slice(output, buf_slice(&p.output));
	proc_close(&p, GRACE_MS);
	return ok;
}

static bool is_plain_word(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./:=,@%+";

	return word[0] && word[strspn(word, plain)] == '\0';
}

void proc_quote(const char *const *argv, struct buf *into)
{
	for (size_t i = 0; argv[i]; i++) {
		if (i)
			buf_add_byte(into, ' ');
		if (is_plain_word(argv[i])) {
			buf_add_text(into, argv[i]);
			continue;
		}
		buf_add_byte(into, '\'');
		for (const char *c = argv[i]; *c; c++) {
			if (*c == '\'')
				buf_add_text(into, "'\\''");
			else
				buf_add_byte(into, (unsigned char)*c);
		}
		buf_add_byte(into, '\'');
	}
}
