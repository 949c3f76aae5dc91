#include "capture/wire/pglearned.h"

#include <stdlib.h>

#include "core/base/cursor.h"

static uint64_t mix(uint64_t h, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * UINT64_C(0x100000001b3);
	return h;
}

uint64_t pg_columns_digest(struct slice body)
{
	struct cursor c = cursor_of(body.p, body.n);
	unsigned count = cursor_u16be(&c);
	uint64_t h = UINT64_C(0xcbf29ce484222325) + count;

	/* Of each column its name, table, number, type, size and modifier. */
	for (unsigned i = 0; i < count && !c.is_short; i++) {
		struct slice name = cursor_cstring(&c);
		struct slice rest = cursor_bytes(&c, 16);

		cursor_skip(&c, 2);
		h = mix(mix(h, name.p, name.n) + 1, rest.p, rest.n);
	}
	return h ? h : 1;
}

static struct pg_learned *new_entry(struct table *learned, struct slice name)
{
	struct pg_learned *l = calloc(1, sizeof *l + name.n + 1);

	if (!l)
		return NULL;
	memcpy(l + 1, name.p, name.n);
	l->name = (struct slice){ (const char *)(l + 1), name.n };
	l->param_count = -1;
	if (table_put(learned, l->name, l))
		return l;
	free(l);
	return NULL;
}

void pg_learned_prepared(struct table *learned, struct pg_texts *texts, struct pg_statement *s)
{
	struct pg_learned *l;

	if (!s->name.n)
		return;
	l = table_get(learned, s->name);
	if (!l && s->text) {
		l = new_entry(learned, s->name);
		if (l)
			l->text = pg_text_take(texts, s->text->text);
	}
	if (l && (!s->text || s->text != l->text))
		l->is_contested = true;
}

/* False: not the same thing, or not known to be. */
static bool agree(struct pg_learned *l, const struct pg_statement *s)
{
	return l->param_count >= 0 && l->param_count == s->param_count && l->columns &&
	       l->columns == s->columns;
}

static void tell(struct pg_learned *l, const struct pg_statement *s)
{
	if (s->text != l->text)
		return;
	if (l->param_count < 0)
		l->param_count = s->param_count;
	else if (s->param_count >= 0 && s->param_count != l->param_count)
		l->is_contested = true;
	if (!l->columns)
		l->columns = s->columns;
	else if (s->columns && s->columns != l->columns)
		l->is_contested = true;
}

void pg_learned_described(struct table *learned, struct pg_statement *s)
{
	struct pg_learned *l = s->name.n ? table_get(learned, s->name) : NULL;

	if (!l || l->is_contested || !l->text)
		return;
	if (s->text) {
		tell(l, s);
	} else if (agree(l, s)) {
		s->text = l->text;
		s->text->refs++;
		s->learned = l;
	}
}

void pg_learned_free(struct table *learned)
{
	struct slice key;
	void *value;

	for (size_t at = 0; table_next(learned, &at, &key, &value);)
		free(value);
	table_free(learned);
}
