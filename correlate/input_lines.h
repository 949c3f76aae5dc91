/*
 * input_lines.h - the lines of a file or pipe, plain or compressed, from large blocks.
 *
 * A line is borrowed, and may be changed, until the next call. lines_join() adds the
 * next one to it, as a quoted field with a line break inside needs; lines_cut() takes
 * that back. Lines past LINES_LONGEST come cut there, and the rest of them is dropped.
 */
#ifndef REPROD_CORRELATE_INPUT_LINES_H
#define REPROD_CORRELATE_INPUT_LINES_H

#include "core/base/err.h"
#include "core/base/unzip.h"

#define LINES_LONGEST ((size_t)1 << 20)

struct lines {
	struct unzip *from; /* borrowed */
	char *block;
	size_t start, at, end; /* of this line, behind it, of what was read */
	uint64_t number; /* of this line, from 1; joined ones count */
	bool is_end; /* of the file */
	bool has_break; /* this line ended with a line break: the file's last one may not */
	bool is_long;
	struct err failed;
};

bool lines_init(struct lines *l, struct unzip *from, struct err *e) MUST_USE;
/* ITEM, END, or FAIL with lines.failed. Without its line break, with its carriage return. */
enum step lines_next(struct lines *l, struct slice *ret);
bool lines_join(struct lines *l, struct slice *line);
/* Back to a shorter line: its bytes, line break included, and number. */
void lines_cut(struct lines *l, size_t bytes, uint64_t number);
/* What comes first, without taking it. */
struct slice lines_peek(struct lines *l);
void lines_free(struct lines *l);

#endif
