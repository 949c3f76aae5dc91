#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recipes/job.h"

struct scene {
	char dir[64], script[96], log[96];
	struct recipe_condition condition;
	struct job_spec spec;
};

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	struct err e = { 0 };

	snprintf(s->dir, sizeof(s->dir), "/tmp/reprod-job-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	assert_int_equal(chmod(s->dir, 0755), 0);
	snprintf(s->script, sizeof(s->script), "%s/job.sh", s->dir);
	snprintf(s->log, sizeof(s->log), "%s/log", s->dir);
	s->condition = (struct recipe_condition){
		.id = "job:x", .offset_count = 1, .timeout_s = 60, .role = ""
	};
	s->spec = (struct job_spec){
		.condition = &s->condition, .path = s->script, .log_path = s->log
	};
	s->spec.confine.is_open = true;
	assert_true(confine_user(&s->spec.confine, &e));
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	unlink(s->script);
	unlink(s->log);
	rmdir(s->dir);
	free(s);
	return 0;
}

static void nap(void)
{
	struct timespec t = { .tv_nsec = 5 * NS_PER_MS };

	nanosleep(&t, NULL);
}

/* The command prints the process ids of what it started. */
static void start(struct scene *s, struct job *j, const char *script)
{
	FILE *f = fopen(s->script, "w");
	struct run r = { 0 };
	struct err e = { 0 };

	assert_non_null(f);
	fputs(script, f);
	fclose(f);
	assert_true(job_open(j, &s->spec, &r, &e));
	job_tick(j, 0);
	assert_true(j->is_busy);
}

static pid_t await_pid(const struct scene *s)
{
	int pid = 0;

	for (int i = 0; i < 1000 && pid == 0; i++) {
		FILE *f = fopen(s->log, "r");

		if (f && fscanf(f, "pid %d\n", &pid) != 1)
			pid = 0;
		if (f)
			fclose(f);
		nap();
	}
	assert_true(pid > 1);
	return pid;
}

/* Ended is enough: process 1 may take its time to collect what is left. */
static bool is_running(pid_t pid)
{
	char path[64], state = 'Z';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%*d %*s %c", &state) != 1)
		state = 'Z';
	if (f)
		fclose(f);
	return state != 'Z' && state != 'X';
}

static bool is_gone(pid_t pid)
{
	for (int i = 0; i < 400 && is_running(pid); i++)
		nap();
	return !is_running(pid);
}

static void what_an_open_command_started_ends_with_it(void **state)
{
	struct job j;
	pid_t pid;

	start(*state, &j, "sleep 300 & echo pid $!; wait\n");
	pid = await_pid(*state);
	assert_true(is_running(pid));
	job_close(&j);
	assert_true(is_gone(pid));
}

static void what_an_open_command_leaves_behind_is_ended(void **state)
{
	struct job j;
	pid_t pid;

	start(*state, &j, "sleep 300 & echo pid $!; exit 0\n");
	pid = await_pid(*state);
	assert_true(is_gone(pid));
	for (int i = 0; i < 400 && j.is_busy; i++) {
		job_tick(&j, NS_PER_MS);
		nap();
	}
	assert_true(job_was_sound(&j));
	job_close(&j);
}

static void an_open_command_dies_with_a_killed_parent(void **state)
{
	struct scene *s = *state;
	pid_t parent = fork(), pid;

	if (parent == 0) {
		struct job j;

		start(s, &j, "sleep 300 & echo pid $!; wait\n");
		for (;;)
			nap();
	}
	pid = await_pid(s);
	assert_int_equal(kill(parent, SIGKILL), 0);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	assert_true(is_gone(pid));
}

static void a_command_over_its_time_is_a_failure(void **state)
{
	struct scene *s = *state;
	struct job j;
	pid_t pid;

	s->condition.timeout_s = 0.2;
	start(s, &j, "sleep 300 & echo pid $!; wait\n");
	pid = await_pid(s);
	assert_true(is_gone(pid));
	for (int i = 0; i < 400 && j.is_busy; i++) {
		job_tick(&j, NS_PER_MS);
		nap();
	}
	assert_int_equal(j.failed, 1);
	assert_non_null(strstr(j.error, "longer than its timeout"));
	job_close(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_an_open_command_started_ends_with_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_an_open_command_leaves_behind_is_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			an_open_command_dies_with_a_killed_parent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_command_over_its_time_is_a_failure, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
