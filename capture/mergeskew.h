/*
 * mergeskew.h - by how much one capture's clock is ahead of another's.
 *
 * From requests that both saw (capture/mergemarks.h): the mean of what their starts and
 * their ends differ by, as NTP has it (RFC 5905, 8), so that the way between two places
 * cancels out as far as it is as long in both directions. Chance matches scatter, true
 * ones agree: the densest MERGESKEW_WIDTH_NS of them counts, its median is the skew.
 */
#ifndef REPROD_MERGESKEW_H
#define REPROD_MERGESKEW_H

#include "capture/mergemarks.h"

#define MERGESKEW_WIDTH_NS (20 * NS_PER_MS)

struct mergeskew {
	int64_t skew_ns; /* to be taken off the other's times */
	int64_t spread_ns; /* between the 10th and the 90th of a hundred that agree */
	int64_t drift_ns; /* median of the later half minus that of the earlier half */
	size_t matches, agreeing;
	bool is_sure;
};

/* Sure when at least three of the same client address agree, or twenty and four fifths of
 * all. False only when memory ran out. */
bool mergeskew_between(const struct mergemarks *reference, const struct mergemarks *other,
	struct mergeskew *ret) MUST_USE;

#endif
