/*
 * plan_item.h - one request of the plan: a copy of its record, and why it may not
 * be sent.
 */
#ifndef REPROD_REPLAY_PLAN_ITEM_H
#define REPROD_REPLAY_PLAN_ITEM_H

#include "replay/plan.h"

/* A copy in one block (free() it); NULL when out of memory. */
struct plan_item *plan_item_new(const struct request_record *q);
/* PLAN_CLOSE, without a record. */
struct plan_item *plan_item_close(uint64_t session);
enum plan_skip plan_item_skip(const struct request_record *q, const struct plan_lane *lane);
/* What a statement does to the transaction: 'B' opens, 'C' ends it, 0 neither. */
char plan_item_verb(struct slice template_text);

#endif
