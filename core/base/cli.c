#include "core/base/cli.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>

#include "core/base/cli_private.h"

/* Values of the options that every command has. */
struct common_args {
	bool wants_help;
	bool is_json;
	bool is_quiet;
	bool is_verbose;
	bool is_forced;
};

const struct cli_option cli_common_options[] = {
	{ "json", 0, CLI_FLAG, offsetof(struct common_args, is_json), NULL,
		"one JSON document on stdout, nothing else there" },
	{ "force", 0, CLI_FLAG, offsetof(struct common_args, is_forced), NULL,
		"overwrite output files that exist" },
	{ "quiet", 'q', CLI_FLAG, offsetof(struct common_args, is_quiet), NULL,
		"no progress and no notes" },
	{ "verbose", 'v', CLI_FLAG, offsetof(struct common_args, is_verbose), NULL,
		"say more; twice for more still" },
	{ "help", 'h', CLI_FLAG, offsetof(struct common_args, wants_help), NULL, "this text" },
	{ 0 },
};

/* One command line while it is read. */
struct parse {
	const struct cli_command *command;
	const char *path;
	char *args; /* the command's own struct, or NULL */
	struct common_args common;
	int verbose;
	struct cli_operands ops;
	char **argv;
	int argc;
	int at, at_first;
	struct err *e;
};

/* ---- find the command */

static const struct cli_command *find_sub(const struct cli_command *c, const char *name)
{
	for (size_t i = 0; c->subs && c->subs[i]; i++)
		if (strcmp(c->subs[i]->name, name) == 0)
			return c->subs[i];
	return NULL;
}

static bool is_common_word(const char *word);

/* Puts the word at `from` where `to` is; those between move up by one. */
static void pull_ahead(char **argv, int from, int to)
{
	char *word = argv[from];

	memmove(argv + to + 1, argv + to, (size_t)(from - to) * sizeof(*argv));
	argv[to] = word;
}

/* Follows words while they name subcommands, over flags that every command has:
 * "reprod --json version". Moves the names before the flags; returns how many. */
static int walk(const struct cli_command **c, int argc, char **argv, char *path, size_t path_size)
{
	int used = 0;

	for (int i = 1; i < argc; i++) {
		if ((*c)->subs && is_common_word(argv[i]))
			continue;
		const struct cli_command *sub = find_sub(*c, argv[i]);
		size_t n = strlen(path);

		if (!sub)
			break;
		snprintf(path + n, path_size - n, "%s%s", n ? " " : "", sub->name);
		*c = sub;
		pull_ahead(argv, i, ++used);
	}
	return used;
}

/* ---- values */

/* 64M, 1G, 512K, 1.5G; powers of 1024; an i, and a B behind it, change nothing. */
static bool parse_size(const char *text, int64_t *ret)
{
	static const char letters[] = "KMGT";
	char *end;

	if (!(*text >= '0' && *text <= '9'))
		return false;
	double v = strtod(text, &end);
	const char *letter = *end ? strchr(letters, *end & ~0x20) : NULL;
	if (letter) {
		v = ldexp(v, 10 * (int)(letter - letters + 1));
		end++;
		end += *end == 'i';
	}
	end += *end == 'B';
	if (*end || !(v < 0x1p62))
		return false;
	*ret = (int64_t)v;
	return true;
}

static bool parse_int(const char *text, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(text, &end, 10);
	return errno == 0 && end != text && *end == '\0' && *text != ' ';
}

static bool parse_number(const char *text, double *ret)
{
	char *end;

	*ret = strtod(text, &end);
	return end != text && *end == '\0' && *text != ' ' && isfinite(*ret);
}

static bool bad_value(struct parse *p, const char *shown, const char *value, const char *wanted)
{
	return err_set(p->e, ERR_USAGE, "option '%s' needs %s, not '%s'", shown, wanted, value);
}

static bool add_to_list(
	struct parse *p, struct cli_list *list, const char *shown, const char *value)
{
	if (list->count == CLI_LIST_MAX)
		return err_set(p->e, ERR_USAGE, "option '%s' can be given %d times at most", shown,
			CLI_LIST_MAX);
	list->items[list->count++] = value;
	return true;
}

static bool store(struct parse *p, const struct cli_option *o, char *base, const char *shown,
	const char *value)
{
	void *to = base + o->offset;

	switch (o->kind) {
	case CLI_FLAG:
		*(bool *)to = true;
		return true;
	case CLI_TEXT:
		*(const char **)to = value;
		return true;
	case CLI_LIST:
		return add_to_list(p, to, shown, value);
	case CLI_INT:
		return parse_int(value, to) || bad_value(p, shown, value, "a whole number");
	case CLI_NUMBER:
		return parse_number(value, to) || bad_value(p, shown, value, "a number");
	case CLI_DURATION:
		return clock_parse_duration(slice_of(value), to) ||
		       bad_value(p, shown, value, "a duration such as 90s or 15m");
	case CLI_SIZE:
		return parse_size(value, to) ||
		       bad_value(p, shown, value, "a size such as 64M or 1G");
	}
	return false;
}

/* ---- options */

struct found {
	const struct cli_option *option;
	char *base;
};

static const struct cli_option *search(const struct cli_option *o, struct slice name, char letter)
{
	for (; o && o->name; o++)
		if (letter ? o->letter == letter : slice_is(name, o->name))
			return o;
	return NULL;
}

/* The command's own table comes first: it may give -v or -h a meaning of its own. */
static struct found find_option(struct parse *p, struct slice name, char letter)
{
	const struct cli_option *o = search(p->command->options, name, letter);

	if (o)
		return (struct found){ o, p->args };
	o = search(cli_common_options, name, letter);
	return (struct found){ o, (char *)&p->common };
}

/* "--json", "-q", "-qv". */
static bool is_common_word(const char *word)
{
	if (word[0] != '-' || word[1] == '\0')
		return false;
	if (word[1] == '-')
		return search(cli_common_options, slice_of(word + 2), 0) != NULL;
	for (const char *c = word + 1; *c; c++)
		if (!search(cli_common_options, (struct slice){ NULL, 0 }, *c))
			return false;
	return true;
}

static bool unknown_option(struct parse *p, const char *shown)
{
	const char *near = shown[1] == '-' ? cli_nearest_option(p->command, shown + 2) : NULL;

	err_set(p->e, ERR_USAGE, "unknown option '%s'", shown);
	if (near)
		return err_hint(p->e, "did you mean '--%s'?", near);
	return err_hint(
		p->e, "'reprod%s%s --help' lists the options", p->path[0] ? " " : "", p->path);
}

static bool next_value(struct parse *p, const char *shown, const char **ret)
{
	if (p->at + 1 >= p->argc)
		return err_set(p->e, ERR_USAGE, "option '%s' needs a value", shown);
	*ret = p->argv[++p->at];
	return true;
}

static void count_verbose(struct parse *p, struct found f)
{
	if (f.base == (char *)&p->common &&
		f.option->offset == offsetof(struct common_args, is_verbose))
		p->verbose++;
}

/* "--name", "--name=value", "--name value". */
static bool read_long(struct parse *p, const char *word)
{
	char shown[80];
	size_t length = strcspn(word, "=");
	const char *value = word[length] == '=' ? word + length + 1 : NULL;
	struct found f = find_option(p, (struct slice){ word + 2, length - 2 }, 0);

	snprintf(shown, sizeof(shown), "%.*s", (int)length, word);
	if (!f.option)
		return unknown_option(p, shown);
	if (f.option->kind == CLI_FLAG && value)
		return err_set(p->e, ERR_USAGE, "option '%s' takes no value", shown);
	if (f.option->kind != CLI_FLAG && !value && !next_value(p, shown, &value))
		return false;
	count_verbose(p, f);
	return store(p, f.option, f.base, shown, value);
}

/* "-q", "-qv", "-o FILE", "-oFILE". */
static bool read_letters(struct parse *p, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		char shown[3] = { '-', *c, '\0' };
		struct found f = find_option(p, (struct slice){ NULL, 0 }, *c);
		const char *value = c[1] ? c + 1 : NULL;

		if (!f.option)
			return unknown_option(p, shown);
		if (f.option->kind != CLI_FLAG) {
			if (!value && !next_value(p, shown, &value))
				return false;
			return store(p, f.option, f.base, shown, value);
		}
		count_verbose(p, f);
		if (!store(p, f.option, f.base, shown, NULL))
			return false;
	}
	return true;
}

static bool read_words(struct parse *p)
{
	bool only_operands = false;

	for (; p->at < p->argc; p->at++) {
		const char *word = p->argv[p->at];

		if (only_operands || word[0] != '-' || word[1] == '\0')
			p->ops.items[p->ops.count++] = word;
		else if (strcmp(word, "--") == 0)
			only_operands = true;
		else if (!(word[1] == '-' ? read_long(p, word) : read_letters(p, word)))
			return false;
	}
	return true;
}

/* ---- run */

static enum outcome unknown_command(struct parse *p)
{
	bool is_behind = find_sub(p->command, p->ops.items[0]) != NULL;
	const char *near = cli_nearest_command(p->command, p->ops.items[0]);

	if (is_behind) {
		err_set(p->e, ERR_USAGE, "an option stands before the command '%s'",
			p->ops.items[0]);
		err_hint(p->e, "options go behind it: reprod%s%s %s %s", p->path[0] ? " " : "",
			p->path, p->ops.items[0], p->argv[p->at_first]);
		return OUTCOME_FAILED;
	}
	err_set(p->e, ERR_USAGE, "'%s' is not a command of 'reprod%s%s'", p->ops.items[0],
		p->path[0] ? " " : "", p->path);
	if (near)
		err_hint(p->e, "did you mean '%s'?", near);
	else
		err_hint(p->e, "'reprod%s%s --help' lists the commands", p->path[0] ? " " : "",
			p->path);
	return OUTCOME_FAILED;
}

static enum outcome run_command(struct parse *p, struct run *r)
{
	if (p->common.wants_help) {
		cli_help(p->command, p->path, r->out);
		return OUTCOME_YES;
	}
	r->is_json = r->is_json || p->common.is_json;
	r->is_quiet = r->is_quiet || p->common.is_quiet;
	r->is_forced = r->is_forced || p->common.is_forced;
	r->verbose += p->verbose;
	if (p->command->main)
		return p->command->main(r, p->args, p->ops, p->e);
	if (p->ops.count)
		return unknown_command(p);
	cli_help(p->command, p->path, r->log);
	p->e->kind = ERR_USAGE;
	return OUTCOME_FAILED;
}

/* The reader of a pipe has enough (| head): the usual end of a look, not a failure. */
static bool is_reader_gone(const struct run *r)
{
	struct pollfd p = { .fd = fileno(r->out), .events = POLLOUT };

	return p.fd >= 0 && poll(&p, 1, 0) == 1 && p.revents & (POLLERR | POLLHUP);
}

/* A full disk must not look like a short answer. */
static enum outcome flush_answer(struct run *r, enum outcome outcome, struct err *e)
{
	errno = 0;
	if ((fflush(r->out) == 0 && !ferror(r->out)) || outcome == OUTCOME_FAILED)
		return outcome;
	int os_errno = errno;
	if (is_reader_gone(r))
		return outcome;
	/* stdio keeps no reason for a write that failed earlier. */
	if (os_errno)
		err_os(e, ERR_ENV, os_errno, "could not write the answer");
	else
		err_set(e, ERR_ENV, "could not write the answer: is the disk full?");
	return OUTCOME_FAILED;
}

static int exit_code(const struct run *r, enum outcome outcome, const struct err *e)
{
	if (outcome != OUTCOME_FAILED)
		return (int)outcome;
	if (e->os_errno == EPIPE && is_reader_gone(r))
		return CLI_EXIT_PIPE;
	/* Kind alone: the help text was the message. */
	if (e->what[0] || e->kind == ERR_NONE)
		err_print(e, r->log);
	return e->kind == ERR_NONE ? ERR_ENV : (int)e->kind;
}

int cli_main(const struct cli_command *root, struct run *r, int argc, char **argv)
{
	struct err e = { 0 };
	char path[256] = "";
	struct parse p = { .command = root, .path = path, .argv = argv, .argc = argc, .e = &e };
	enum outcome outcome = OUTCOME_FAILED;

	p.at = 1 + walk(&p.command, argc, argv, path, sizeof(path));
	p.at_first = p.at;
	p.args = calloc(1, p.command->args_size ? p.command->args_size : 1);
	p.ops.items = calloc((size_t)argc + 1, sizeof(*p.ops.items));
	if (!p.args || !p.ops.items) {
		err_set(&e, ERR_ENV, "out of memory");
	} else {
		if (p.command->defaults)
			p.command->defaults(p.args);
		if (read_words(&p))
			outcome = flush_answer(r, run_command(&p, r), &e);
	}
	free(p.args);
	free(p.ops.items);
	return exit_code(r, outcome, &e);
}
