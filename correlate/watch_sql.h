/*
 * watch_sql.h - what a watch asks the server: one query a section, for Postgres 12 to 18.
 *
 * Columns and FROM clauses have variants by major version; a column that a version does
 * not have is null there, so sections are the same everywhere. No query reads a table of
 * the user, a query text, a client's address, or a name of a user.
 */
#ifndef REPROD_CORRELATE_WATCH_SQL_H
#define REPROD_CORRELATE_WATCH_SQL_H

#include "core/base/buf.h"
#include "correlate/stats_table.h"

/* Major versions; 0: no bound. */
struct watch_variant {
	int min, max;
	const char *text;
};

struct watch_column {
	const char *name;
	enum stats_kind kind;
	const char *unit;
	struct watch_variant of[3];
};

struct watch_query {
	const char *name;
	uint32_t flags; /* enum stats_flag */
	int min; /* not asked below this version */
	const char *extension; /* needed; its schema stands for %s in FROM */
	const char *key; /* an expression; NULL: one row */
	struct watch_variant from[3];
	const struct watch_column *columns;
	const char *tail; /* WHERE, GROUP BY, ... or NULL */
	int64_t every_ns; /* asked no more often; 0: each round */
	int top; /* so many rows join each round, by the change of their first column; 0: all */
	bool is_hashed; /* its column is a hash of which only changes are counted */
};

extern const struct watch_query watch_queries[];
size_t watch_query_count(void);
/* The section that it fills. */
void watch_sql_section(const struct watch_query *q, struct stats_section *ret);
/* Its text: the key, then a whole number for each column. False when this version does
 * not have it. schema: the extension's, quoted. */
bool watch_sql_text(
	const struct watch_query *q, int major, const char *schema, struct buf *to) MUST_USE;

#endif
