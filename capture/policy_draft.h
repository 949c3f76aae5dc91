/*
 * policy_draft.h - a scrub policy drafted from a database's catalog.
 *
 * Reads names, types, keys, enum labels and CHECK constraints, and of pg_stats the
 * number of distinct values alone: no row, and no value that a row holds. Works with
 * any role that may connect, on servers 12 to 18. The same catalog gives the same
 * document, in the order of names.
 */
#ifndef REPROD_POLICY_DRAFT_H
#define REPROD_POLICY_DRAFT_H

#include "core/base/json.h"
#include "core/driver/pg.h"

/* The policy with a comment for each rule; NULL with *e. */
struct json *policy_draft(struct pg *c, struct err *e);

#endif
