/*
 * sqlplaces.h - the columns that values belong to: "orders.status", by number.
 *
 * Numbers start at 1 and stay for the life of the table; 0 is "no column known", and
 * what the next column gets once PLACES_MAX are known. Names are as the catalog spells
 * them, without schema; without a table when it is not clear which. Owned by one
 * scrubber, read by those who count what became of each column.
 */
#ifndef REPROD_SQLPLACES_H
#define REPROD_SQLPLACES_H

#include "core/base/arena.h"
#include "core/model/policy.h"

enum { PLACES_MAX = 16384 };

struct sqlplaces {
	struct table ids;
	struct arena names;
	struct slice *list;
	size_t count, cap;
	uint64_t refused; /* columns past the cap */
};

/* A column as the policy sees it. */
struct sqlcolumn {
	uint16_t place;
	uint8_t action; /* enum policy_rule, POLICY_NONE: by spelling */
	bool is_known;
};

void sqlplaces_init(struct sqlplaces *p);
/* table may be empty. The rule of "table.column" goes before that of "column". */
struct sqlcolumn sqlplaces_find(
	struct sqlplaces *p, const struct policy *policy, struct slice table, struct slice column);
/* "" for 0. */
struct slice sqlplaces_name(const struct sqlplaces *p, uint16_t place);
/* The rule that says less about the value, for one that is in two places. */
uint8_t sqlplaces_stricter(uint8_t a, uint8_t b);
void sqlplaces_free(struct sqlplaces *p);

#endif
