#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recipes/confine.h"

/* A target's socket, a second Unix socket, an abstract one and a TCP port: all listen,
 * and the command, run by perl's core modules, may reach the first alone. */
struct scene {
	char dir[64], log[96];
	int target, other, abstract_fd, tcp, tcp_port;
	struct confine confine;
};

static int listen_unix(const char *path, bool is_abstract)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t n = (size_t)snprintf(a.sun_path + is_abstract, sizeof(a.sun_path) - 1, "%s", path);

	assert_int_equal(bind(fd, (struct sockaddr *)&a,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 1)),
		0);
	assert_int_equal(listen(fd, 8), 0);
	if (!is_abstract)
		assert_int_equal(chmod(path, 0777), 0);
	return fd;
}

static void set_up_tcp(struct scene *s)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);

	s->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->tcp, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(s->tcp, 8), 0);
	assert_int_equal(getsockname(s->tcp, (struct sockaddr *)&a, &n), 0);
	s->tcp_port = ntohs(a.sin_port);
}

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	struct err e = { 0 };
	char path[96];

	snprintf(s->dir, sizeof(s->dir), "/tmp/reprod-confine-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	assert_int_equal(chmod(s->dir, 0755), 0);
	s->confine.port = 5999;
	snprintf(s->confine.socket, sizeof(s->confine.socket), "%s/.s.PGSQL.5999", s->dir);
	snprintf(s->confine.file, sizeof(s->confine.file), "%s/job.sh", s->dir);
	snprintf(s->confine.user, sizeof(s->confine.user), "worker");
	snprintf(s->confine.database, sizeof(s->confine.database), "shop");
	snprintf(s->log, sizeof(s->log), "%s/log", s->dir);
	s->target = listen_unix(s->confine.socket, false);
	snprintf(path, sizeof(path), "%s/other", s->dir);
	s->other = listen_unix(path, false);
	s->abstract_fd = listen_unix(s->dir, true);
	set_up_tcp(s);
	assert_true(confine_user(&s->confine, &e));
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;
	char command[128];

	close(s->target);
	close(s->other);
	close(s->abstract_fd);
	close(s->tcp);
	snprintf(command, sizeof(command), "rm -rf '%s'", s->dir);
	assert_int_equal(system(command), 0);
	free(s);
	return 0;
}

/* Runs a script confined and returns what it printed; the script's exit code. */
static int run_script(struct scene *s, const char *script, char *output, size_t size)
{
	FILE *f = fopen(s->confine.file, "w");
	struct err e = { 0 };
	int fd = open(s->log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status = 0;
	pid_t pid;
	ssize_t n;

	assert_non_null(f);
	fputs(script, f);
	fclose(f);
	pid = confine_spawn(&s->confine, fd, &e);
	if (pid < 0)
		print_message("# %s\n", e.what);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	n = pread(fd, output, size - 1, 0);
	output[n > 0 ? n : 0] = '\0';
	close(fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool can_confine(struct scene *s)
{
	struct err e = { 0 };
	FILE *f = fopen(s->confine.file, "w");

	fclose(f);
	if (confine_check(&s->confine, &e))
		return true;
	assert_int_equal(e.kind, ERR_REFUSED);
	print_message("# %s\n", e.what);
	skip();
	return false;
}

#define PERL_UNIX                                                                                  \
	"perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(Peer => $ARGV[0]) ? \"yes\" : \"no\"' "
#define PERL_TCP                                                                                   \
	"perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(PeerAddr => $ARGV[0]) ? \"yes\" : \"no\"' "

static void a_confined_command_reaches_the_target_and_nothing_else(void **state)
{
	struct scene *s = *state;
	char script[2048], output[4096];

	if (!can_confine(s))
		return;
	snprintf(script, sizeof(script),
		"echo target $(" PERL_UNIX "$PGHOST/.s.PGSQL.$PGPORT)\n"
		"echo other $(" PERL_UNIX "%s/other)\n"
		"echo abstract $(perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); print connect(S, "
		"pack(\"S a*\", AF_UNIX, \"\\0%s\")) ? \"yes\" : \"no\"')\n"
		"echo tcp $(" PERL_TCP "127.0.0.1:%d)\n",
		s->dir, s->dir, s->tcp_port);
	assert_int_equal(run_script(s, script, output, sizeof(output)), 0);
	assert_string_equal(output, "target yes\nother no\nabstract no\ntcp no\n");
}

/* The control: the same script outside reaches all four, so the test can fail. */
static void the_same_command_unconfined_reaches_them(void **state)
{
	struct scene *s = *state;
	char script[2048], output[4096];

	s->confine.is_open = true;
	snprintf(s->confine.host, sizeof(s->confine.host), "%s", s->dir);
	snprintf(script, sizeof(script),
		"echo other $(" PERL_UNIX "%s/other)\n"
		"echo abstract $(perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); print connect(S, "
		"pack(\"S a*\", AF_UNIX, \"\\0%s\")) ? \"yes\" : \"no\"')\n"
		"echo tcp $(" PERL_TCP "127.0.0.1:%d)\n",
		s->dir, s->dir, s->tcp_port);
	assert_int_equal(chmod(s->dir, 0755), 0);
	assert_int_equal(run_script(s, script, output, sizeof(output)), 0);
	assert_string_equal(output, "other yes\nabstract yes\ntcp yes\n");
}

static void the_environment_is_the_target_s_alone(void **state)
{
	struct scene *s = *state;
	char output[4096];

	if (!can_confine(s))
		return;
	setenv("PGPASSWORD", "hunter2", 1);
	setenv("AWS_SECRET", "hunter3", 1);
	assert_int_equal(
		run_script(s, "env; ls -A $HOME | wc -l; id -u\n", output, sizeof(output)), 0);
	unsetenv("PGPASSWORD");
	unsetenv("AWS_SECRET");
	assert_null(strstr(output, "hunter"));
	assert_non_null(strstr(output, "PGUSER=worker\n"));
	assert_non_null(strstr(output, "PGDATABASE=shop\n"));
	assert_non_null(strstr(output, "PGPASSFILE=/nonexistent\n"));
	assert_non_null(strstr(output, "HOME=/home/job\n"));
	assert_null(strstr(output, "\n0\n0\n"));
}

static void files_and_processes_of_the_machine_are_out_of_reach(void **state)
{
	struct scene *s = *state;
	char script[512], output[4096];

	if (!can_confine(s))
		return;
	snprintf(script, sizeof(script),
		"ls %s /root /var /etc/shadow /srv/x 2>/dev/null\nkill -0 %d 2>/dev/null && echo seen\n"
		"touch /usr/x 2>/dev/null && echo wrote\ntouch /tmp/x && echo tmp\n",
		s->dir, (int)getpid());
	assert_int_equal(run_script(s, script, output, sizeof(output)), 0);
	assert_string_equal(output, "tmp\n");
}

static void its_exit_code_comes_through(void **state)
{
	struct scene *s = *state;
	char output[64];

	if (!can_confine(s))
		return;
	assert_int_equal(run_script(s, "exit 7\n", output, sizeof(output)), 7);
}

static void a_target_reached_by_tcp_is_refused(void **state)
{
	struct scene *s = *state;
	struct err e = { 0 };

	s->confine.socket[0] = '\0';
	assert_false(confine_check(&s->confine, &e));
	assert_int_equal(e.kind, ERR_REFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_confined_command_reaches_the_target_and_nothing_else, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_same_command_unconfined_reaches_them, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_environment_is_the_target_s_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			files_and_processes_of_the_machine_are_out_of_reach, set_up, tear_down),
		cmocka_unit_test_setup_teardown(its_exit_code_comes_through, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_target_reached_by_tcp_is_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
