/*
 * sqlscrub_parts.h - what the files of the SQL scrubber share; private to them.
 */
#ifndef REPROD_SQLSCRUB_PARTS_H
#define REPROD_SQLSCRUB_PARTS_H

#include "core/base/arena.h"
#include "core/model/sqlcache.h"
#include "core/model/sqloutline.h"
#include "core/model/sqlplaces.h"
#include "core/model/sqlscrub.h"
#include "core/model/sqlvalue.h"

struct sqlscrub {
	struct sqlvalue value;
	struct sqlcache cache;
	struct arena arena; /* bytes of values, until the next text */
	struct sqlplaces places;
	struct sqloutline outline;
	struct arena tree_arena; /* while a text is parsed */
	struct buf skeleton;
	struct buf scratch[3];
	struct sql_token *items;
	size_t item_count, item_cap;
	struct sql_token *literals;
	size_t literal_count, literal_cap;
	struct value *values;
	size_t value_cap;
	struct sqlshape *shape; /* of the last text, or NULL */
	struct sqlshape *loose; /* too large for the cache */
};

/* core/model/sqlbind.c */
enum value_action sqlbind_scrub(const struct sqlvalue *v, struct slice raw, uint8_t format,
	uint32_t type_oid, const struct slot *slot, struct buf scratch[2], struct buf *out,
	uint8_t *ret_flags);
/* A binary integer of up to so many decimal digits. */
bool sqlbind_is_small(struct slice raw, uint32_t type_oid, unsigned digits);

#endif
