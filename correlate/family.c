#include "correlate/family.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"
#include "correlate/tested.h"
#include "correlate/verdict.h"

enum { METRIC_TESTS_MAX = 400 };

/* Of the two families; their inverses sum to one (weighted Bonferroni). */
#define PRICE_FIRST 1.25
#define PRICE_SECOND 5

uint64_t family_seed(const struct analysis *a, const char *id, size_t route)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ a->seed;

	for (const char *p = id; *p; p++)
		h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
	return h ^ a->routes[route].view.route->fingerprint;
}

/* Simes 1986. */
static double simes(double *p, size_t n)
{
	double best = 1;

	quantile_sort(p, n);
	for (size_t i = 0; i < n; i++)
		best = fmin(best, p[i] * (double)n / (double)(i + 1));
	return best;
}

/* ---- conditions */

static size_t times_inside(const struct analysis *a, const struct condition *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		n += c->items[i].until_ns >= a->series->first_ns &&
		     c->items[i].start_ns <= a->series->last_ns;
	return n;
}

static bool test_route(struct lineup *l, const struct analysis *a, const struct finding *f,
	size_t route, double finest)
{
	const struct view *v = &a->routes[route].view;
	struct lineup_question q = { v, v, f->condition, family_seed(a, f->condition->id, route),
		finest };

	return f->is_lone ? lineup_test_lone(l, v, f->condition) : lineup_test(l, &q);
}

/* Routes come by time lost: of those where it shows, the worst is told. One in twenty
 * shows at 0.05 by luck alone, so that is not enough when there are many. */
static bool is_better(double p, double before, size_t routes)
{
	double shows = fmin(VERDICT_STRONG, VERDICT_LEVEL / (double)routes);

	return p < before && before > shows;
}

struct family {
	double p[TESTED_ROUTES_MAX], sorted[TESTED_ROUTES_MAX];
	size_t from, count;
	double price; /* what being one of two families multiplies p with */
};

static double family_p(struct family *family)
{
	memcpy(family->sorted, family->p, family->count * sizeof(*family->p));
	return family->count ? fmin(1, family->price * simes(family->sorted, family->count)) : 1;
}

static double tests_of(const struct analysis *a)
{
	return (double)(a->conditions->count + (a->metrics ? a->metrics->count : 0) + 1);
}

/* What Simes over the family and Benjamini and Hochberg over the conditions may ask of
 * one route's p. */
static double finest_of(const struct analysis *a, const struct family *family)
{
	return VERDICT_LEVEL / tests_of(a) / family->price /
	       (double)(family->count ? family->count : 1);
}

static bool look_closer(
	struct finding *f, const struct analysis *a, struct family *family, double *p)
{
	size_t best = 0;
	struct lineup l;

	for (size_t i = 1; i < family->count; i++)
		best = family->p[i] < family->p[best] ? i : best;
	if (f->is_lone || *p > VERDICT_LEVEL || *p <= VERDICT_LEVEL / tests_of(a))
		return true;
	if (!test_route(&l, a, f, family->from + best, finest_of(a, family))) {
		lineup_free(&l);
		return false;
	}
	family->p[best] = l.p;
	*p = family_p(family);
	if (f->route == family->from + best) {
		lineup_free(&f->whole);
		f->whole = l;
	} else {
		lineup_free(&l);
	}
	return true;
}

/* Keeps the figures of the best route. */
static bool test_family(struct finding *f, const struct analysis *a, size_t from, size_t to,
	double price, double *ret_p)
{
	struct family family = { .from = from, .price = price };

	for (size_t i = from; i < to; i++) {
		struct lineup l;

		if (!test_route(&l, a, f, i, VERDICT_LEVEL / tests_of(a) / price)) {
			lineup_free(&l);
			return false;
		}
		family.p[family.count++] = l.p;
		if (!f->whole.hits || is_better(l.p, f->whole.p, to - from)) {
			lineup_free(&f->whole);
			f->whole = l;
			f->route = i;
		} else {
			lineup_free(&l);
		}
	}
	*ret_p = family_p(&family);
	return look_closer(f, a, &family, ret_p);
}

bool family_test(struct finding *f, const struct analysis *a)
{
	double first = 1, second = 1;
	bool is_split = a->spiking_count && a->route_count > a->spiking_count;

	f->whole = lineup_none();
	f->lag = (struct lag){ NAN, NAN, NAN, NAN, false };
	f->is_lone = times_inside(a, f->condition) == 1;
	f->null = f->is_lone ? "all places of its window in the capture"
			     : "every cycle shifted by itself";
	if (!test_family(f, a, 0, a->spiking_count, is_split ? PRICE_FIRST : 1, &first))
		return false;
	if (first > VERDICT_LEVEL && !test_family(f, a, a->spiking_count, a->route_count,
					     is_split ? PRICE_SECOND : 1, &second))
		return false;
	f->p = fmin(first, second);
	return true;
}

/* ---- metrics */

static bool test_metric(struct metric_result *r, const struct finding *f, const struct analysis *a,
	size_t route, const struct spike_list *spikes)
{
	const struct view *v = &a->routes[route].view;
	const struct metric *m = f->metric;
	struct metric traffic = { 0 };
	bool is_traffic = m == &a->traffic;

	if (is_traffic && !metric_of_traffic(&traffic, v))
		return false;
	bool ok =
		metric_test(r, v, spikes, is_traffic ? &traffic : m, family_seed(a, m->id, route));
	if (is_traffic)
		metric_free(&traffic);
	return ok;
}

/* Many metrics are tested on the worst routes only. */
static size_t metric_routes(const struct analysis *a)
{
	size_t metrics = 1 + (a->metrics ? a->metrics->count : 0);
	size_t most = METRIC_TESTS_MAX / metrics;

	most = most < 1 ? 1 : most;
	return a->spiking_count < most ? a->spiking_count : most;
}

bool family_test_metric(struct finding *f, const struct analysis *a)
{
	double p[TESTED_ROUTES_MAX];
	size_t n = 0, routes = metric_routes(a);

	f->p = 1;
	f->whole = lineup_none();
	f->lag = (struct lag){ NAN, NAN, NAN, NAN, false };
	f->trigger = NAN;
	f->null = "the metric turned in time as a whole, at the best of its lags";
	for (size_t i = 0; i < routes; i++) {
		struct metric_result r = { 0 };

		if (!test_metric(&r, f, a, i, &a->routes[i].spikes))
			return false;
		if (!r.is_evaluable)
			continue;
		p[n++] = r.p;
		if (!f->by_metric.is_evaluable || is_better(r.p, f->by_metric.p, routes)) {
			f->by_metric = r;
			f->route = i;
		}
	}
	if (n)
		f->p = simes(p, n);
	if (f->by_metric.is_evaluable) {
		f->lag.lag_s = f->by_metric.lag_s;
		f->whole.shifts = f->by_metric.shifts;
	}
	return true;
}

bool family_retest_metric(struct finding *f, const struct analysis *a)
{
	const struct tested_route *t = &a->routes[f->route];
	struct spike_list left = { 0 };
	struct metric_result r = { .p = 1 };

	left.items = calloc(t->spikes.count + 1, sizeof(*left.items));
	if (!left.items)
		return false;
	for (size_t i = 0; i < t->spikes.count; i++)
		if (!t->explained[i])
			left.items[left.count++] = t->spikes.items[i];
	bool ok = test_metric(&r, f, a, f->route, &left);
	f->has_rest = ok;
	f->rest = lineup_none();
	f->rest.p = r.is_evaluable ? r.p : 1;
	f->rest.evaluable = left.count;
	free(left.items);
	return ok;
}
