#include "core/model/sqltree.h"

#include <pg_query.h>

#include "core/model/sqltree_parts.h"

static struct outputs outputs_new(struct walk *w, size_t n)
{
	struct outputs out = { .list = arena_take(w->names.arena, n * sizeof(struct output)) };

	out.count = out.list ? n : 0;
	return out;
}

/* AS t (a, b) */
static struct outputs renamed(struct walk *w, struct outputs from, node *const *names, size_t n)
{
	if (!n)
		return from;
	struct outputs out = outputs_new(w, from.count > n ? from.count : n);
	for (size_t i = 0; i < out.count; i++) {
		if (i < from.count)
			out.list[i] = from.list[i];
		if (i < n)
			out.list[i].name = sqltree_text(names[i]);
	}
	return out;
}

static void add_source(struct walk *w, struct scope *scope, const PgQuery__Alias *alias,
	struct slice name, struct slice table, struct outputs outputs)
{
	if (alias) {
		outputs = renamed(w, outputs, alias->colnames, alias->n_colnames);
		name = slice_of(alias->aliasname);
	}
	(void)sqlscope_add(&w->names, scope, name, table, outputs);
}

static void add_table(struct walk *w, struct scope *scope, const PgQuery__RangeVar *r)
{
	struct slice name = slice_of(r->relname);
	bool has_schema = r->schemaname && *r->schemaname;
	const struct source *query = has_schema ? NULL : sqlscope_query(scope, name);

	add_source(w, scope, r->alias, name, query ? (struct slice){ NULL, 0 } : name,
		query ? query->outputs : (struct outputs){ 0 });
}

static void add_from(struct walk *w, struct scope *scope, const node *n)
{
	const struct place at = { .scope = scope, .role = ROLE_PREDICATE };

	if (!n || w->depth == SQLTREE_DEPTH_MAX)
		return;
	w->depth++;
	switch (n->node_case) {
	case PG_QUERY__NODE__NODE_RANGE_VAR:
		add_table(w, scope, n->range_var);
		break;
	case PG_QUERY__NODE__NODE_RANGE_SUBSELECT:
		add_source(w, scope, n->range_subselect->alias, (struct slice){ NULL, 0 },
			(struct slice){ NULL, 0 },
			sqltree_query(
				w, n->range_subselect->subquery, scope, NULL, 0, ROLE_UNKNOWN));
		break;
	case PG_QUERY__NODE__NODE_JOIN_EXPR:
		add_from(w, scope, n->join_expr->larg);
		add_from(w, scope, n->join_expr->rarg);
		sqltree_walk(w, n->join_expr->quals, at);
		break;
	case PG_QUERY__NODE__NODE_RANGE_TABLE_SAMPLE:
		add_from(w, scope, n->range_table_sample->relation);
		break;
	case PG_QUERY__NODE__NODE_RANGE_FUNCTION:
		sqltree_walk_parts(w, &n->range_function->base, (struct place){ .scope = scope });
		add_source(w, scope, n->range_function->alias, (struct slice){ NULL, 0 },
			(struct slice){ NULL, 0 }, (struct outputs){ 0 });
		break;
	default:
		sqltree_walk(w, n, (struct place){ .scope = scope });
	}
	w->depth--;
}

static void add_with(struct walk *w, struct scope *scope, const PgQuery__WithClause *with)
{
	for (size_t i = 0; with && i < with->n_ctes; i++) {
		const PgQuery__CommonTableExpr *c = with->ctes[i]->common_table_expr;
		struct source *outer = w->recursive;

		if (with->ctes[i]->node_case != PG_QUERY__NODE__NODE_COMMON_TABLE_EXPR)
			continue;
		struct source *query = sqlscope_add_query(
			&w->names, scope, slice_of(c->ctename), (struct outputs){ 0 });
		/* Its own name means itself only under RECURSIVE, and the table else; a column
		 * of neither is found in one by mistake. */
		w->recursive = with->recursive ? query : NULL;
		struct outputs out = sqltree_query(w, c->ctequery, scope, NULL, 0, ROLE_UNKNOWN);
		w->recursive = outer;
		if (query)
			query->outputs = renamed(w, out, c->aliascolnames, c->n_aliascolnames);
	}
}

static bool is_star(const node *n)
{
	const PgQuery__ColumnRef *ref = n->column_ref;

	return n->node_case == PG_QUERY__NODE__NODE_COLUMN_REF && ref->n_fields &&
	       ref->fields[ref->n_fields - 1]->node_case == PG_QUERY__NODE__NODE_A_STAR;
}

/* The name that the server gives an unnamed column, as far as others can refer to it. */
static struct slice name_of(const PgQuery__ResTarget *t)
{
	if (t->name && *t->name)
		return slice_of(t->name);
	const node *n = t->val;
	while (n && n->node_case == PG_QUERY__NODE__NODE_TYPE_CAST)
		n = n->type_cast->arg;
	if (n && n->node_case == PG_QUERY__NODE__NODE_COLUMN_REF && n->column_ref->n_fields)
		return sqltree_text(n->column_ref->fields[n->column_ref->n_fields - 1]);
	if (n && n->node_case == PG_QUERY__NODE__NODE_FUNC_CALL && n->func_call->n_funcname)
		return sqltree_text(n->func_call->funcname[n->func_call->n_funcname - 1]);
	return (struct slice){ NULL, 0 };
}

static const struct sqlcolumn *target_at(const struct sqlcolumn *targets, size_t count, size_t i)
{
	return i < count ? &targets[i] : NULL;
}

static struct outputs walk_targets(struct walk *w, node *const *list, size_t n,
	const struct scope *scope, const struct sqlcolumn *targets, size_t target_count,
	uint8_t role)
{
	struct outputs out = outputs_new(w, n);

	for (size_t i = 0; i < n; i++) {
		if (list[i]->node_case != PG_QUERY__NODE__NODE_RES_TARGET)
			continue;
		const PgQuery__ResTarget *t = list[i]->res_target;
		struct place at = { .scope = scope, .role = role };

		sqltree_walk(w, t->val, sqltree_with(at, target_at(targets, target_count, i)));
		if (t->val && is_star(t->val))
			out.star = scope;
		if (i < out.count) {
			out.list[i].name = name_of(t);
			out.list[i].column = sqltree_column(w, scope, t->val);
		}
	}
	return out;
}

static struct outputs walk_values(struct walk *w, const PgQuery__SelectStmt *s,
	const struct scope *scope, const struct sqlcolumn *targets, size_t target_count,
	uint8_t role)
{
	size_t count, most = 0;

	for (size_t i = 0; i < s->n_values_lists; i++) {
		node *const *row = sqltree_row(s->values_lists[i], &count);
		struct place at = { .scope = scope, .role = role };

		for (size_t k = 0; row && k < count; k++)
			sqltree_walk(
				w, row[k], sqltree_with(at, target_at(targets, target_count, k)));
		most = count > most ? count : most;
	}
	struct outputs out = outputs_new(w, most);
	for (size_t k = 0; k < out.count; k++) {
		char *name = arena_printf(w->names.arena, "column%zu", k + 1);

		out.list[k] = (struct output){ .name = slice_of(name), .rows = s, .index = k };
	}
	return out;
}

static struct outputs walk_select(struct walk *w, const PgQuery__SelectStmt *s,
	const struct scope *outer, const struct sqlcolumn *targets, size_t target_count,
	uint8_t role)
{
	struct scope *scope = arena_take(w->names.arena, sizeof(*scope));
	struct outputs out = { 0 };

	if (!scope || !s || w->depth == SQLTREE_DEPTH_MAX)
		return out;
	w->depth++;
	scope->outer = outer;
	struct place predicate = { .scope = scope, .role = ROLE_PREDICATE };
	struct place plain = { .scope = scope };
	struct source *recursive = w->recursive;

	add_with(w, scope, s->with_clause);
	w->recursive = NULL;
	if (s->larg) {
		out = walk_select(w, s->larg, scope, targets, target_count, role);
		/* The second part of a recursive query may read the first. */
		if (recursive)
			recursive->outputs = out;
		(void)walk_select(w, s->rarg, scope, targets, target_count, role);
	} else if (s->n_values_lists) {
		out = walk_values(w, s, scope, targets, target_count, role);
	} else {
		for (size_t i = 0; i < s->n_from_clause; i++)
			add_from(w, scope, s->from_clause[i]);
		out = walk_targets(
			w, s->target_list, s->n_target_list, scope, targets, target_count, role);
	}
	sqltree_walk_list(w, s->distinct_clause, s->n_distinct_clause, plain);
	sqltree_walk(w, s->where_clause, predicate);
	sqltree_walk_list(w, s->group_clause, s->n_group_clause, plain);
	sqltree_walk(w, s->having_clause, predicate);
	sqltree_walk_list(w, s->window_clause, s->n_window_clause, plain);
	sqltree_walk_list(w, s->sort_clause, s->n_sort_clause, plain);
	w->depth--;
	return out;
}

/* SET a = 1, (b, c) = (2, 3) of UPDATE, ON CONFLICT and MERGE. */
static void walk_set(
	struct walk *w, node *const *list, size_t n, struct slice table, const struct scope *scope)
{
	for (size_t i = 0; i < n; i++) {
		if (list[i]->node_case != PG_QUERY__NODE__NODE_RES_TARGET)
			continue;
		const PgQuery__ResTarget *t = list[i]->res_target;
		struct sqlcolumn column =
			sqlplaces_find(w->names.places, w->names.policy, table, slice_of(t->name));
		struct place at = { .scope = scope, .column = &column, .role = ROLE_PAYLOAD };
		size_t count = 0;
		node *const *row = NULL;

		if (t->val && t->val->node_case == PG_QUERY__NODE__NODE_MULTI_ASSIGN_REF) {
			row = sqltree_row(t->val->multi_assign_ref->source, &count);
			size_t k = (size_t)t->val->multi_assign_ref->colno - 1;
			sqltree_walk(w,
				row && k < count ? row[k] : t->val->multi_assign_ref->source, at);
		} else {
			sqltree_walk(w, t->val, at);
		}
	}
}

/* The columns of INSERT INTO t (...). */
static struct sqlcolumn *columns_of(struct walk *w, node *const *list, size_t n, struct slice table)
{
	struct sqlcolumn *columns = arena_take(w->names.arena, n * sizeof(*columns));

	for (size_t i = 0; columns && i < n; i++)
		if (list[i]->node_case == PG_QUERY__NODE__NODE_RES_TARGET)
			columns[i] = sqlplaces_find(w->names.places, w->names.policy, table,
				slice_of(list[i]->res_target->name));
	return columns;
}

static void walk_conflict(struct walk *w, const PgQuery__OnConflictClause *c, struct slice table,
	const struct scope *scope)
{
	struct place predicate = { .scope = scope, .role = ROLE_PREDICATE };

	if (c->infer)
		sqltree_walk_parts(w, &c->infer->base, predicate);
	walk_set(w, c->target_list, c->n_target_list, table, scope);
	sqltree_walk(w, c->where_clause, predicate);
}

static struct outputs walk_insert(struct walk *w, const PgQuery__InsertStmt *s, struct scope *scope)
{
	struct slice table = slice_of(s->relation->relname);
	struct sqlcolumn *columns = columns_of(w, s->cols, s->n_cols, table);

	add_with(w, scope, s->with_clause);
	sqltree_query(w, s->select_stmt, scope, columns, columns ? s->n_cols : 0, ROLE_PAYLOAD);
	add_source(w, scope, s->relation->alias, table, table, (struct outputs){ 0 });
	if (s->on_conflict_clause) {
		(void)sqlscope_add(
			&w->names, scope, SLICE("excluded"), table, (struct outputs){ 0 });
		walk_conflict(w, s->on_conflict_clause, table, scope);
	}
	return walk_targets(
		w, s->returning_list, s->n_returning_list, scope, NULL, 0, ROLE_UNKNOWN);
}

static struct outputs walk_update(struct walk *w, const PgQuery__UpdateStmt *s, struct scope *scope)
{
	struct slice table = slice_of(s->relation->relname);

	add_with(w, scope, s->with_clause);
	for (size_t i = 0; i < s->n_from_clause; i++)
		add_from(w, scope, s->from_clause[i]);
	add_source(w, scope, s->relation->alias, table, table, (struct outputs){ 0 });
	walk_set(w, s->target_list, s->n_target_list, table, scope);
	sqltree_walk(w, s->where_clause, (struct place){ .scope = scope, .role = ROLE_PREDICATE });
	return walk_targets(
		w, s->returning_list, s->n_returning_list, scope, NULL, 0, ROLE_UNKNOWN);
}

static struct outputs walk_delete(struct walk *w, const PgQuery__DeleteStmt *s, struct scope *scope)
{
	struct slice table = slice_of(s->relation->relname);

	add_with(w, scope, s->with_clause);
	for (size_t i = 0; i < s->n_using_clause; i++)
		add_from(w, scope, s->using_clause[i]);
	add_source(w, scope, s->relation->alias, table, table, (struct outputs){ 0 });
	sqltree_walk(w, s->where_clause, (struct place){ .scope = scope, .role = ROLE_PREDICATE });
	return walk_targets(
		w, s->returning_list, s->n_returning_list, scope, NULL, 0, ROLE_UNKNOWN);
}

static void walk_merge(struct walk *w, const PgQuery__MergeStmt *s, struct scope *scope)
{
	struct slice table = slice_of(s->relation->relname);
	struct place predicate = { .scope = scope, .role = ROLE_PREDICATE };

	add_with(w, scope, s->with_clause);
	add_from(w, scope, s->source_relation);
	add_source(w, scope, s->relation->alias, table, table, (struct outputs){ 0 });
	sqltree_walk(w, s->join_condition, predicate);
	for (size_t i = 0; i < s->n_merge_when_clauses; i++) {
		const PgQuery__MergeWhenClause *when = s->merge_when_clauses[i]->merge_when_clause;

		if (s->merge_when_clauses[i]->node_case != PG_QUERY__NODE__NODE_MERGE_WHEN_CLAUSE)
			continue;
		sqltree_walk(w, when->condition, predicate);
		if (!when->n_values) {
			walk_set(w, when->target_list, when->n_target_list, table, scope);
			continue;
		}
		struct sqlcolumn *columns =
			columns_of(w, when->target_list, when->n_target_list, table);
		for (size_t k = 0; k < when->n_values; k++)
			sqltree_walk(w, when->values[k],
				sqltree_with((struct place){ .scope = scope, .role = ROLE_PAYLOAD },
					target_at(columns, columns ? when->n_target_list : 0, k)));
	}
}

struct outputs sqltree_query(struct walk *w, const node *n, const struct scope *outer,
	const struct sqlcolumn *targets, size_t target_count, uint8_t role)
{
	struct outputs none = { 0 };
	struct scope *scope = arena_take(w->names.arena, sizeof(*scope));

	if (!n || !scope || w->depth == SQLTREE_DEPTH_MAX)
		return none;
	scope->outer = outer;
	switch (n->node_case) {
	case PG_QUERY__NODE__NODE_SELECT_STMT:
		return walk_select(w, n->select_stmt, outer, targets, target_count, role);
	case PG_QUERY__NODE__NODE_INSERT_STMT:
		return n->insert_stmt->relation ? walk_insert(w, n->insert_stmt, scope) : none;
	case PG_QUERY__NODE__NODE_UPDATE_STMT:
		return n->update_stmt->relation ? walk_update(w, n->update_stmt, scope) : none;
	case PG_QUERY__NODE__NODE_DELETE_STMT:
		return n->delete_stmt->relation ? walk_delete(w, n->delete_stmt, scope) : none;
	case PG_QUERY__NODE__NODE_MERGE_STMT:
		if (n->merge_stmt->relation)
			walk_merge(w, n->merge_stmt, scope);
		return none;
	default:
		return none;
	}
}

/* Statements that hold a query; the literals of all others are left to the lexer. */
static const node *query_of(const node *n)
{
	switch (n->node_case) {
	case PG_QUERY__NODE__NODE_EXPLAIN_STMT:
		return query_of(n->explain_stmt->query);
	case PG_QUERY__NODE__NODE_PREPARE_STMT:
		return n->prepare_stmt->query;
	case PG_QUERY__NODE__NODE_DECLARE_CURSOR_STMT:
		return n->declare_cursor_stmt->query;
	case PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT:
		return n->create_table_as_stmt->query;
	case PG_QUERY__NODE__NODE_VIEW_STMT:
		return n->view_stmt->query;
	case PG_QUERY__NODE__NODE_COPY_STMT:
		return n->copy_stmt->query;
	default:
		return n;
	}
}

bool sqltree_is_worth(struct slice outline)
{
	static const char *const verbs[] = { "select", "insert", "update", "delete", "merge",
		"with", "values", "explain", "prepare", "declare", "create", "copy", "table" };
	struct sqllex lex;
	struct sql_token first;

	sqllex_init(&lex, outline);
	do {
		if (sqllex_next(&lex, &first) != STEP_ITEM)
			return false;
	} while (first.kind == SQL_PUNCTUATION);
	for (size_t i = 0; i < LENGTH(verbs); i++)
		if (sql_word_is(&first, verbs[i]))
			return true;
	return false;
}

bool sqltree_read(const struct sqloutline *outline, const struct policy *policy,
	struct sqlplaces *places, struct arena *arena, struct sqltree_slot *slots)
{
	struct walk w = { .names = { policy, places, arena }, .outline = outline, .slots = slots };
	bool ok = false;

	arena_reset(arena);
	arena->refused = 0;
	PgQueryProtobufParseResult parsed = pg_query_parse_protobuf(buf_text(&outline->text));
	PgQuery__ParseResult *result =
		parsed.error ? NULL
			     : pg_query__parse_result__unpack(NULL, parsed.parse_tree.len,
				       (const uint8_t *)parsed.parse_tree.data);
	if (result) {
		for (size_t i = 0; i < result->n_stmts; i++)
			if (result->stmts[i]->stmt)
				sqltree_query(&w, query_of(result->stmts[i]->stmt), NULL, NULL, 0,
					ROLE_UNKNOWN);
		ok = w.nodes < SQLTREE_NODES_MAX && !arena->refused;
		pg_query__parse_result__free_unpacked(result, NULL);
	}
	pg_query_free_protobuf_parse_result(parsed);
	return ok;
}
