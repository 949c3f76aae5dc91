#include "demo/investigate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"

#define ARGS_MAX 96
#define LINES_SHOWN 48
#define STEP_TIMEOUT_NS (300 * NS_PER_S)

/* Exit codes a step may end with, as bits. */
#define YES (1u << 0)
#define NO (1u << 1)
#define UNSURE (1u << 6)

struct command {
	const char *argv[ARGS_MAX];
	size_t count;
};

static void add(struct command *c, const char *argument)
{
	if (c->count + 1 < ARGS_MAX)
		c->argv[c->count++] = argument;
	c->argv[c->count] = NULL;
}

static void add_all(struct command *c, const char *first, ...)
{
	va_list ap;

	va_start(ap, first);
	for (const char *a = first; a; a = va_arg(ap, const char *))
		add(c, a);
	va_end(ap);
}

static void print_line(const struct run *r, struct command *c)
{
	const char *self = c->argv[0];
	struct buf line = { 0 };

	c->argv[0] = "reprod";
	proc_quote(c->argv, &line);
	c->argv[0] = self;
	run_note(r, "\n  $ %s", buf_text(&line));
	buf_free(&line);
}

static void print_output(const struct run *r, const struct buf *output)
{
	const char *at = buf_text(output);
	size_t lines = 0;

	for (; *at; lines++) {
		size_t n = strcspn(at, "\n");

		if (lines < LINES_SHOWN)
			run_note(r, "    %.*s", (int)n, at);
		at += n + (at[n] == '\n');
	}
	if (lines > LINES_SHOWN)
		run_note(r, "    ... (%zu more lines)", lines - LINES_SHOWN);
}

/* Runs one command and shows its answer; *ret_code is its exit code when allowed. */
static bool perform(struct investigation *v, struct command *c, unsigned allowed,
	const struct run *r, struct err *e)
{
	struct proc proc = { 0 };
	bool ok;
	int code;

	print_line(r, c);
	if (!proc_open(&proc,
		    &(struct proc_spec){
			    .argv = c->argv, .wants_output = true, .timeout_ns = STEP_TIMEOUT_NS },
		    e))
		return false;
	ok = proc_wait(&proc, r, e);
	code = proc_exit_code(&proc);
	print_output(r, &proc.output);
	if (ok && (code > 31 || !(allowed & (1u << code)))) {
		err_set(e, ERR_ENV, "'reprod %s' ended with code %d", c->argv[1], code);
		ok = err_hint(e, "repeat the command line above; the files are in %s", v->dir);
	}
	proc_close(&proc, 2000);
	v->steps++;
	return ok;
}

static bool correlate(struct investigation *v, const struct run *r, struct err *e)
{
	const struct production *p = v->production;
	struct command show = { 0 }, c = { 0 };

	add_all(&show, r->self, "capture", "show", p->capture_path, NULL);
	add_all(&c, r->self, "correlate", p->capture_path, "--events", p->events_path, "-o",
		v->correlation_path, NULL);
	return perform(v, &show, YES, r, e) && perform(v, &c, YES | NO | UNSURE, r, e);
}

static bool snapshot(struct investigation *v, const struct run *r, struct err *e)
{
	const struct production *p = v->production;
	struct command describe = { 0 }, build = { 0 }, freeze = { 0 }, reset = { 0 },
		       status = { 0 };

	add_all(&describe, r->self, "snapshot", "describe", p->dsn, "-o", v->profile_path, NULL);
	add_all(&build, r->self, "snapshot", "build", p->dsn, "--into", v->lab_dir, "--fast", NULL);
	add_all(&freeze, r->self, "snapshot", "freeze", v->lab_dir, NULL);
	add_all(&reset, r->self, "snapshot", "reset", v->lab_dir, NULL);
	add_all(&status, r->self, "snapshot", "status", v->lab_dir, NULL);
	return perform(v, &describe, YES, r, e) && perform(v, &build, YES, r, e) &&
	       perform(v, &freeze, YES, r, e) && perform(v, &reset, YES, r, e) &&
	       perform(v, &status, YES, r, e);
}

/* The team's test database becomes a permitted target and is compared. */
static bool compare_with_test(struct investigation *v, const struct run *r, struct err *e)
{
	const struct production *p = v->production;
	struct command mark = { 0 }, freeze = { 0 }, diff = { 0 };

	if (!p->incident->test)
		return true;
	add_all(&diff, r->self, "snapshot", "diff", v->profile_path, p->test_dsn, "-o",
		v->diff_path, NULL);
	add_all(&mark, r->self, "snapshot", "mark", p->test_dsn, "--name", PRODUCTION_TEST_DATABASE,
		NULL);
	add_all(&freeze, r->self, "snapshot", "freeze", p->test_dsn, NULL);
	return perform(v, &diff, YES | NO, r, e) && perform(v, &mark, YES, r, e) &&
	       perform(v, &freeze, YES, r, e);
}

static bool draft(struct investigation *v, const struct run *r, struct err *e)
{
	const struct production *p = v->production;
	const struct incident *in = p->incident;
	char jobs[INCIDENT_ITEMS_MAX][1400];
	struct command c = { 0 }, check = { 0 };

	add_all(&c, r->self, "recipe", "draft", p->capture_path, "--correlation",
		v->correlation_path, NULL);
	if (in->test)
		add_all(&c, "--diff", v->diff_path, NULL);
	for (size_t i = 0; i < in->job_count; i++) {
		snprintf(jobs[i], sizeof(jobs[i]), "%s=%s", in->jobs[i].name, in->jobs[i].file);
		add_all(&c, "--job", jobs[i], NULL);
	}
	for (size_t i = 0; i < in->ablate_count; i++)
		add_all(&c, "--condition", in->ablate[i], NULL);
	add_all(&c, "-o", v->recipe_path, NULL);
	add_all(&check, r->self, "recipe", "check", v->recipe_path, NULL);
	return perform(v, &c, YES, r, e) && perform(v, &check, YES, r, e);
}

static bool experiment(struct investigation *v, const struct run *r, struct err *e)
{
	const struct production *p = v->production;
	struct command c = { 0 };

	add_all(&c, r->self, "recipe", "run", v->recipe_path, "--target", v->lab_dir, NULL);
	if (p->incident->test)
		add_all(&c, "--test-target", p->test_dsn, NULL);
	add_all(&c, "--ablate", "-o", v->result_path, NULL);
	return perform(v, &c, YES | NO | UNSURE, r, e);
}

static void path_of(struct investigation *v, char path[1100], const char *name)
{
	snprintf(path, 1100, "%s/%s", v->dir, name);
}

bool investigate(struct investigation *v, struct production *p, const struct run *r, struct err *e)
{
	*v = (struct investigation){ .production = p, .dir = p->dir };
	path_of(v, v->profile_path, "production.profile.json");
	path_of(v, v->correlation_path, "correlation.json");
	path_of(v, v->diff_path, "diff.json");
	path_of(v, v->recipe_path, "recipe.json");
	path_of(v, v->result_path, "result.json");
	path_of(v, v->lab_dir, "lab");
	return correlate(v, r, e) && snapshot(v, r, e) && compare_with_test(v, r, e) &&
	       draft(v, r, e) && production_stop(p, e) && experiment(v, r, e);
}

/* Findings */

static struct json *load(const char *path)
{
	struct err e = { 0 };

	return file_exists(path) ? json_load(path, 256u << 20, &e) : NULL;
}

static bool has_text(const struct json *list, const char *text)
{
	for (size_t i = 0; i < json_count(list); i++)
		if (strcmp(json_text(json_at(list, i), ""), text) == 0)
			return true;
	return false;
}

static void problem(struct json *problems, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void problem(struct json *problems, const char *fmt, ...)
{
	struct buf text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	json_append_text(problems, buf_text(&text));
	buf_free(&text);
}

/* Conditions that correlate put in its first group, when any lined up. */
static int64_t correlation_rank(
	const struct json *correlation, const char *truth, struct json *first_group)
{
	const struct json *conditions = json_get(correlation, "conditions");
	int64_t group = json_int(json_get(json_at(conditions, 0), "group"), 0);
	int64_t rank = 0;

	for (size_t i = 0; i < json_count(conditions); i++) {
		const struct json *c = json_at(conditions, i);
		const char *id = json_text(json_get(c, "id"), "");
		const char *verdict = json_text(json_get(c, "verdict"), "");
		bool is_candidate =
			strcmp(verdict, "lines up") == 0 || strcmp(verdict, "suggestive") == 0;

		if (is_candidate && json_int(json_get(c, "group"), 0) == group)
			json_append_text(first_group, id);
		if (is_candidate && rank == 0 && strcmp(id, truth) == 0)
			rank = (int64_t)i + 1;
	}
	return rank;
}

static int64_t diff_rank(const struct json *diff, const char *truth, struct json *first_group)
{
	const struct json *differences = json_get(diff, "differences");
	int64_t rank = 0;

	for (size_t i = 0; i < json_count(differences); i++) {
		const char *id = json_text(json_get(json_at(differences, i), "condition"), "");

		if (*id && i < 3 && !has_text(first_group, id))
			json_append_text(first_group, id);
		if (rank == 0 && strcmp(id, truth) == 0)
			rank = (int64_t)i + 1;
	}
	return rank;
}

static void judge_innocents(
	const struct json *correlation, const struct incident *in, struct json *problems)
{
	const struct json *conditions = json_get(correlation, "conditions");

	for (size_t i = 0; i < in->job_count; i++) {
		char id[256];

		snprintf(id, sizeof(id), "job:%s", in->jobs[i].name);
		for (size_t k = 0; in->jobs[i].is_innocent && k < json_count(conditions); k++) {
			const struct json *c = json_at(conditions, k);
			const char *verdict = json_text(json_get(c, "verdict"), "");

			if (strcmp(json_text(json_get(c, "id"), ""), id) == 0 &&
				strcmp(verdict, "no evidence") != 0 &&
				strcmp(verdict, "cannot tell") != 0)
				problem(problems, "the innocent %s is said to be '%s'", id,
					verdict);
		}
	}
}

static void judge_necessary(
	const struct json *necessary, const struct incident *in, struct json *problems)
{
	for (size_t i = 0; i < in->truth_necessary_count; i++)
		if (!has_text(necessary, in->truth_necessary[i]))
			problem(problems, "%s is needed but was not named", in->truth_necessary[i]);
	for (size_t k = 0; k < json_count(necessary); k++) {
		const char *id = json_text(json_at(necessary, k), "");
		bool is_true = false;

		for (size_t i = 0; i < in->truth_necessary_count; i++)
			is_true |= strcmp(id, in->truth_necessary[i]) == 0;
		if (!is_true)
			problem(problems, "%s was named but is not needed", id);
	}
}

static struct json *copy_or_empty(const struct json *list)
{
	return json_type(list) == JSON_LIST ? json_copy(list) : json_array();
}

/* A job or a dated event is correlate's to find; a state of the database is diff's. */
static bool is_dated(const char *condition)
{
	static const char *const kinds[] = { "job:", "deploy:", "restart:", "backup:",
		"maintenance:", "event:", "neighbour:", "traffic" };

	for (size_t i = 0; i < LENGTH(kinds); i++)
		if (strncmp(condition, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return false;
}

struct json *investigation_findings(const struct investigation *v)
{
	const struct incident *in = v->production->incident;
	struct json *correlation CLEANUP(json_cleanup) = load(v->correlation_path);
	struct json *diff CLEANUP(json_cleanup) = load(v->diff_path);
	struct json *result CLEANUP(json_cleanup) = load(v->result_path);
	struct json *found = json_object(), *first_group = json_array(), *problems = json_array();
	const struct json *necessary = json_path(result, "ablation.necessary");
	const char *verdict = json_text(json_get(result, "verdict"), "none");
	const char *route = json_text(json_get(result, "route"), "");
	int64_t rank = is_dated(in->truth_condition)
			       ? correlation_rank(correlation, in->truth_condition, first_group)
			       : diff_rank(diff, in->truth_condition, first_group);

	if (rank == 0)
		problem(problems, "%s was not found", in->truth_condition);
	else if (rank > 3 ||
		 (is_dated(in->truth_condition) && !has_text(first_group, in->truth_condition)))
		problem(problems, "%s was found only as number %lld", in->truth_condition,
			(long long)rank);
	if (strcmp(verdict, "reproduced") != 0)
		problem(problems, "the verdict is '%s'", verdict);
	if (*in->truth_route && !strcasestr(route, in->truth_route))
		problem(problems, "the judged route is '%s'", route);
	judge_innocents(correlation, in, problems);
	judge_necessary(necessary, in, problems);
	json_set_text(found, "name", in->name);
	json_set_text(found, "title", in->title);
	json_set(found, "first_group", first_group);
	json_set_text(found, "truth", in->truth_condition);
	json_set_int(found, "rank", rank);
	json_set_text(found, "verdict", verdict);
	json_set_text(found, "route", route);
	json_set(found, "necessary", copy_or_empty(necessary));
	json_set_bool(found, "ok", json_count(problems) == 0);
	json_set(found, "problems", problems);
	json_set_text(found, "dir", v->dir);
	return found;
}
