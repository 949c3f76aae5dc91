/*
 * summary_cost.h - what a capture left out on purpose, and what it cost the host: lines of
 * `capture show` for sampling, shedding, cost and merging, when the head has them.
 */
#ifndef REPROD_SUMMARY_COST_H
#define REPROD_SUMMARY_COST_H

#include <stdio.h>

#include "core/base/json.h"

/* summary is capture_summary()'s. */
void summary_cost_print(const struct json *summary, FILE *to);

#endif
