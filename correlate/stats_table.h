/*
 * stats_table.h - what a recording of statistics holds at one instant: sections of
 * rows of whole numbers.
 *
 * A section has named columns, a row has a key ("public.orders"; "" when the section
 * has one row only). Writer and reader keep the same table and exchange differences.
 * Row numbers stay as they are until stats_table_reset(). Rows beyond a cap are
 * counted in refused. STATS_NONE is "no value".
 */
#ifndef REPROD_CORRELATE_STATS_TABLE_H
#define REPROD_CORRELATE_STATS_TABLE_H

#include "core/base/arena.h"
#include "core/base/table.h"

#define STATS_SECTIONS_MAX 32
#define STATS_COLUMNS_MAX 48
#define STATS_ROWS_MAX 8000 /* of a section */
#define STATS_NAMES_MAX 50000
#define STATS_KEY_MAX 300 /* bytes of a key; longer ones are cut */
#define STATS_NONE INT64_MIN

enum stats_kind {
	STATS_GAUGE = 0,
	STATS_COUNTER = 1, /* only grows, but for resets */
	STATS_TALLY = 2, /* a counter of things that become events, no metric */
	STATS_STAMP = 3, /* microseconds since 1970, of the server's clock */
};

enum stats_flag {
	STATS_GONE_IS_ZERO = 1, /* a row that is not there stands for zeros */
	STATS_COLUMN_FIRST = 2, /* a metric is named COLUMN.KEY */
	STATS_OWN = 4, /* about the recording itself: no metric */
	STATS_HOST = 8, /* of the host, not of the server */
};

struct stats_column {
	char name[32];
	char unit[8]; /* "ms", "bytes", or "" */
	uint8_t kind;
};

struct stats_section {
	char name[32];
	uint32_t flags;
	size_t column_count;
	struct stats_column columns[STATS_COLUMNS_MAX];
};

struct stats_rows {
	struct stats_section schema;
	uint32_t *names; /* of each row */
	bool *is_here, *is_seen; /* in the latest round that had this section */
	int64_t *values; /* row * column_count + column */
	size_t count, cap;
	uint32_t *row_of_name; /* row + 1 */
	size_t name_room;
};

struct stats_table {
	struct stats_rows sections[STATS_SECTIONS_MAX];
	size_t section_count;
	struct table by_text;
	struct slice *names; /* [0] is "" */
	size_t name_count, name_cap;
	struct arena texts;
	uint64_t refused;
};

bool stats_table_init(struct stats_table *t) MUST_USE;
/* Forgets rows and names, and sections too unless they are kept. */
bool stats_table_reset(struct stats_table *t, bool keeps_sections) MUST_USE;
void stats_table_free(struct stats_table *t);
/* False at the cap of sections or columns. */
bool stats_table_add_section(struct stats_table *t, const struct stats_section *s) MUST_USE;
/* The index of a section or column by name; -1: none. */
int stats_table_section(const struct stats_table *t, const char *name);
int stats_table_column(const struct stats_section *s, const char *name);
/* Finds or adds a name; bytes that a terminal would obey become '?'. False at the cap. */
bool stats_table_name(
	struct stats_table *t, struct slice text, uint32_t *ret, bool *ret_is_new) MUST_USE;
/* Finds or adds a row, all STATS_NONE at first. False at the cap. */
bool stats_table_row(struct stats_table *t, size_t section, uint32_t name, size_t *ret) MUST_USE;
/* The row's index, or -1. */
int64_t stats_table_find(const struct stats_table *t, size_t section, struct slice key);

static inline int64_t *stats_values(const struct stats_rows *s, size_t row)
{
	return s->values + row * s->schema.column_count;
}

#endif
