#include "core/model/places.h"

#include <stdlib.h>

#include "core/base/arena.h"

enum { NAME_MAX_BYTES = 256, NAME_BYTES_ALL = 1 << 20, RECENT = 256 };

static const char *const scope_names[POLICY_SCOPES] = {
	[POLICY_COLUMN] = "columns",
	[POLICY_BIND] = "binds",
	[POLICY_JSON] = "json",
	[POLICY_HEADER] = "headers",
	[POLICY_QUERY] = "query",
	[POLICY_FORM] = "form",
	[POLICY_SEGMENT] = "segments",
	[POLICY_ROUTE] = "routes",
};

enum { ACTIONS = VALUE_DROPPED + 1 };

static const char *const action_names[ACTIONS] = {
	[VALUE_KEPT] = "kept",
	[VALUE_TOKEN] = "token",
	[VALUE_SHIFTED] = "shifted",
	[VALUE_DROPPED] = "dropped",
};

struct place {
	struct slice name;
	uint64_t counts[ACTIONS];
	uint8_t scope;
};

/* The first POLICY_SCOPES places are the "other" of each scope. */
struct places {
	struct table ids[POLICY_SCOPES]; /* name -> id */
	struct arena names;
	struct place *items;
	size_t count, cap;
	uint32_t recent[RECENT]; /* ids that were asked for lately, 0: none */
};

struct places *places_new(size_t cap)
{
	struct places *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->cap = cap + POLICY_SCOPES;
	p->items = calloc(p->cap, sizeof(*p->items));
	if (!p->items) {
		free(p);
		return NULL;
	}
	arena_init(&p->names, NAME_BYTES_ALL);
	for (size_t i = 0; i < POLICY_SCOPES; i++) {
		table_init(&p->ids[i], cap);
		p->items[i] = (struct place){ .name = SLICE("other"), .scope = (uint8_t)i };
	}
	p->count = POLICY_SCOPES;
	return p;
}

void places_free(struct places *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < POLICY_SCOPES; i++)
		table_free(&p->ids[i]);
	arena_free(&p->names);
	free(p->items);
	free(p);
}

/* The ends of a name and its length tell most names apart; a wrong guess costs one
 * comparison, where the table's hash costs more than all else here. */
static uint32_t *recent_of(struct places *p, enum policy_scope scope, struct slice name)
{
	uint64_t first = 0, last = 0;

	memcpy(&first, name.p, name.n < 8 ? name.n : 8);
	if (name.n > 8)
		memcpy(&last, name.p + name.n - 8, 8);
	first = (first ^ last * 3 ^ name.n << 8 ^ scope) * UINT64_C(0x9e3779b97f4a7c15);
	return &p->recent[first >> 56];
}

uint32_t places_id(struct places *p, enum policy_scope scope, struct slice name)
{
	uint32_t *recent;

	if (name.n == 0 || name.n > NAME_MAX_BYTES)
		return scope;
	recent = recent_of(p, scope, name);
	if (*recent && p->items[*recent].scope == scope && slice_same(p->items[*recent].name, name))
		return *recent;
	void *known = table_get(&p->ids[scope], name);
	if (known)
		return *recent = (uint32_t)(uintptr_t)known;
	if (p->count == p->cap)
		return scope;
	name = arena_copy(&p->names, name);
	if (!name.p || !table_put(&p->ids[scope], name, (void *)(uintptr_t)p->count))
		return scope;
	p->items[p->count] = (struct place){ .name = name, .scope = (uint8_t)scope };
	return (uint32_t)p->count++;
}

void places_count(struct places *p, uint32_t id, enum value_action action)
{
	p->items[id].counts[action]++;
}

static struct json *counts_json(const struct place *place)
{
	struct json *j = NULL;

	for (size_t i = 0; i < ACTIONS; i++) {
		if (!place->counts[i])
			continue;
		if (!j)
			j = json_object();
		json_set_int(j, action_names[i], (int64_t)place->counts[i]);
	}
	return j;
}

static int by_name(const void *a, const void *b)
{
	const struct place *x = *(const struct place *const *)a,
			   *y = *(const struct place *const *)b;
	size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
	int order = memcmp(x->name.p, y->name.p, n);

	return order ? order : (x->name.n > y->name.n) - (x->name.n < y->name.n);
}

void places_json(const struct places *p, struct json *into)
{
	const struct place **sorted = calloc(p->count, sizeof(*sorted));

	if (!sorted)
		return;
	for (size_t i = 0; i < p->count; i++)
		sorted[i] = &p->items[i];
	qsort(sorted, p->count, sizeof(*sorted), by_name);
	for (size_t i = 0; i < p->count; i++) {
		const char *scope = scope_names[sorted[i]->scope];
		struct json *counts = counts_json(sorted[i]);
		char name[NAME_MAX_BYTES + 1];

		if (!counts)
			continue;
		if (!json_get(into, scope))
			json_set(into, scope, json_object());
		/* What is no text must not end the name of another place. */
		for (size_t k = 0; k < sorted[i]->name.n; k++)
			name[k] = (unsigned char)sorted[i]->name.p[k] < ' ' ? '?'
									    : sorted[i]->name.p[k];
		name[sorted[i]->name.n] = '\0';
		json_set(json_get(into, scope), name, counts);
	}
	free(sorted);
}
