/*
 * template.h - freeze and reset of one database behind a connection string, by a
 * template database beside it (NAME_reprod_frozen).
 *
 * Needs a role that owns the database and may create databases. Only marked
 * databases are touched; the server is never stopped. Cumulative statistics and
 * the cache are not part of such a state.
 */
#ifndef REPROD_TEMPLATE_H
#define REPROD_TEMPLATE_H

#include "core/base/run.h"
#include "core/model/mark.h"

bool template_freeze(const char *dsn, bool is_forced, const struct run *r, struct mark *ret_mark,
	struct err *e) MUST_USE;

#endif
