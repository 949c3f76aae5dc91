/*
 * fidelity.h - was the run what was planned, and did it end as the capture did?
 *
 * Delivery gates every run: our own lateness, the share of the plan that was sent,
 * and our own CPU. A session that waits for its server's answer is the target's
 * doing and does not count. Outcome (rows, errors, requests in flight against the
 * capture) is evidence; whoever orders the run knows whether it may gate.
 */
#ifndef REPROD_REPLAY_FIDELITY_H
#define REPROD_REPLAY_FIDELITY_H

#include "replay/replay.h"

/* The bars of docs/guide-replay.md. */
#define FIDELITY_LATENESS_US 5000
#define FIDELITY_SENT_SHARE 0.95
#define FIDELITY_CPU_SHARE 0.70
#define FIDELITY_SESSION_SHARE 0.95
#define FIDELITY_ROWS_SHARE 0.95
#define FIDELITY_ERROR_SHARE 0.01

/* Sets is_delivered and delivery_reason. */
void fidelity_judge_delivery(struct replay_result *r);
/* {"delivery": {...}, "outcome": {...}} */
struct json *fidelity_json(const struct replay_result *r);

#endif
