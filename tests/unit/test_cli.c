#include "tests/lib/unit.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "core/base/cli.h"

struct args {
	const char *out;
	int64_t for_ns, size, count;
	double rate;
	bool all;
	bool quick;
	struct cli_list jobs;
};

static const struct cli_option options[] = {
	{ "out", 'o', CLI_TEXT, offsetof(struct args, out), "FILE", "write to FILE" },
	{ "for", 0, CLI_DURATION, offsetof(struct args, for_ns), "TIME", "how long" },
	{ "size", 0, CLI_SIZE, offsetof(struct args, size), "BYTES", "how large" },
	{ "count", 'n', CLI_INT, offsetof(struct args, count), "N", "how many" },
	{ "rate", 0, CLI_NUMBER, offsetof(struct args, rate), "R", "how often" },
	{ "all", 'a', CLI_FLAG, offsetof(struct args, all), NULL, "all of it" },
	{ "quick", 'x', CLI_FLAG, offsetof(struct args, quick), NULL, "hurry" },
	{ "job", 'j', CLI_LIST, offsetof(struct args, jobs), "NAME=FILE", "a job" },
	{ 0 },
};

/* What the command saw: written to run.out, so that no global is needed. */
static enum outcome echo_main(struct run *r, void *data, struct cli_operands ops, struct err *e)
{
	struct args *a = data;

	fprintf(r->out, "out=%s for=%lld size=%lld count=%lld rate=%g all=%d quick=%d",
		a->out ? a->out : "-", (long long)a->for_ns, (long long)a->size,
		(long long)a->count, a->rate, a->all, a->quick);
	for (size_t i = 0; i < a->jobs.count; i++)
		fprintf(r->out, " job=%s", a->jobs.items[i]);
	for (size_t i = 0; i < ops.count; i++)
		fprintf(r->out, " [%s]", ops.items[i]);
	fprintf(r->out, " json=%d quiet=%d verbose=%d force=%d", r->is_json, r->is_quiet,
		r->verbose, r->is_forced);
	if (ops.count && strcmp(ops.items[0], "refuse") == 0) {
		err_set(e, ERR_REFUSED, "no");
		return OUTCOME_FAILED;
	}
	return a->count == 42 ? OUTCOME_UNSURE : a->all ? OUTCOME_NO : OUTCOME_YES;
}

static void echo_defaults(void *data)
{
	struct args *a = data;

	a->for_ns = 15;
}

static const struct cli_command show = { .name = "show",
	.summary = "show it",
	.usage = "echo show FILE",
	.options = options,
	.args_size = sizeof(struct args),
	.main = echo_main };

static const struct cli_command *const echo_subs[] = { &show, NULL };

static const struct cli_command echo = { .name = "echo",
	.summary = "say what came",
	.usage = "echo [-o FILE]\necho show FILE",
	.notes = "Notes come last.",
	.options = options,
	.args_size = sizeof(struct args),
	.defaults = echo_defaults,
	.main = echo_main,
	.subs = echo_subs };

static const struct cli_command group = {
	.name = "group", .summary = "only subs", .subs = echo_subs
};

static const struct cli_command *const commands[] = { &echo, &group, NULL };

static const struct cli_command root = { .name = "reprod", .summary = "a test", .subs = commands };

enum { WORDS_MAX = 80 };

/* One command line, split at blanks; checks the code and what was printed. */
static void check(const char *line, int code, const char *out, const char *log)
{
	char words[4000], *argv[WORDS_MAX], *answer, *said;
	size_t answer_size, said_size;
	int argc = 0;
	struct run r = { 0 };

	snprintf(words, sizeof(words), "%s", line);
	for (char *save = NULL, *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	r.out = open_memstream(&answer, &answer_size);
	r.log = open_memstream(&said, &said_size);
	int got = cli_main(&root, &r, argc, argv);
	fclose(r.out);
	fclose(r.log);
	if (got != code || !strstr(answer, out) || !strstr(said, log))
		fail_msg("'%s' gave %d\nout: %s\nlog: %s", line, got, answer, said);
	free(answer);
	free(said);
}

static void options_go_where_the_table_says(void **state)
{
	(void)state;
	check("reprod echo", 0, "out=- for=15 size=0 count=0 rate=0 all=0 quick=0 json=0 quiet=0",
		"");
	check("reprod echo -o f --for 2s --size 64M -n 7 --rate 1.5 -x", 0,
		"out=f for=2000000000 size=67108864 count=7 rate=1.5 all=0 quick=1", "");
	check("reprod echo --out=f --for=15m -n7 -of2", 0, "out=f2 for=900000000000 size=0 count=7",
		"");
	check("reprod echo -axo f", 1, "out=f for=15 size=0 count=0 rate=0 all=1 quick=1", "");
	check("reprod echo -qvv --json --force -v", 0, "json=1 quiet=1 verbose=3 force=1", "");
	check("reprod echo -j a=b --job c=d --job=e", 0, " job=a=b job=c=d job=e ", "");
	check("reprod echo --out=", 0, "out= for", "");
	check("reprod echo -n -5", 0, "count=-5", "");
}

static void common_flags_may_come_first(void **state)
{
	(void)state;
	check("reprod --json echo -v", 0, "json=1 quiet=0 verbose=1", "");
	check("reprod -qv echo --json show -v this", 0, " [this] json=1 quiet=1 verbose=2", "");
	check("reprod --json group -q show", 0, "json=1 quiet=1", "");
	check("reprod --json ehco", 2, "", "'ehco' is not a command of 'reprod'");
	check("reprod -qz echo", 2, "", "unknown option '-z'");
	check("reprod -- echo", 2, "", "an option stands before the command 'echo'");
}

/* A pipe whose reader has gone before anything was written. */
static int answer_nobody(const struct cli_command *from, const char *words, FILE *log)
{
	char line[100], *argv[8];
	int ends[2], argc = 0;
	struct run r = { .log = log };

	snprintf(line, sizeof(line), "%s", words);
	for (char *save = NULL, *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	r.out = fdopen(ends[1], "w");
	int code = cli_main(from, &r, argc, argv);
	fclose(r.out);
	return code;
}

static enum outcome broken_main(struct run *r, void *data, struct cli_operands ops, struct err *e)
{
	(void)data;
	(void)ops;
	fputc('x', r->out);
	if (fflush(r->out) != 0)
		err_os(e, ERR_ENV, errno, "could not write to standard output");
	return OUTCOME_FAILED;
}

static void a_reader_that_left_is_no_failure(void **state)
{
	static const struct cli_command broken = { .name = "reprod", .main = broken_main };
	char *said;
	size_t n;
	FILE *log = open_memstream(&said, &n);

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(answer_nobody(&root, "reprod echo", log), 0);
	assert_int_equal(answer_nobody(&root, "reprod echo -a", log), 1);
	assert_int_equal(answer_nobody(&broken, "reprod", log), CLI_EXIT_PIPE);
	fclose(log);
	assert_string_equal(said, "");
	free(said);
}

static void a_full_disk_is_one(void **state)
{
	char line[] = "reprod echo", *argv[2] = { line, line + 7 }, *said;
	size_t n;
	struct run r = { .out = fopen("/dev/full", "w"), .log = open_memstream(&said, &n) };

	(void)state;
	line[6] = '\0';
	assert_int_equal(cli_main(&root, &r, 2, argv), ERR_ENV);
	fclose(r.out);
	fclose(r.log);
	assert_non_null(strstr(said, "No space left"));
	free(said);
}

static void operands_and_options_mix(void **state)
{
	(void)state;
	check("reprod echo one -o f two - -- -x --out", 0, "out=f", "");
	check("reprod echo one -o f two - -- -x --out", 0, " [one] [two] [-] [-x] [--out] json",
		"");
	check("reprod echo show this", 0, " [this] ", "");
	check("reprod echo this show", 0, " [this] [show] ", "");
	check("reprod echo -- show", 0, " [show] ", "");
}

static void outcomes_are_exit_codes(void **state)
{
	(void)state;
	check("reprod echo -a", 1, "", "");
	check("reprod echo -n 42", 6, "", "");
	check("reprod echo refuse", 5, "", "reprod: no\n");
}

static void bad_lines_say_what_is_wrong(void **state)
{
	(void)state;
	check("reprod", 2, "", "usage: reprod COMMAND");
	check("reprod ehco", 2, "",
		"'ehco' is not a command of 'reprod'\nhint: did you mean 'echo'?");
	check("reprod zzz", 2, "", "hint: 'reprod --help' lists the commands");
	check("reprod --out x echo -v", 2, "", "unknown option '--out'");
	check("reprod group", 2, "", "usage: reprod group COMMAND");
	check("reprod group shwo", 2, "", "'shwo' is not a command of 'reprod group'");
	check("reprod echo --frce", 2, "",
		"unknown option '--frce'\nhint: did you mean '--force'?");
	check("reprod echo -z", 2, "", "unknown option '-z'\nhint: 'reprod echo --help'");
	check("reprod echo --zzzzz=secret", 2, "", "unknown option '--zzzzz'\n");
	check("reprod echo -o", 2, "", "option '-o' needs a value");
	check("reprod echo --out", 2, "", "option '--out' needs a value");
	check("reprod echo --all=1", 2, "", "option '--all' takes no value");
	check("reprod echo --for=15x", 2, "",
		"option '--for' needs a duration such as 90s or 15m, not '15x'");
	check("reprod echo --size 1Q", 2, "",
		"option '--size' needs a size such as 64M or 1G, not '1Q'");
	check("reprod echo -n 1.5", 2, "", "option '-n' needs a whole number, not '1.5'");
	check("reprod echo -n 99999999999999999999", 2, "", "needs a whole number");
	check("reprod echo --rate nan", 2, "", "needs a number");
}

static void sizes_are_powers_of_1024(void **state)
{
	(void)state;
	check("reprod echo --size 512", 0, "size=512 ", "");
	check("reprod echo --size 1.5K", 0, "size=1536 ", "");
	check("reprod echo --size 2GiB", 0, "size=2147483648 ", "");
	check("reprod echo --size 1tb", 2, "", "needs a size");
	check("reprod echo --size 1TB", 0, "size=1099511627776 ", "");
	check("reprod echo --size -1", 2, "", "needs a size");
	check("reprod echo --size 9999999T", 2, "", "needs a size");
}

static void a_list_has_an_end(void **state)
{
	(void)state;
	char line[1000] = "reprod echo";

	for (int i = 0; i < CLI_LIST_MAX; i++)
		strcat(line, " -jx");
	check(line, 0, "job=x", "");
	strcat(line, " -jx");
	check(line, 2, "", "option '-j' can be given 64 times at most");
}

static void help_is_the_table(void **state)
{
	(void)state;
	static const char text[] = "usage: reprod echo [-o FILE]\n"
				   "       reprod echo show FILE\n"
				   "\nsay what came\n"
				   "\ncommands:\n"
				   "  show  show it\n"
				   "\noptions:\n"
				   "  -o, --out FILE       write to FILE\n"
				   "      --for TIME       how long\n"
				   "      --size BYTES     how large\n"
				   "  -n, --count N        how many\n"
				   "      --rate R         how often\n"
				   "  -a, --all            all of it\n"
				   "  -x, --quick          hurry\n"
				   "  -j, --job NAME=FILE  a job\n"
				   "      --json           one JSON document";

	check("reprod echo --help", 0, text, "");
	check("reprod echo -h", 0, "\nNotes come last.\n", "");
	check("reprod --help", 0, "commands:\n  echo   say what came\n  group  only subs\n", "");
	check("reprod group --help", 0, "usage: reprod group COMMAND", "");
	check("reprod echo show --help", 0, "usage: reprod echo show FILE\n", "");
}

static void an_answer_that_cannot_be_written_is_a_failure(void **state)
{
	(void)state;
	char name[] = "reprod", word[] = "echo";
	char *argv[] = { name, word }, *said;
	size_t size;
	struct run r = { .out = fopen("/dev/full", "w"), .log = open_memstream(&said, &size) };

	assert_int_equal(cli_main(&root, &r, 2, argv), ERR_ENV);
	fclose(r.out);
	fclose(r.log);
	assert_string_equal(said, "reprod: could not write the answer: No space left on device\n");
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_go_where_the_table_says),
		cmocka_unit_test(operands_and_options_mix),
		cmocka_unit_test(common_flags_may_come_first),
		cmocka_unit_test(a_reader_that_left_is_no_failure),
		cmocka_unit_test(a_full_disk_is_one),
		cmocka_unit_test(outcomes_are_exit_codes),
		cmocka_unit_test(bad_lines_say_what_is_wrong),
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(a_list_has_an_end),
		cmocka_unit_test(help_is_the_table),
		cmocka_unit_test(an_answer_that_cannot_be_written_is_a_failure),
	};

	return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
