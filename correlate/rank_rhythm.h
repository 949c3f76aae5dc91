/*
 * rank_rhythm.h - the built-in rhythms (rhythm.h), when nothing that was given lines up.
 *
 * Tried on the route that lost most time, each at three times the price. Only what is
 * suggestive joins the findings, and never as more: nobody gave an event for it. What
 * has the windows of something suggestive is left out.
 */
#ifndef REPROD_CORRELATE_RANK_RHYTHM_H
#define REPROD_CORRELATE_RANK_RHYTHM_H

#include "correlate/rank.h"

/* findings must have room for RHYTHMS more. False: out of memory. */
bool rank_rhythms(struct analysis *a) MUST_USE;

#endif
