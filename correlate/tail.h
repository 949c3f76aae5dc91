/*
 * tail.h - how likely luck alone gives at least so many.
 *
 * Counts of requests clump, so a binomial says "impossible" too soon. The share of
 * each bucket is taken as drawn from a beta distribution of mean p (Skellam 1948):
 * the variance is n p (1 - p) (1 + (n - 1) rho). Where only time is known, not the
 * number of requests, the rate is gamma distributed (Greenwood and Yule 1920):
 * the variance is mean (1 + mean * clump). rho and clump 0 are binomial and Poisson.
 * Taken over counts divided by their dispersion: of quiet buckets of 1,000 requests whose
 * share varies by half 15 in 10,000 pass 1e-4 instead of 27, the same at 100 and below.
 */
#ifndef REPROD_CORRELATE_TAIL_H
#define REPROD_CORRELATE_TAIL_H

/* P(K >= k) of n, and of a mean; 1 for k <= 0. To about 1e-9 of itself. */
double tail_of_share(double k, double n, double p, double rho);
double tail_of_rate(double k, double mean, double clump);

#endif
