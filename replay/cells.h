/*
 * cells.h - values of this run's answers that later requests of the session need:
 * the generated keys.
 *
 * Bounded: the newest CELLS_MAX stay. Only short text (integers, uuids) is kept.
 */
#ifndef REPROD_REPLAY_CELLS_H
#define REPROD_REPLAY_CELLS_H

#include "core/model/record.h"

#define CELLS_MAX 512
#define CELL_TEXT_MAX 40

struct cell {
	uint64_t session, seq;
	uint32_t row;
	uint16_t column;
	uint8_t length;
	char text[CELL_TEXT_MAX];
};

/* Valid when zeroed. */
struct cells {
	struct cell *items; /* a ring */
	size_t count, next;
};

/* What does not fit is not kept. False when out of memory. */
bool cells_put(struct cells *c, uint64_t session, uint64_t seq, uint32_t row, uint16_t column,
	struct slice text) MUST_USE;
const struct cell *cells_get(const struct cells *c, uint64_t session, const struct edge *edge);
void cells_free(struct cells *c);

/* The cell spelled as the value it takes the place of: a quoted or bare literal, a
 * text bind, or a binary integer or uuid of the same width, into to (at least
 * CELL_TEXT_MAX + 2 bytes). False when it cannot be: the captured value stays. */
bool cell_spell(const struct cell *cell, const struct value *like, char *to, size_t *ret_length);

#endif
