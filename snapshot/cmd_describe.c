#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "snapshot/describe.h"

struct describe_args {
	const char *out_path;
	int64_t budget_ns;
};

static const struct cli_option options[] = {
	{ "output", 'o', CLI_TEXT, offsetof(struct describe_args, out_path), "FILE",
		"write the profile here" },
	{ "budget", 0, CLI_DURATION, offsetof(struct describe_args, budget_ns), "TIME",
		"most time for one section (default 10s)" },
	{ 0 },
};

static void print_relations(const struct json *relations, FILE *to)
{
	double pages = 0, rows = 0;

	for (size_t i = 0; i < json_count(relations); i++) {
		pages += json_number(json_get(json_at(relations, i), "pages"), 0);
		rows += json_number(json_get(json_at(relations, i), "reltuples"), 0);
	}
	fprintf(to, "  %zu tables, about %.0f rows in %.0f MB\n", json_count(relations), rows,
		pages * 8192 / 1e6);
}

static void print_sections(const struct json *sections, FILE *to)
{
	for (size_t i = 0; i < json_count(sections); i++) {
		struct json *section;
		const char *name = json_key_at(sections, i, &section);
		const char *status = json_text(json_get(section, "status"), "");

		if (strcmp(status, "ok") == 0)
			continue;
		fprintf(to, "  %s: %s", name, status);
		if (json_get(section, "reason"))
			fprintf(to, " (%s)", json_text(json_get(section, "reason"), ""));
		if (json_type(json_get(section, "grant")) == JSON_TEXT)
			fprintf(to, "; would be mended by: %s",
				json_text(json_get(section, "grant"), ""));
		fputc('\n', to);
	}
}

static void print_summary(const struct json *profile, const char *path, FILE *to)
{
	const struct json *sections = json_get(profile, "sections");

	fprintf(to,
		"%s: PostgreSQL %s, database '%s', described in %.0f ms; no column values were read\n",
		path ? path : "profile",
		json_text(json_path(sections, "identity.server_version"), "?"),
		json_text(json_path(sections, "identity.database"), "?"),
		json_number(json_get(profile, "took_ms"), 0));
	print_relations(json_path(sections, "relations.relations"), to);
	print_sections(sections, to);
}

static enum outcome describe_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	const struct describe_args *a = args;
	struct json *profile CLEANUP(json_cleanup) = NULL;

	if (ops.count != 1) {
		err_set(e, ERR_USAGE, "describe takes one DSN");
		return OUTCOME_FAILED;
	}
	if (a->out_path && !file_may_write(a->out_path, r->is_forced, e))
		return OUTCOME_FAILED;
	profile = snapshot_describe(ops.items[0],
		&(struct describe_options){ .section_budget_ns = a->budget_ns }, r, e);
	if (!profile || (a->out_path && !json_save(profile, a->out_path, r->is_forced, e)))
		return OUTCOME_FAILED;
	if (r->is_json || !a->out_path)
		json_print(profile, r->out);
	else
		print_summary(profile, a->out_path, r->out);
	return OUTCOME_YES;
}

const struct cli_command snapshot_describe_command = {
	.name = "describe",
	.summary = "production's size, shape, age and statistics as one file, without its values",
	.usage = "snapshot describe DSN [-o P.json]",
	.notes =
		"Reads catalogs and statistics views only, read only, over one connection, and waits for no lock\n"
		"longer than 100 ms. Works with pg_monitor; what the role may not see is said with the GRANT that\n"
		"would mend it. Column values never leave the server: docs/formats/profile.md lists every field.",
	.options = options,
	.args_size = sizeof(struct describe_args),
	.main = describe_main,
};
