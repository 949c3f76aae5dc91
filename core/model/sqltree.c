#include "core/model/sqltree.h"

#include <pg_query.h>
#include <pg_query/pg_query.pb-c.h>

#include "core/model/record.h"
#include "core/model/sqlscope.h"

enum { DEPTH_MAX = 200, NODES_MAX = 200000 };

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

typedef PgQuery__Node node;

static struct slice text_of(const node *n)
{
	if (n && n->node_case == PG_QUERY__NODE__NODE_STRING)
		return slice_of(n->string->sval);
	return (struct slice){ NULL, 0 };
}

static struct place without_column(struct place at)
{
	return (struct place){ .scope = at.scope, .role = at.role };
}

static struct place with_column(struct place at, const struct sqlcolumn *column)
{
	at.column = column && column->is_known ? column : NULL;
	at.is_argument = false;
	return at;
}

/* Once by its own place, and again from where its row is used. */
static void note(struct walk *w, int32_t location, struct place at)
{
	size_t i = location < 0 ? SIZE_MAX : sqloutline_at(w->outline, (uint32_t)location);

	if (i == SIZE_MAX)
		return;
	struct sqltree_slot *slot = &w->slots[i];
	if (!slot->is_seen || slot->role == ROLE_UNKNOWN)
		slot->role = at.role;
	slot->is_seen = true;
	if (!at.column)
		return;
	slot->action = slot->is_known ? sqlplaces_stricter(slot->action, at.column->action)
				      : at.column->action;
	slot->place = at.column->place;
	slot->is_known = true;
}

/* ---- the column that an expression is made of */

static struct sqlcolumn column_of(struct walk *w, const struct scope *scope, const node *n);

static struct sqlcolumn first_of(
	struct walk *w, const struct scope *scope, node *const *list, size_t n)
{
	struct sqlcolumn column = { 0 };

	for (size_t i = 0; i < n && !column.is_known; i++)
		column = column_of(w, scope, list[i]);
	return column;
}

/* Functions whose result is about a value, not made of it. */
static bool is_measure(const PgQuery__FuncCall *f)
{
	static const char *const names[] = { "length", "char_length", "character_length",
		"octet_length", "bit_length", "position", "strpos", "extract", "date_part", "count",
		"array_length", "cardinality", "jsonb_array_length", "json_array_length", "age",
		"row_number", "rank", "dense_rank", "ntile", "similarity", "levenshtein",
		"array_position", "jsonb_typeof", "json_typeof", "ts_rank", "sign", "md5", "sha256",
		"hashtext" };
	struct slice name =
		f->n_funcname ? text_of(f->funcname[f->n_funcname - 1]) : (struct slice){ 0 };

	for (size_t i = 0; i < LENGTH(names); i++)
		if (slice_is(name, names[i]))
			return true;
	return false;
}

static struct slice operator_of(const PgQuery__AExpr *e)
{
	return e->n_name ? text_of(e->name[e->n_name - 1]) : (struct slice){ NULL, 0 };
}

static bool is_arithmetic(const PgQuery__AExpr *e)
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
static bool is_subscript(const PgQuery__AExpr *e)
{
	struct slice name = operator_of(e);

	return slice_is(name, "->") || slice_is(name, "->>") || slice_is(name, "#>") ||
	       slice_is(name, "#>>") || slice_is(name, "#-");
}

static struct sqlcolumn resolve(struct walk *w, const struct scope *scope,
	const PgQuery__ColumnRef *ref, const struct output **ret_output)
{
	size_t n = ref->n_fields;
	struct slice name = n ? text_of(ref->fields[n - 1]) : (struct slice){ NULL, 0 };

	*ret_output = NULL;
	if (!name.n)
		return (struct sqlcolumn){ 0 };
	struct slice qualifier = n > 1 ? text_of(ref->fields[n - 2]) : (struct slice){ NULL, 0 };
	return sqlscope_resolve(&w->names, scope, qualifier, name, ret_output);
}

static struct sqlcolumn column_inside(struct walk *w, const struct scope *scope, const node *n)
{
	const struct output *output;
	struct sqlcolumn column;

	switch (n->node_case) {
	case PG_QUERY__NODE__NODE_COLUMN_REF:
		return resolve(w, scope, n->column_ref, &output);
	case PG_QUERY__NODE__NODE_TYPE_CAST:
		return column_of(w, scope, n->type_cast->arg);
	case PG_QUERY__NODE__NODE_COLLATE_CLAUSE:
		return column_of(w, scope, n->collate_clause->arg);
	case PG_QUERY__NODE__NODE_A_INDIRECTION:
		return column_of(w, scope, n->a_indirection->arg);
	case PG_QUERY__NODE__NODE_NAMED_ARG_EXPR:
		return column_of(w, scope, n->named_arg_expr->arg);
	case PG_QUERY__NODE__NODE_FUNC_CALL:
		if (is_measure(n->func_call))
			break;
		return first_of(w, scope, n->func_call->args, n->func_call->n_args);
	case PG_QUERY__NODE__NODE_COALESCE_EXPR:
		return first_of(w, scope, n->coalesce_expr->args, n->coalesce_expr->n_args);
	case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
		return first_of(w, scope, n->min_max_expr->args, n->min_max_expr->n_args);
	case PG_QUERY__NODE__NODE_A_ARRAY_EXPR:
		return first_of(w, scope, n->a_array_expr->elements, n->a_array_expr->n_elements);
	case PG_QUERY__NODE__NODE_LIST:
		return first_of(w, scope, n->list->items, n->list->n_items);
	case PG_QUERY__NODE__NODE_CASE_EXPR:
		column = first_of(w, scope, n->case_expr->args, n->case_expr->n_args);
		return column.is_known ? column : column_of(w, scope, n->case_expr->defresult);
	case PG_QUERY__NODE__NODE_CASE_WHEN:
		return column_of(w, scope, n->case_when->result);
	case PG_QUERY__NODE__NODE_A_EXPR:
		if (is_subscript(n->a_expr))
			return column_of(w, scope, n->a_expr->lexpr);
		if (!is_arithmetic(n->a_expr) &&
			n->a_expr->kind != PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF)
			break;
		column = column_of(w, scope, n->a_expr->lexpr);
		return column.is_known ? column : column_of(w, scope, n->a_expr->rexpr);
	default:
		break;
	}
	return (struct sqlcolumn){ 0 };
}

static struct sqlcolumn column_of(struct walk *w, const struct scope *scope, const node *n)
{
	struct sqlcolumn column = { 0 };

	if (!n || w->depth == DEPTH_MAX || w->nodes == NODES_MAX)
		return column;
	w->depth++;
	w->nodes++;
	column = column_inside(w, scope, n);
	w->depth--;
	return column;
}

/* ---- expressions */

static void walk(struct walk *w, const node *n, struct place at);
static struct outputs walk_query(struct walk *w, const node *n, const struct scope *outer,
	const struct sqlcolumn *targets, size_t target_count, uint8_t role);

static void walk_list(struct walk *w, node *const *list, size_t n, struct place at)
{
	for (size_t i = 0; i < n; i++)
		walk(w, list[i], at);
}

/* Whatever else the grammar knows: every node below, by the library's own description. */
static void walk_parts(struct walk *w, const ProtobufCMessage *message, struct place at)
{
	const ProtobufCMessageDescriptor *d = message->descriptor;

	for (unsigned f = 0; f < d->n_fields; f++) {
		const ProtobufCFieldDescriptor *field = &d->fields[f];
		const char *bytes = (const char *)message;

		if (field->type != PROTOBUF_C_TYPE_MESSAGE ||
			field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
			continue;
		bool is_many = field->label == PROTOBUF_C_LABEL_REPEATED;
		const void *const *parts =
			(const void *const *)(const void *)(bytes + field->offset);
		size_t count = *parts != NULL;
		if (is_many) {
			memcpy(&count, bytes + field->quantifier_offset, sizeof(count));
			parts = *parts;
		}
		for (size_t i = 0; i < count; i++) {
			if (field->descriptor == &pg_query__node__descriptor)
				walk(w, parts[i], at);
			else if (w->depth < DEPTH_MAX) {
				w->depth++;
				walk_parts(w, parts[i], at);
				w->depth--;
			}
		}
	}
}

static node *const *row_of(const node *n, size_t *ret_count)
{
	*ret_count = 0;
	if (n && n->node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
		*ret_count = n->row_expr->n_args;
		return n->row_expr->args;
	}
	if (n && n->node_case == PG_QUERY__NODE__NODE_LIST) {
		*ret_count = n->list->n_items;
		return n->list->items;
	}
	return NULL;
}

/* Each side's values belong to the other side's column. */
static void walk_pair(struct walk *w, const node *a, const node *b, struct place at)
{
	struct sqlcolumn of_a = column_of(w, at.scope, a), of_b = column_of(w, at.scope, b);

	walk(w, a, with_column(at, &of_b));
	walk(w, b, with_column(at, &of_a));
}

/* (a, b) = (1, 2), (a, b) IN ((1, 2), (3, 4)) */
static bool walk_rows(struct walk *w, const PgQuery__AExpr *e, struct place at)
{
	size_t left, right, rows;
	node *const *l = row_of(e->lexpr, &left), *const * r;

	if (!l || e->lexpr->node_case != PG_QUERY__NODE__NODE_ROW_EXPR)
		return false;
	node *const *list = row_of(e->rexpr, &rows);
	if (e->rexpr && e->rexpr->node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
		list = &e->rexpr;
		rows = 1;
	}
	for (size_t i = 0; i < rows; i++) {
		r = row_of(list[i], &right);
		for (size_t k = 0; r && k < left && k < right; k++)
			walk_pair(w, l[k], r[k], at);
	}
	return list;
}

static void walk_operator(struct walk *w, const PgQuery__AExpr *e, struct place at)
{
	if (is_subscript(e)) {
		walk(w, e->lexpr, at);
		walk(w, e->rexpr, without_column(at));
	} else if (e->kind == PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF || is_arithmetic(e)) {
		struct sqlcolumn own = { 0 };

		if (!at.column) {
			own = column_of(w, at.scope, e->lexpr);
			if (!own.is_known)
				own = column_of(w, at.scope, e->rexpr);
			at = with_column(at, &own);
		}
		walk(w, e->lexpr, at);
		walk(w, e->rexpr, at);
	} else if (!walk_rows(w, e, at)) {
		walk_pair(w, e->lexpr, e->rexpr, at);
	}
}

static void walk_call(struct walk *w, const PgQuery__FuncCall *f, struct place at)
{
	struct sqlcolumn own = { 0 };
	struct place argument = at;

	if (is_measure(f) || !at.column) {
		own = first_of(w, at.scope, f->args, f->n_args);
		argument = with_column(at, &own);
	}
	argument.is_argument = true;
	walk_list(w, f->args, f->n_args, argument);
	walk_list(w, f->agg_order, f->n_agg_order, without_column(at));
	walk(w, f->agg_filter, without_column(at));
	if (f->over)
		walk_parts(w, &f->over->base, without_column(at));
}

static void walk_case(struct walk *w, const PgQuery__CaseExpr *c, struct place at)
{
	struct sqlcolumn of_arg = column_of(w, at.scope, c->arg);
	struct place condition = with_column(at, &of_arg);

	walk(w, c->arg, without_column(at));
	for (size_t i = 0; i < c->n_args; i++) {
		const PgQuery__CaseWhen *when = c->args[i]->case_when;

		if (c->args[i]->node_case != PG_QUERY__NODE__NODE_CASE_WHEN)
			continue;
		walk(w, when->expr, condition);
		walk(w, when->result, at);
	}
	walk(w, c->defresult, at);
}

/* x IN (SELECT y ...), x = (SELECT y ...): sides of one comparison. */
static void walk_sublink(struct walk *w, const PgQuery__SubLink *s, struct place at)
{
	size_t count;
	node *const *row = row_of(s->testexpr, &count);
	struct sqlcolumn tested = column_of(w, at.scope, s->testexpr);
	const struct sqlcolumn *target = tested.is_known && !row ? &tested : at.column;
	struct outputs out =
		walk_query(w, s->subselect, at.scope, target, target != NULL, ROLE_UNKNOWN);

	for (size_t i = 0; row && i < count && i < out.count; i++)
		walk(w, row[i], with_column(at, &out.list[i].column));
	if (!row)
		walk(w, s->testexpr, with_column(at, out.count == 1 ? &out.list[0].column : NULL));
}

/* A column of VALUES: what its rows hold belongs to what it is used for. */
static void walk_reference(struct walk *w, const PgQuery__ColumnRef *ref, struct place at)
{
	const struct output *output;

	if (!at.column)
		return;
	(void)resolve(w, at.scope, ref, &output);
	if (!output || !output->rows)
		return;
	const PgQuery__SelectStmt *select = output->rows;
	for (size_t i = 0; i < select->n_values_lists; i++) {
		size_t count;
		node *const *row = row_of(select->values_lists[i], &count);

		if (row && output->index < count)
			walk(w, row[output->index], at);
	}
}

static void walk_same(
	struct walk *w, const node *whole, node *const *list, size_t n, struct place at)
{
	struct sqlcolumn own = { 0 };

	if (!at.column) {
		own = column_of(w, at.scope, whole);
		at = with_column(at, &own);
	}
	walk_list(w, list, n, at);
}

static void walk_constant(struct walk *w, const PgQuery__AConst *c, struct place at)
{
	bool is_number = c->val_case == PG_QUERY__A__CONST__VAL_IVAL ||
			 c->val_case == PG_QUERY__A__CONST__VAL_FVAL;

	note(w, c->location, at.is_argument && is_number ? without_column(at) : at);
}

static void walk_node(struct walk *w, const node *n, struct place at)
{
	switch (n->node_case) {
	case PG_QUERY__NODE__NODE_A_CONST:
		walk_constant(w, n->a_const, at);
		break;
	case PG_QUERY__NODE__NODE_PARAM_REF:
		note(w, n->param_ref->location, at);
		break;
	case PG_QUERY__NODE__NODE_COLUMN_REF:
		walk_reference(w, n->column_ref, at);
		break;
	case PG_QUERY__NODE__NODE_A_EXPR:
		walk_operator(w, n->a_expr, at);
		break;
	case PG_QUERY__NODE__NODE_TYPE_CAST:
		walk(w, n->type_cast->arg, at);
		break;
	case PG_QUERY__NODE__NODE_COLLATE_CLAUSE:
		walk(w, n->collate_clause->arg, at);
		break;
	case PG_QUERY__NODE__NODE_NAMED_ARG_EXPR:
		walk(w, n->named_arg_expr->arg, at);
		break;
	case PG_QUERY__NODE__NODE_RES_TARGET:
		walk(w, n->res_target->val, at);
		break;
	case PG_QUERY__NODE__NODE_LIST:
		walk_list(w, n->list->items, n->list->n_items, at);
		break;
	case PG_QUERY__NODE__NODE_A_ARRAY_EXPR:
		walk_list(w, n->a_array_expr->elements, n->a_array_expr->n_elements, at);
		break;
	case PG_QUERY__NODE__NODE_ROW_EXPR:
		walk_list(w, n->row_expr->args, n->row_expr->n_args, at);
		break;
	case PG_QUERY__NODE__NODE_COALESCE_EXPR:
		walk_same(w, n, n->coalesce_expr->args, n->coalesce_expr->n_args, at);
		break;
	case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
		walk_same(w, n, n->min_max_expr->args, n->min_max_expr->n_args, at);
		break;
	case PG_QUERY__NODE__NODE_FUNC_CALL:
		walk_call(w, n->func_call, at);
		break;
	case PG_QUERY__NODE__NODE_CASE_EXPR:
		walk_case(w, n->case_expr, at);
		break;
	case PG_QUERY__NODE__NODE_SUB_LINK:
		walk_sublink(w, n->sub_link, at);
		break;
	case PG_QUERY__NODE__NODE_SELECT_STMT:
	case PG_QUERY__NODE__NODE_INSERT_STMT:
	case PG_QUERY__NODE__NODE_UPDATE_STMT:
	case PG_QUERY__NODE__NODE_DELETE_STMT:
	case PG_QUERY__NODE__NODE_MERGE_STMT:
		walk_query(w, n, at.scope, NULL, 0, ROLE_UNKNOWN);
		break;
	default: {
		const ProtobufCMessage *message = (const void *)n->alias;

		if (message)
			walk_parts(w, message, without_column(at));
	}
	}
}

static void walk(struct walk *w, const node *n, struct place at)
{
	if (!n || n->node_case == PG_QUERY__NODE__NODE__NOT_SET || w->depth == DEPTH_MAX ||
		w->nodes == NODES_MAX)
		return;
	w->depth++;
	w->nodes++;
	walk_node(w, n, at);
	w->depth--;
}

/* ---- queries */

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
			out.list[i].name = text_of(names[i]);
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

	if (!n || w->depth == DEPTH_MAX)
		return;
	w->depth++;
	switch (n->node_case) {
	case PG_QUERY__NODE__NODE_RANGE_VAR:
		add_table(w, scope, n->range_var);
		break;
	case PG_QUERY__NODE__NODE_RANGE_SUBSELECT:
		add_source(w, scope, n->range_subselect->alias, (struct slice){ NULL, 0 },
			(struct slice){ NULL, 0 },
			walk_query(w, n->range_subselect->subquery, scope, NULL, 0, ROLE_UNKNOWN));
		break;
	case PG_QUERY__NODE__NODE_JOIN_EXPR:
		add_from(w, scope, n->join_expr->larg);
		add_from(w, scope, n->join_expr->rarg);
		walk(w, n->join_expr->quals, at);
		break;
	case PG_QUERY__NODE__NODE_RANGE_TABLE_SAMPLE:
		add_from(w, scope, n->range_table_sample->relation);
		break;
	case PG_QUERY__NODE__NODE_RANGE_FUNCTION:
		walk_parts(w, &n->range_function->base, (struct place){ .scope = scope });
		add_source(w, scope, n->range_function->alias, (struct slice){ NULL, 0 },
			(struct slice){ NULL, 0 }, (struct outputs){ 0 });
		break;
	default:
		walk(w, n, (struct place){ .scope = scope });
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
		struct outputs out = walk_query(w, c->ctequery, scope, NULL, 0, ROLE_UNKNOWN);
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
		return text_of(n->column_ref->fields[n->column_ref->n_fields - 1]);
	if (n && n->node_case == PG_QUERY__NODE__NODE_FUNC_CALL && n->func_call->n_funcname)
		return text_of(n->func_call->funcname[n->func_call->n_funcname - 1]);
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

		walk(w, t->val, with_column(at, target_at(targets, target_count, i)));
		if (t->val && is_star(t->val))
			out.star = scope;
		if (i < out.count) {
			out.list[i].name = name_of(t);
			out.list[i].column = column_of(w, scope, t->val);
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
		node *const *row = row_of(s->values_lists[i], &count);
		struct place at = { .scope = scope, .role = role };

		for (size_t k = 0; row && k < count; k++)
			walk(w, row[k], with_column(at, target_at(targets, target_count, k)));
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

	if (!scope || !s || w->depth == DEPTH_MAX)
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
	walk_list(w, s->distinct_clause, s->n_distinct_clause, plain);
	walk(w, s->where_clause, predicate);
	walk_list(w, s->group_clause, s->n_group_clause, plain);
	walk(w, s->having_clause, predicate);
	walk_list(w, s->window_clause, s->n_window_clause, plain);
	walk_list(w, s->sort_clause, s->n_sort_clause, plain);
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
			row = row_of(t->val->multi_assign_ref->source, &count);
			size_t k = (size_t)t->val->multi_assign_ref->colno - 1;
			walk(w, row && k < count ? row[k] : t->val->multi_assign_ref->source, at);
		} else {
			walk(w, t->val, at);
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
		walk_parts(w, &c->infer->base, predicate);
	walk_set(w, c->target_list, c->n_target_list, table, scope);
	walk(w, c->where_clause, predicate);
}

static struct outputs walk_insert(struct walk *w, const PgQuery__InsertStmt *s, struct scope *scope)
{
	struct slice table = slice_of(s->relation->relname);
	struct sqlcolumn *columns = columns_of(w, s->cols, s->n_cols, table);

	add_with(w, scope, s->with_clause);
	walk_query(w, s->select_stmt, scope, columns, columns ? s->n_cols : 0, ROLE_PAYLOAD);
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
	walk(w, s->where_clause, (struct place){ .scope = scope, .role = ROLE_PREDICATE });
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
	walk(w, s->where_clause, (struct place){ .scope = scope, .role = ROLE_PREDICATE });
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
	walk(w, s->join_condition, predicate);
	for (size_t i = 0; i < s->n_merge_when_clauses; i++) {
		const PgQuery__MergeWhenClause *when = s->merge_when_clauses[i]->merge_when_clause;

		if (s->merge_when_clauses[i]->node_case != PG_QUERY__NODE__NODE_MERGE_WHEN_CLAUSE)
			continue;
		walk(w, when->condition, predicate);
		if (!when->n_values) {
			walk_set(w, when->target_list, when->n_target_list, table, scope);
			continue;
		}
		struct sqlcolumn *columns =
			columns_of(w, when->target_list, when->n_target_list, table);
		for (size_t k = 0; k < when->n_values; k++)
			walk(w, when->values[k],
				with_column((struct place){ .scope = scope, .role = ROLE_PAYLOAD },
					target_at(columns, columns ? when->n_target_list : 0, k)));
	}
}

static struct outputs walk_query(struct walk *w, const node *n, const struct scope *outer,
	const struct sqlcolumn *targets, size_t target_count, uint8_t role)
{
	struct outputs none = { 0 };
	struct scope *scope = arena_take(w->names.arena, sizeof(*scope));

	if (!n || !scope || w->depth == DEPTH_MAX)
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
				walk_query(&w, query_of(result->stmts[i]->stmt), NULL, NULL, 0,
					ROLE_UNKNOWN);
		ok = w.nodes < NODES_MAX && !arena->refused;
		pg_query__parse_result__free_unpacked(result, NULL);
	}
	pg_query_free_protobuf_parse_result(parsed);
	return ok;
}
