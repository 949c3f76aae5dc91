/*
 * sqloutline.h - a statement with a stand-in for each literal and parameter, for a
 * parser that must never see a value.
 *
 * Comments are gone. Lists of plain values (IN (1, 2), ARRAY['a', 'b'], rows of VALUES)
 * are one element, or one row, for which the others stand: an outline is the same
 * however long its lists are. Private to the SQL scrubber; buffers are reused.
 */
#ifndef REPROD_SQLOUTLINE_H
#define REPROD_SQLOUTLINE_H

#include "core/base/buf.h"
#include "core/model/sqlread.h"

struct sqloutline {
	struct buf text;
	uint32_t *offsets; /* of the stand-ins in text, ascending */
	size_t count, cap;
	uint32_t *stand_ins; /* of the literals and parameters in order: index in offsets */
	size_t value_count, value_cap;
};

enum { OUTLINE_BYTES_MAX = 64 << 10, OUTLINE_VALUES_MAX = 4 << 20 };

/* False when the outline is larger than OUTLINE_BYTES_MAX, nests too deep for a parser
 * that recurses, or out of memory. */
bool sqloutline_make(struct sqloutline *o, const struct sql_token *items, size_t n) MUST_USE;
/* The stand-in that starts at that byte of the text, SIZE_MAX when none does. */
size_t sqloutline_at(const struct sqloutline *o, uint32_t offset);
void sqloutline_free(struct sqloutline *o);

#endif
