#include "capture/cmd_coverage.h"

#include <inttypes.h>

#include "capture/coverage.h"

struct coverage_args {
	const char *rules, *against;
	int64_t routes;
	bool is_check;
};

#define AT(field) offsetof(struct coverage_args, field)

static const struct cli_option options[] = {
	{ "rules", 0, CLI_TEXT, AT(rules), "RULES.json",
		"judge by these sampling rules (default: those in the capture)" },
	{ "against", 0, CLI_TEXT, AT(against), "OLD.rcap",
		"an earlier capture: name routes that vanished since" },
	{ "routes", 'n', CLI_INT, AT(routes), "N",
		"show so many routes, the busiest first; 0 for all (default 20)" },
	{ "check", 0, CLI_FLAG, AT(is_check), NULL,
		"exit 1 when a rule has no traffic, or a route vanished or was renamed" },
	{ 0 },
};

static void defaults(void *args)
{
	((struct coverage_args *)args)->routes = 20;
}

static void print_cell(FILE *to, const struct json *value, int width)
{
	if (json_type(value) == JSON_NUMBER)
		fprintf(to, " %*.*f", width, 3, json_number(value, 0));
	else
		fprintf(to, " %*s", width, "-");
}

static void print_route(FILE *to, const struct json *r)
{
	fprintf(to, "  %9" PRId64 " %9" PRId64, json_int(json_get(r, "traffic"), 0),
		json_int(json_get(r, "samples"), 0));
	print_cell(to, json_get(r, "effective_rate"), 7);
	print_cell(to, json_get(r, "rate"), 7);
	fprintf(to, "  %-4s %.70s\n", json_is_true(json_get(r, "p99_ok"), false) ? "yes" : "no",
		json_text(json_get(r, "route"), ""));
}

static void print_rule(FILE *to, const struct json *r)
{
	fprintf(to, "  %9" PRId64 " %9" PRId64, json_int(json_get(r, "traffic"), 0),
		json_int(json_get(r, "samples"), 0));
	print_cell(to, json_get(r, "rate"), 7);
	fprintf(to, " %6" PRId64 "  %.70s\n", json_int(json_get(r, "routes"), 0),
		json_text(json_get(r, "rule"), ""));
}

static void print_all(const struct json *doc, size_t shown, FILE *to)
{
	const struct json *routes = json_get(doc, "routes"), *rules = json_get(doc, "rules");
	const struct json *warnings = json_get(doc, "warnings");
	size_t n = json_count(routes);

	fprintf(to, "    traffic   samples    kept    rate  p99? route\n");
	for (size_t i = 0; i < n && (!shown || i < shown); i++)
		print_route(to, json_at(routes, i));
	if (shown && n > shown)
		fprintf(to, "  %zu more routes (-n 0 shows all)\n", n - shown);
	if (json_count(rules))
		fprintf(to, "\n    traffic   samples    rate routes  rule\n");
	for (size_t i = 0; i < json_count(rules); i++)
		print_rule(to, json_at(rules, i));
	for (size_t i = 0; i < json_count(warnings); i++)
		fprintf(to, "%swarning: %s\n", i ? "" : "\n", json_text(json_at(warnings, i), ""));
}

/* The rules as the capture's head has them. */
static bool rules_of_head(struct sample_rules *rules, const struct rcap *r, const char *path,
	bool *ret_has, struct err *e)
{
	const struct json *document = json_path(rcap_head(r), "sampling.document");

	*ret_has = json_type(document) == JSON_MAP;
	return !*ret_has || sample_rules_of(rules, json_copy(document), path, e);
}

static bool load_rules(const struct coverage_args *a, struct sample_rules *rules,
	const struct rcap *r, const char *path, bool *ret_has, struct err *e)
{
	if (!a->rules)
		return rules_of_head(rules, r, path, ret_has, e);
	*ret_has = true;
	return sample_rules_load(rules, a->rules, e);
}

static enum outcome coverage(struct run *run, void *args, struct cli_operands ops, struct err *e)
{
	const struct coverage_args *a = args;
	struct coverage_input in = { 0 };
	struct sample_rules rules = { 0 };
	struct rcap *before = NULL;
	CLEANUP(json_cleanup) struct json *doc = NULL;
	bool has_rules = false;

	if (ops.count != 1 || a->routes < 0) {
		err_set(e, ERR_USAGE,
			ops.count != 1 ? "capture coverage reads one file"
				       : "--routes cannot be negative");
		return OUTCOME_FAILED;
	}
	in.capture = rcap_open(ops.items[0], e);
	if (in.capture && (!a->against || (before = rcap_open(a->against, e))) &&
		load_rules(a, &rules, in.capture, ops.items[0], &has_rules, e)) {
		in.before = before;
		in.rules = has_rules ? &rules : NULL;
		doc = coverage_json(&in, e);
	}
	if (doc && run->is_json)
		json_print(doc, run->out);
	else if (doc)
		print_all(doc, (size_t)a->routes, run->out);
	sample_rules_free(&rules);
	rcap_close(before);
	rcap_close(in.capture);
	if (!doc)
		return OUTCOME_FAILED;
	return a->is_check && !json_is_true(json_get(doc, "ok"), true) ? OUTCOME_NO : OUTCOME_YES;
}

const struct cli_command capture_coverage_command = {
	.name = "coverage",
	.summary =
		"what was kept of each route, and routes that the sampling rules no longer reach",
	.usage = "capture coverage [--rules RULES.json] [--against OLD.rcap] [--check] FILE.rcap",
	.notes =
		"Traffic is exact, samples are what is stored. 'kept' is their ratio, 'rate' what the\n"
		"rules ask for; a whole session is kept, so more of a route may be there. 'p99?' says\n"
		"whether the samples carry a p99. A rule without traffic, and a route of OLD.rcap\n"
		"that is gone, are named with the new route that is most like it; so is a route that\n"
		"falls silent in the middle of FILE while one like it comes up.",
	.options = options,
	.args_size = sizeof(struct coverage_args),
	.defaults = defaults,
	.main = coverage,
};
