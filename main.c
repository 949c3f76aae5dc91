/*
 * main.c - the one table of commands, and what they run with: streams, clock,
 * seed, stop flag. Everything else is in the parts; this file knows them all.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/cli.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "capture/capture.h"
#include "correlate/correlate.h"
#include "demo/demo.h"
#include "recipes/recipes.h"
#include "replay/replay.h"
#include "snapshot/snapshot.h"

static enum outcome version_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	(void)args;
	if (ops.count) {
		err_set(e, ERR_USAGE, "'version' takes no operands");
		return OUTCOME_FAILED;
	}
	if (r->is_json) {
		CLEANUP(json_cleanup) struct json *doc = json_object();

		json_set_text(doc, "version", REPROD_VERSION);
		json_print(doc, r->out);
	} else {
		fprintf(r->out, "reprod %s\n", REPROD_VERSION);
	}
	return OUTCOME_YES;
}

static const struct cli_command version_command = {
	.name = "version",
	.summary = "print the version",
	.usage = "version",
	.main = version_main,
};

static const struct cli_command *const commands[] = {
	&capture_command,
	&correlate_command,
	&snapshot_command,
	&replay_command,
	&recipe_command,
	&demo_command,
	&selftest_command,
	&version_command,
	NULL,
};

static const struct cli_command root = {
	.name = "reprod",
	.summary = "Make a production slowdown happen again, and find which conditions it needs.",
	.notes = "'reprod COMMAND --help' explains each command. Exit codes: 0 done or yes, 1 no,\n"
		 "2 usage, 3 bad input, 4 environment, 5 refused, 6 unsure, 130 interrupted.",
	.subs = commands,
};

/* A handler reaches nothing but a global. */
static volatile sig_atomic_t stop;

static void on_stop(int signal_number)
{
	/* Asked twice: the orderly end takes too long for somebody. */
	if (stop)
		_exit(ERR_INTERRUPTED);
	stop = signal_number;
}

/* Without SA_RESTART, so that a blocking read ends and the loop sees the flag. */
static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction on = { .sa_handler = on_stop };
	struct sigaction before;

	sigemptyset(&on.sa_mask);
	for (size_t i = 0; i < LENGTH(numbers); i++)
		/* Ignored by the parent (nohup) stays ignored. */
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &on, NULL);
	/* A closed pipe is a failed write with a message, not a silent death. */
	signal(SIGPIPE, SIG_IGN);
}

/* A file opened later must not become stdout by getting a free number below 3. */
static void hold_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

static void find_self(char self[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", self, PATH_MAX - 1);

	snprintf(self + (n > 0 ? n : 0), n > 0 ? 1 : PATH_MAX, "%s", n > 0 ? "" : "reprod");
}

/* Incidents and schema: beside the installed program, or in the source tree it was
 * built in (build/release/reprod is three folders down). */
static void find_share(const char *self, char share[PATH_MAX])
{
	char at[PATH_MAX], tried[PATH_MAX + 32];
	const char *given = getenv("REPROD_SHARE");

	snprintf(share, PATH_MAX, "%s", given && *given ? given : REPROD_SHARE);
	if (given && *given)
		return;
	snprintf(at, sizeof(at), "%s", self);
	for (char *slash; (slash = strrchr(at, '/')) && slash != at;) {
		static const char *const below[] = { "/share/reprod", "" };

		*slash = '\0';
		for (size_t i = 0; i < LENGTH(below); i++) {
			snprintf(tried, sizeof(tried), "%s%s/demo/incidents", at, below[i]);
			if (file_is_dir(tried)) {
				snprintf(share, PATH_MAX, "%.*s", (int)(strlen(tried) - 15), tried);
				return;
			}
		}
	}
}

/* The same input gives the same answer, so the seed is fixed; REPROD_SEED and
 * REPROD_NOW (a clock that stands still) are for tests. */
static void read_environment(struct run *r)
{
	const char *seed = getenv("REPROD_SEED");
	const char *now = getenv("REPROD_NOW");
	const char *no_color = getenv("NO_COLOR");

	r->seed = seed ? strtoull(seed, NULL, 10) : 1;
	r->clock.is_fake = now && clock_parse(slice_of(now), &r->clock.fake_wall_ns);
	r->is_color = isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

int main(int argc, char **argv)
{
	char self[PATH_MAX], share[PATH_MAX];
	char version_word[] = "version";

	hold_standard_streams();
	catch_signals();
	find_self(self);
	find_share(self, share);
	struct run r = {
		.out = stdout,
		.log = stderr,
		.stop = &stop,
		.self = self,
		.share_dir = share,
	};
	read_environment(&r);
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		argv[1] = version_word;
	return cli_main(&root, &r, argc, argv);
}
