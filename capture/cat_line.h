/*
 * cat_line.h - a record as one line of JSON, without building a document: a
 * capture holds millions. Appends the line with its newline.
 */
#ifndef REPROD_CAT_LINE_H
#define REPROD_CAT_LINE_H

#include "core/model/rcap.h"

void cat_session_line(const struct session_record *s, struct buf *to);
void cat_request_line(
	const struct rcap *r, const struct request_record *q, bool has_values, struct buf *to);

#endif
