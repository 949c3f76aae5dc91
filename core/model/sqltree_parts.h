/*
 * sqltree_parts.h - what the files of the grammar's reading share; private to them.
 */
#ifndef REPROD_SQLTREE_PARTS_H
#define REPROD_SQLTREE_PARTS_H

#include <pg_query/pg_query.pb-c.h>

#include "core/model/record.h"
#include "core/model/sqlscope.h"
#include "core/model/sqltree.h"

/* Deeper nodes, and those past the bound, are left to the lexer. */
enum { SQLTREE_DEPTH_MAX = 200, SQLTREE_NODES_MAX = 200000 };

typedef PgQuery__Node node;

struct walk {
	struct names names;
	const struct sqloutline *outline;
	struct sqltree_slot *slots;
	struct source *recursive; /* the WITH RECURSIVE query being read */
	unsigned depth;
	unsigned nodes; /* a walk through VALUES may come by twice */
};

/* Where an expression stands. */
struct place {
	const struct scope *scope;
	const struct sqlcolumn *column; /* that its values belong to, or NULL */
	uint8_t role;
	bool is_argument; /* of a function: its numbers are lengths and positions */
};

static inline struct slice sqltree_text(const node *n)
{
	if (n && n->node_case == PG_QUERY__NODE__NODE_STRING)
		return slice_of(n->string->sval);
	return (struct slice){ NULL, 0 };
}

static inline struct place sqltree_with(struct place at, const struct sqlcolumn *column)
{
	at.column = column && column->is_known ? column : NULL;
	at.is_argument = false;
	return at;
}

/* The items of ROW (...), of a list, or NULL. */
node *const *sqltree_row(const node *n, size_t *ret_count);

/* core/model/sqltree_column.c: the column that an expression is made of. */
struct sqlcolumn sqltree_column(struct walk *w, const struct scope *scope, const node *n);
struct sqlcolumn sqltree_column_of_any(
	struct walk *w, const struct scope *scope, node *const *list, size_t n);
struct sqlcolumn sqltree_resolve(struct walk *w, const struct scope *scope,
	const PgQuery__ColumnRef *ref, const struct output **ret_output);
/* length(a): its result is about a value, not made of it. */
bool sqltree_is_measure(const PgQuery__FuncCall *f);
bool sqltree_is_arithmetic(const PgQuery__AExpr *e);
/* doc -> key: the key is structure, the result a part of doc. */
bool sqltree_is_subscript(const PgQuery__AExpr *e);

/* core/model/sqltree_value.c: notes every value of an expression. */
void sqltree_walk(struct walk *w, const node *n, struct place at);
void sqltree_walk_list(struct walk *w, node *const *list, size_t n, struct place at);
/* Whatever else the grammar knows: every node below, by the library's own description. */
void sqltree_walk_parts(struct walk *w, const ProtobufCMessage *message, struct place at);

/* core/model/sqltree.c: a query in the scope of another. targets: what its columns are
 * assigned to or compared with. */
struct outputs sqltree_query(struct walk *w, const node *n, const struct scope *outer,
	const struct sqlcolumn *targets, size_t target_count, uint8_t role);

#endif
