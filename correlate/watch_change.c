#include "correlate/watch_change.h"

enum { ARENA_BYTES = 8 << 20 };

void watch_changes_init(struct watch_changes *c)
{
	table_init(&c->by_key, WATCH_CHANGES_MAX);
	arena_init(&c->arena, ARENA_BYTES);
}

static struct watch_change *add(struct watch_changes *c, struct slice key)
{
	struct watch_change *new = arena_take(&c->arena, sizeof(*new));
	struct slice kept = new ? arena_copy(&c->arena, key) : (struct slice){ 0 };

	return kept.p && table_put(&c->by_key, kept, new) ? new : NULL;
}

const struct watch_change *watch_changes_see(
	struct watch_changes *c, struct slice key, int64_t value, int64_t *ret_before)
{
	struct watch_change *known = table_get(&c->by_key, key);

	*ret_before = known ? known->value : value;
	if (!known)
		known = add(c, key);
	if (!known)
		return NULL;
	known->times += *ret_before != value;
	known->value = value;
	return known;
}

void watch_changes_free(struct watch_changes *c)
{
	table_free(&c->by_key);
	arena_free(&c->arena);
}
