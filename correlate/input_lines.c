#include "correlate/input_lines.h"

#include <stdlib.h>

enum { BLOCK = 256 << 10 };

static const size_t room_bytes = LINES_LONGEST + BLOCK;

bool lines_init(struct lines *l, struct unzip *from, struct err *e)
{
	*l = (struct lines){ .from = from, .block = malloc(room_bytes) };
	return l->block ? true : err_set(e, ERR_ENV, "out of memory");
}

void lines_free(struct lines *l)
{
	free(l->block);
	*l = (struct lines){ 0 };
}

/* More bytes behind what is there; false at the end, or when a line fills all. */
static bool fill(struct lines *l)
{
	size_t got;

	if (l->is_end)
		return false;
	if (l->start) {
		memmove(l->block, l->block + l->start, l->end - l->start);
		l->at -= l->start;
		l->end -= l->start;
		l->start = 0;
	}
	if (l->end > LINES_LONGEST)
		return false;
	if (unzip_read(l->from, l->block + l->end, BLOCK, &got, &l->failed) != STEP_ITEM) {
		l->is_end = true;
		return false;
	}
	l->end += got;
	return true;
}

/* The end of the line that goes on at l->at. */
static void find_end(struct lines *l)
{
	size_t looked = l->at;

	for (;;) {
		const char *found = memchr(l->block + looked, '\n', l->end - looked);

		if (found) {
			l->at = (size_t)(found - l->block) + 1;
			l->has_break = true;
			return;
		}
		looked = l->end - l->start;
		if (!fill(l))
			break;
	}
	l->at = l->end;
	l->has_break = false;
	l->is_long = !l->is_end;
}

static void skip_rest(struct lines *l)
{
	do {
		l->start = l->at;
		find_end(l);
	} while (l->is_long && !l->has_break && !l->is_end);
	l->start = l->at;
}

enum step lines_next(struct lines *l, struct slice *ret)
{
	if (l->is_long) {
		l->is_long = false;
		skip_rest(l);
		l->is_long = false;
	}
	l->start = l->at;
	if (l->at == l->end && !fill(l))
		return l->failed.kind ? STEP_FAIL : STEP_END;
	find_end(l);
	l->number++;
	*ret = (struct slice){ l->block + l->start, l->at - l->start - l->has_break };
	return STEP_ITEM;
}

bool lines_join(struct lines *l, struct slice *line)
{
	if (!l->has_break || (l->at == l->end && !fill(l)) || l->at - l->start > LINES_LONGEST)
		return false;
	find_end(l);
	l->number++;
	*line = (struct slice){ l->block + l->start, l->at - l->start - l->has_break };
	return !l->is_long;
}

void lines_cut(struct lines *l, size_t bytes, uint64_t number)
{
	l->at = l->start + bytes;
	l->number = number;
	l->has_break = true;
	l->is_long = false;
}

struct slice lines_peek(struct lines *l)
{
	if (l->at == l->end)
		fill(l);
	return (struct slice){ l->block + l->at, l->end - l->at };
}
