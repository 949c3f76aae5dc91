#include "correlate/stats_track.h"

#include <stdio.h>
#include <stdlib.h>

enum { ARENA_BYTES = 16 << 20 };

void stats_tracks_init(struct stats_tracks *t)
{
	*t = (struct stats_tracks){ 0 };
	table_init(&t->by_name, STATS_TRACKS_MAX);
	arena_init(&t->arena, ARENA_BYTES);
}

void stats_tracks_renew(struct stats_tracks *t)
{
	for (size_t i = 0; i < STATS_SECTIONS_MAX; i++)
		if (t->room[i])
			memset(t->of_row[i], 0, t->room[i] * sizeof(*t->of_row[i]));
}

void stats_tracks_free(struct stats_tracks *t)
{
	for (size_t i = 0; i < STATS_SECTIONS_MAX; i++)
		free(t->of_row[i]);
	free(t->items);
	table_free(&t->by_name);
	arena_free(&t->arena);
	*t = (struct stats_tracks){ 0 };
}

static uint32_t add(struct stats_tracks *t, const struct stats_section *section, struct slice key,
	struct slice name)
{
	if (t->count == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 256;
		struct stats_track *grown = realloc(t->items, cap * sizeof(*grown));

		if (!grown)
			return STATS_NO_TRACK;
		t->items = grown;
		t->cap = cap;
	}
	struct slice kept = arena_copy(&t->arena, name);
	if (!kept.p || !table_put(&t->by_name, kept, (void *)(uintptr_t)(t->count + 1)))
		return STATS_NO_TRACK;
	struct stats_track *new = &t->items[t->count];
	snprintf(new->section, sizeof(new->section), "%s", section->name);
	new->columns = section->column_count;
	new->key = (struct slice){ kept.p + kept.n - key.n, key.n };
	return (uint32_t)t->count++;
}

static uint32_t find(struct stats_tracks *t, const struct stats_rows *s, struct slice key)
{
	char text[STATS_KEY_MAX + 80];
	int n = snprintf(text, sizeof(text), "%s %zu\t%.*s", s->schema.name, s->schema.column_count,
		(int)key.n, key.p);
	struct slice name = { text, (size_t)n };
	uintptr_t known = (uintptr_t)table_get(&t->by_name, name);

	return known ? (uint32_t)(known - 1) : add(t, &s->schema, key, name);
}

uint32_t stats_track_of(
	struct stats_tracks *t, const struct stats_table *table, size_t section, size_t row)
{
	const struct stats_rows *s = &table->sections[section];

	if (row >= t->room[section]) {
		uint32_t *grown = realloc(t->of_row[section], s->cap * sizeof(*grown));

		if (!grown)
			return STATS_NO_TRACK;
		memset(grown + t->room[section], 0, (s->cap - t->room[section]) * sizeof(*grown));
		t->of_row[section] = grown;
		t->room[section] = s->cap;
	}
	uint32_t *known = &t->of_row[section][row];
	if (!*known) {
		uint32_t track = find(t, s, table->names[s->names[row]]);

		t->refused += track == STATS_NO_TRACK;
		*known = track + 1;
	}
	return *known - 1;
}
