/*
 * quantile.h - exact quantiles and their order-statistic intervals.
 *
 * A quantile q of n values is x(ceil(q n)), the nearest rank. The interval uses
 * binomial ranks (David and Nagaraja 2003, 7.1): lower rank = max r with
 * P(Bin(n,q) <= r-1) <= alpha/2, upper = min r with P(Bin(n,q) >= r) <= alpha/2;
 * a bound that does not exist is rank 0. At 95 % both bounds of p99 exist only
 * from n = 368. Below QUANTILE_P99_MIN a p99 is "not estimable".
 */
#ifndef REPROD_QUANTILE_H
#define REPROD_QUANTILE_H

#include "core/base/base.h"

#define QUANTILE_P99_MIN 100

/* 1-based rank of quantile q among n > 0 values. */
uint64_t quantile_rank(uint64_t n, double q);
void quantile_interval(
	uint64_t n, double q, double confidence, uint64_t *ret_low, uint64_t *ret_high);
/* Sorts values ascending in place. */
void quantile_sort(double *values, size_t n);
/* Of sorted values; NAN when n is 0. */
double quantile_of(const double *sorted, size_t n, double q);
/* P(Bin(n, p) <= k), and ln C(n, k). */
double quantile_binomial_cdf(uint64_t n, double p, int64_t k);
double quantile_ln_choose(double n, double k);
/* True when n values can carry quantile q: n >= 1 / (1 - q). */
bool quantile_is_estimable(uint64_t n, double q);

#endif
