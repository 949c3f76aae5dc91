/*
 * bench_series.c - the series part of correlate alone: read, count, and the p99 of each
 * route and minute. What tools/bench-correlate compares with a database's GROUP BY.
 * Where a p99 is not estimable the largest stands in, which quantile_disc(0.99) takes below
 * 100 values: sums may be compared. Prints requests, buckets with requests, their sum.
 */
#include <math.h>
#include <stdio.h>

#include "correlate/bucket.h"
#include "correlate/input.h"

int main(int argc, char **argv)
{
	struct run run = { .is_quiet = true, .log = stderr };
	struct series s;
	struct input in = { .series = &s };
	struct err e = { 0 };
	uint64_t buckets = 0;
	double sum = 0;

	series_init(&s, 0);
	for (int i = 1; i < argc; i++)
		if (!input_read(&in, argv[i], &run, &e)) {
			err_print(&e, stderr);
			return 3;
		}
	series_finish(&s);
	for (size_t i = 0; i < s.route_count; i++) {
		struct bucket_list list;

		if (!bucket_list_make(&list, &s, s.routes[i], 60 * NS_PER_S))
			return 4;
		for (size_t k = 0; k < list.count; k++) {
			buckets += list.items[k].n > 0;
			if (list.items[k].n)
				sum += isnan(list.items[k].p99_ms) ? list.items[k].max_ms
								   : list.items[k].p99_ms;
		}
		bucket_list_free(&list);
	}
	printf("%llu %llu %.0f\n", (unsigned long long)s.requests, (unsigned long long)buckets,
		sum);
	series_free(&s);
	return 0;
}
