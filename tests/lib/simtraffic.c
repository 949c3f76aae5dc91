#include "tests/lib/simtraffic.h"

#include <math.h>
#include <stdlib.h>

#include "tests/lib/unit.h"

double sim_normal(struct rng *r)
{
	return sqrt(-2 * log(1 - rng_unit(r))) * cos(2 * M_PI * rng_unit(r));
}

double sim_wait(struct rng *r, double mean)
{
	return -mean * log(1 - rng_unit(r));
}

size_t sim_runs(size_t few)
{
	const char *wanted = getenv("SIM_RUNS");

	return wanted ? (size_t)strtoul(wanted, NULL, 10) : few;
}

bool simtraffic_is_slow(const struct simtraffic *t, double at_s)
{
	double since = at_s - t->slow_from_s;

	if (t->slow_s <= 0 || since < 0)
		return false;
	return (t->slow_every_s > 0 ? fmod(since, t->slow_every_s) : since) < t->slow_s;
}

/* Of the day's swing, 1 at the busiest: it starts at midnight and peaks at 14:00. */
static double of_day(const struct simtraffic *t, double at_s)
{
	double wave = 0.5 + 0.5 * cos(2 * M_PI * (at_s / 86400 - 14.0 / 24));

	return t->day_times > 1 ? pow(t->day_times, wave - 1) : 1;
}

static double latency_ms(const struct simtraffic *t, double at_s, struct rng *rng)
{
	double ms = (t->median_ms > 0 ? t->median_ms : 20) * exp(0.4 * sim_normal(rng));
	double share = t->slow_share > 0 ? t->slow_share : 1;

	if (t->day_times > 1)
		ms *= of_day(t, at_s) * t->day_times;
	if (rng_unit(rng) < t->tail_share)
		ms *= t->tail_times;
	if (simtraffic_is_slow(t, at_s) && rng_unit(rng) < share)
		ms *= t->slow_times;
	return t->step_s > 0 && at_s >= t->step_s ? ms * t->step_times : ms;
}

void simtraffic_play(struct series *s, const char *route, const struct simtraffic *t, uint64_t seed)
{
	double mean = 60 / t->rate_per_min;
	struct series_route *r = series_route(s, slice_of(route), 0);
	struct rng rng;

	assert_non_null(r);
	rng_seed(&rng, seed);
	for (double at = sim_wait(&rng, mean); at < t->span_s; at += sim_wait(&rng, mean)) {
		if (t->day_times > 1 && rng_unit(&rng) > of_day(t, at))
			continue;
		assert_true(series_add(s, r, SIM_START_NS + (int64_t)(at * 1e9),
			(int64_t)(latency_ms(t, at, &rng) * 1e6), false));
	}
}
