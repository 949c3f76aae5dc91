/*
 * runs.h - the twins of a job's name: which schedule the logged runs are of.
 *
 * Schedules and logs number jobs of one name by order of appearance ("report",
 * "report#2"), which need not be the same. Each log twin gets the name of the schedule
 * that most of its runs follow within 90 s (half of them at least), each schedule once;
 * the others get names that no schedule has. Without schedules nothing changes.
 */
#ifndef REPROD_CORRELATE_RUNS_H
#define REPROD_CORRELATE_RUNS_H

#include "correlate/condition.h"

/* Before condition_list_finish(). Names that could not be made stay. */
void runs_name_twins(struct condition_list *list);

#endif
