/*
 * sqlscope.h - which names of a statement mean which columns: aliases, sub-selects,
 * WITH queries, from the inside out.
 *
 * Without a catalog: an unqualified name belongs to the tables of the nearest FROM; of
 * several, to that which the policy has a rule for. All memory is the caller's arena's;
 * names are borrowed. Private to the SQL scrubber.
 */
#ifndef REPROD_SQLSCOPE_H
#define REPROD_SQLSCOPE_H

#include "core/base/arena.h"
#include "core/model/sqlplaces.h"

/* One column of a query's result. */
struct output {
	struct slice name;
	struct sqlcolumn column;
	const void *rows; /* of VALUES: whose items make this column; NULL else */
	size_t index;
};

struct scope;

struct outputs {
	struct output *list;
	size_t count;
	const struct scope *star; /* "*": columns of these tables too */
};

struct source {
	struct source *next;
	struct slice alias, table; /* table empty: not one, outputs tell */
	struct outputs outputs;
};

struct scope {
	const struct scope *outer;
	struct source *sources;
	struct source *queries; /* of WITH */
};

struct names {
	const struct policy *policy;
	struct sqlplaces *places;
	struct arena *arena;
};

/* NULL at the arena's cap. */
struct source *sqlscope_add(struct names *n, struct scope *s, struct slice alias,
	struct slice table, struct outputs outputs);
struct source *sqlscope_add_query(
	struct names *n, struct scope *s, struct slice name, struct outputs outputs);
/* The WITH query of that name, NULL when there is none. */
const struct source *sqlscope_query(const struct scope *s, struct slice name);
/* The column behind a name; qualifier may be empty. ret_output, may be NULL: the output
 * of a sub-select that it is, or NULL. */
struct sqlcolumn sqlscope_resolve(struct names *n, const struct scope *s, struct slice qualifier,
	struct slice name, const struct output **ret_output);

#endif
