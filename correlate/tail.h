/*
 * tail.h - how likely luck alone gives at least so many, though requests clump.
 *
 * A bucket's share is beta distributed around p (Skellam 1948): variance n p (1 - p)
 * (1 + (n - 1) rho). Where only time is known its rate is gamma distributed (Greenwood
 * and Yule 1920): variance mean (1 + mean * clump). Chosen over counts divided by their
 * dispersion for fewer false ones at 1e-4 in buckets of 1,000 whose share varies
 * log-normally: sigma 0.5, 15 in 10,000 for 27 (power .98 for .99); sigma 1, 118 for 228
 * (power .70 for .96); alike at 100. Neither holds its level: trial.h has a floor too.
 */
#ifndef REPROD_CORRELATE_TAIL_H
#define REPROD_CORRELATE_TAIL_H

/* P(K >= k) of n, and of a mean; 1 for k <= 0. To about 1e-9 of itself. */
double tail_of_share(double k, double n, double p, double rho);
double tail_of_rate(double k, double mean, double clump);

#endif
