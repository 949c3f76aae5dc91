/*
 * git.h - the history of a repository as (weak) events.
 *
 * Tags near the traffic become deploy:TAG, by the time of the tag; commits of the first
 * parents of HEAD become commit:REPOSITORY, those within ten minutes of each other as one
 * event whose dose is their number, by the committer's time. Neither is when something was
 * deployed: all are weak (event.h). Reaches from the oldest commit read to when git wrote to
 * the repository last (a fetch, a commit).
 * git runs without a shell, without GIT_* of the environment, pager, prompt or network.
 */
#ifndef REPROD_CORRELATE_GIT_H
#define REPROD_CORRELATE_GIT_H

#include "correlate/events.h"

/* False: no repository, no git, or it fails. */
bool git_read(const struct events_options *o, const char *dir, struct err *e) MUST_USE;

#endif
