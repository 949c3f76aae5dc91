/*
 * runs.h - the side file of an experiment: one JSON line per finished run.
 *
 * A line belongs to an experiment when recipe and targets are the same; others are
 * passed over. It is appended with one write and removed when the experiment is
 * complete.
 */
#ifndef REPROD_RUNS_H
#define REPROD_RUNS_H

#include "recipes/experiment.h"

/* What the runs of this experiment carry: recipe's SHA-256 and both marks' source. */
void runs_identity(const struct experiment *x, char text[200]);
bool runs_append(
	const struct experiment *x, const struct experiment_run *run, struct err *e) MUST_USE;
/* Fills x->runs; a file that is not there is no failure. */
bool runs_load(struct experiment *x, struct err *e) MUST_USE;

#endif
