/*
 * timegrid.h - amounts by time in a bounded number of equal slices.
 *
 * Slices are aligned to multiples of their width. When the time covered outgrows
 * the grid, the width doubles and neighbours are added together; nothing is lost.
 */
#ifndef REPROD_TIMEGRID_H
#define REPROD_TIMEGRID_H

#include "core/base/base.h"

#define TIMEGRID_SLICES 16384

struct timegrid {
	double *amounts; /* TIMEGRID_SLICES, from slice `first` on */
	int64_t width_ns;
	int64_t first; /* time of its start, divided by the width */
	int64_t used; /* slices up to the last that was touched */
};

bool timegrid_init(struct timegrid *g, int64_t width_ns) MUST_USE;
/* Adds an amount at an instant. */
void timegrid_add(struct timegrid *g, int64_t at_ns, double amount);
/* Adds to each slice the nanoseconds of [start, end) that fall in it. */
void timegrid_cover(struct timegrid *g, int64_t start_ns, int64_t end_ns);
void timegrid_free(struct timegrid *g);

#endif
