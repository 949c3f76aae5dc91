/*
 * sqltree.h - which column each literal and parameter of a statement belongs to, and
 * what it is there for, by PostgreSQL's own grammar (libpg_query, version 15).
 *
 * It sees the outline of the statement, never a value. Followed are aliases, joins,
 * sub-selects, WITH queries, column lists, row comparisons and functions around a
 * column; a rule of docs/scrubbing.md says which. False when the text does not parse
 * (newer syntax), is too deep, or memory runs out: then the lexer's reading holds.
 * Slower than everything else here (some 50 us): once for each outline, then cached.
 */
#ifndef REPROD_SQLTREE_H
#define REPROD_SQLTREE_H

#include "core/base/arena.h"
#include "core/model/sqloutline.h"
#include "core/model/sqlplaces.h"

struct sqltree_slot {
	uint16_t place; /* of core/model/sqlplaces.h */
	uint8_t action; /* enum policy_rule of the column */
	uint8_t role; /* enum value_role */
	bool is_seen; /* the grammar says what it is there for */
	bool is_known; /* and the column too */
};

/* Fills outline->count slots, zeroed by the caller. The arena is reset. */
bool sqltree_read(const struct sqloutline *outline, const struct policy *policy,
	struct sqlplaces *places, struct arena *arena, struct sqltree_slot *slots) MUST_USE;
/* Whether the text begins like a statement that is worth parsing. */
bool sqltree_is_worth(struct slice outline);

#endif
