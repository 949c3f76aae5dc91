#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/model/rcap.h"
#include "snapshot/describe.h"
#include "snapshot/diff.h"

#define PROFILE_MAX_BYTES ((size_t)512 << 20)
#define SHOWN_MAX 12

struct diff_args {
	const char *out_path;
	const char *capture_path;
	bool is_all;
};

static const struct cli_option options[] = {
	{ "output", 'o', CLI_TEXT, offsetof(struct diff_args, out_path), "FILE",
		"write the differences as JSON here" },
	{ "capture", 0, CLI_TEXT, offsetof(struct diff_args, capture_path), "F.rcap",
		"weigh tables by the captured traffic that touches them" },
	{ "all", 0, CLI_FLAG, offsetof(struct diff_args, is_all), NULL,
		"show every difference, not the first 12" },
	{ 0 },
};

/* An existing file wins, else it is a DSN. */
static struct json *load(const char *operand, const struct run *r, struct err *e)
{
	if (file_exists(operand) && !file_is_dir(operand)) {
		struct json *j = json_load(operand, PROFILE_MAX_BYTES, e);

		if (!j)
			err_hint(e, "give a profile made by 'reprod snapshot describe', or a DSN");
		if (!j || diff_is_profile(j, e))
			return j;
		err_in(e, "%s", operand);
		json_free(j);
		return NULL;
	}
	/* A path is no connection string: libpq would take it for a database's name. */
	if (strchr(operand, '/') && !strstr(operand, "://") && !strchr(operand, '=')) {
		err_set(e, ERR_INPUT,
			file_is_dir(operand) ? "'%s' is a folder" : "'%s' is not there", operand);
		err_hint(e, "give a profile made by 'reprod snapshot describe', or a DSN");
		return NULL;
	}
	return snapshot_describe(operand, NULL, r, e);
}

/* Statements' routes with their share of all service time. An HTTP path touches no table,
 * whatever its words. */
static bool load_traffic(const char *path, const struct run *r, struct rcap **ret_capture,
	struct diff_traffic **ret, size_t *ret_count, struct err *e)
{
	struct rcap *capture = rcap_open(path, e);
	double total = 0;
	size_t n;

	*ret_capture = capture;
	if (!capture)
		return false;
	if (rcap_is_torn(capture))
		run_note(r,
			"%s was not finished or is damaged: routes are weighed by what can be read",
			path);
	n = rcap_route_count(capture);
	*ret = calloc(n + 1, sizeof(**ret));
	if (!*ret)
		return err_set(e, ERR_ENV, "out of memory for %zu routes", n);
	for (uint32_t i = 0; i < n; i++) {
		const struct rcap_route *route = rcap_route(capture, i);
		char *text = route && route->text.p && route->protocol != PROTOCOL_HTTP
				     ? strndup(route->text.p, route->text.n)
				     : NULL;

		if (!text)
			continue;
		(*ret)[*ret_count].route = text;
		(*ret)[(*ret_count)++].share = route->latency_us.sum;
		total += route->latency_us.sum;
	}
	for (size_t i = 0; i < *ret_count && total > 0; i++)
		(*ret)[i].share /= total;
	return true;
}

static void free_traffic(struct diff_traffic *traffic, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free((char *)(uintptr_t)traffic[i].route);
	free(traffic);
}

static void print_findings(const struct diff *d, bool is_all, FILE *to)
{
	size_t shown = is_all || d->finding_count < SHOWN_MAX ? d->finding_count : SHOWN_MAX;

	if (d->finding_count == 0)
		fprintf(to, "no difference above the noise of ANALYZE\n");
	for (size_t i = 0; i < shown; i++) {
		const struct diff_finding *f = &d->findings[i];

		fprintf(to, "%2zu  %-17s %s\n      %s  |  %s\n      %s\n", i + 1, f->kind,
			f->object, f->a, f->b, f->why);
		if (f->close)
			fprintf(to, "      closed by: %s\n", f->close);
	}
	if (shown < d->finding_count)
		fprintf(to, "and %zu more (--all)\n", d->finding_count - shown);
}

static enum outcome report(
	const struct diff *d, const struct diff_args *a, struct run *r, struct err *e)
{
	struct json *doc CLEANUP(json_cleanup) = diff_json(d);

	if (a->out_path && !json_save(doc, a->out_path, r->is_forced, e))
		return OUTCOME_FAILED;
	if (r->is_json)
		json_print(doc, r->out);
	else
		print_findings(d, a->is_all, r->out);
	return d->finding_count ? OUTCOME_NO : OUTCOME_YES;
}

static enum outcome diff_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	const struct diff_args *a = args;
	struct json *first CLEANUP(json_cleanup) = NULL;
	struct json *second CLEANUP(json_cleanup) = NULL;
	struct rcap *capture = NULL;
	struct diff_traffic *traffic = NULL;
	size_t traffic_count = 0;
	struct diff d = { 0 };
	enum outcome outcome = OUTCOME_FAILED;

	if (ops.count != 2) {
		err_set(e, ERR_USAGE, "diff takes two profiles or DSNs");
		return OUTCOME_FAILED;
	}
	if (a->out_path && !file_may_write(a->out_path, r->is_forced, e))
		return OUTCOME_FAILED;
	first = load(ops.items[0], r, e);
	second = first ? load(ops.items[1], r, e) : NULL;
	if (second &&
		(!a->capture_path ||
			load_traffic(a->capture_path, r, &capture, &traffic, &traffic_count, e)) &&
		diff_run(&d, first, second, traffic, traffic_count, e))
		outcome = report(&d, a, r, e);
	diff_free(&d);
	free_traffic(traffic, traffic_count);
	rcap_close(capture);
	return outcome;
}

const struct cli_command snapshot_diff_command = {
	.name = "diff",
	.summary = "what one database has that the other lacks, ranked by what it may cost",
	.usage = "snapshot diff A B [--capture F.rcap] [-o F.json]",
	.notes =
		"A and B are profiles made by 'snapshot describe', or DSNs. A is the one that is slow. Exit code 1\n"
		"when there is a difference above the noise of ANALYZE, 0 when there is none.",
	.options = options,
	.args_size = sizeof(struct diff_args),
	.main = diff_main,
};
