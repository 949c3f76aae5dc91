#include "correlate/tail.h"

#include <math.h>

static const double faint = 1e-7; /* less clumping than this is none */

static double ln_beta(double a, double b)
{
	return lgamma(a) + lgamma(b) - lgamma(a + b);
}

static double ln_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* The ratio of the next term to this one tells how far to go. */
double tail_of_share(double k, double n, double p, double rho)
{
	double a, b, term, sum;

	k = ceil(k - 1e-9);
	if (k <= 0)
		return 1;
	if (k > n || p <= 0)
		return 0;
	rho = fmin(fmax(rho, faint), 0.999);
	a = p * (1 - rho) / rho;
	b = (1 - p) * (1 - rho) / rho;
	sum = term = exp(ln_choose(n, k) + ln_beta(k + a, n - k + b) - ln_beta(a, b));
	for (double i = k; i < n && term > 0; i++) {
		term *= (n - i) * (i + a) / ((i + 1) * (n - i - 1 + b));
		sum += term;
		if (i > n * p && term < 1e-12 * sum)
			break;
	}
	return fmin(1, sum);
}

double tail_of_rate(double k, double mean, double clump)
{
	double size, q, term, sum;

	k = ceil(k - 1e-9);
	if (k <= 0)
		return 1;
	if (mean <= 0)
		return 0;
	size = 1 / fmax(clump, faint);
	q = mean / (mean + size);
	sum = term = exp(
		lgamma(k + size) - lgamma(k + 1) - lgamma(size) + k * log(q) + size * log1p(-q));
	for (double i = k; term > 0 && i < k + 1e6; i++) {
		term *= (i + size) / (i + 1) * q;
		sum += term;
		if (i > mean && term < 1e-12 * sum)
			break;
	}
	return fmin(1, sum);
}
