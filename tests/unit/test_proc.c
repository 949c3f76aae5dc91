#include "tests/lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/proc.h"

static const char *const no_env[] = { "PATH=/usr/bin:/bin", NULL };

/* Runs a shell line; returns its exit code, output in *out. */
static int shell(const char *line, struct proc_spec spec, struct buf *out)
{
	const char *argv[] = { "sh", "-c", line, NULL };
	struct proc p;
	struct err e = { 0 };

	spec.argv = argv;
	spec.wants_output = true;
	assert_true(proc_open(&p, &spec, &e));
	assert_true(proc_wait(&p, NULL, &e));
	buf_reset(out);
	buf_add_slice(out, buf_slice(&p.output));
	int code = proc_exit_code(&p);
	proc_close(&p, 0);
	return code;
}

static void output_and_exit_code_come_back(void **state)
{
	(void)state;
	struct buf out = { 0 };

	assert_int_equal(shell("echo one; echo two >&2; exit 3", (struct proc_spec){ 0 }, &out), 3);
	assert_string_equal(buf_text(&out), "one\ntwo\n");
	assert_int_equal(shell("kill -TERM $$", (struct proc_spec){ 0 }, &out), 128 + SIGTERM);
	assert_int_equal(shell("pwd; echo $A; cat",
				 (struct proc_spec){ .cwd = "/usr", .env = no_env }, &out),
		0);
	assert_string_equal(buf_text(&out), "/usr\n\n");
	buf_free(&out);
}

static void output_has_a_cap_and_the_rest_is_counted(void **state)
{
	(void)state;
	const char *argv[] = { "sh", "-c", "head -c 300000 /dev/zero", NULL };
	struct proc_spec spec = { .argv = argv, .wants_output = true, .output_max = 1000 };
	struct proc p;
	struct err e = { 0 };

	assert_true(proc_open(&p, &spec, &e));
	assert_true(proc_wait(&p, NULL, &e));
	assert_int_equal(p.output.n, 1000);
	assert_int_equal(p.output_dropped, 299000);
	assert_int_equal(proc_exit_code(&p), 0);
	proc_close(&p, 0);
}

static void a_program_that_is_not_there_fails_at_open(void **state)
{
	(void)state;
	const char *absent[] = { "no-such-program-at-all", NULL };
	const char *no_program[] = { "/dev/null", NULL };
	const char *sh[] = { "sh", NULL };
	struct proc_spec spec = { .argv = absent };
	struct proc p;
	struct err e = { 0 };

	assert_false(proc_open(&p, &spec, &e));
	assert_int_equal(e.kind, ERR_ENV);
	assert_non_null(strstr(e.what, "no-such-program-at-all"));
	spec.argv = no_program;
	assert_false(proc_open(&p, &spec, &e));
	spec = (struct proc_spec){ .argv = sh, .cwd = "/no/such/folder" };
	assert_false(proc_open(&p, &spec, &e));
	assert_string_equal(e.what, "'sh' could not enter its folder: No such file or directory");
	proc_close(&p, 0);
	struct proc zeroed = { 0 };
	proc_close(&zeroed, 0);
}

static bool refuse(void *data)
{
	errno = *(int *)data;
	return false;
}

static bool leave_a_mark(void *data)
{
	return write(*(int *)data, "marked\n", 7) == 7;
}

static void before_exec_runs_in_the_child(void **state)
{
	(void)state;
	int why = EPERM, one = 1;
	const char *sh[] = { "sh", NULL };
	struct proc_spec spec = { .argv = sh, .before_exec = refuse, .before_exec_data = &why };
	struct proc p;
	struct err e = { 0 };
	struct buf out = { 0 };

	assert_false(proc_open(&p, &spec, &e));
	assert_string_equal(e.what, "'sh' could not get ready: Operation not permitted");
	spec = (struct proc_spec){ .before_exec = leave_a_mark, .before_exec_data = &one };
	assert_int_equal(shell("echo then", spec, &out), 0);
	assert_string_equal(buf_text(&out), "marked\nthen\n");
	buf_free(&out);
}

static void the_time_limit_ends_the_whole_group(void **state)
{
	(void)state;
	const char *argv[] = { "sh", "-c", "sleep 60 & echo $!; wait", NULL };
	struct proc_spec spec = {
		.argv = argv, .wants_output = true, .timeout_ns = 200 * NS_PER_MS
	};
	struct proc p;
	struct err e = { 0 };

	assert_true(proc_open(&p, &spec, &e));
	assert_false(proc_wait(&p, NULL, &e));
	assert_int_equal(e.kind, ERR_ENV);
	assert_true(p.timed_out);
	assert_true(p.ended_ns - p.started_ns < 5 * NS_PER_S);
	pid_t sleeper = (pid_t)strtol(buf_text(&p.output), NULL, 10);
	assert_true(sleeper > 0);
	proc_close(&p, 0);
	/* Killed; it is gone once init has reaped it. */
	for (int i = 0; i < 500 && kill(sleeper, 0) == 0; i++) {
		char path[64], text[256];
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)sleeper);
		FILE *f = fopen(path, "r");
		bool is_zombie = f && fgets(text, sizeof(text), f) && strstr(text, ") Z ");
		if (f)
			fclose(f);
		if (is_zombie)
			return;
		usleep(10000);
	}
	assert_int_not_equal(kill(sleeper, 0), 0);
}

static void close_asks_before_it_kills(void **state)
{
	(void)state;
	const char *polite[] = { "sh", "-c",
		"trap 'exit 7' TERM; echo up; while :; do sleep 0.02; done", NULL };
	const char *deaf[] = { "sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.02; done",
		NULL };
	struct proc_spec spec = { .argv = polite, .wants_output = true };
	struct proc p;
	struct err e = { 0 };
	struct clock real = { 0 };

	assert_true(proc_open(&p, &spec, &e));
	for (proc_poll(&p); !p.output.n; proc_poll(&p))
		usleep(1000);
	pid_t pid = p.pid;
	int64_t start = clock_mono_ns(&real);
	proc_close(&p, 5000);
	assert_true(clock_mono_ns(&real) - start < 3 * NS_PER_S);
	assert_int_not_equal(kill(pid, 0), 0);

	spec.argv = deaf;
	assert_true(proc_open(&p, &spec, &e));
	for (proc_poll(&p); !p.output.n; proc_poll(&p))
		usleep(1000);
	pid = p.pid;
	proc_close(&p, 50);
	assert_int_not_equal(kill(pid, 0), 0);
}

static void a_child_gets_no_descriptor_of_ours(void **state)
{
	(void)state;
	struct buf out = { 0 };
	int leaked = open("/dev/null", O_RDONLY);

	assert_true(leaked > 2);
	assert_int_equal(fcntl(leaked, F_SETFD, 0), 0);
	assert_int_equal(
		shell("ls /proc/self/fd | tr '\\n' ' '", (struct proc_spec){ 0 }, &out), 0);
	/* 3 is ls's own, of the folder it reads. */
	assert_string_equal(buf_text(&out), "0 1 2 3 ");
	close(leaked);
	buf_free(&out);
}

static void signals_are_reset(void **state)
{
	(void)state;
	struct buf out = { 0 };
	sigset_t blocked, before;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	signal(SIGUSR2, SIG_IGN);
	int code =
		shell("grep -E '^Sig(Blk|Ign)' /proc/self/status", (struct proc_spec){ 0 }, &out);
	assert_int_equal(code, 0);
	unsigned long long mask = 1, ignored = 1;
	assert_int_equal(sscanf(buf_text(&out), "SigBlk: %llx SigIgn: %llx", &mask, &ignored), 2);
	assert_true(mask == 0);
	/* 32 and 33 belong to glibc, which lets nobody reset them, and some parents ignore them. */
	assert_true((ignored & ~0x180000000ULL) == 0);
	signal(SIGUSR2, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	buf_free(&out);
}

/* Our own child opens one and dies by SIGKILL; the grandchild must not outlive it. */
static void a_child_dies_with_us(void **state)
{
	(void)state;
	int fds[2];
	pid_t grandchild = 0;

	assert_int_equal(pipe(fds), 0);
	pid_t parent = fork();
	if (parent == 0) {
		const char *argv[] = { "sleep", "60", NULL };
		struct proc_spec spec = { .argv = argv };
		struct proc p;
		struct err e = { 0 };

		if (!proc_open(&p, &spec, &e) || write(fds[1], &p.pid, sizeof(p.pid)) < 0)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	close(fds[1]);
	assert_int_equal(
		read(fds[0], &grandchild, sizeof(grandchild)), (ssize_t)sizeof(grandchild));
	close(fds[0]);
	waitpid(parent, NULL, 0);
	for (int i = 0; i < 500 && kill(grandchild, 0) == 0; i++) {
		char path[64], text[256] = "";
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)grandchild);
		FILE *f = fopen(path, "r");
		bool is_zombie = f && fgets(text, sizeof(text), f) && strstr(text, ") Z ");
		if (f)
			fclose(f);
		if (is_zombie)
			return;
		usleep(10000);
	}
	assert_int_not_equal(kill(grandchild, 0), 0);
}

static void a_stop_flag_ends_the_wait(void **state)
{
	(void)state;
	volatile sig_atomic_t stop = SIGINT;
	struct run r = { .stop = &stop };
	const char *argv[] = { "sleep", "60", NULL };
	struct proc_spec spec = { .argv = argv };
	struct proc p;
	struct err e = { 0 };

	assert_true(proc_open(&p, &spec, &e));
	assert_false(proc_wait(&p, &r, &e));
	assert_int_equal(e.kind, ERR_INTERRUPTED);
	assert_true(p.has_ended);
	proc_close(&p, 0);
}

static void run_fails_with_the_cause(void **state)
{
	(void)state;
	const char *argv[] = { "sh", "-c", "echo first; echo the reason >&2; exit 4", NULL };
	const char *cleaning[] = { "sh", "-c",
		"echo 'tool: error: disk full'; echo 'tool: error: child died'; echo bye; exit 1",
		NULL };
	const char *killed[] = { "sh", "-c", "kill -KILL $$", NULL };
	const char *fine[] = { "echo", "hello", NULL };
	struct proc_spec spec = { .argv = argv };
	struct buf out = { 0 };
	struct err e = { 0 };

	assert_false(proc_run(&spec, NULL, NULL, &e));
	assert_int_equal(e.kind, ERR_ENV);
	assert_string_equal(e.what, "'sh' failed with exit code 4: the reason");
	spec.argv = cleaning;
	assert_false(proc_run(&spec, NULL, NULL, &e));
	assert_string_equal(e.what, "'sh' failed with exit code 1: tool: error: disk full");
	spec.argv = killed;
	assert_false(proc_run(&spec, NULL, NULL, &e));
	assert_string_equal(e.what, "'sh' was ended by signal 9 (Killed)");
	spec.argv = fine;
	assert_true(proc_run(&spec, NULL, &out, &e));
	assert_string_equal(buf_text(&out), "hello\n");
	buf_free(&out);
}

static void what_is_held_stays_locked_until_the_child_ends(void **state)
{
	(void)state;
	char path[] = "/tmp/test_proc.XXXXXX";
	const char *argv[] = { "sleep", "60", NULL };
	struct proc_spec spec = { .argv = argv, .held_fd = mkstemp(path) };
	struct proc p;
	struct err e = { 0 };

	int again = open(path, O_RDWR | O_CLOEXEC);
	assert_true(spec.held_fd > 0 && again >= 0);
	assert_int_equal(flock(spec.held_fd, LOCK_EX), 0);
	assert_true(proc_open(&p, &spec, &e));
	close(spec.held_fd);
	assert_int_not_equal(flock(again, LOCK_EX | LOCK_NB), 0);
	proc_close(&p, 0);
	assert_int_equal(flock(again, LOCK_EX | LOCK_NB), 0);
	close(again);
	unlink(path);
}

static bool is_alive(pid_t pid)
{
	char path[64], state = 'X';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if ((f = fopen(path, "re"))) {
		if (fscanf(f, "%*d %*s %c", &state) != 1)
			state = 'X';
		fclose(f);
	}
	return state != 'X' && state != 'Z';
}

/* A child of a child, as pg_basebackup's receiver is. */
static void what_a_child_started_dies_with_us(void **state)
{
	(void)state;
	const char *argv[] = { "sh", "-c", "trap '' TERM HUP INT; sleep 60 & echo $!; wait", NULL };
	struct proc_spec spec = { .argv = argv, .wants_output = true };
	int told[2];
	pid_t grandchild = 0;

	assert_int_equal(pipe(told), 0);
	pid_t us = fork();
	if (us == 0) {
		struct proc p;
		struct err e = { 0 };

		if (!proc_open(&p, &spec, &e))
			_exit(1);
		while (!p.output.n)
			proc_poll(&p);
		pid_t pid = atoi(buf_text(&p.output));
		if (write(told[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		pause();
	}
	assert_int_equal(read(told[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	assert_true(is_alive(grandchild));
	kill(us, SIGKILL);
	waitpid(us, NULL, 0);
	for (int i = 0; i < 1000 && is_alive(grandchild); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 5 * NS_PER_MS }, NULL);
	assert_false(is_alive(grandchild));
	close(told[0]);
	close(told[1]);
}

static void root_becomes_the_other_user(void **state)
{
	(void)state;
	struct buf out = { 0 };
	struct proc_spec spec = { .has_user = true, .uid = geteuid(), .gid = getegid() };
	char wanted[64];

	if (geteuid() == 0)
		spec.uid = spec.gid = 65534;
	assert_int_equal(shell("id -u; id -g", spec, &out), 0);
	snprintf(wanted, sizeof(wanted), "%u\n%u\n", (unsigned)spec.uid, (unsigned)spec.gid);
	assert_string_equal(buf_text(&out), wanted);
	buf_free(&out);
}

static void words_are_quoted_only_where_needed(void **state)
{
	(void)state;
	const char *argv[] = { "psql", "-c", "select 'x'", "", "a=b", "$HOME", NULL };
	struct buf b = { 0 };

	proc_quote(argv, &b);
	assert_string_equal(buf_text(&b), "psql -c 'select '\\''x'\\''' '' a=b '$HOME'");
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_and_exit_code_come_back),
		cmocka_unit_test(output_has_a_cap_and_the_rest_is_counted),
		cmocka_unit_test(a_program_that_is_not_there_fails_at_open),
		cmocka_unit_test(before_exec_runs_in_the_child),
		cmocka_unit_test(the_time_limit_ends_the_whole_group),
		cmocka_unit_test(close_asks_before_it_kills),
		cmocka_unit_test(a_child_gets_no_descriptor_of_ours),
		cmocka_unit_test(signals_are_reset),
		cmocka_unit_test(a_child_dies_with_us),
		cmocka_unit_test(a_stop_flag_ends_the_wait),
		cmocka_unit_test(run_fails_with_the_cause),
		cmocka_unit_test(what_a_child_started_dies_with_us),
		cmocka_unit_test(what_is_held_stays_locked_until_the_child_ends),
		cmocka_unit_test(root_becomes_the_other_user),
		cmocka_unit_test(words_are_quoted_only_where_needed),
	};

	return cmocka_run_group_tests_name("proc", tests, NULL, NULL);
}
