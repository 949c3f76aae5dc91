/*
 * pglog_learn.h - the log_line_prefix that a log was written with, from its lines.
 *
 * Tries the prefixes that packages, clouds and manuals use, and those that the parts
 * of the lines themselves suggest (a time, [number], user=..., host(port), ...). The
 * one under which most lines read wins; among equals the one that tells more.
 */
#ifndef REPROD_PGLOG_LEARN_H
#define REPROD_PGLOG_LEARN_H

#include "core/format/pglog_prefix.h"

enum { PGLOG_LEARN_LINES = 200 };

struct pglog_learned {
	struct pglog_prefix prefix;
	size_t lines; /* that have a label */
	size_t matched; /* of those, under the prefix */
	bool has_user; /* some line tells a user or a database */
	size_t foreign; /* lines with a label in another language */
	char example[32]; /* of such a label */
};

/* False when less than half of the labelled lines read under any prefix. lines may
 * hold continuation lines; ret is filled in any case. */
bool pglog_learn(const struct slice *lines, size_t count, struct pglog_learned *ret);

#endif
