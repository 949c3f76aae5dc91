/*
 * rotated.h - the files of a rotated log in the order of their times.
 *
 * The order is that of the first time that stands in each file, compressed or not.
 * "-" and files without one keep their place at the end. Paths are borrowed.
 */
#ifndef REPROD_ROTATED_H
#define REPROD_ROTATED_H

#include "core/base/err.h"

struct rotated {
	const char **paths;
};

bool rotated_sort(
	struct rotated *r, const char *const *paths, size_t count, struct err *e) MUST_USE;
void rotated_free(struct rotated *r);

#endif
