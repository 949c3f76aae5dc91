#include <stdio.h>

#include "core/base/cli.h"
#include "core/base/file.h"
#include "snapshot/build.h"
#include "snapshot/describe.h"
#include "snapshot/diff.h"
#include "snapshot/freeze.h"
#include "snapshot/labdir.h"
#include "snapshot/mark_dsn.h"
#include "snapshot/snapshot.h"
#include "snapshot/status.h"
#include "snapshot/template.h"

static enum outcome usage(struct err *e, const char *what, const char *hint)
{
	err_set(e, ERR_USAGE, "%s", what);
	err_hint(e, "%s", hint);
	return OUTCOME_FAILED;
}

static void print_line(const struct run *r, const char *format, ...) PRINTF_LIKE(2, 3);

static void print_line(const struct run *r, const char *format, ...)
{
	va_list ap;

	if (r->is_json || r->is_quiet)
		return;
	va_start(ap, format);
	vfprintf(r->out, format, ap);
	va_end(ap);
	fputc('\n', r->out);
}

/* A path, though nothing may be there; connection strings have '=' or '://', and a
 * database's name has no slash. */
static bool is_folder(const char *target)
{
	return file_is_dir(target) ||
	       (strchr(target, '/') && !strchr(target, '=') && !strstr(target, "://"));
}

/* ---- build */

struct build_args {
	const char *into, *tier, *database, *as_role;
	struct cli_list settings;
	bool is_fast;
};

static const struct cli_option build_options[] = {
	{ "into", 0, CLI_TEXT, offsetof(struct build_args, into), "DIR",
		"the lab's folder; reprod owns it, DIR.frozen, DIR.log and DIR.lock" },
	{ "tier", 0, CLI_TEXT, offsetof(struct build_args, tier), "TIER",
		"clone (the default): a physical copy" },
	{ "database", 'd', CLI_TEXT, offsetof(struct build_args, database), "NAME",
		"the main database (default: the DSN's, or the largest of a folder)" },
	{ "as-role", 0, CLI_TEXT, offsetof(struct build_args, as_role), "ROLE",
		"traffic acts as this role of the source, with its rights and row security" },
	{ "set", 0, CLI_LIST, offsetof(struct build_args, settings), "NAME=VALUE",
		"a setting unlike the source's (shared_buffers on a smaller machine)" },
	{ "fast", 0, CLI_FLAG, offsetof(struct build_args, is_fast), NULL,
		"ask the source for a checkpoint now instead of waiting for a spread one" },
	{ 0 },
};

static void print_manifest(const struct run *r, const char *into, const struct json *m)
{
	print_line(r, "built the lab '%s': %s of PostgreSQL %s, %s, database '%s'", into,
		json_text(json_get(m, "method"), ""),
		json_text(json_path(m, "source.server_version"), ""),
		json_text(json_get(m, "tier"), ""), json_text(json_get(m, "database"), ""));
	for (size_t i = 0; i < json_count(json_get(m, "neutralised")); i++) {
		struct json *value;
		const char *name = json_key_at(json_get(m, "neutralised"), i, &value);

		if (json_int(value, 0))
			print_line(
				r, "  neutralised: %s %lld", name, (long long)json_int(value, 0));
	}
	for (size_t i = 0; i < json_count(json_get(m, "libraries_not_loaded")); i++)
		print_line(r, "  not loaded: %s",
			json_text(json_at(json_get(m, "libraries_not_loaded"), i), ""));
	print_line(r, "  not reproduced: see not_reproduced in %s/" LABDIR_MANIFEST, into);
	print_line(r, "next: reprod snapshot freeze %s", into);
}

static enum outcome build_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	const struct build_args *a = args;
	const char *settings[CLI_LIST_MAX + 1] = { 0 };
	CLEANUP(json_cleanup) struct json *manifest = NULL;

	if (ops.count != 1)
		return usage(
			e, "build takes one source", "reprod snapshot build DSN|DIR --into DIR");
	if (!a->into)
		return usage(e, "--into is missing", "reprod snapshot build DSN|DIR --into DIR");
	for (size_t i = 0; i < a->settings.count; i++)
		settings[i] = a->settings.items[i];
	/* A profile or a dump is a file; those tiers are not there yet. */
	if (file_exists(ops.items[0]) && !file_is_dir(ops.items[0]))
		return usage(e, "cannot build from a file yet",
			"the source is a connection string or the data directory of a stopped server");
	if (is_folder(ops.items[0]) && !file_is_dir(ops.items[0])) {
		err_set(e, ERR_INPUT, "there is no data directory at '%s'", ops.items[0]);
		return OUTCOME_FAILED;
	}
	const struct build_options o = { .source = ops.items[0],
		.into = a->into,
		.tier = a->tier,
		.database = a->database,
		.as_role = a->as_role,
		.settings = settings,
		.is_fast = a->is_fast,
		.is_forced = r->is_forced };
	manifest = snapshot_build(&o, r, e);
	if (!manifest)
		return OUTCOME_FAILED;
	if (r->is_json)
		json_print(manifest, r->out);
	else
		print_manifest(r, a->into, manifest);
	return OUTCOME_YES;
}

static const struct cli_command build_command = {
	.name = "build",
	.summary = "make a disposable lab of a server or data directory",
	.usage = "snapshot build DSN|DIR --into DIR",
	.notes =
		"The source is only read. The copy is neutralised before its first start: it doesn't\n"
		"archive, replicate, subscribe, listen, or connect to foreign servers; 'status' proves\n"
		"it. Traffic and jobs connect as the role reprod_replay, which is no superuser.",
	.options = build_options,
	.args_size = sizeof(struct build_args),
	.main = build_main,
};

/* ---- freeze, reset */

static void print_mark_json(const struct run *r, const struct mark *m)
{
	CLEANUP(json_cleanup) struct json *j = mark_json(m);

	if (r->is_json)
		json_print(j, r->out);
}

static void print_frozen(const struct run *r, const char *dir, const struct freeze_result *f)
{
	CLEANUP(json_cleanup) struct json *j = json_object();
	char took[CLOCK_TEXT_MAX];

	json_set_text(j, "frozen_id", f->frozen_id);
	json_set_int(j, "files", f->files);
	json_set_int(j, "bytes", f->bytes);
	json_set_bool(j, "is_reflink", f->is_reflink);
	json_set_number(j, "took_ms", (double)f->took_ns / 1e6);
	if (r->is_json)
		json_print(j, r->out);
	print_line(r, "froze '%s': %lld files, %lld MB%s, in %s", dir, (long long)f->files,
		(long long)(f->bytes >> 20), f->is_reflink ? " (shared by reflink)" : "",
		clock_duration_text(f->took_ns, took));
}

static enum outcome freeze_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	struct freeze_result f;
	struct mark mark;

	(void)args;
	if (ops.count != 1)
		return usage(
			e, "freeze takes one lab or database", "reprod snapshot freeze DIR|DSN");
	if (is_folder(ops.items[0])) {
		if (!freeze_dir(ops.items[0], r->is_forced, r, &f, e))
			return OUTCOME_FAILED;
		print_frozen(r, ops.items[0], &f);
		return OUTCOME_YES;
	}
	if (!template_freeze(ops.items[0], r->is_forced, r, &mark, e))
		return OUTCOME_FAILED;
	print_mark_json(r, &mark);
	print_line(r, "froze the database as a template beside it");
	return OUTCOME_YES;
}

static const struct cli_command freeze_command = {
	.name = "freeze",
	.summary = "keep the present state, to go back to it with 'reset'",
	.usage = "snapshot freeze DIR|DSN",
	.notes =
		"A lab is stopped cleanly and its files are copied to DIR.frozen (by reflink where the\n"
		"file system can). A marked database is copied to a template NAME_reprod_frozen beside\n"
		"it; its sessions are ended for that. --force replaces an older frozen state.",
	.main = freeze_main,
};

static void print_reset(const struct run *r, const char *dir, const struct lab *lab)
{
	CLEANUP(json_cleanup) struct json *j = json_object();
	char took[CLOCK_TEXT_MAX];

	json_set_text(j, "frozen_id", lab->mark.frozen_id);
	json_set_text(j, "nonce", lab->mark.nonce);
	json_set_int(j, "files", (int64_t)lab->reset_files);
	json_set_int(j, "written_bytes", lab->reset_bytes);
	json_set_bool(j, "is_reflink", lab->is_reflink);
	json_set_number(j, "took_ms", (double)lab->reset_ns / 1e6);
	if (r->is_json)
		json_print(j, r->out);
	print_line(r, "reset '%s': %zu files put back, %lld kB written, in %s", dir,
		lab->reset_files, (long long)(lab->reset_bytes / 1024),
		clock_duration_text(lab->reset_ns, took));
}

static enum outcome reset_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	struct lab figures;
	struct mark mark;

	(void)args;
	if (ops.count != 1)
		return usage(e, "reset takes one lab or database", "reprod snapshot reset DIR|DSN");
	if (is_folder(ops.items[0])) {
		if (!reset_dir(ops.items[0], r, &figures, e))
			return OUTCOME_FAILED;
		print_reset(r, ops.items[0], &figures);
		return OUTCOME_YES;
	}
	if (!snapshot_reset_dsn(ops.items[0], r, &mark, e))
		return OUTCOME_FAILED;
	print_mark_json(r, &mark);
	print_line(r, "reset the database from its template");
	return OUTCOME_YES;
}

static const struct cli_command reset_command = {
	.name = "reset",
	.summary = "go back to the frozen state",
	.usage = "snapshot reset DIR|DSN",
	.notes =
		"Puts back the files that differ by size or modification time, and gives the mark a new\n"
		"nonce. A database is dropped and made again from its template.",
	.main = reset_main,
};

/* ---- mark */

struct mark_args {
	const char *name;
	bool is_restored;
};

static const struct cli_option mark_options[] = {
	{ "name", 0, CLI_TEXT, offsetof(struct mark_args, name), "DATABASE",
		"the database's name, typed once more (asked for on a terminal)" },
	{ "restored", 0, CLI_FLAG, offsetof(struct mark_args, is_restored), NULL,
		"it is a restored production backup: it must be neutralised" },
	{ 0 },
};

static enum outcome mark_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	const struct mark_args *a = args;
	struct mark mark;

	if (ops.count != 1)
		return usage(e, "mark takes one connection string",
			"reprod snapshot mark DSN --name DATABASE");
	if (is_folder(ops.items[0]))
		return usage(
			e, "cannot mark a folder", "labs are marked when they are built and reset");
	const struct mark_options o = { .dsn = ops.items[0],
		.name = a->name,
		.is_restored = a->is_restored,
		.is_forced = r->is_forced };
	if (!mark_dsn(&o, r, &mark, e))
		return OUTCOME_FAILED;
	print_mark_json(r, &mark);
	print_line(r, "marked: this database may be a target (tier '%s')", mark.tier);
	return OUTCOME_YES;
}

static const struct cli_command mark_command = {
	.name = "mark",
	.summary = "make an ordinary test database a permitted target",
	.usage = "snapshot mark DSN --name DATABASE [--restored]",
	.notes =
		"Only marked databases can be targets of replays and experiments, which change them.\n"
		"A server that looks like production is refused (5).",
	.options = mark_options,
	.args_size = sizeof(struct mark_args),
	.main = mark_main,
};

/* ---- status */

struct status_args {
	const char *out_path;
};

static const struct cli_option status_options[] = {
	{ "output", 'o', CLI_TEXT, offsetof(struct status_args, out_path), "FILE",
		"write the proof here as JSON" },
	{ 0 },
};

static void print_status(const struct run *r, const char *target, const struct json *j)
{
	const struct json *items = json_get(j, "items");
	bool is_lab = strcmp(json_text(json_get(j, "kind"), ""), "lab") == 0;

	if (is_lab)
		print_line(r, "%s: lab, tier %s, database '%s', %s", target,
			json_text(json_get(j, "tier"), ""), json_text(json_get(j, "database"), ""),
			json_type(json_get(j, "frozen")) == JSON_MAP ? "frozen" : "not frozen");
	else
		print_line(r, "database: tier %s", json_text(json_get(j, "tier"), "none"));
	for (size_t i = 0; i < json_count(items); i++) {
		const struct json *item = json_at(items, i);
		const char *database = json_text(json_get(item, "database"), NULL);
		const char *found = json_text(json_get(item, "found"), "");
		bool ok = json_is_true(json_get(item, "ok"), false);

		if (ok && !r->verbose && is_lab && !database && i + 1 < json_count(items))
			continue;
		print_line(r, "  %-6s %s%s%s%s%s", ok ? "ok" : "NOT OK",
			json_text(json_get(item, "item"), ""), database ? ", database " : "",
			database ? database : "", !ok && found[0] ? ": " : "", !ok ? found : "");
	}
	print_line(r, "%s",
		json_is_true(json_get(j, "ok"), false) ? "may be a target" : "may not be a target");
}

static enum outcome status_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	const struct status_args *a = args;
	CLEANUP(json_cleanup) struct json *j = NULL;

	if (ops.count != 1)
		return usage(
			e, "status takes one lab or database", "reprod snapshot status DIR|DSN");
	if (a->out_path && !file_may_write(a->out_path, r->is_forced, e))
		return OUTCOME_FAILED;
	j = is_folder(ops.items[0]) ? status_dir(ops.items[0], r, e)
				    : status_dsn(ops.items[0], r, e);
	if (!j || (a->out_path && !json_save(j, a->out_path, r->is_forced, e)))
		return OUTCOME_FAILED;
	if (r->is_json)
		json_print(j, r->out);
	else
		print_status(r, ops.items[0], j);
	return json_is_true(json_get(j, "ok"), false) ? OUTCOME_YES : OUTCOME_NO;
}

static const struct cli_command status_command = {
	.name = "status",
	.summary = "prove that a lab is neutralised and marked",
	.usage = "snapshot status DIR|DSN [-o FILE]",
	.notes =
		"Ends with 1 when something doesn't hold. A lab's server is started for the checks,\n"
		"unless its files alone would let it act on the outside world. -v shows every item.",
	.options = status_options,
	.args_size = sizeof(struct status_args),
	.main = status_main,
};

/* ---- the group */

static const struct cli_command *const subs[] = {
	&snapshot_describe_command,
	&snapshot_diff_command,
	&build_command,
	&freeze_command,
	&reset_command,
	&mark_command,
	&status_command,
	NULL,
};

const struct cli_command snapshot_command = {
	.name = "snapshot",
	.summary = "describe production, and make a disposable database like it",
	.usage = "snapshot COMMAND ...",
	.subs = subs,
};
