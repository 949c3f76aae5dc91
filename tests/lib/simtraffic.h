/*
 * simtraffic.h - requests of one route with a known truth, the same for a seed.
 *
 * Arrivals are a Poisson process, latencies log-normal (sigma 0.4) with a heavy
 * tail; both may follow the hour of the day. Slow time is told as episodes of one
 * length, the n-th from slow_from_s + n * slow_every_s on.
 */
#ifndef REPROD_TEST_SIMTRAFFIC_H
#define REPROD_TEST_SIMTRAFFIC_H

#include "core/base/rng.h"
#include "core/model/series.h"

struct simtraffic {
	double rate_per_min, span_s;
	double median_ms; /* 0: 20 */
	double tail_share, tail_times; /* this share takes that many times as long */
	double day_times; /* busiest over quietest hour, of rate and latency; 0: the same */
	double slow_from_s, slow_every_s, slow_s;
	double slow_share, slow_times; /* of the requests in slow time; a share of 0 is all */
	double step_s, step_times; /* all takes that many times as long from here on */
};

#define SIM_START_NS (INT64_C(1795996800) * NS_PER_S) /* a midnight, UTC */

/* Adds the requests; the series is not finished. */
void simtraffic_play(
	struct series *s, const char *route, const struct simtraffic *traffic, uint64_t seed);
bool simtraffic_is_slow(const struct simtraffic *traffic, double at_s);
/* Standard normal. */
double sim_normal(struct rng *r);
/* Exponential. */
double sim_wait(struct rng *r, double mean);
/* SIM_RUNS, or few where it is not set. */
size_t sim_runs(size_t few);

#endif
