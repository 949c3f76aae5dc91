/*
 * cli.h - commands and options as tables.
 *
 * A command is data: name, one-line summary, usage lines, an option table whose
 * rows say where in the command's argument struct the value goes, and the
 * function. --help is printed from the same table, as is the manual's option
 * list. The options of every command (--help, --json, -q, -v, --force) are in
 * cli.c. "-o FILE", "--for=15m", "-i lo", "--", and clusters of flags work as
 * GNU getopt's do; options and operands may be mixed. Flags that every command
 * has may stand before its name.
 */
#ifndef REPROD_CLI_H
#define REPROD_CLI_H

#include "core/base/err.h"
#include "core/base/run.h"

enum cli_kind {
	CLI_FLAG, /* bool */
	CLI_TEXT, /* const char * */
	CLI_INT, /* int64_t */
	CLI_NUMBER, /* double */
	CLI_DURATION, /* int64_t, nanoseconds */
	CLI_SIZE, /* int64_t, bytes: 64M, 1G */
	CLI_LIST, /* struct cli_list: may be given several times */
};

#define CLI_LIST_MAX 64

struct cli_list {
	const char *items[CLI_LIST_MAX];
	size_t count;
};

struct cli_option {
	const char *name; /* "for", without dashes */
	char letter; /* 'o', or 0 */
	enum cli_kind kind;
	size_t offset; /* offsetof(struct capture_args, for_ns) */
	const char *value; /* "FILE"; NULL for flags */
	const char *help; /* one line, lower case, no full stop */
};

/* What a command answers with; the number is the exit code. */
enum outcome {
	OUTCOME_YES = 0,
	OUTCOME_NO = 1,
	OUTCOME_UNSURE = 6,
	OUTCOME_FAILED = -1, /* see *e */
};

struct cli_operands {
	const char **items;
	size_t count;
};

struct cli_command {
	const char *name;
	const char *summary;
	const char *usage; /* lines without "reprod "; separated by \n */
	const char *notes; /* paragraphs printed after the options, or NULL */
	const struct cli_option *options; /* NULL-name terminated, or NULL */
	size_t args_size; /* of the struct the options fill; zeroed by cli */
	void (*defaults)(void *args); /* or NULL */
	enum outcome (*main)(struct run *r, void *args, struct cli_operands ops, struct err *e);
	const struct cli_command *const *subs; /* NULL terminated, or NULL */
};

/* As the shell reports SIGPIPE: the answer's reader went away in the middle. */
#define CLI_EXIT_PIPE 141

/* Finds the command by argv (subcommand names may be followed by another), parses,
 * runs it, and returns the exit code; errors are printed to run->log. A group
 * whose first word is no subcommand name runs its own main, when it has one. Words of
 * argv may change places. A reader of the answer that went away is told by nothing but
 * the exit code: the command's own, or CLI_EXIT_PIPE when it failed by that. */
int cli_main(const struct cli_command *root, struct run *r, int argc, char **argv);

/* The help text of one command, as --help prints it. */
void cli_help(const struct cli_command *c, const char *path, FILE *to);

#endif
