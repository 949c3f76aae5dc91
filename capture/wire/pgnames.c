#include "capture/wire/pgnames.h"

#include <stdlib.h>

/* ---- texts */

void pg_texts_init(struct pg_texts *t, size_t max_bytes)
{
	*t = (struct pg_texts){ .max_n = max_bytes };
	table_init(&t->table, 1 << 20);
}

struct pg_text *pg_text_take(struct pg_texts *t, struct slice text)
{
	struct pg_text *known = table_get(&t->table, text);
	char *copy;

	if (known) {
		known->refs++;
		return known;
	}
	if (t->used_n + text.n > t->max_n) {
		t->refused++;
		return NULL;
	}
	known = malloc(sizeof *known + text.n + 1);
	if (!known)
		return NULL;
	copy = (char *)(known + 1);
	if (text.n)
		memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	*known = (struct pg_text){ 1, { copy, text.n } };
	if (!table_put(&t->table, known->text, known)) {
		t->refused++;
		free(known);
		return NULL;
	}
	t->used_n += text.n;
	return known;
}

void pg_text_drop(struct pg_texts *t, struct pg_text *text)
{
	if (!text || --text->refs)
		return;
	t->used_n -= text->text.n;
	table_remove(&t->table, text->text);
	free(text);
}

void pg_texts_free(struct pg_texts *t)
{
	struct slice key;
	void *value;

	for (size_t at = 0; table_next(&t->table, &at, &key, &value);)
		free(value);
	table_free(&t->table);
}

/* ---- statements */

static struct slice copy_name(struct slice name)
{
	char *copy = malloc(name.n + 1);

	if (!copy)
		return (struct slice){ 0 };
	if (name.n)
		memcpy(copy, name.p, name.n);
	copy[name.n] = '\0';
	return (struct slice){ copy, name.n };
}

static void free_name(struct slice name)
{
	free((char *)name.p);
}

struct pg_statement *pg_statement_hold(struct pg_statement *s)
{
	if (s)
		s->refs++;
	return s;
}

void pg_statement_drop(struct pg_names *n, struct pg_statement *s)
{
	if (!s || --s->refs)
		return;
	pg_text_drop(n->texts, s->text);
	free(s->types);
	free_name(s->name);
	free(s);
}

static struct pg_statement *new_statement(struct slice name)
{
	struct pg_statement *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->refs = 1;
	s->param_count = -1;
	s->name = copy_name(name);
	if (!s->name.p) {
		free(s);
		return NULL;
	}
	return s;
}

void pg_names_init(struct pg_names *n, struct pg_texts *texts)
{
	*n = (struct pg_names){ .texts = texts };
	table_init(&n->statements, PG_NAMES_MAX);
	table_init(&n->portals, PG_NAMES_MAX);
}

static struct pg_statement **recent_of(struct pg_names *n, struct slice name)
{
	return &n->recent[name.p[name.n - 1] & 15];
}

static struct pg_statement *take_out(struct pg_names *n, struct slice name)
{
	*recent_of(n, name) = NULL;
	return table_remove(&n->statements, name);
}

/* Puts s in its place and hands out what was there. False at the cap. */
static bool place(struct pg_names *n, struct pg_statement *s, struct pg_statement **ret_replaced)
{
	if (!s->name.n) {
		*ret_replaced = n->unnamed;
		n->unnamed = s;
		return true;
	}
	*ret_replaced = take_out(n, s->name);
	return table_put(&n->statements, s->name, s);
}

struct pg_statement *pg_names_prepare(struct pg_names *n, struct slice name, struct slice text,
	bool is_text_known, struct pg_statement **ret_replaced)
{
	struct pg_statement *s = new_statement(name);

	*ret_replaced = NULL;
	if (!s)
		return NULL;
	if (is_text_known)
		s->text = pg_text_take(n->texts, text);
	if (name.n)
		s->number = ++n->next_statement;
	if (!place(n, s, ret_replaced)) {
		pg_statement_drop(n, s);
		return NULL;
	}
	return s;
}

void pg_names_put_back(struct pg_names *n, struct pg_statement *refused, struct pg_statement *old)
{
	struct pg_statement *gone = NULL;

	if (!refused->name.n) {
		pg_statement_drop(n, old);
		return;
	}
	/* Somebody used a later text under that name already. */
	if (table_get(&n->statements, refused->name) != refused) {
		pg_statement_drop(n, old);
		return;
	}
	if (!old) {
		take_out(n, refused->name);
		pg_statement_drop(n, refused);
		return;
	}
	/* The client believes that both are the same: so we learn a text that we missed. */
	if (!old->text && refused->text) {
		old->text = refused->text;
		old->text->refs++;
	}
	if (!place(n, old, &gone))
		pg_statement_drop(n, old);
	pg_statement_drop(n, gone);
}

struct pg_statement *pg_names_statement(struct pg_names *n, struct slice name)
{
	struct pg_statement *s = n->unnamed, *replaced;

	if (name.n) {
		s = *recent_of(n, name);
		if (s && slice_same(s->name, name))
			return s;
		s = table_get(&n->statements, name);
	}
	if (!s)
		s = pg_names_prepare(n, name, (struct slice){ 0 }, false, &replaced);
	if (s && name.n)
		*recent_of(n, name) = s;
	return s;
}

void pg_statement_set_types(struct pg_statement *s, const uint32_t *types, uint32_t count)
{
	uint32_t *copy = count ? malloc(count * sizeof *copy) : NULL;

	if (count && !copy)
		return;
	for (uint32_t i = 0; i < count; i++)
		copy[i] = types[i];
	free(s->types);
	s->types = copy;
	s->type_count = count;
}

/* ---- portals */

static void clear_portal(struct pg_names *n, struct pg_portal *p)
{
	pg_statement_drop(n, p->statement);
	free_name(p->name);
	*p = (struct pg_portal){ 0 };
}

static void free_portal(struct pg_names *n, struct pg_portal *p)
{
	if (!p)
		return;
	clear_portal(n, p);
	free(p);
}

struct pg_portal *pg_names_bind(struct pg_names *n, struct slice name, struct pg_statement *s)
{
	struct pg_portal *p = &n->unnamed_portal;

	if (!name.n) {
		pg_statement_hold(s);
		clear_portal(n, p);
		p->statement = s;
		return p;
	}
	pg_names_close_portal(n, name);
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->name = copy_name(name);
	p->number = ++n->next_portal;
	if (!p->name.p || !table_put(&n->portals, p->name, p)) {
		free_portal(n, p);
		return NULL;
	}
	p->statement = pg_statement_hold(s);
	return p;
}

struct pg_portal *pg_names_portal(struct pg_names *n, struct slice name)
{
	return name.n ? table_get(&n->portals, name) : &n->unnamed_portal;
}

void pg_names_close_portal(struct pg_names *n, struct slice name)
{
	if (name.n)
		free_portal(n, table_remove(&n->portals, name));
	else
		clear_portal(n, &n->unnamed_portal);
}

void pg_names_close_portals(struct pg_names *n)
{
	struct slice key;
	void *value;

	clear_portal(n, &n->unnamed_portal);
	if (!n->portals.count)
		return;
	for (size_t at = 0; table_next(&n->portals, &at, &key, &value);)
		free_portal(n, value);
	table_free(&n->portals);
	table_init(&n->portals, PG_NAMES_MAX);
}

struct pg_statement *pg_names_close_statement(struct pg_names *n, struct slice name)
{
	struct pg_statement *s = n->unnamed;

	if (name.n)
		return take_out(n, name);
	n->unnamed = NULL;
	return s;
}

void pg_names_reopen(struct pg_names *n, struct pg_statement *s)
{
	struct pg_statement *replaced = NULL;

	if (!s)
		return;
	/* Used since under that name: then it is that one by now. */
	if (!s->name.n || table_get(&n->statements, s->name) || !place(n, s, &replaced))
		pg_statement_drop(n, s);
}

void pg_names_drop_older(struct pg_names *n, struct slice name, uint32_t next)
{
	const struct pg_statement *s = table_get(&n->statements, name);

	if (s && s->number < next)
		pg_statement_drop(n, take_out(n, name));
}

void pg_names_drop_all_older(struct pg_names *n, uint32_t next)
{
	struct slice key;
	void *value;

	for (size_t at = 0; table_next(&n->statements, &at, &key, &value);)
		if (((const struct pg_statement *)value)->number < next)
			pg_statement_drop(n, take_out(n, key));
}

static void close_all(struct pg_names *n)
{
	struct slice key;
	void *value;

	pg_names_close_portals(n);
	pg_statement_drop(n, n->unnamed);
	n->unnamed = NULL;
	memset(n->recent, 0, sizeof n->recent);
	for (size_t at = 0; table_next(&n->statements, &at, &key, &value);)
		pg_statement_drop(n, value);
	table_free(&n->statements);
	table_init(&n->statements, PG_NAMES_MAX);
}

void pg_names_forget_unnamed(struct pg_names *n)
{
	clear_portal(n, &n->unnamed_portal);
	pg_statement_drop(n, n->unnamed);
	n->unnamed = NULL;
}

void pg_names_free(struct pg_names *n)
{
	close_all(n);
	table_free(&n->statements);
	table_free(&n->portals);
}
