#include "core/model/sqltree_parts.h"

static struct place without_column(struct place at)
{
	return (struct place){ .scope = at.scope, .role = at.role };
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

void sqltree_walk_list(struct walk *w, node *const *list, size_t n, struct place at)
{
	for (size_t i = 0; i < n; i++)
		sqltree_walk(w, list[i], at);
}

/* Whatever else the grammar knows: every node below, by the library's own description. */
void sqltree_walk_parts(struct walk *w, const ProtobufCMessage *message, struct place at)
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
				sqltree_walk(w, parts[i], at);
			else if (w->depth < SQLTREE_DEPTH_MAX) {
				w->depth++;
				sqltree_walk_parts(w, parts[i], at);
				w->depth--;
			}
		}
	}
}

node *const *sqltree_row(const node *n, size_t *ret_count)
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
	struct sqlcolumn of_a = sqltree_column(w, at.scope, a),
			 of_b = sqltree_column(w, at.scope, b);

	sqltree_walk(w, a, sqltree_with(at, &of_b));
	sqltree_walk(w, b, sqltree_with(at, &of_a));
}

/* (a, b) = (1, 2), (a, b) IN ((1, 2), (3, 4)) */
static bool walk_rows(struct walk *w, const PgQuery__AExpr *e, struct place at)
{
	size_t left, right, rows;
	node *const *l = sqltree_row(e->lexpr, &left), *const * r;

	if (!l || e->lexpr->node_case != PG_QUERY__NODE__NODE_ROW_EXPR)
		return false;
	node *const *list = sqltree_row(e->rexpr, &rows);
	if (e->rexpr && e->rexpr->node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
		list = &e->rexpr;
		rows = 1;
	}
	for (size_t i = 0; i < rows; i++) {
		r = sqltree_row(list[i], &right);
		for (size_t k = 0; r && k < left && k < right; k++)
			walk_pair(w, l[k], r[k], at);
	}
	return list;
}

static void walk_operator(struct walk *w, const PgQuery__AExpr *e, struct place at)
{
	if (sqltree_is_subscript(e)) {
		sqltree_walk(w, e->lexpr, at);
		sqltree_walk(w, e->rexpr, without_column(at));
	} else if (e->kind == PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF || sqltree_is_arithmetic(e)) {
		struct sqlcolumn own = { 0 };

		if (!at.column) {
			own = sqltree_column(w, at.scope, e->lexpr);
			if (!own.is_known)
				own = sqltree_column(w, at.scope, e->rexpr);
			at = sqltree_with(at, &own);
		}
		sqltree_walk(w, e->lexpr, at);
		sqltree_walk(w, e->rexpr, at);
	} else if (!walk_rows(w, e, at)) {
		walk_pair(w, e->lexpr, e->rexpr, at);
	}
}

static void walk_call(struct walk *w, const PgQuery__FuncCall *f, struct place at)
{
	struct sqlcolumn own = { 0 };
	struct place argument = at;

	if (sqltree_is_measure(f) || !at.column) {
		own = sqltree_column_of_any(w, at.scope, f->args, f->n_args);
		argument = sqltree_with(at, &own);
	}
	argument.is_argument = true;
	sqltree_walk_list(w, f->args, f->n_args, argument);
	sqltree_walk_list(w, f->agg_order, f->n_agg_order, without_column(at));
	sqltree_walk(w, f->agg_filter, without_column(at));
	if (f->over)
		sqltree_walk_parts(w, &f->over->base, without_column(at));
}

static void walk_case(struct walk *w, const PgQuery__CaseExpr *c, struct place at)
{
	struct sqlcolumn of_arg = sqltree_column(w, at.scope, c->arg);
	struct place condition = sqltree_with(at, &of_arg);

	sqltree_walk(w, c->arg, without_column(at));
	for (size_t i = 0; i < c->n_args; i++) {
		const PgQuery__CaseWhen *when = c->args[i]->case_when;

		if (c->args[i]->node_case != PG_QUERY__NODE__NODE_CASE_WHEN)
			continue;
		sqltree_walk(w, when->expr, condition);
		sqltree_walk(w, when->result, at);
	}
	sqltree_walk(w, c->defresult, at);
}

/* x IN (SELECT y ...), x = (SELECT y ...): sides of one comparison. */
static void walk_sublink(struct walk *w, const PgQuery__SubLink *s, struct place at)
{
	size_t count;
	node *const *row = sqltree_row(s->testexpr, &count);
	struct sqlcolumn tested = sqltree_column(w, at.scope, s->testexpr);
	const struct sqlcolumn *target = tested.is_known && !row ? &tested : at.column;
	struct outputs out =
		sqltree_query(w, s->subselect, at.scope, target, target != NULL, ROLE_UNKNOWN);

	for (size_t i = 0; row && i < count && i < out.count; i++)
		sqltree_walk(w, row[i], sqltree_with(at, &out.list[i].column));
	if (!row)
		sqltree_walk(w, s->testexpr,
			sqltree_with(at, out.count == 1 ? &out.list[0].column : NULL));
}

/* A column of VALUES: what its rows hold belongs to what it is used for. */
static void walk_reference(struct walk *w, const PgQuery__ColumnRef *ref, struct place at)
{
	const struct output *output;

	if (!at.column)
		return;
	(void)sqltree_resolve(w, at.scope, ref, &output);
	if (!output || !output->rows)
		return;
	const PgQuery__SelectStmt *select = output->rows;
	for (size_t i = 0; i < select->n_values_lists; i++) {
		size_t count;
		node *const *row = sqltree_row(select->values_lists[i], &count);

		if (row && output->index < count)
			sqltree_walk(w, row[output->index], at);
	}
}

static void walk_same(
	struct walk *w, const node *whole, node *const *list, size_t n, struct place at)
{
	struct sqlcolumn own = { 0 };

	if (!at.column) {
		own = sqltree_column(w, at.scope, whole);
		at = sqltree_with(at, &own);
	}
	sqltree_walk_list(w, list, n, at);
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
		sqltree_walk(w, n->type_cast->arg, at);
		break;
	case PG_QUERY__NODE__NODE_COLLATE_CLAUSE:
		sqltree_walk(w, n->collate_clause->arg, at);
		break;
	case PG_QUERY__NODE__NODE_NAMED_ARG_EXPR:
		sqltree_walk(w, n->named_arg_expr->arg, at);
		break;
	case PG_QUERY__NODE__NODE_RES_TARGET:
		sqltree_walk(w, n->res_target->val, at);
		break;
	case PG_QUERY__NODE__NODE_LIST:
		sqltree_walk_list(w, n->list->items, n->list->n_items, at);
		break;
	case PG_QUERY__NODE__NODE_A_ARRAY_EXPR:
		sqltree_walk_list(w, n->a_array_expr->elements, n->a_array_expr->n_elements, at);
		break;
	case PG_QUERY__NODE__NODE_ROW_EXPR:
		sqltree_walk_list(w, n->row_expr->args, n->row_expr->n_args, at);
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
		sqltree_query(w, n, at.scope, NULL, 0, ROLE_UNKNOWN);
		break;
	default: {
		const ProtobufCMessage *message = (const void *)n->alias;

		if (message)
			sqltree_walk_parts(w, message, without_column(at));
	}
	}
}

void sqltree_walk(struct walk *w, const node *n, struct place at)
{
	if (!n || n->node_case == PG_QUERY__NODE__NODE__NOT_SET || w->depth == SQLTREE_DEPTH_MAX ||
		w->nodes == SQLTREE_NODES_MAX)
		return;
	w->depth++;
	w->nodes++;
	walk_node(w, n, at);
	w->depth--;
}
