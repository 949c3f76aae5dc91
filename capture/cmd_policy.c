#include "capture/cmd_policy.h"

#include <stddef.h>

#include "capture/policy_draft.h"
#include "core/base/file.h"

struct policy_args {
	const char *output;
};

static const struct cli_option options[] = {
	{ "output", 'o', CLI_TEXT, offsetof(struct policy_args, output), "FILE",
		"write the policy here" },
	{ 0 },
};

static size_t count_rules(const struct json *columns, const char *rule)
{
	struct json_walk w = json_walk_of(columns);
	struct json *value;
	size_t n = 0;

	while (json_walk_next(&w, &value))
		n += strcmp(json_text(value, ""), rule) == 0;
	return n;
}

static void print_summary(const struct json *policy, const char *path, FILE *to)
{
	const struct json *columns = json_get(policy, "columns");
	size_t all = (size_t)json_int(json_path(policy, "source.columns"), 0);

	fprintf(to,
		"%s: %zu columns: %zu keep, %zu token, %zu shift, %zu by spelling; %zu words kept\n",
		path, all, count_rules(columns, "keep"), count_rules(columns, "token"),
		count_rules(columns, "shift"), all - json_count(columns),
		json_count(json_get(policy, "keep_words")));
	fprintf(to, "No rows were read. Read 'comments' in it before you use it: --policy %s\n",
		path);
}

static enum outcome policy_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	const struct policy_args *a = args;
	const struct pg_options options_pg = { .is_read_only = true,
		.statement_timeout_ns = 60 * NS_PER_S,
		.lock_timeout_ns = 100 * NS_PER_MS };
	CLEANUP(pg_cleanup) struct pg *c = NULL;
	CLEANUP(json_cleanup) struct json *policy = NULL;

	if (ops.count != 1) {
		err_set(e, ERR_USAGE, "capture policy takes one DSN");
		return OUTCOME_FAILED;
	}
	if (a->output && !file_may_write(a->output, r->is_forced, e))
		return OUTCOME_FAILED;
	c = pg_open(ops.items[0], &options_pg, e);
	if (c)
		policy = policy_draft(c, e);
	if (!policy || (a->output && !json_save(policy, a->output, r->is_forced, e)))
		return OUTCOME_FAILED;
	if (r->is_json || !a->output)
		json_print(policy, r->out);
	else
		print_summary(policy, a->output, r->out);
	return OUTCOME_YES;
}

const struct cli_command capture_policy_command = {
	.name = "policy",
	.summary = "draft a scrub policy from a database's catalog, without reading rows",
	.usage = "capture policy DSN [-o policy.json]",
	.notes =
		"Reads names, types, keys, enum labels and CHECK constraints; of the statistics only how many\n"
		"distinct values a column has. Any role that may connect will do. Enums, booleans and texts whose\n"
		"CHECK lists their values are kept, dates shift, other texts become tokens; each rule has a\n"
		"comment that says why. docs/formats/policy.md lists the rules.",
	.options = options,
	.args_size = sizeof(struct policy_args),
	.main = policy_main,
};
