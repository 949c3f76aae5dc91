/*
 * quiet.h - the quiet part of a range of buckets, and its 99th percentile.
 *
 * Marks the others as flagged: those with more requests above the percentile than
 * chance allows at 0.1 %, given how such counts clump in the lower half of the
 * buckets, and neighbours of those with three times their share. At most 45 % are.
 * On a route whose fast requests were never told, "above" is the median of what was
 * told in quiet time, and a bucket's exposure its time instead of its requests.
 */
#ifndef REPROD_CORRELATE_QUIET_H
#define REPROD_CORRELATE_QUIET_H

#include "correlate/bucket.h"
#include "correlate/season.h"

#define QUIET_FLOORED_MIN 20

struct quiet_item;

struct quiet {
	struct quiet_item *items; /* room for all buckets */
	uint64_t n; /* requests in the quiet part found last */
	double exposure; /* of a floored route, per tick */
};

bool quiet_open(struct quiet *q, size_t buckets) MUST_USE;
void quiet_free(struct quiet *q);
/* The bin of the percentile over buckets [from, to); flat has the season taken out. */
uint32_t quiet_find(struct quiet *q, const struct series_route *flat, struct bucket_list *buckets,
	const struct season *season, size_t from, size_t to);
/* The same with the flags as they are. */
uint32_t quiet_again(struct quiet *q, const struct series_route *flat, struct bucket_list *buckets,
	size_t from, size_t to);

#endif
