#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "demo/demo.h"
#include "demo/investigate.h"

#define INCIDENTS_MAX 128

struct demo_args {
	struct cli_list incidents;
	bool is_all;
	bool is_list;
	bool keeps;
	const char *source;
	const char *out_dir;
	int64_t repeat;
};

static const struct cli_option options[] = {
	{ "incident", 0, CLI_LIST, offsetof(struct demo_args, incidents), "NAME|DIR",
		"play this incident (may be given again; default: lock-job and stale-statistics)" },
	{ "all", 0, CLI_FLAG, offsetof(struct demo_args, is_all), NULL,
		"play every incident that is shipped" },
	{ "list", 0, CLI_FLAG, offsetof(struct demo_args, is_list), NULL,
		"list the incidents that are shipped" },
	{ "keep", 0, CLI_FLAG, offsetof(struct demo_args, keeps), NULL,
		"keep the databases of production and of the test too, not only the lab and the files" },
	{ "source", 0, CLI_TEXT, offsetof(struct demo_args, source), "wire|log",
		"capture off the loopback or from the server log (default: wire where it is permitted)" },
	{ "repeat", 0, CLI_INT, offsetof(struct demo_args, repeat), "N", "play the whole N times" },
	{ "output", 'o', CLI_TEXT, offsetof(struct demo_args, out_dir), "DIR",
		"folder for everything (default: a new one under /tmp)" },
	{ 0 },
};

static void set_defaults(void *args)
{
	((struct demo_args *)args)->repeat = 1;
}

static void incidents_root(const struct run *r, char *path, size_t size)
{
	snprintf(path, size, "%s/demo/incidents", r->share_dir ? r->share_dir : ".");
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Folder names under the shipped incidents, sorted; the caller frees each. */
static size_t shipped(const struct run *r, char **names, size_t max)
{
	char root[4096], path[8192];
	size_t count = 0;
	DIR *dir;
	struct dirent *entry;

	incidents_root(r, root, sizeof(root));
	dir = opendir(root);
	while (dir && count < max && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s/incident.json", root, entry->d_name);
		if (entry->d_name[0] != '.' && file_exists(path) &&
			(names[count] = strdup(entry->d_name)))
			count++;
	}
	if (dir)
		closedir(dir);
	qsort(names, count, sizeof(*names), by_name);
	return count;
}

/* A name of a shipped incident, or a folder. */
static bool resolve(const struct run *r, const char *name, char path[8192], struct err *e)
{
	char root[4096], resolved[4097];

	incidents_root(r, root, sizeof(root));
	if (strchr(name, '/') || file_is_dir(name))
		snprintf(path, 8192, "%s", name);
	else
		snprintf(path, 8192, "%s/%s", root, name);
	if (!file_is_dir(path)) {
		err_set(e, ERR_USAGE, "there is no incident '%s'", name);
		return err_hint(e,
			"'reprod demo --list' names the shipped ones; a folder of your own is given with a '/'");
	}
	if (!realpath(path, resolved))
		return err_os(e, ERR_INPUT, errno, "could not resolve '%s'", path);
	snprintf(path, 8192, "%s", resolved);
	return true;
}

/* Where everything goes; reachable by the user that servers run as. */
static bool make_out_dir(const struct demo_args *a, char dir[1024], struct err *e)
{
	if (a->out_dir) {
		char resolved[4097];

		if (!file_make_dirs(a->out_dir, 0755, e))
			return false;
		if (!realpath(a->out_dir, resolved) || strlen(resolved) > 900)
			return err_set(e, ERR_USAGE, "'%s' cannot serve as a folder for the output",
				a->out_dir);
		snprintf(dir, 1024, "%.900s", resolved);
		return true;
	}
	snprintf(dir, 1024, "%s/reprod-demo-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(dir))
		return err_os(e, ERR_ENV, errno, "could not make a folder '%s'", dir);
	if (chmod(dir, 0755) != 0)
		return err_os(e, ERR_ENV, errno, "could not open the folder '%s' to others", dir);
	return true;
}

/* The lab stays, so that the experiment can be repeated. */
static bool drop_databases(const char *dir, struct err *e)
{
	static const char *const names[] = { "production", "test" };
	char path[1500];

	for (size_t i = 0; i < LENGTH(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (file_exists(path) && !file_remove_tree(path, e))
			return false;
	}
	return true;
}

static bool wants_wire(const struct demo_args *a, bool *ret, const struct run *r, struct err *e)
{
	if (a->source && strcmp(a->source, "wire") != 0 && strcmp(a->source, "log") != 0)
		return err_set(e, ERR_USAGE, "--source is 'wire' or 'log', not '%s'", a->source);
	*ret = a->source ? strcmp(a->source, "wire") == 0 : production_may_sniff();
	if (!*ret && !a->source)
		run_note(r, "sniffing is not permitted here: the server log is the source");
	return true;
}

/* One incident from an empty folder to its findings; the servers are gone after it. */
static struct json *play(const struct demo_args *a, const char *incident_dir, const char *out_dir,
	const struct run *r, struct err *e)
{
	struct incident in = { 0 };
	struct production p = { 0 };
	struct investigation v = { 0 };
	struct json *found = NULL;
	int64_t start_ns = clock_mono_ns(&r->clock);
	bool is_wire = false, ok;
	char text[CLOCK_TEXT_MAX];

	ok = incident_load(&in, incident_dir, e) && wants_wire(a, &is_wire, r, e) &&
	     file_make_dirs(out_dir, 0755, e);
	if (ok) {
		run_note(
			r, "\n== %s ==\n%s\n\nproduction starts in %s", in.name, in.title, out_dir);
		ok = production_open(&p, &in, out_dir, is_wire, r, e);
	}
	if (ok) {
		run_note(r, "  set up in %s; %g s of traffic",
			clock_duration_text(clock_mono_ns(&r->clock) - start_ns, text), in.seconds);
		ok = production_play(&p, r, e) && investigate(&v, &p, r, e);
	}
	if (ok) {
		found = investigation_findings(&v);
		json_set_number(found, "minutes",
			(double)(clock_mono_ns(&r->clock) - start_ns) / (60.0 * (double)NS_PER_S));
	}
	production_close(&p);
	incident_free(&in);
	if (!a->keeps && ok && !drop_databases(out_dir, e)) {
		json_free(found);
		found = NULL;
	}
	return found;
}

static void print_list(FILE *to, const char *label, const struct json *list)
{
	fprintf(to, "  %-12s", label);
	for (size_t i = 0; i < json_count(list); i++)
		fprintf(to, "%s%s", i ? ", " : "", json_text(json_at(list, i), ""));
	fprintf(to, "%s\n", json_count(list) ? "" : "none");
}

static void print_summary(const struct json *incidents, FILE *to)
{
	fprintf(to, "\nSummary\n");
	for (size_t i = 0; i < json_count(incidents); i++) {
		const struct json *it = json_at(incidents, i);

		fprintf(to, "\n%s: %s (%.1f min)\n", json_text(json_get(it, "name"), ""),
			json_is_true(json_get(it, "ok"), false) ? "as it truly was"
								: "NOT as it truly was",
			json_number(json_get(it, "minutes"), 0));
		fprintf(to, "  %-12s%s\n", "slow route", json_text(json_get(it, "route"), ""));
		print_list(to, "suspects", json_get(it, "first_group"));
		fprintf(to, "  %-12s%s\n", "verdict", json_text(json_get(it, "verdict"), ""));
		print_list(to, "needed", json_get(it, "necessary"));
		fprintf(to, "  %-12s%s\n", "truth", json_text(json_get(it, "truth"), ""));
		if (json_count(json_get(it, "problems")))
			print_list(to, "problems", json_get(it, "problems"));
		fprintf(to, "  %-12s%s\n", "files", json_text(json_get(it, "dir"), ""));
		fprintf(to, "  %-12sreprod recipe run %s/recipe.json --target %s/lab --ablate\n",
			"again", json_text(json_get(it, "dir"), ""),
			json_text(json_get(it, "dir"), ""));
	}
}

static enum outcome list_incidents(const struct run *r)
{
	char *names[INCIDENTS_MAX];
	size_t count = shipped(r, names, INCIDENTS_MAX);

	for (size_t i = 0; i < count; i++) {
		fprintf(r->out, "%s\n", names[i]);
		free(names[i]);
	}
	return count ? OUTCOME_YES : OUTCOME_NO;
}

static void choose(const struct demo_args *a, const struct run *r, char **names, size_t *count)
{
	static const char *const usual[] = { "lock-job", "stale-statistics" };

	if (a->is_all) {
		*count = shipped(r, names, INCIDENTS_MAX);
		return;
	}
	*count = a->incidents.count ? a->incidents.count : LENGTH(usual);
	for (size_t i = 0; i < *count; i++)
		names[i] = strdup(a->incidents.count ? a->incidents.items[i] : usual[i]);
}

static bool play_all(const struct demo_args *a, char **names, size_t count, const char *root,
	struct json *incidents, const struct run *r, struct err *e)
{
	for (int64_t round = 0; round < a->repeat; round++)
		for (size_t i = 0; i < count; i++) {
			char incident_dir[8192], out_dir[1400];
			const char *base;
			struct json *found;

			if (!names[i] || !resolve(r, names[i], incident_dir, e))
				return false;
			base = strrchr(incident_dir, '/') + 1;
			if (a->repeat > 1)
				snprintf(out_dir, sizeof(out_dir), "%s/%.200s.%lld", root, base,
					(long long)round + 1);
			else
				snprintf(out_dir, sizeof(out_dir), "%s/%.200s", root, base);
			if (file_exists(out_dir)) {
				err_set(e, ERR_USAGE, "'%s' exists already", out_dir);
				return err_hint(e, "give another folder with -o");
			}
			found = play(a, incident_dir, out_dir, r, e);
			if (!found)
				return err_in(e, "incident '%s'", base);
			json_append(incidents, found);
		}
	return true;
}

static enum outcome demo_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	const struct demo_args *a = args;
	char *names[INCIDENTS_MAX] = { 0 };
	char root[1024];
	size_t count = 0;
	struct json *doc CLEANUP(json_cleanup) = NULL;
	struct json *incidents;
	bool ok, is_true = true;

	if (ops.count > 0) {
		err_set(e, ERR_USAGE, "'%s' is not an option", ops.items[0]);
		err_hint(e, "an incident is given with --incident");
		return OUTCOME_FAILED;
	}
	if (a->is_list)
		return list_incidents(r);
	if (!make_out_dir(a, root, e))
		return OUTCOME_FAILED;
	choose(a, r, names, &count);
	doc = json_object();
	incidents = json_array();
	json_set(doc, "incidents", incidents);
	ok = play_all(a, names, count, root, incidents, r, e);
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	for (size_t i = 0; i < json_count(incidents); i++)
		is_true &= json_is_true(json_get(json_at(incidents, i), "ok"), false);
	if (r->is_json)
		json_print(doc, r->out);
	else if (json_count(incidents))
		print_summary(incidents, r->out);
	if (!ok)
		return OUTCOME_FAILED;
	return is_true ? OUTCOME_YES : OUTCOME_NO;
}

const struct cli_command demo_command = {
	.name = "demo",
	.summary = "the incident lab: everything above, on this machine",
	.usage = "demo [--incident NAME|DIR]... [--all] [--keep] [-o DIR]",
	.notes =
		"Plays a production that has a known slowdown, then investigates it with the commands a user\n"
		"would type, printed as they run. Servers are private ones under the output folder, traffic\n"
		"stays on the loopback. Exit code 0: each incident was found, reproduced and explained as it\n"
		"truly was; 1: not. docs/formats/incident.md tells how to add an incident.",
	.options = options,
	.args_size = sizeof(struct demo_args),
	.defaults = set_defaults,
	.main = demo_main,
};
