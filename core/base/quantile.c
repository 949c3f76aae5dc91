#include "core/base/quantile.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

uint64_t quantile_rank(uint64_t n, double q)
{
	double x = q * (double)n;
	double whole = round(x);

	/* 0.07 * 100 is 7.000000000000001 in binary: that is rank 7. */
	double rank = fabs(x - whole) <= 1e-12 * (x + 1) ? whole : ceil(x);
	if (!(rank >= 1))
		return 1;
	return rank >= (double)n ? n : (uint64_t)rank;
}

static double ln_gamma(double x)
{
	int sign;

	/* lgamma() itself writes the global signgam. */
	return lgamma_r(x, &sign);
}

double quantile_ln_choose(double n, double k)
{
	return ln_gamma(n + 1) - ln_gamma(k + 1) - ln_gamma(n - k + 1);
}

static double away_from_zero(double x)
{
	return fabs(x) < DBL_MIN / DBL_EPSILON ? DBL_MIN / DBL_EPSILON : x;
}

/* The continued fraction of the incomplete beta function by Lentz's method
 * (Press et al., Numerical Recipes, 6.4); converges fast for x < (a+1)/(a+b+2). */
static double beta_fraction(double a, double b, double x)
{
	double c = 1;
	double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
	double h = d;

	for (int m = 1; m <= 20000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / away_from_zero(1 + even * d);
		c = away_from_zero(1 + even / c);
		h *= d * c;
		d = 1 / away_from_zero(1 + odd * d);
		c = away_from_zero(1 + odd / c);
		h *= d * c;
		if (fabs(d * c - 1) < 1e-14)
			break;
	}
	return h;
}

/* The regularised incomplete beta function I_x(a, b). */
static double incomplete_beta(double a, double b, double x)
{
	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	double ln_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * log(x) + b * log1p(-x);
	if (x < (a + 1) / (a + b + 2))
		return exp(ln_front) * beta_fraction(a, b, x) / a;
	return 1 - exp(ln_front) * beta_fraction(b, a, 1 - x) / b;
}

double quantile_binomial_cdf(uint64_t n, double p, int64_t k)
{
	if (k < 0)
		return 0;
	if ((uint64_t)k >= n)
		return 1;
	return incomplete_beta((double)(n - (uint64_t)k), (double)k + 1, 1 - p);
}

/* P(Bin(n, p) >= r), for r in 1..n; as 1 - cdf it would lose small values. */
static double binomial_tail(uint64_t n, double p, uint64_t r)
{
	return incomplete_beta((double)r, (double)(n - r) + 1, p);
}

void quantile_interval(
	uint64_t n, double q, double confidence, uint64_t *ret_low, uint64_t *ret_high)
{
	double half = (1 - confidence) / 2;
	uint64_t low = 0, high = n + 1;

	/* Both sides are monotone in the rank. low: the last rank known to hold. */
	for (uint64_t above = n + 1; above - low > 1;) {
		uint64_t r = low + (above - low) / 2;

		if (quantile_binomial_cdf(n, q, (int64_t)r - 1) <= half)
			low = r;
		else
			above = r;
	}
	for (uint64_t below = 0; high - below > 1;) {
		uint64_t r = below + (high - below) / 2;

		if (binomial_tail(n, q, r) <= half)
			high = r;
		else
			below = r;
	}
	*ret_low = low;
	*ret_high = high <= n ? high : 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	/* NAN sorts last, so that the order is total. */
	if (isnan(x) || isnan(y))
		return isnan(x) - isnan(y);
	return (x > y) - (x < y);
}

void quantile_sort(double *values, size_t n)
{
	if (n > 1)
		qsort(values, n, sizeof(*values), compare);
}

double quantile_of(const double *sorted, size_t n, double q)
{
	return n ? sorted[quantile_rank(n, q) - 1] : NAN;
}

bool quantile_is_estimable(uint64_t n, double q)
{
	/* 1 - 0.99 is a little above 0.01 in binary. */
	return q < 1 && (double)n * (1 - q) >= 1 - 1e-9;
}
