#include "core/model/sqlscope.h"

enum { STAR_DEPTH_MAX = 16 };

static struct source *add(struct names *n, struct source **list, struct slice alias,
	struct slice table, struct outputs outputs)
{
	struct source *source = arena_take(n->arena, sizeof(*source));

	if (!source)
		return NULL;
	*source = (struct source){
		.next = *list, .alias = alias, .table = table, .outputs = outputs
	};
	*list = source;
	return source;
}

struct source *sqlscope_add(struct names *n, struct scope *s, struct slice alias,
	struct slice table, struct outputs outputs)
{
	return add(n, &s->sources, alias, table, outputs);
}

struct source *sqlscope_add_query(
	struct names *n, struct scope *s, struct slice name, struct outputs outputs)
{
	return add(n, &s->queries, name, (struct slice){ NULL, 0 }, outputs);
}

const struct source *sqlscope_query(const struct scope *s, struct slice name)
{
	for (; s; s = s->outer)
		for (const struct source *q = s->queries; q; q = q->next)
			if (slice_same(q->alias, name))
				return q;
	return NULL;
}

struct search {
	struct names *names;
	struct slice qualifier, name;
	struct sqlcolumn found;
	const struct output *output;
	size_t tables; /* that may have it */
	bool has_rule;
};

static void try_table(struct search *s, struct slice table)
{
	struct sqlcolumn column =
		sqlplaces_find(s->names->places, s->names->policy, table, s->name);

	s->tables++;
	if (!column.action && s->tables > 1)
		return;
	/* Several tables may have it: the rule that says less. */
	if (s->tables > 1 && s->has_rule)
		column.action = sqlplaces_stricter(column.action, s->found.action);
	s->has_rule |= column.action != POLICY_NONE;
	s->found = column;
}

/* True when an output has that very name: nothing else can be meant. */
static bool search_level(struct search *s, const struct scope *scope, unsigned depth);

static bool search_source(struct search *s, const struct source *source, unsigned depth)
{
	for (size_t i = 0; i < source->outputs.count; i++) {
		const struct output *o = &source->outputs.list[i];

		if (slice_same(o->name, s->name)) {
			s->found = o->column;
			s->output = o;
			return true;
		}
	}
	if (source->table.n)
		try_table(s, source->table);
	if (!source->outputs.star || depth == STAR_DEPTH_MAX)
		return false;
	struct search inner = *s;
	inner.qualifier = (struct slice){ NULL, 0 };
	bool is_exact = search_level(&inner, source->outputs.star, depth + 1);
	inner.qualifier = s->qualifier;
	*s = inner;
	return is_exact;
}

static bool search_level(struct search *s, const struct scope *scope, unsigned depth)
{
	for (const struct source *source = scope->sources; source; source = source->next)
		if ((!s->qualifier.n || slice_same(s->qualifier, source->alias)) &&
			search_source(s, source, depth))
			return true;
	return false;
}

struct sqlcolumn sqlscope_resolve(struct names *n, const struct scope *scope,
	struct slice qualifier, struct slice name, const struct output **ret_output)
{
	struct search s = { .names = n, .qualifier = qualifier, .name = name };

	for (; scope; scope = scope->outer) {
		bool is_exact = search_level(&s, scope, 0);

		if (ret_output)
			*ret_output = s.output;
		if (is_exact)
			return s.found;
		if (s.tables == 1 || s.has_rule)
			return s.found;
		/* Any of several tables: the column is known, its table is not. */
		if (s.tables > 1)
			return sqlplaces_find(
				n->places, n->policy, (struct slice){ NULL, 0 }, name);
	}
	return sqlplaces_find(n->places, n->policy, qualifier, name);
}
