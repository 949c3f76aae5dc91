#include "correlate/git.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/proc.h"

enum {
	COMMITS_MAX = 100000,
	OUTPUT_MAX = 64 << 20,
	PUSH_S = 600, /* commits this near to each other are one event */
	TAG_DAYS = 30, /* tags further from the traffic than this are left out */
	TIMEOUT_S = 60,
};

struct reading {
	const struct events_options *o;
	struct reach *reach;
	const char *dir;
	char name[128]; /* of the repository */
};

/* Of the environment only what finds git, its configuration and its owner. */
struct small_env {
	char path[4096], home[4096], config[4096];
	const char *items[12];
};

static void fill_env(struct small_env *env)
{
	const char *path = getenv("PATH"), *home = getenv("HOME");
	const char *config = getenv("XDG_CONFIG_HOME");
	size_t n = 0;

	snprintf(env->path, sizeof(env->path), "PATH=%s", path ? path : "/usr/bin:/bin");
	env->items[n++] = env->path;
	if (home &&
		(size_t)snprintf(env->home, sizeof(env->home), "HOME=%s", home) < sizeof(env->home))
		env->items[n++] = env->home;
	if (config && (size_t)snprintf(env->config, sizeof(env->config), "XDG_CONFIG_HOME=%s",
			      config) < sizeof(env->config))
		env->items[n++] = env->config;
	env->items[n++] = "LC_ALL=C";
	env->items[n++] = "GIT_TERMINAL_PROMPT=0";
	env->items[n++] = "GIT_OPTIONAL_LOCKS=0";
	env->items[n++] = "GIT_NO_LAZY_FETCH=1";
	env->items[n++] = "GIT_ALLOW_PROTOCOL=none";
	env->items[n] = NULL;
}

static bool run_git(
	const struct reading *g, const char *const *args, struct buf *output, struct err *e)
{
	static const struct run alone = { 0 };
	struct small_env env = { 0 };
	const char *argv[16] = { "git", "--no-pager", "--no-optional-locks", "-c",
		"core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-C", g->dir };
	size_t n = 9;

	fill_env(&env);
	while (*args && n < LENGTH(argv) - 1)
		argv[n++] = *args++;
	struct proc_spec spec = { .argv = argv,
		.env = env.items,
		.wants_output = true,
		.output_max = OUTPUT_MAX,
		.timeout_ns = TIMEOUT_S * NS_PER_S };
	return proc_run(&spec, g->o->run ? g->o->run : &alone, output, e);
}

static bool refuse(const char *dir, struct err *e)
{
	if (strstr(e->what, "dubious ownership") || strstr(e->what, "safe.directory")) {
		err_set(e, ERR_ENV, "the repository '%s' belongs to another user", dir);
		return err_hint(e, "git config --global --add safe.directory %s", dir);
	}
	if (strstr(e->what, "not a git repository")) {
		err_set(e, ERR_INPUT, "'%s' is not a git repository", dir);
		return err_hint(e, "name the folder that 'git clone' made, or a bare repository");
	}
	if (strstr(e->what, "cannot change to")) {
		err_set(e, ERR_INPUT, "no folder '%s'", dir);
		return err_hint(e, "name the folder that 'git clone' made, or a bare repository");
	}
	return err_in(e, "%s", dir);
}

static bool add(struct reading *g, const char *kind, const char *name, int64_t start_s,
	int64_t end_s, double dose, struct err *e)
{
	struct event event = { .start_ns = start_s * NS_PER_S,
		.end_ns = end_s * NS_PER_S,
		.has_end = end_s > start_s,
		.kind = kind,
		.name = name,
		.dose = dose,
		.source = reach_index(g->o->reaches, g->reach),
		.is_weak = true };

	if (!event_name_is_plain(slice_of(name))) {
		g->reach->bad++;
		return true;
	}
	g->reach->read++;
	return event_append(g->o->list, &event) || err_set(e, ERR_ENV, "out of memory");
}

/* ---- lines "SECONDS WORD" */

struct dated {
	int64_t s;
	const char *word; /* terminated in the output */
};

/* The next line, cut off in place. FAIL: a warning of git's between them, or a tag of no
 * commit. */
static enum step next_line(char **at, struct dated *ret)
{
	char *line = *at, *end = strchr(line, '\n'), *word;

	if (!*line || !end)
		return STEP_END;
	*end = '\0';
	*at = end + 1;
	ret->s = strtoll(line, &word, 10);
	bool is_dated = word > line && *word == ' ' && word[1] && ret->s > 0 && ret->s < 9000000000;
	ret->word = is_dated ? word + 1 : "";
	return is_dated ? STEP_ITEM : STEP_FAIL;
}

/* Newest first, as git lists them; clocks of committers need not agree. */
static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static bool add_pushes(struct reading *g, const int64_t *times, size_t count, struct err *e)
{
	for (size_t i = 0, first = 0; i < count; i++) {
		if (i + 1 < count && times[i + 1] - times[i] < PUSH_S)
			continue;
		if (!add(g, "commit", g->name, times[first], times[i], (double)(i + 1 - first), e))
			return false;
		first = i + 1;
	}
	return true;
}

static bool take_commits(struct reading *g, char *text, struct err *e)
{
	int64_t *times = calloc(COMMITS_MAX, sizeof(*times));
	struct dated line;
	size_t count = 0;

	if (!times)
		return err_set(e, ERR_ENV, "out of memory");
	for (enum step step; count < COMMITS_MAX && (step = next_line(&text, &line)) != STEP_END;)
		if (step == STEP_ITEM)
			times[count++] = line.s;
	qsort(times, count, sizeof(*times), by_time);
	if (count) {
		g->reach->from_ns = times[0] * NS_PER_S;
		g->reach->to_ns = times[count - 1] * NS_PER_S;
	}
	if (count == COMMITS_MAX)
		g->reach->note = "only the newest 100,000 commits";
	bool ok = add_pushes(g, times, count, e);
	free(times);
	return ok;
}

static bool take_tags(struct reading *g, char *text, struct err *e)
{
	int64_t near_s = TAG_DAYS * INT64_C(86400);
	int64_t from_s = g->o->first_ns / NS_PER_S - near_s,
		to_s = g->o->last_ns / NS_PER_S + near_s;
	struct dated line;

	for (enum step step; (step = next_line(&text, &line)) != STEP_END;) {
		if (step == STEP_FAIL || line.s < from_s || line.s > to_s)
			continue;
		if (!add(g, "deploy", line.word, line.s, line.s, NAN, e))
			return false;
	}
	return true;
}

/* Any number may be a file's time. */
static int64_t wall_ns(int64_t s)
{
	const int64_t far_s = CLOCK_FAR_NS / NS_PER_S;

	return (s > far_s ? far_s : s < -far_s ? -far_s : s) * NS_PER_S;
}

/* When git wrote to the repository last: until then its history is known. */
static int64_t written_ns(const struct reading *g, const char *file)
{
	const char *const args[] = { "rev-parse", "--git-path", file, NULL };
	struct buf output = { 0 }, path = { 0 };
	struct err unused = { 0 };
	struct stat st;
	int64_t ns = INT64_MIN;

	if (run_git(g, args, &output, &unused) && output.n > 1) {
		/* Relative to the folder, unless it is absolute. */
		if (*output.p != '/')
			buf_addf(&path, "%s/", g->dir);
		buf_add(&path, output.p, output.n - 1);
		if (stat(buf_text(&path), &st) == 0)
			ns = wall_ns(st.st_mtim.tv_sec);
	}
	buf_free(&output);
	buf_free(&path);
	return ns;
}

static void extend_reach(struct reading *g)
{
	static const char *const files[] = { "FETCH_HEAD", "logs/HEAD", "HEAD" };

	for (size_t i = 0; i < LENGTH(files); i++) {
		int64_t ns = written_ns(g, files[i]);

		g->reach->to_ns = ns > g->reach->to_ns ? ns : g->reach->to_ns;
	}
}

/* The last part of the folder's real path, without ".git" of a bare one. */
static void name_it(struct reading *g)
{
	char *path = realpath(g->dir, NULL);
	const char *base = path ? strrchr(path, '/') : NULL;

	snprintf(g->name, sizeof(g->name), "%.100s", base && base[1] ? base + 1 : "repository");
	char *ending = strrchr(g->name, '.');
	if (ending && ending != g->name && strcmp(ending, ".git") == 0)
		*ending = '\0';
	free(path);
}

static bool is_shallow(const struct reading *g)
{
	const char *const args[] = { "rev-parse", "--is-shallow-repository", NULL };
	struct buf output = { 0 };
	struct err unused = { 0 };
	bool is = run_git(g, args, &output, &unused) && strncmp(buf_text(&output), "true", 4) == 0;

	buf_free(&output);
	return is;
}

static bool read_repository(struct reading *g, struct buf *output, struct err *e)
{
	const char *const has_commit[] = { "rev-parse", "--verify", "--quiet", "HEAD^{commit}",
		NULL };
	const char *const is_one[] = { "rev-parse", "--git-dir", NULL };
	/* rev-list and for-each-ref are plumbing: no configuration adds signatures, which
	 * would start other programs, or changes their output. */
	const char *const commits[] = { "rev-list", "--first-parent", "--timestamp",
		"--max-count=100000", "HEAD", "--", NULL };
	const char *const tags[] = { "for-each-ref",
		"--format=%(creatordate:unix) %(refname:short)", "refs/tags", NULL };
	struct err unused = { 0 };

	if (!run_git(g, is_one, output, e))
		return refuse(g->dir, e);
	buf_reset(output);
	if (!run_git(g, has_commit, output, &unused))
		return true;
	buf_reset(output);
	if (!run_git(g, commits, output, e))
		return refuse(g->dir, e);
	if (output->n && !take_commits(g, output->p, e))
		return false;
	extend_reach(g);
	buf_reset(output);
	if (!run_git(g, tags, output, e))
		return refuse(g->dir, e);
	return !output->n || take_tags(g, output->p, e);
}

bool git_read(const struct events_options *o, const char *dir, struct err *e)
{
	struct reading g = { .o = o, .reach = reach_add(o->reaches, dir, "git"), .dir = dir };
	struct buf output = { 0 };

	buf_init(&output, OUTPUT_MAX);
	name_it(&g);
	bool ok = read_repository(&g, &output, e);
	buf_free(&output);
	if (!ok)
		return false;
	if (!g.reach->read) {
		notes_add(o->notes, "no commit in '%s'", dir);
		g.reach->from_ns = g.reach->to_ns = 0;
	} else if (is_shallow(&g)) {
		g.reach->note = "a shallow clone: git fetch --unshallow tells the rest";
	}
	return true;
}
