#include "correlate/period.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"

/* Periods of schedulers, in seconds; below a minute those of sleep loops. */
static const int periods_s[] = { 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 60, 120, 180, 240, 300, 360,
	600, 720, 900, 1200, 1800, 3600, 5400, 7200, 10800, 14400, 21600, 28800, 43200, 86400,
	604800 };
static const double widths_s[] = { 0.5, 1, 2, 5, 15, 60, 120, 300, 600, 1200 };

enum { ONSETS_MIN = 4, ONSETS_MAX = 5000 };

static const double accepted = -3;

static int64_t phase_of(int64_t t, int64_t period)
{
	int64_t p = t % period;

	return p < 0 ? p + period : p;
}

/* Cycles with an onset in [phase, phase + width). */
static size_t cycles_hit(
	const int64_t *onsets, size_t n, int64_t period, int64_t phase, int64_t width)
{
	int64_t last = INT64_MIN;
	size_t hit = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t cycle = (onsets[i] - phase - phase_of(onsets[i] - phase, period)) / period;

		if (phase_of(onsets[i] - phase, period) < width && cycle != last) {
			hit++;
			last = cycle;
		}
	}
	return hit;
}

/* log10 P(Bin(n, p) >= k). */
static double log_tail(size_t n, double p, size_t k)
{
	double tail = 1 - quantile_binomial_cdf(n, p, (int64_t)k - 1);

	if (tail > 1e-9)
		return log10(tail);
	return (quantile_ln_choose((double)n, (double)k) + (double)k * log(p) +
		       (double)(n - k) * log1p(-p)) /
	       log(10);
}

static void try_pair(struct period *best, const int64_t *onsets, size_t n, int64_t period,
	int64_t width, size_t cycles, double pairs)
{
	for (size_t i = 0; i < n; i++) {
		int64_t phase = phase_of(onsets[i], period);
		size_t hit = cycles_hit(onsets, n, period, phase, width);

		hit = hit > cycles ? cycles : hit;
		double share = (double)width / (double)period;
		double score = log_tail(cycles, share, hit) - log10(share) + log10(pairs);
		if (score < best->score - 1e-12)
			*best = (struct period){ period, phase, width, score, cycles, hit };
	}
}

bool period_find(
	struct period *ret, const struct spike_list *spikes, int64_t first_ns, int64_t last_ns)
{
	int64_t *onsets = calloc(spikes->count + 1, sizeof(*onsets));
	double pairs = 0;
	size_t n = 0;

	*ret = (struct period){ 0 };
	for (size_t i = 0; onsets && i < spikes->count && n < ONSETS_MAX; i++)
		if (spikes->items[i].kind != SPIKE_LEVEL_SHIFT)
			onsets[n++] = spikes->items[i].start_ns;
	for (int round = 0; round < 2 && n >= ONSETS_MIN; round++)
		for (size_t p = 0; p < LENGTH(periods_s); p++)
			for (size_t w = 0; w < LENGTH(widths_s); w++) {
				int64_t period = periods_s[p] * NS_PER_S;
				int64_t width = (int64_t)(widths_s[w] * 1e9);

				if (4 * width > period || (last_ns - first_ns) / period < 3)
					continue;
				/* Widths under a sixtieth of a long period are below what cron keeps. */
				if (period > 60 * width && period > 60 * NS_PER_S &&
					width < 60 * NS_PER_S)
					continue;
				if (round == 0)
					pairs++;
				else
					try_pair(ret, onsets, n, period, width,
						(size_t)((last_ns - first_ns + period - 1) /
							 period),
						pairs);
			}
	free(onsets);
	return ret->score <= accepted;
}
