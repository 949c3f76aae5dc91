/*
 * make_latencies REQUESTS ROUTES [SEED] - a day of requests as CSV for benchmarks.
 *
 * Arrivals are Poisson with a daily rhythm (a factor of three), latencies log-normal with
 * one in 5,000 at x20. In the first two minutes of each hour every seventh route is five
 * times slower: the hourly job of tools/bench-correlate. The same seed gives the same bytes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/rng.h"

static const double start_s = 1772409600; /* 2026-03-02T00:00:00Z */
static const double day_s = 86400;

static double normal(struct rng *r)
{
	return sqrt(-2 * log(1 - rng_unit(r))) * cos(2 * M_PI * rng_unit(r));
}

static double latency_ms(struct rng *r, unsigned route, double t)
{
	double ms = exp(1.5 + 0.01 * route + 0.6 * normal(r));

	if (rng_below(r, 5000) == 0)
		ms *= 20;
	return fmod(t, 3600) < 120 && route % 7 == 0 ? ms * 5 : ms;
}

int main(int argc, char **argv)
{
	long requests = argc > 2 ? atol(argv[1]) : 0;
	unsigned routes = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	struct rng r;
	double t = 0;

	if (requests <= 0 || !routes) {
		fprintf(stderr, "usage: make_latencies REQUESTS ROUTES [SEED]\n");
		return 2;
	}
	rng_seed(&r, argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
	puts("t,route,ms,status");
	for (long i = 0; i < requests; i++) {
		double rate = (double)requests / day_s * (1 + 0.5 * sin(2 * M_PI * t / day_s - 2));
		unsigned route = (unsigned)rng_below(&r, routes);

		t += -log(1 - rng_unit(&r)) / rate;
		printf("%.3f,GET /api/v1/resource%u/items,%.3f,%d\n", start_s + t, route,
			latency_ms(&r, route, t), rng_below(&r, 1000) ? 200 : 500);
	}
	return 0;
}
