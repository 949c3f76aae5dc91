/*
 * samplecounts.h - what sampling saw and what it stored, by route and by rule, and
 * the concurrency of everything that was seen.
 *
 * Bounded by the route dictionary and two grids of time. One thread.
 */
#ifndef REPROD_SAMPLECOUNTS_H
#define REPROD_SAMPLECOUNTS_H

#include "capture/samplerules.h"
#include "capture/timegrid.h"
#include "core/model/record.h"

/* The head lists so many routes, the busiest; the file's counts have them all. */
#define SAMPLE_ROUTES_LISTED 200

struct sampled_route {
	uint64_t fingerprint;
	int rule;
	uint64_t seen, stored;
	int64_t first_ns, last_ns;
};

struct samplecounts {
	struct sampled_route *routes; /* by number; 0 is "other" */
	uint32_t room, used;
	uint64_t sessions, sessions_stored, sessions_late, sessions_over_cap;
	uint64_t seen, stored, over_cap; /* requests; over_cap: dropped while they waited */
	struct timegrid busy, arrivals;
	double busy_ns;
	int64_t start_ns, end_ns;
	uint32_t in_flight_max;
};

bool samplecounts_init(struct samplecounts *c) MUST_USE;
void samplecounts_route(struct samplecounts *c, uint32_t id, uint64_t fingerprint, int rule);
/* Returns the rule of its route. */
int samplecounts_seen(struct samplecounts *c, const struct request_record *q);
void samplecounts_stored(struct samplecounts *c, const struct request_record *q);
struct json *samplecounts_json(
	const struct samplecounts *c, const struct sample_rules *rules, bool is_final);
void samplecounts_free(struct samplecounts *c);

#endif
