/*
 * jsonline.h - one JSON object on a line, member by member (RFC 8259).
 *
 * Built for log lines by the million: no tree, no allocation but for one buffer
 * that holds the strings with escapes. Objects inside are walked too (their members
 * name their parent), arrays are given as they stand. What a call gives is borrowed
 * from the line and the reader until the next jsonline_open(). Names may come twice:
 * both are given, in order. Escapes of half a surrogate pair become U+FFFD. One writer's
 * lines have the same members in the same order: a name that comes where it came in
 * the line before is told as such (is_repeat), and costs one comparison.
 */
#ifndef REPROD_JSONLINE_H
#define REPROD_JSONLINE_H

#include "core/base/buf.h"

enum jsonline_kind {
	JSONLINE_STRING,
	JSONLINE_BARE, /* a number, true, false or null: as written */
	JSONLINE_ARRAY, /* with its brackets, as written */
};

#define JSONLINE_DEPTH_MAX 16
#define JSONLINE_PLACES_MAX 32 /* members of a line that are remembered */
#define JSONLINE_NAME_MAX 30 /* with its quotes and colon */

struct jsonline_place {
	char text[JSONLINE_NAME_MAX]; /* "name": as it stood */
	uint8_t n; /* 0: nothing remembered */
};

struct jsonline {
	struct buf strings;
	const char *p, *end;
	struct slice parents[JSONLINE_DEPTH_MAX];
	unsigned depth;
	unsigned index; /* of the next member of this line */
	bool wants_comma;
	struct jsonline_place places[JSONLINE_PLACES_MAX]; /* by index */
};

struct jsonline_member {
	struct slice parent; /* name of the object it is in; empty at the top */
	struct slice name, value;
	enum jsonline_kind kind;
	unsigned depth; /* 1 at the top */
	unsigned index; /* from 0, over the whole line */
	bool is_repeat; /* the same name had this index in the line before */
};

/* False: it does not begin as an object, or out of memory. */
bool jsonline_open(struct jsonline *j, struct slice line) MUST_USE;
/* ITEM; END behind the last brace (blanks may follow); FAIL: not JSON, or cut. */
enum step jsonline_next(struct jsonline *j, struct jsonline_member *ret);
void jsonline_free(struct jsonline *j);

#endif
