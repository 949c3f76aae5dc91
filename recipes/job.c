#include "recipes/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/driver/pg.h"
#include "core/driver/target.h"
#include "core/model/sqllex.h"

#define SCRIPT_MAX (16u << 20)
#define READY_MS 15000
#define END_NS (2 * NS_PER_S)

struct report {
	bool is_ready; /* the first one; then one per start */
	bool is_ok;
	int64_t took_ns;
	char text[240];
};

/* ---- the runner, in its own process */

struct runner {
	const struct job_spec *spec;
	struct pg *pg;
	struct slice script;
	int from_fd, to_fd, log_fd;
};

static bool is_shell(const char *path)
{
	size_t n = strlen(path);

	return n >= 3 && strcmp(path + n - 3, ".sh") == 0;
}

static bool tell(const struct runner *w, const struct report *report)
{
	return write(w->to_fd, report, sizeof(*report)) == (ssize_t)sizeof(*report);
}

static int64_t now_ns(void)
{
	struct clock real = { 0 };

	return clock_mono_ns(&real);
}

static bool run_sql(struct runner *w, struct report *report)
{
	struct slice rest = w->script, statement;
	char text[64];

	while (sql_split_next(&rest, &statement) == STEP_ITEM) {
		struct buf sql = { 0 };
		struct err e = { 0 };
		bool ok;

		buf_add_slice(&sql, statement);
		ok = pg_exec(w->pg, &e, buf_text(&sql));
		buf_free(&sql);
		if (!ok) {
			struct err ignored = { 0 };

			snprintf(report->text, sizeof(report->text), "%.230s", e.what);
			/* Leave no half-open transaction for the next start. */
			if (!pg_exec(w->pg, &ignored, "ROLLBACK"))
				dprintf(w->log_fd, "could not roll back: %s\n", ignored.what);
			return false;
		}
	}
	dprintf(w->log_fd, "%s: done\n", clock_text(clock_wall_ns(&(struct clock){ 0 }), text));
	return true;
}

/* Waits for the command; false when it had to be ended. Nothing of its group is left. */
static bool wait_shell(pid_t pid, int64_t deadline_ns, const sigset_t *term, int *ret_status)
{
	bool is_ended = false, is_told = false;

	while (!is_ended && !is_told && now_ns() <= deadline_ns) {
		struct timespec nap = { .tv_nsec = 5 * NS_PER_MS };
		siginfo_t ended = { 0 };

		/* Left unreaped, so that its group's number stays its own. */
		is_ended = waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
			   ended.si_pid == pid;
		is_told = !is_ended && sigtimedwait(term, NULL, &nap) == SIGTERM;
	}
	kill(-pid, SIGKILL);
	while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		;
	if (is_told)
		_exit(1);
	return is_ended;
}

static bool run_shell(struct runner *w, struct report *report)
{
	int64_t deadline_ns = now_ns() + (int64_t)(w->spec->condition->timeout_s * 1e9);
	struct err e = { 0 };
	sigset_t term;
	int status = 0;
	bool is_ended;
	pid_t pid;

	/* What the command started lives in its group, which only we can end. */
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	pid = confine_spawn(&w->spec->confine, w->log_fd, &e);
	is_ended = pid > 0 && wait_shell(pid, deadline_ns, &term, &status);
	sigprocmask(SIG_UNBLOCK, &term, NULL);
	if (pid < 0) {
		snprintf(report->text, sizeof(report->text), "%.230s", e.what);
		return false;
	}
	if (!is_ended) {
		snprintf(report->text, sizeof(report->text), "took longer than its timeout");
		return false;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	snprintf(report->text, sizeof(report->text), "ended with code %d, see its log",
		WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return false;
}

static bool take_role(struct pg *c, const char *role, struct err *e)
{
	char *name = *role ? pg_quote_name(c, role) : NULL;
	bool ok = !*role || (name && pg_execf(c, e, "SET ROLE %s", name));

	free(name);
	return ok;
}

static bool runner_connect(struct runner *w, struct report *report)
{
	struct pg_options options = { .application = "reprod job",
		.statement_timeout_ns = (int64_t)(w->spec->condition->timeout_s * 1e9) };
	struct err e = { 0 };
	struct mark mark;

	if (is_shell(w->spec->path))
		return true;
	w->pg = pg_open(w->spec->dsn, &options, &e);
	if (w->pg && target_check(w->pg, &mark, &e) &&
		take_role(w->pg, w->spec->condition->role, &e))
		return true;
	snprintf(report->text, sizeof(report->text), "%.230s", e.what);
	return false;
}

_Noreturn static void runner_main(struct runner *w)
{
	struct report report = { .is_ready = true };
	char start;

	report.is_ok = runner_connect(w, &report);
	if (!tell(w, &report) || !report.is_ok)
		_exit(1);
	for (;;) {
		ssize_t n = read(w->from_fd, &start, 1);
		int64_t began_ns = now_ns();

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0);
		report = (struct report){ 0 };
		report.is_ok = w->pg ? run_sql(w, &report) : run_shell(w, &report);
		report.took_ns = now_ns() - began_ns;
		if (!report.is_ok)
			dprintf(w->log_fd, "failed: %s\n", report.text);
		if (!tell(w, &report))
			_exit(1);
	}
}

static void runner_setup(struct runner *w, pid_t parent)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	int keep[] = { w->from_fd, w->to_fd, w->log_fd };
	sigset_t none;

	setpgid(0, 0);
	for (int i = 1; i < NSIG; i++)
		sigaction(i, &plain, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)
		_exit(1);
	/* Nothing of the parent's stays open: sockets to the lab, its locks. */
	for (size_t i = 0; i < LENGTH(keep); i++)
		keep[i] = fcntl(keep[i], F_DUPFD_CLOEXEC, 200 + (int)i);
	close_range(3, 199, 0);
	for (size_t i = 0; i < LENGTH(keep); i++)
		keep[i] = dup3(keep[i], 3 + (int)i, O_CLOEXEC);
	close_range(6, UINT_MAX, 0);
	w->from_fd = keep[0];
	w->to_fd = keep[1];
	w->log_fd = keep[2];
}

/* ---- our side */

static bool read_script(const char *path, struct buf *script, struct err *e)
{
	struct slice rest, statement;
	size_t count = 0;
	enum step step;

	if (!file_read(path, SCRIPT_MAX, script, e))
		return false;
	rest = buf_slice(script);
	while ((step = sql_split_next(&rest, &statement)) == STEP_ITEM)
		count++;
	if (step == STEP_FAIL) {
		err_set(e, ERR_INPUT, "statement %zu cannot be read", count + 1);
		err_hint(e, "plain SQL only: psql's backslash commands need an .sh file");
		return err_in(e, "%s", path);
	}
	if (count == 0) {
		err_set(e, ERR_INPUT, "no statement in it");
		return err_in(e, "%s", path);
	}
	return true;
}

static bool take_report(struct job *j, struct report *ret)
{
	return read(j->from_fd, ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);
}

static bool await_ready(struct job *j, struct err *e)
{
	struct pollfd p = { .fd = j->from_fd, .events = POLLIN };
	struct report report = { 0 };
	int n;

	do
		n = poll(&p, 1, READY_MS);
	while (n < 0 && errno == EINTR);
	if (n <= 0 || !take_report(j, &report))
		return err_set(
			e, ERR_ENV, "the runner of '%s' did not get ready", j->condition->id);
	if (!report.is_ok)
		return err_set(e, ERR_ENV, "the runner of '%s' could not connect: %s",
			j->condition->id, report.text);
	return fcntl(j->from_fd, F_SETFL, O_NONBLOCK) == 0 ||
	       err_os(e, ERR_ENV, errno, "could not watch the runner of '%s'", j->condition->id);
}

static bool fork_runner(struct job *j, struct runner *w, struct err *e)
{
	int down[2], up[2];
	pid_t parent = getpid();

	if (pipe2(down, O_CLOEXEC) != 0)
		return err_os(e, ERR_ENV, errno, "could not make a pipe");
	if (pipe2(up, O_CLOEXEC) != 0) {
		close(down[0]);
		close(down[1]);
		return err_os(e, ERR_ENV, errno, "could not make a pipe");
	}
	w->from_fd = down[0];
	w->to_fd = up[1];
	j->to_fd = down[1];
	j->from_fd = up[0];
	j->pid = fork();
	if (j->pid == 0) {
		runner_setup(w, parent);
		runner_main(w);
	}
	close(down[0]);
	close(up[1]);
	if (j->pid < 0) {
		j->pid = 0;
		close(j->to_fd);
		close(j->from_fd);
		return err_os(e, ERR_ENV, errno, "could not start a runner");
	}
	setpgid(j->pid, j->pid);
	return true;
}

bool job_open(struct job *j, const struct job_spec *given, const struct run *r, struct err *e)
{
	struct job_spec spec = *given;
	struct buf script = { 0 };
	struct runner w = { .spec = &spec };
	bool ok;

	(void)r;
	*j = (struct job){ .condition = spec.condition };
	snprintf(spec.confine.file, sizeof(spec.confine.file), "%s", spec.path);
	if (is_shell(spec.path) ? !confine_check(&spec.confine, e)
				: !read_script(spec.path, &script, e)) {
		buf_free(&script);
		return false;
	}
	w.script = buf_slice(&script);
	w.log_fd = open(spec.log_path ? spec.log_path : "/dev/null",
		O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	ok = w.log_fd >= 0 || err_os(e, ERR_ENV, errno, "could not write '%s'", spec.log_path);
	ok = ok && fork_runner(j, &w, e) && await_ready(j, e);
	if (w.log_fd >= 0)
		close(w.log_fd);
	buf_free(&script);
	if (!ok)
		job_close(j);
	return ok;
}

static void collect(struct job *j)
{
	struct report report;

	while (j->is_busy && take_report(j, &report)) {
		j->is_busy = false;
		j->finished++;
		j->runs[j->started - 1].to_ns = j->busy_since_ns + report.took_ns;
		if (!report.is_ok && j->failed++ == 0)
			snprintf(j->error, sizeof(j->error), "%s", report.text);
	}
}

void job_tick(struct job *j, int64_t elapsed_ns)
{
	const struct recipe_condition *c = j->condition;

	if (j->pid == 0)
		return;
	collect(j);
	while (j->due < c->offset_count && (double)elapsed_ns >= c->offsets_s[j->due] * 1e9) {
		j->due++;
		j->delayed += j->is_busy || j->started + 1 < j->due;
	}
	if (j->is_busy || j->started >= j->due || j->failed > 0)
		return;
	if (write(j->to_fd, "s", 1) != 1) {
		j->failed++;
		snprintf(j->error, sizeof(j->error), "its runner is gone");
		return;
	}
	j->is_busy = true;
	j->busy_since_ns = elapsed_ns;
	j->runs[j->started++] = (struct span){ elapsed_ns, -1 };
}

bool job_was_sound(const struct job *j)
{
	return j->failed == 0 && j->started > 0;
}

/* The runner ends its command first; one that does not is ended itself. */
void job_close(struct job *j)
{
	int64_t deadline_ns = now_ns() + END_NS;
	pid_t ended = 0;

	if (j->pid > 0) {
		close(j->to_fd);
		close(j->from_fd);
		kill(j->pid, SIGTERM);
		while ((ended = waitpid(j->pid, NULL, WNOHANG)) == 0 && now_ns() < deadline_ns) {
			struct timespec nap = { .tv_nsec = NS_PER_MS };

			nanosleep(&nap, NULL);
		}
		if (ended == 0)
			kill(j->pid, SIGKILL);
		while (ended == 0 && waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	j->pid = 0;
}
