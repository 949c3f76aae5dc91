#include "core/base/procguard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the forked copy: async-signal-safe calls only. */
_Noreturn static void watch(int fd, pid_t group)
{
	char word;
	ssize_t n;

	setpgid(0, 0);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_IGN);
	if (dup2(fd, 0) == 0)
		close_range(1, UINT_MAX, 0);
	do
		n = read(0, &word, 1);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		kill(-group, SIGKILL);
	_exit(0);
}

bool procguard_open(struct procguard *g, pid_t group)
{
	int fds[2];

	*g = (struct procguard){ 0 };
	if (pipe2(fds, O_CLOEXEC) != 0)
		return false;
	pid_t pid = fork();
	if (pid == 0)
		watch(fds[0], group);
	close(fds[0]);
	if (pid < 0) {
		int why = errno;

		close(fds[1]);
		errno = why;
		return false;
	}
	*g = (struct procguard){ pid, fds[1] };
	return true;
}

void procguard_close(struct procguard *g)
{
	if (!g->pid)
		return;
	while (write(g->fd, "x", 1) < 0 && errno == EINTR)
		;
	close(g->fd);
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*g = (struct procguard){ 0 };
}
