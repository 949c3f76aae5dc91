/*
 * mark_dsn.h - making an ordinary database a permitted target.
 *
 * The user types the database's name, so that a slip in a connection string is not
 * enough. A database that looks like production (standbys attached, archiving) is
 * refused; a restored backup must prove that it is neutralised.
 */
#ifndef REPROD_MARK_DSN_H
#define REPROD_MARK_DSN_H

#include "core/base/run.h"
#include "core/model/mark.h"

struct mark_options {
	const char *dsn;
	const char *name; /* as the user typed it; NULL: asked for on the terminal */
	bool is_restored;
	bool is_forced; /* mark in spite of its looks; never for a restored one */
};

bool mark_dsn(const struct mark_options *o, const struct run *r, struct mark *ret_mark,
	struct err *e) MUST_USE;

#endif
