/*
 * metric_read.h - metrics from a file: CSV or JSON lines, plain or compressed.
 *
 * CSV is long (t, name, value) or wide (t and a column for each metric), by its header;
 * JSON lines are {t, name, value, counter?, unit?}. Names that end in "_total", and those
 * with counter: true, are counters and become rates, whatever the order of the lines. A
 * value that is empty, null or NaN is none: what follows is stale (metric.h). Lines that
 * cannot be used are counted and the first is told; a file without any value fails.
 */
#ifndef REPROD_CORRELATE_METRIC_READ_H
#define REPROD_CORRELATE_METRIC_READ_H

#include "core/base/err.h"
#include "core/base/run.h"
#include "correlate/metric.h"

struct metric_counts {
	uint64_t read; /* values */
	uint64_t bad; /* lines */
	uint64_t missing; /* empty values */
	uint64_t scaled; /* epoch times in milliseconds or finer */
	uint64_t local; /* times read in the zone that was given */
	bool is_cut; /* a compressed file ends inside of its stream */
	struct err first_bad;
	int64_t first_ns, last_ns; /* of the points */
};

/* zone: of times without one; NULL: they are refused. "-" is stdin. */
bool metric_read(struct metric_list *list, const char *path, const char *zone,
	const struct run *run, struct metric_counts *ret, struct err *e) MUST_USE;

#endif
