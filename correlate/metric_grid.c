#include "correlate/metric_grid.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"

enum { DAILY = 3, WEEKLY = 2, TERMS_MAX = 1 + 2 * (DAILY + WEEKLY) };

static const int64_t day_ns = 86400 * NS_PER_S;

/* ---- values */

static size_t join_of(const struct view *v)
{
	return (v->buckets.count + METRIC_CELLS_MAX - 1) / METRIC_CELLS_MAX;
}

static bool has_requests(const struct view *v, size_t join, size_t cell)
{
	for (size_t i = cell * join; i < (cell + 1) * join && i < v->buckets.count; i++)
		if (v->buckets.items[i].n)
			return true;
	return false;
}

/* points[*at] is the first at or after the cell's start; moves to its end. */
static double cell_value(
	const struct metric *m, size_t *at, int64_t from_ns, int64_t width_ns, int64_t hold_ns)
{
	size_t first = *at;
	double sum = 0;

	for (; *at < m->count && m->points[*at].t_ns < from_ns + width_ns; (*at)++)
		sum += m->points[*at].value;
	if (*at > first)
		return sum / (double)(*at - first);
	if (!first || from_ns + width_ns / 2 - m->points[first - 1].t_ns > hold_ns)
		return NAN;
	return m->points[first - 1].value;
}

static void lay_values(struct metric_grid *g, const struct view *v, const struct metric *m)
{
	size_t at = 0, join = join_of(v);
	double only = NAN;

	g->is_constant = true;
	while (at < m->count && m->points[at].t_ns < g->start_ns)
		at++;
	for (size_t i = 0; i < g->count; i++) {
		double value = cell_value(m, &at, g->start_ns + (int64_t)i * g->width_ns,
			g->width_ns, METRIC_STALE * m->gap_ns);

		g->value[i] = has_requests(v, join, i) ? value : NAN;
		if (isnan(g->value[i]))
			continue;
		g->is_constant &= g->known == 0 || g->value[i] == only;
		only = g->value[i];
		g->known++;
	}
}

/* ---- ranks */

struct ranked {
	double value;
	size_t cell;
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->cell > y->cell) - (x->cell < y->cell);
}

/* Ranks of the known values, ties sharing their mean, scaled to -1..1. */
static bool rank_values(const double *values, double *ranks, size_t count)
{
	struct ranked *order = malloc((count + 1) * sizeof(*order));
	size_t n = 0;

	if (!order)
		return false;
	for (size_t i = 0; i < count; i++) {
		ranks[i] = NAN;
		if (!isnan(values[i]))
			order[n++] = (struct ranked){ values[i], i };
	}
	qsort(order, n, sizeof(*order), by_value);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && order[to].value == order[from].value; to++)
			;
		for (size_t i = from; i < to; i++)
			ranks[order[i].cell] = (double)(from + to) / (double)n - 1;
	}
	free(order);
	return true;
}

/* ---- season */

struct fit {
	size_t terms;
	double a[TERMS_MAX][TERMS_MAX + 1]; /* normal equations and right side */
	double x[TERMS_MAX];
};

static void terms_at(double terms[TERMS_MAX], size_t count, int64_t wall_ns)
{
	double day = 2 * M_PI * (double)(wall_ns % day_ns) / (double)day_ns;
	double week = 2 * M_PI * (double)(wall_ns % (7 * day_ns)) / (double)(7 * day_ns);
	size_t at = 0;

	terms[at++] = 1;
	for (int k = 1; k <= DAILY; k++) {
		terms[at++] = cos(k * day);
		terms[at++] = sin(k * day);
	}
	for (int k = 1; at < count; k++) {
		terms[at++] = cos(k * week);
		terms[at++] = sin(k * week);
	}
}

/* Gauss and Jordan with pivots; a term that the others already say gets 0. */
static void solve(struct fit *f)
{
	bool used[TERMS_MAX] = { false };
	size_t pivot_of[TERMS_MAX];

	for (size_t c = 0; c < f->terms; c++) {
		size_t best = f->terms;

		for (size_t r = 0; r < f->terms; r++)
			if (!used[r] &&
				(best == f->terms || fabs(f->a[r][c]) > fabs(f->a[best][c])))
				best = r;
		pivot_of[c] = fabs(f->a[best][c]) > 1e-6 ? best : f->terms;
		if (pivot_of[c] == f->terms)
			continue;
		used[best] = true;
		for (size_t r = 0; r < f->terms; r++) {
			double times = r == best ? 0 : f->a[r][c] / f->a[best][c];

			for (size_t k = c; k <= f->terms && times != 0; k++)
				f->a[r][k] -= times * f->a[best][k];
		}
	}
	for (size_t c = 0; c < f->terms; c++)
		f->x[c] = pivot_of[c] == f->terms
				  ? 0
				  : f->a[pivot_of[c]][f->terms] / f->a[pivot_of[c]][c];
}

static int64_t middle_of(const struct metric_grid *g, size_t cell)
{
	return g->start_ns + (int64_t)cell * g->width_ns + g->width_ns / 2;
}

/* The values within the middle 99 %: a monster has no say in the season. */
static bool clip_values(const struct metric_grid *g, double *clipped)
{
	double *sorted = calloc(g->known + 1, sizeof(*sorted));
	size_t n = 0;

	if (!sorted)
		return false;
	for (size_t i = 0; i < g->count; i++)
		if (!isnan(g->value[i]))
			sorted[n++] = g->value[i];
	quantile_sort(sorted, n);
	double low = quantile_of(sorted, n, 0.005), high = quantile_of(sorted, n, 0.995);
	for (size_t i = 0; i < g->count; i++)
		clipped[i] = isnan(g->value[i]) ? NAN : fmin(high, fmax(low, g->value[i]));
	free(sorted);
	return true;
}

static void fit_season(struct fit *f, const struct metric_grid *g, const double *values)
{
	double t[TERMS_MAX];

	for (size_t i = 0; i < g->count; i++) {
		if (isnan(values[i]))
			continue;
		terms_at(t, f->terms, middle_of(g, i));
		for (size_t r = 0; r < f->terms; r++) {
			for (size_t c = 0; c < f->terms; c++)
				f->a[r][c] += t[r] * t[c];
			f->a[r][f->terms] += t[r] * values[i];
		}
	}
	solve(f);
}

static bool rank_rest(struct metric_grid *g, double *work, size_t terms)
{
	struct fit f = { .terms = terms };
	double t[TERMS_MAX];

	if (!clip_values(g, work))
		return false;
	fit_season(&f, g, work);
	for (size_t i = 0; i < g->count; i++) {
		terms_at(t, terms, middle_of(g, i));
		work[i] = g->value[i];
		for (size_t k = 0; k < terms; k++)
			work[i] -= f.x[k] * t[k];
	}
	g->is_deseasoned = true;
	return rank_values(work, g->rank, g->count);
}

static bool rank_grid(struct metric_grid *g)
{
	int64_t span_ns = (int64_t)g->count * g->width_ns;

	if (span_ns < 2 * day_ns || g->width_ns > day_ns / 16)
		return rank_values(g->value, g->rank, g->count);
	double *work = calloc(g->count + 1, sizeof(*work));
	bool ok =
		work && rank_rest(g, work, 1 + 2 * (DAILY + (span_ns >= 14 * day_ns ? WEEKLY : 0)));
	free(work);
	return ok;
}

/* ---- spikes */

static bool lay_spikes(struct metric_grid *g, const struct spike_list *spikes)
{
	g->slow = calloc(spikes->count + 1, sizeof(*g->slow));
	if (!g->slow)
		return false;
	for (size_t i = 0; i < spikes->count; i++) {
		const struct spike *k = &spikes->items[i];
		int64_t from = (k->start_ns - g->start_ns) / g->width_ns;
		int64_t to = (k->end_ns - 1 - g->start_ns) / g->width_ns + 1;

		from = from < 0 ? 0 : from;
		to = to > (int64_t)g->count ? (int64_t)g->count : to;
		if (k->kind != SPIKE_LEVEL_SHIFT && from < to)
			g->slow[g->slow_count++] = (struct span){ from, to };
	}
	g->slow_count = span_join(g->slow, g->slow_count, -1);
	g->slow_cells = (size_t)span_total(g->slow, g->slow_count);
	return true;
}

bool metric_grid_make(struct metric_grid *g, const struct view *v, const struct spike_list *spikes,
	const struct metric *m)
{
	size_t join = join_of(v);

	*g = (struct metric_grid){ 0 };
	if (!v->buckets.count)
		return true;
	g->count = (v->buckets.count + join - 1) / join;
	g->start_ns = v->buckets.items[0].start_ns;
	g->width_ns = v->buckets.width_ns * (int64_t)join;
	g->value = calloc(g->count, sizeof(*g->value));
	g->rank = calloc(g->count, sizeof(*g->rank));
	if (!g->value || !g->rank || !lay_spikes(g, spikes)) {
		metric_grid_free(g);
		return false;
	}
	lay_values(g, v, m);
	if (rank_grid(g))
		return true;
	metric_grid_free(g);
	return false;
}

void metric_grid_free(struct metric_grid *g)
{
	free(g->value);
	free(g->rank);
	free(g->slow);
	*g = (struct metric_grid){ 0 };
}
