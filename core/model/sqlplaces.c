#include "core/model/sqlplaces.h"

#include <stdlib.h>

/* Names in PostgreSQL have at most 63 bytes; longer ones are cut by the server. */
enum { NAME_BYTES_MAX = 63, NAMES_BYTES_MAX = 4 << 20 };

void sqlplaces_init(struct sqlplaces *p)
{
	*p = (struct sqlplaces){ 0 };
	table_init(&p->ids, PLACES_MAX);
	arena_init(&p->names, NAMES_BYTES_MAX);
}

static uint16_t add(struct sqlplaces *p, struct slice name)
{
	if (p->count == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 64;
		struct slice *list = realloc(p->list, cap * sizeof(*list));

		if (!list)
			return 0;
		p->list = list;
		p->cap = cap;
	}
	struct slice own =
		p->count < PLACES_MAX ? arena_copy(&p->names, name) : (struct slice){ 0 };
	if (!own.p || !table_put(&p->ids, own, (void *)(uintptr_t)(p->count + 1))) {
		p->refused++;
		return 0;
	}
	p->list[p->count++] = own;
	return (uint16_t)p->count;
}

static struct slice cut(struct slice name)
{
	return (struct slice){ name.p, name.n < NAME_BYTES_MAX ? name.n : NAME_BYTES_MAX };
}

struct sqlcolumn sqlplaces_find(
	struct sqlplaces *p, const struct policy *policy, struct slice table, struct slice column)
{
	char key[2 * NAME_BYTES_MAX + 1];
	struct sqlcolumn found = { .is_known = true };
	size_t n = 0;

	table = cut(table);
	column = cut(column);
	if (table.n) {
		memcpy(key, table.p, table.n);
		n = table.n;
		key[n++] = '.';
	}
	if (column.n)
		memcpy(key + n, column.p, column.n);
	struct slice name = { key, n + column.n };
	if (policy_has(policy, POLICY_COLUMN)) {
		found.action = (uint8_t)policy_rule(policy, POLICY_COLUMN, name);
		if (!found.action)
			found.action = (uint8_t)policy_rule(policy, POLICY_COLUMN, column);
	}
	found.place = (uint16_t)(uintptr_t)table_get(&p->ids, name);
	if (!found.place)
		found.place = add(p, name);
	return found;
}

struct slice sqlplaces_name(const struct sqlplaces *p, uint16_t place)
{
	return place && place <= p->count ? p->list[place - 1] : (struct slice){ "", 0 };
}

uint8_t sqlplaces_stricter(uint8_t a, uint8_t b)
{
	static const uint8_t rank[] = {
		[POLICY_KEEP] = 0,
		[POLICY_NONE] = 1,
		[POLICY_PERMUTE] = 2,
		[POLICY_SHIFT] = 3,
		[POLICY_TOKEN] = 4,
		[POLICY_DROP] = 5,
	};

	return rank[a] > rank[b] ? a : b;
}

void sqlplaces_free(struct sqlplaces *p)
{
	table_free(&p->ids);
	arena_free(&p->names);
	free(p->list);
	*p = (struct sqlplaces){ 0 };
}
