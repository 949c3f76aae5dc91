/*
 * pgedges.h - values of small results that come back later in the same session.
 *
 * An answer of at most PG_EDGE_ROWS rows is remembered: its first PG_EDGE_COLUMNS
 * integers and uuids of each row. A later bind or literal that is the same value
 * makes an edge from the youngest answer that held it. Integers of one or two
 * digits count only when the statement generated them (RETURNING, nextval, ...):
 * a count of 5 is not an id of 5. The newest PG_EDGE_MEMORY values are kept.
 */
#ifndef REPROD_PGEDGES_H
#define REPROD_PGEDGES_H

#include "core/model/record.h"

#define PG_EDGE_ROWS 16
#define PG_EDGE_COLUMNS 16
#define PG_EDGE_MEMORY 64

struct pg_scalar {
	uint8_t kind; /* 0 none, 1 integer, 2 uuid */
	uint64_t a, b;
};

struct pg_known {
	struct pg_scalar value;
	uint64_t from_seq;
	uint32_t row;
	uint16_t column;
	bool is_strong;
};

struct pg_edges {
	struct pg_known known[PG_EDGE_MEMORY];
	uint32_t count, next; /* a ring */
	uint32_t result_at; /* how many of the result that is being read are in it */
	uint8_t filter[1024]; /* how many of known[] fall on each hash: most values are in none */
};

/* A value as the wire has it; type_oid may be 0. */
struct pg_scalar pg_scalar_of(struct slice bytes, bool is_binary, uint32_t type_oid);

/* Of the DataRow body (row counts from 0). formats[i] for column i; types may be NULL. */
void pg_edges_row(struct pg_edges *e, struct slice row, uint32_t row_number, uint64_t from_seq,
	uint32_t binary_columns, const uint32_t *types, bool is_strong);
/* The result turned out too large: forgets what was just remembered of it. */
void pg_edges_forget_result(struct pg_edges *e);
void pg_edges_end_result(struct pg_edges *e);
/* The youngest remembered equal value; NULL when there is none. */
const struct pg_known *pg_edges_find(const struct pg_edges *e, struct pg_scalar value);

/* Does this text generate values? nextval, lastval, currval or RETURNING as words. */
bool pg_text_generates(struct slice text);

/* Literals of a text that are remembered integers or uuids: calls found() with the
 * literal's ordinal among all literals. Lexes only when some run of digits is known. */
void pg_edges_literals(const struct pg_edges *e, struct slice text,
	void (*found)(void *data, uint32_t ordinal, const struct pg_known *k), void *data);

#endif
