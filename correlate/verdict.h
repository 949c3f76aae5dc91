/*
 * verdict.h - the word a finding gets, and the sentence that says why.
 *
 * rank.h says what the words mean. "Cause" is not among them: that takes an
 * experiment.
 */
#ifndef REPROD_CORRELATE_VERDICT_H
#define REPROD_CORRELATE_VERDICT_H

#include "correlate/rank.h"

#define VERDICT_LEVEL 0.05
#define VERDICT_STRONG 0.001
#define VERDICT_HITS_MIN 3

void verdict_say(struct finding *f, enum verdict v, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A condition that happened more than once, by its figures. */
void verdict_judge(struct finding *f, const struct analysis *a);
/* One that happened once: suggestive at most. */
void verdict_judge_lone(struct finding *f, const struct analysis *a);
/* A metric or the traffic; is_shared: what it shows is gone with the spikes that
 * conditions explain. */
void verdict_judge_metric(struct finding *f, const struct analysis *a, bool is_shared);
/* No evidence or cannot tell: could an effect have been seen? */
void verdict_say_nothing(struct finding *f, const struct lineup *l);

#endif
