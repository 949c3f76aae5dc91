/*
 * diff.h - what one database has that another lacks, ranked by what it may cost.
 *
 * Compares two profiles. Differences within the noise of ANALYZE are not told. The
 * first finding of each condition comes before any second one, so that a hundred
 * tables of another size do not hide one stale statistic.
 */
#ifndef REPROD_DIFF_H
#define REPROD_DIFF_H

#include "core/base/arena.h"
#include "core/base/cli.h"
#include "core/base/json.h"

#define DIFF_FINDINGS_MAX 20000

struct diff_finding {
	const char *kind; /* "stale statistics", "row count", "missing index", "setting", ... */
	const char *object; /* "public.orders" */
	const char *a, *b; /* as text, for people */
	const char *why;
	const char *close; /* the command that would close it, or NULL */
	const char *condition; /* "stats", "data", "bloat", "setting:work_mem", ...; NULL */
	double score; /* 0 to 100 */
};

/* A table of both profiles; the JSON rows are NULL where a side lacks it. */
struct diff_table {
	const char *name; /* schema.table */
	const struct json *relation[2], *activity[2], *cache[2];
	double weight; /* 1, or by the captured traffic that touches it */
};

struct diff {
	const struct json *profile[2];
	struct diff_table *tables;
	size_t table_count;
	struct diff_finding *findings;
	size_t finding_count, finding_cap;
	uint64_t dropped; /* beyond the cap */
	struct arena arena;
};

/* weights_from: route texts with their share of the time, or NULL. */
struct diff_traffic {
	const char *route;
	double share;
};

/* Whether a document is a profile of a version that is read. */
bool diff_is_profile(const struct json *j, struct err *e) MUST_USE;
bool diff_run(struct diff *d, const struct json *a, const struct json *b,
	const struct diff_traffic *traffic, size_t traffic_count, struct err *e) MUST_USE;
struct json *diff_json(const struct diff *d);
void diff_free(struct diff *d);

/* For the rules: score is cut to 0..100, below 5 is dropped; texts by printf into
 * the arena with diff_text(). */
void diff_add(struct diff *d, struct diff_finding finding);
const char *diff_text(struct diff *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct diff_table *diff_find_table(struct diff *d, const char *schema, const char *name);

/* Each rule looks at the whole and adds what it found. */
typedef void diff_rule(struct diff *d);
extern diff_rule *const diff_rules[];
extern const size_t diff_rule_count;

extern const struct cli_command snapshot_diff_command;

#endif
