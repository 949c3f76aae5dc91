/*
 * mergewrite.h - the records of several captures as one stream, in time.
 */
#ifndef REPROD_MERGEWRITE_H
#define REPROD_MERGEWRITE_H

#include "capture/merge.h"

/* Sessions, requests and exact counts of all inputs; sets m->sessions and m->requests. */
bool mergewrite_all(struct merge *m, struct rcap_writer *w, struct err *e) MUST_USE;

#endif
