/*
 * draft.h - a first recipe from what is known: capture, correlation, differences.
 *
 * The production numbers (b, s, quantile, s/b with its interval) and the cell are
 * fixed here, before any run. Conditions without a way to switch them are written
 * too, so that `recipe check` names them.
 */
#ifndef REPROD_DRAFT_H
#define REPROD_DRAFT_H

#include "core/base/cli.h"
#include "core/base/json.h"
#include "core/base/run.h"

struct draft_options {
	const char *capture;
	const struct json *correlation; /* or NULL */
	const struct json *diff; /* or NULL */
	const struct json *manifest; /* of the snapshot, or NULL */
	const struct cli_list *jobs; /* NAME=FILE */
	const struct cli_list *conditions; /* ids: exactly these; empty: chosen here */
	const char *route; /* fragment, or NULL */
	const char *title; /* or NULL */
	const char *path; /* of the recipe: paths in it start at its folder */
};

/* The document; NULL with *e. */
struct json *draft_recipe(const struct draft_options *o, const struct run *r, struct err *e);

#endif
