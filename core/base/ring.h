/*
 * ring.h - a bounded hand-over of byte records between one writer and one reader
 * thread.
 *
 * ring_put() copies the record in. When full it drops the oldest record, counts
 * it in dropped and returns at once: it never waits. ring_take() waits up to a
 * deadline. A record larger than the ring is refused and counted as dropped.
 */
#ifndef REPROD_RING_H
#define REPROD_RING_H

#include "core/base/buf.h"

struct ring;

struct ring *ring_new(size_t size_bytes);
void ring_put(struct ring *r, struct slice record);
/* The record replaces into's contents. ITEM, MORE (deadline), END (closed, empty). */
enum step ring_take(struct ring *r, int64_t timeout_ns, struct buf *into);
void ring_finish(struct ring *r); /* the writer says: no more */
uint64_t ring_dropped(struct ring *r);
void ring_destroy(struct ring *r);

#endif
