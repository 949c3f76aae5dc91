/*
 * blockread.h - the records of a capture from its front to its back, then the times of
 * its requests from the back to the front.
 *
 * Requests are stored as they end. Read backwards, a request's start is known by the
 * time that the clock, running backwards, gets there: arrivals come out in exact order
 * and the requests in flight are all that must be remembered. Borrows the capture,
 * whose own stream must be rewound afterwards. Damaged blocks are left out.
 */
#ifndef REPROD_BLOCKREAD_H
#define REPROD_BLOCKREAD_H

#include "core/model/rcap.h"
#include "core/model/rcap_code.h"

/* When a request ran. */
struct span {
	int64_t start_ns, end_ns;
	uint32_t route;
};

struct blockread {
	struct rcap *rcap;
	struct rcap_decoder decoder;
	struct cursor block;
	uint64_t at; /* of the next block */
	uint64_t *offsets; /* of blocks of records */
	size_t count, room;
	struct span *spans; /* of one block */
	size_t span_count, span_room;
};

void blockread_init(struct blockread *b, struct rcap *r);
/* As rcap_next(). */
enum step blockread_next(struct blockread *b, struct rcap_item *ret, struct err *e);
/* After blockread_next() came to its end: the requests without prepares, the last one
 * of the file first. */
enum step blockread_back(struct blockread *b, struct span *ret, struct err *e);
void blockread_free(struct blockread *b);

#endif
