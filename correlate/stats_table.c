#include "correlate/stats_table.h"

#include <stdlib.h>

#include "core/base/utf8.h"

enum { TEXTS_BYTES = 32 << 20 };

static bool add_name(struct stats_table *t, struct slice text)
{
	if (t->name_count == t->name_cap) {
		size_t cap = t->name_cap ? 2 * t->name_cap : 256;
		struct slice *grown = realloc(t->names, cap * sizeof(*grown));

		if (!grown)
			return false;
		t->names = grown;
		t->name_cap = cap;
	}
	/* Numbers are pointers in the table, so that 0 is "not there": one more. */
	if (!table_put(&t->by_text, text, (void *)(uintptr_t)(t->name_count + 1)))
		return false;
	t->names[t->name_count++] = text;
	return true;
}

bool stats_table_init(struct stats_table *t)
{
	*t = (struct stats_table){ 0 };
	table_init(&t->by_text, STATS_NAMES_MAX);
	arena_init(&t->texts, TEXTS_BYTES);
	return add_name(t, SLICE(""));
}

static void free_rows(struct stats_rows *s)
{
	free(s->names);
	free(s->is_here);
	free(s->is_seen);
	free(s->values);
	free(s->row_of_name);
}

void stats_table_free(struct stats_table *t)
{
	for (size_t i = 0; i < t->section_count; i++)
		free_rows(&t->sections[i]);
	table_free(&t->by_text);
	free(t->names);
	arena_free(&t->texts);
	*t = (struct stats_table){ 0 };
}

bool stats_table_reset(struct stats_table *t, bool keeps_sections)
{
	for (size_t i = 0; i < t->section_count; i++) {
		struct stats_section schema = t->sections[i].schema;

		free_rows(&t->sections[i]);
		t->sections[i] = (struct stats_rows){ .schema = schema };
	}
	if (!keeps_sections)
		t->section_count = 0;
	table_free(&t->by_text);
	table_init(&t->by_text, STATS_NAMES_MAX);
	arena_reset(&t->texts);
	t->name_count = 0;
	return add_name(t, SLICE(""));
}

bool stats_table_add_section(struct stats_table *t, const struct stats_section *s)
{
	if (t->section_count == STATS_SECTIONS_MAX || s->column_count > STATS_COLUMNS_MAX)
		return false;
	t->sections[t->section_count++] = (struct stats_rows){ .schema = *s };
	return true;
}

int stats_table_section(const struct stats_table *t, const char *name)
{
	for (size_t i = 0; i < t->section_count; i++)
		if (strcmp(t->sections[i].schema.name, name) == 0)
			return (int)i;
	return -1;
}

int stats_table_column(const struct stats_section *s, const char *name)
{
	for (size_t i = 0; i < s->column_count; i++)
		if (strcmp(s->columns[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* Control characters, C1 in UTF-8 too, and what is no UTF-8. */
static struct slice clean(struct slice text, char to[STATS_KEY_MAX])
{
	size_t n = text.n < STATS_KEY_MAX ? text.n : STATS_KEY_MAX;

	/* Never in the middle of a character. */
	while (n < text.n && n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--;
	bool is_utf8 = utf8_is((struct slice){ text.p, n });
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		bool is_c1 = c == 0xc2 && i + 1 < n && (unsigned char)text.p[i + 1] < 0xa0;

		to[i] = c < ' ' || c == 0x7f || (c >= 0x80 && !is_utf8) ? '?' : (char)c;
		if (is_c1 && is_utf8) {
			to[i] = '?';
			to[++i] = '?';
		}
	}
	return (struct slice){ to, n };
}

bool stats_table_name(struct stats_table *t, struct slice text, uint32_t *ret, bool *ret_is_new)
{
	char cleaned[STATS_KEY_MAX];
	struct slice key = clean(text, cleaned);
	uintptr_t known = (uintptr_t)table_get(&t->by_text, key);

	*ret_is_new = !known;
	if (known) {
		*ret = (uint32_t)(known - 1);
		return true;
	}
	struct slice kept = arena_copy(&t->texts, key);
	if (!kept.p || !add_name(t, kept)) {
		t->refused++;
		return false;
	}
	*ret = (uint32_t)(t->name_count - 1);
	return true;
}

static bool grow_rows(struct stats_rows *s)
{
	size_t cap = s->cap ? 2 * s->cap : 16, width = s->schema.column_count;

	if (s->count < s->cap)
		return true;
	uint32_t *names = realloc(s->names, cap * sizeof(*names));
	s->names = names ? names : s->names;
	bool *is_here = realloc(s->is_here, cap * sizeof(*is_here));
	s->is_here = is_here ? is_here : s->is_here;
	bool *is_seen = realloc(s->is_seen, cap * sizeof(*is_seen));
	s->is_seen = is_seen ? is_seen : s->is_seen;
	int64_t *values = realloc(s->values, (cap * width + 1) * sizeof(*values));
	s->values = values ? values : s->values;
	if (!names || !is_here || !is_seen || !values)
		return false;
	s->cap = cap;
	return true;
}

static bool grow_index(struct stats_rows *s, uint32_t name)
{
	size_t room = s->name_room ? s->name_room : 64;

	if (name < s->name_room)
		return true;
	while (room <= name)
		room *= 2;
	uint32_t *grown = realloc(s->row_of_name, room * sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + s->name_room, 0, (room - s->name_room) * sizeof(*grown));
	s->row_of_name = grown;
	s->name_room = room;
	return true;
}

bool stats_table_row(struct stats_table *t, size_t section, uint32_t name, size_t *ret)
{
	struct stats_rows *s = &t->sections[section];

	if (name < s->name_room && s->row_of_name[name]) {
		*ret = s->row_of_name[name] - 1;
		return true;
	}
	if (s->count == STATS_ROWS_MAX || !grow_index(s, name) || !grow_rows(s)) {
		t->refused++;
		return false;
	}
	*ret = s->count++;
	s->names[*ret] = name;
	s->is_here[*ret] = s->is_seen[*ret] = false;
	for (size_t c = 0; c < s->schema.column_count; c++)
		stats_values(s, *ret)[c] = STATS_NONE;
	s->row_of_name[name] = (uint32_t)*ret + 1;
	return true;
}

int64_t stats_table_find(const struct stats_table *t, size_t section, struct slice key)
{
	const struct stats_rows *s = &t->sections[section];
	char cleaned[STATS_KEY_MAX];
	uintptr_t known = (uintptr_t)table_get(&t->by_text, clean(key, cleaned));

	if (!known || known - 1 >= s->name_room || !s->row_of_name[known - 1])
		return -1;
	return (int64_t)s->row_of_name[known - 1] - 1;
}
