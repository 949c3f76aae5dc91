/*
 * investigate.h - finds the slowdown again, with the commands a user would type.
 *
 * Each command is this very program as a child, printed before it runs and its
 * answer after it. What the commands found is read back from the files they left
 * and held against the incident's truth.
 */
#ifndef REPROD_INVESTIGATE_H
#define REPROD_INVESTIGATE_H

#include "core/base/json.h"
#include "demo/production.h"

struct investigation {
	struct production *production;
	const char *dir;
	char profile_path[1100], correlation_path[1100], diff_path[1100];
	char recipe_path[1100], result_path[1100], lab_dir[1100];
	unsigned steps;
};

/* Runs every step; production is stopped on the way, once all was learned of it. */
bool investigate(
	struct investigation *v, struct production *p, const struct run *r, struct err *e) MUST_USE;
/* One entry of `demo --json`: {name, title, first_group[], truth, rank, verdict,
 * necessary[], tested[], problems[], ok}. Takes nothing for granted: a missing file
 * is a problem, not a failure. */
struct json *investigation_findings(const struct investigation *v);

#endif
