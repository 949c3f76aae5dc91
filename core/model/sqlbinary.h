/*
 * sqlbinary.h - PostgreSQL's binary formats to canonical text and back.
 *
 * Private to the SQL scrubber. The text is what the server would print (with
 * extra_float_digits 1, DateStyle ISO, time zone UTC), so that a value has one
 * token in either format. False when the type is not known or the bytes do not fit it.
 */
#ifndef REPROD_SQLBINARY_H
#define REPROD_SQLBINARY_H

#include "core/base/buf.h"

bool sqlbinary_to_text(uint32_t type_oid, struct slice raw, struct buf *out);
bool sqlbinary_from_text(uint32_t type_oid, struct slice text, struct slice raw, struct buf *out);
/* The element's type of an array type, 0 when it is none we know. */
uint32_t sqlbinary_element(uint32_t array_oid);
/* Types whose values name nothing: kept as they are (interval, void). */
bool sqlbinary_is_harmless(uint32_t type_oid, struct slice raw);

/* core/model/sqlnumeric.c: base 10000 digits (numeric_send of the server). */
bool sqlnumeric_to_text(struct slice raw, struct buf *out);
bool sqlnumeric_from_text(struct slice text, struct buf *out);

#endif
