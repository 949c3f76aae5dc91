/*
 * pglog_csv.h - Postgres csvlog, record by record out of a growing buffer.
 *
 * Columns are those of "Using CSV-Format Log Output" (23 from 9.0, 24 from 13, 26
 * from 14). A record may hold newlines within quotes. Bytes that are no record
 * (a cut line, a foreign line, the tail of a record whose start is missing) are
 * stepped over up to the next line that begins with a time; each such stretch is one
 * FAIL, and reading goes on.
 */
#ifndef REPROD_PGLOG_CSV_H
#define REPROD_PGLOG_CSV_H

#include "core/format/pglog.h"

#define PGLOG_CSV_COLUMNS_MIN 22
#define PGLOG_CSV_COLUMNS_MAX 26

struct pglog_csv {
	struct buf unquoted; /* fields whose doubled quotes were undone */
};

/* Takes one record off the front of *rest. ITEM: *ret borrows from *rest's bytes and
 * from the reader. MORE: no whole record yet (*rest is untouched). FAIL: stepped
 * over something, see ret_why. END: nothing left, only when is_last. */
enum step pglog_csv_next(struct pglog_csv *c, struct slice *rest, bool is_last,
	struct pglog_line *ret, const char **ret_why);
void pglog_csv_free(struct pglog_csv *c);

#endif
