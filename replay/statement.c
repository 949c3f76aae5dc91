#include "replay/statement.h"

#include <stdlib.h>

/* Type oids from here on belong to one database (enums, domains): the lab's may
 * differ, so the server infers them. FirstNormalObjectId of transam.h. */
enum { FIRST_NORMAL_OID = 16384 };

static bool make_room(struct statement *s, const struct request_record *q)
{
	if (q->value_count > s->value_room) {
		size_t room = q->value_count + 16;
		struct value *values = realloc(s->values, room * sizeof(*values));
		if (!values)
			return false;
		s->values = values;
		s->value_room = room;
	}
	if ((size_t)s->param_room >= q->value_count && s->params)
		return true;
	size_t room = q->value_count + 16;
	if (room > STATEMENT_PARAMS_MAX)
		return false;
	free(s->params);
	free(s->lengths);
	free(s->formats);
	free(s->types);
	s->params = calloc(room, sizeof(*s->params));
	s->lengths = calloc(room, sizeof(*s->lengths));
	s->formats = calloc(room, sizeof(*s->formats));
	s->types = calloc(room, sizeof(*s->types));
	s->param_room = s->params && s->lengths && s->formats && s->types ? (int)room : 0;
	return s->param_room > 0;
}

/* Offsets first: the buffer may move while it grows. */
static bool substitute(
	struct statement *s, const struct request_record *q, const struct cells *known)
{
	char spelled[CELL_TEXT_MAX + 2];
	size_t length;

	buf_reset(&s->keys);
	s->substituted = 0;
	if (!q->edge_count || !known->count)
		return true;
	if (!buf_room(&s->keys, q->edge_count * (CELL_TEXT_MAX + 3)))
		return false;
	for (size_t i = 0; i < q->edge_count; i++) {
		const struct edge *edge = &q->edges[i];
		const struct cell *cell = edge->is_strong && edge->value < q->value_count
						  ? cells_get(known, q->session, edge)
						  : NULL;

		if (!cell || !cell_spell(cell, &s->values[edge->value], spelled, &length))
			continue;
		char *at = s->keys.p + s->keys.n;
		buf_add(&s->keys, spelled, length);
		buf_add_byte(&s->keys, '\0');
		s->values[edge->value].bytes = (struct slice){ at, length };
		s->values[edge->value].flags &= (uint8_t)~VALUE_IS_NULL;
		s->substituted++;
	}
	return true;
}

static bool set_params(struct statement *s, size_t value_count)
{
	s->param_count = 0;
	if (value_count)
		memset(s->params, 0, value_count * sizeof(*s->params));
	for (size_t i = 0; i < value_count; i++) {
		const struct value *v = &s->values[i];

		if (!v->is_bind)
			continue;
		if (v->place >= value_count)
			return false;
		s->params[v->place] = v->flags & VALUE_IS_NULL ? NULL : v->bytes.p;
		s->lengths[v->place] = (int)v->bytes.n;
		s->formats[v->place] = v->format;
		s->types[v->place] = v->type_oid < FIRST_NORMAL_OID ? v->type_oid : 0;
		if (v->place >= s->param_count)
			s->param_count = v->place + 1;
	}
	return true;
}

bool statement_build(struct statement *s, const struct plan_item *item, struct slice template_text,
	const struct cells *known, bool wants_text)
{
	const struct request_record *q = &item->q;

	if (!make_room(s, q))
		return false;
	if (q->value_count)
		memcpy(s->values, q->values, q->value_count * sizeof(*q->values));
	if (!substitute(s, q, known) || !set_params(s, q->value_count))
		return false;
	if (!wants_text)
		return true;
	buf_reset(&s->text);
	return record_statement_text(template_text, s->values, q->value_count, &s->text) &&
	       s->text.n > 0;
}

void statement_free(struct statement *s)
{
	buf_free(&s->text);
	buf_free(&s->keys);
	free(s->params);
	free(s->lengths);
	free(s->formats);
	free(s->types);
	free(s->values);
	*s = (struct statement){ 0 };
}
