/*
 * simworld.h - a simulated capture with a known truth, and its analysis.
 *
 * Times are seconds from one fixed midnight UTC. world_analyse() takes the series and
 * the conditions as the command would. Everything follows from the seed, and from
 * SIM_SEED where that is set.
 */
#ifndef REPROD_TEST_SIMWORLD_H
#define REPROD_TEST_SIMWORLD_H

#include "core/base/rng.h"
#include "correlate/rank.h"

struct world {
	struct series series;
	struct condition_list conditions;
	struct metric_list metrics;
	struct analysis analysis;
	struct rng rng;
	struct run run;
};

/* A route with Poisson arrivals, and a slowdown that its schedule switches on. */
struct slow_job {
	double every_s, at_s, length_s; /* slow from at_s + k every_s, so long */
	double chance; /* of each run to bite */
	double share, factor; /* of the requests in it, slower so many times */
};

void world_init(struct world *w, uint64_t seed);
void world_free(struct world *w);
void world_analyse(struct world *w);
const struct finding *world_finding(const struct world *w, const char *id);
bool world_has_any(const struct world *w, enum verdict verdict);
/* No evidence or cannot tell. */
bool world_is_acquitted(const struct world *w, const char *id);
/* SIM_RUNS, or the small number that CI runs. */
int world_runs(int usual);

int64_t world_ns(double at_s);
double world_wait(struct rng *r, double mean); /* exponential */
double world_usual_ms(struct rng *r, double median); /* log-normal with a tail */
void world_add(struct world *w, const char *route, double at_s, double ms);
/* One occurrence of "kind:name". */
void world_event(struct world *w, const char *kind, const char *name, double at_s, double end_s);
void world_job(struct world *w, const char *name, double every_s, double at_s, double length_s,
	double span_s);
/* Innocent schedules j0, j1, ... with periods of min_s to max_s in whole minutes. */
void world_innocents(struct world *w, int count, double min_s, double max_s, double span_s);
/* Requests at a steady rate; job may be NULL. */
void world_play(struct world *w, const char *route, double per_s, double span_s, double median_ms,
	const struct slow_job *job);
/* Eight clients in a closed loop over two routes; the first length_s from phase_s on of
 * every 8 s block the writes. */
void world_stalls(struct world *w, double per_s, double span_s, double phase_s, double length_s);

#endif
