/*
 * scrubcopy.h - COPY rows, scrubbed field by field.
 *
 * Only the text format with its defaults is read (PostgreSQL manual, COPY, "File
 * Formats"): fields end with TAB, rows with a newline, backslash escapes, \N is
 * null. With any other format or delimiter nothing is kept. Rules of columns hold where
 * the statement lists its columns; where it does not, and a rule may hide one of them,
 * nothing is kept either.
 */
#ifndef REPROD_SCRUBCOPY_H
#define REPROD_SCRUBCOPY_H

#include "core/model/sqlscrub.h"

/* Appends the rows to out. False: cannot be read safely; out may hold rubbish. */
bool scrubcopy_rows(
	struct sqlscrub *sql, struct slice statement, struct slice data, struct buf *out);

#endif
