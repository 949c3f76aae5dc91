/*
 * lane.h - one session of the run: what it does next.
 */
#ifndef REPROD_REPLAY_LANE_H
#define REPROD_REPLAY_LANE_H

#include "replay/drive.h"

struct lane *lane_new(struct drive *d, struct plan_lane *plan);
/* Connects; a failure counts as an attempt. */
void lane_open(struct drive *d, struct lane *l);
/* Does what is due and sets the lane's timer. */
void lane_turn(struct drive *d, struct lane *l);
/* After an epoll event on its connection. */
void lane_ready(struct drive *d, struct lane *l, uint32_t events);
/* Gives up what is unanswered (censored at its age) and closes. */
void lane_stop(struct drive *d, struct lane *l);
void lane_free(struct drive *d, struct lane *l);

#endif
