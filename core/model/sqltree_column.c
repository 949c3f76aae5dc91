#include "core/model/sqltree_parts.h"

struct sqlcolumn sqltree_column_of_any(
	struct walk *w, const struct scope *scope, node *const *list, size_t n)
{
	struct sqlcolumn column = { 0 };

	for (size_t i = 0; i < n && !column.is_known; i++)
		column = sqltree_column(w, scope, list[i]);
	return column;
}

/* Functions whose result is about a value, not made of it. */
bool sqltree_is_measure(const PgQuery__FuncCall *f)
{
	static const char *const names[] = { "length", "char_length", "character_length",
		"octet_length", "bit_length", "position", "strpos", "extract", "date_part", "count",
		"array_length", "cardinality", "jsonb_array_length", "json_array_length", "age",
		"row_number", "rank", "dense_rank", "ntile", "similarity", "levenshtein",
		"array_position", "jsonb_typeof", "json_typeof", "ts_rank", "sign", "md5", "sha256",
		"hashtext" };
	struct slice name =
		f->n_funcname ? sqltree_text(f->funcname[f->n_funcname - 1]) : (struct slice){ 0 };

	for (size_t i = 0; i < LENGTH(names); i++)
		if (slice_is(name, names[i]))
			return true;
	return false;
}

static struct slice operator_of(const PgQuery__AExpr *e)
{
	return e->n_name ? sqltree_text(e->name[e->n_name - 1]) : (struct slice){ NULL, 0 };
}

bool sqltree_is_arithmetic(const PgQuery__AExpr *e)
{
	static const char *const operators[] = { "+", "-", "*", "/", "%", "^", "||", "&", "|", "#",
		"<<", ">>" };
	struct slice name = operator_of(e);

	for (size_t i = 0; i < LENGTH(operators); i++)
		if (e->kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP && slice_is(name, operators[i]))
			return true;
	return false;
}

/* doc -> key: the key is structure, the result a part of doc. */
bool sqltree_is_subscript(const PgQuery__AExpr *e)
{
	struct slice name = operator_of(e);

	return slice_is(name, "->") || slice_is(name, "->>") || slice_is(name, "#>") ||
	       slice_is(name, "#>>") || slice_is(name, "#-");
}

struct sqlcolumn sqltree_resolve(struct walk *w, const struct scope *scope,
	const PgQuery__ColumnRef *ref, const struct output **ret_output)
{
	size_t n = ref->n_fields;
	struct slice name = n ? sqltree_text(ref->fields[n - 1]) : (struct slice){ NULL, 0 };

	*ret_output = NULL;
	if (!name.n)
		return (struct sqlcolumn){ 0 };
	struct slice qualifier =
		n > 1 ? sqltree_text(ref->fields[n - 2]) : (struct slice){ NULL, 0 };
	return sqlscope_resolve(&w->names, scope, qualifier, name, ret_output);
}

static struct sqlcolumn column_inside(struct walk *w, const struct scope *scope, const node *n)
{
	const struct output *output;
	struct sqlcolumn column;

	switch (n->node_case) {
	case PG_QUERY__NODE__NODE_COLUMN_REF:
		return sqltree_resolve(w, scope, n->column_ref, &output);
	case PG_QUERY__NODE__NODE_TYPE_CAST:
		return sqltree_column(w, scope, n->type_cast->arg);
	case PG_QUERY__NODE__NODE_COLLATE_CLAUSE:
		return sqltree_column(w, scope, n->collate_clause->arg);
	case PG_QUERY__NODE__NODE_A_INDIRECTION:
		return sqltree_column(w, scope, n->a_indirection->arg);
	case PG_QUERY__NODE__NODE_NAMED_ARG_EXPR:
		return sqltree_column(w, scope, n->named_arg_expr->arg);
	case PG_QUERY__NODE__NODE_FUNC_CALL:
		/* Known to be no column's value: the lexer has no say either. */
		if (sqltree_is_measure(n->func_call))
			return (struct sqlcolumn){ .is_known = true };
		return sqltree_column_of_any(w, scope, n->func_call->args, n->func_call->n_args);
	case PG_QUERY__NODE__NODE_COALESCE_EXPR:
		return sqltree_column_of_any(
			w, scope, n->coalesce_expr->args, n->coalesce_expr->n_args);
	case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
		return sqltree_column_of_any(
			w, scope, n->min_max_expr->args, n->min_max_expr->n_args);
	case PG_QUERY__NODE__NODE_A_ARRAY_EXPR:
		return sqltree_column_of_any(
			w, scope, n->a_array_expr->elements, n->a_array_expr->n_elements);
	case PG_QUERY__NODE__NODE_LIST:
		return sqltree_column_of_any(w, scope, n->list->items, n->list->n_items);
	case PG_QUERY__NODE__NODE_CASE_EXPR:
		column = sqltree_column_of_any(w, scope, n->case_expr->args, n->case_expr->n_args);
		return column.is_known ? column : sqltree_column(w, scope, n->case_expr->defresult);
	case PG_QUERY__NODE__NODE_CASE_WHEN:
		return sqltree_column(w, scope, n->case_when->result);
	case PG_QUERY__NODE__NODE_A_EXPR:
		if (sqltree_is_subscript(n->a_expr))
			return sqltree_column(w, scope, n->a_expr->lexpr);
		if (!sqltree_is_arithmetic(n->a_expr) &&
			n->a_expr->kind != PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF)
			break;
		column = sqltree_column(w, scope, n->a_expr->lexpr);
		return column.is_known ? column : sqltree_column(w, scope, n->a_expr->rexpr);
	default:
		break;
	}
	return (struct sqlcolumn){ 0 };
}

struct sqlcolumn sqltree_column(struct walk *w, const struct scope *scope, const node *n)
{
	struct sqlcolumn column = { 0 };

	if (!n || w->depth == SQLTREE_DEPTH_MAX || w->nodes == SQLTREE_NODES_MAX)
		return column;
	w->depth++;
	w->nodes++;
	column = column_inside(w, scope, n);
	w->depth--;
	return column;
}
