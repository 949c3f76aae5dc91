#include "correlate/season.h"

#include <math.h>
#include <stdlib.h>

enum { DAILY = 3, WEEKLY = 2, TERMS = 2 + 2 * (DAILY + WEEKLY), REWEIGHTS = 4 };

static const int64_t day_ns = 86400 * NS_PER_S, slot_ns = 600 * NS_PER_S;
static const double swing_min = 1.15, f_min = 5, ridge = 1e-4, weight_max = 30;

/* Term 0 is the level, 1 the step, then pairs of cosine and sine. */
struct model {
	double beta[TERMS];
	size_t terms;
	int64_t step_ns;
};

struct row {
	int64_t wall_ns;
	double y, weight;
};

static void terms_at(const struct model *m, int64_t wall_ns, double x[TERMS])
{
	double day = (double)(wall_ns % (7 * day_ns)) / (double)day_ns;
	size_t at = 2;

	x[0] = 1;
	x[1] = wall_ns >= m->step_ns;
	for (int k = 1; k <= DAILY && at < m->terms; k++) {
		x[at++] = cos(2 * M_PI * k * day);
		x[at++] = sin(2 * M_PI * k * day);
	}
	for (int k = 1; k <= WEEKLY && at < m->terms; k++) {
		x[at++] = cos(2 * M_PI * k * day / 7);
		x[at++] = sin(2 * M_PI * k * day / 7);
	}
}

static double seasonal(const struct model *m, int64_t wall_ns)
{
	double x[TERMS], f = 0;

	terms_at(m, wall_ns, x);
	for (size_t i = 2; i < m->terms; i++)
		f += m->beta[i] * x[i];
	return f;
}

static double expected(const struct model *m, int64_t wall_ns)
{
	return m->beta[0] + (wall_ns >= m->step_ns ? m->beta[1] : 0) + seasonal(m, wall_ns);
}

struct normal {
	double a[TERMS][TERMS], b[TERMS];
};

/* Cholesky in place; the ridge keeps it definite. */
static void solve(struct normal *e, double beta[TERMS], size_t terms)
{
	for (size_t i = 0; i < terms; i++)
		for (size_t k = 0; k <= i; k++) {
			double sum = e->a[i][k];

			for (size_t j = 0; j < k; j++)
				sum -= e->a[i][j] * e->a[k][j];
			e->a[i][k] = i == k ? sqrt(fmax(sum, 1e-12)) : sum / e->a[k][k];
		}
	for (size_t i = 0; i < terms; i++) {
		beta[i] = e->b[i];
		for (size_t j = 0; j < i; j++)
			beta[i] -= e->a[i][j] * beta[j];
		beta[i] /= e->a[i][i];
	}
	for (size_t i = terms; i-- > 0;) {
		for (size_t j = i + 1; j < terms; j++)
			beta[i] -= e->a[j][i] * beta[j];
		beta[i] /= e->a[i][i];
	}
}

/* Huber (1964): beyond 1.5 scales a residual pulls no harder. */
static double pull(double residual, double scale)
{
	return scale > 0 && fabs(residual) > 1.5 * scale ? 1.5 * scale / fabs(residual) : 1;
}

static void fit_once(struct model *m, const struct row *rows, size_t count, double scale)
{
	struct normal e = { 0 };
	double total = 0, beta[TERMS];

	for (size_t r = 0; r < count; r++) {
		double x[TERMS], w = rows[r].weight;

		if (scale > 0)
			w *= pull(rows[r].y - expected(m, rows[r].wall_ns), scale);
		terms_at(m, rows[r].wall_ns, x);
		total += w;
		for (size_t i = 0; i < m->terms; i++) {
			e.b[i] += w * x[i] * rows[r].y;
			for (size_t k = 0; k <= i; k++)
				e.a[i][k] += w * x[i] * x[k];
		}
	}
	for (size_t i = 0; i < m->terms; i++)
		e.a[i][i] += (i ? ridge : 1e-9) * total;
	solve(&e, beta, m->terms);
	memcpy(m->beta, beta, sizeof(beta[0]) * m->terms);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* 1.48 times the median absolute residual. */
static double scale_of(const struct model *m, const struct row *rows, size_t count, double *work)
{
	for (size_t i = 0; i < count; i++)
		work[i] = fabs(rows[i].y - expected(m, rows[i].wall_ns));
	qsort(work, count, sizeof(*work), by_size);
	return 1.48 * work[count / 2];
}

static void fit(struct model *m, const struct row *rows, size_t count, double *work)
{
	double scale = 0;

	for (int i = 0; i < REWEIGHTS; i++) {
		fit_once(m, rows, count, scale);
		scale = scale_of(m, rows, count, work);
	}
}

static double loss(const struct model *m, const struct row *rows, size_t count, double scale)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		double r = rows[i].y - expected(m, rows[i].wall_ns);

		sum += rows[i].weight * pull(r, scale) * r * r;
	}
	return sum;
}

/* Do the harmonics explain more than as many numbers would of noise? */
static bool is_worth(const struct model *m, const struct row *rows, size_t count, double *work)
{
	struct model flat = { .terms = 2, .step_ns = m->step_ns };
	double extra = (double)(m->terms - 2), scale;

	if (count < 4 * TERMS)
		return false;
	fit(&flat, rows, count, work);
	scale = scale_of(m, rows, count, work);
	double with = loss(m, rows, count, scale), without = loss(&flat, rows, count, scale);
	double rest = with / (double)(count - m->terms);
	return with < 0.98 * without && (without - with) / extra >= f_min * rest;
}

/* One row per ten minutes: the mean of its buckets' logarithms. The quickest harmonic
 * takes eight hours. */
static size_t take_rows(struct row *rows, const struct bucket_list *buckets)
{
	size_t used = 0;

	for (size_t i = 0; i < buckets->count; i++) {
		const struct bucket *b = &buckets->items[i];
		int64_t at_ns = b->start_ns + buckets->width_ns / 2;
		double weight = fmin((double)b->n, weight_max);

		if (!b->n || b->is_flagged || b->state == BUCKET_GAP || !(b->p50_ms > 0))
			continue;
		at_ns -= at_ns % slot_ns - slot_ns / 2;
		if (!used || rows[used - 1].wall_ns != at_ns)
			rows[used++] = (struct row){ .wall_ns = at_ns };
		rows[used - 1].y += weight * log(b->p50_ms);
		rows[used - 1].weight += weight;
	}
	for (size_t i = 0; i < used; i++)
		rows[i].y /= rows[i].weight;
	return used;
}

/* Mean 0 over the rows, so that the level stays the level; never beyond what rows say. */
static bool lay_out(struct season *season, const struct series *s, const struct model *m,
	const struct row *rows, size_t count)
{
	double low = INFINITY, high = -INFINITY, sum = 0, weight = 0;
	int64_t last = series_tick(s, s->last_ns);

	for (size_t i = 0; i < count; i++) {
		double f = seasonal(m, rows[i].wall_ns);

		low = fmin(low, f);
		high = fmax(high, f);
		sum += rows[i].weight * f;
		weight += rows[i].weight;
	}
	season->swing = exp(high - low);
	if (season->swing < swing_min)
		return true;
	season->first_tick = series_tick(s, s->first_ns);
	season->slot_ticks = slot_ns / s->tick_ns > 0 ? slot_ns / s->tick_ns : 1;
	season->count = (size_t)((last - season->first_tick) / season->slot_ticks + 1);
	season->factor = calloc(season->count, sizeof(*season->factor));
	for (size_t i = 0; season->factor && i < season->count; i++) {
		int64_t tick = season->first_tick + (int64_t)i * season->slot_ticks;
		double f = seasonal(m, series_tick_ns(s, tick + season->slot_ticks / 2));

		season->factor[i] = exp(fmin(high, fmax(low, f)) - sum / weight);
	}
	return season->factor != NULL;
}

bool season_fit(struct season *ret, const struct series *s, const struct bucket_list *buckets,
	int64_t step_ns)
{
	int64_t span = s->last_ns - s->first_ns;
	struct model m = { .terms = 2 + 2 * DAILY, .step_ns = step_ns };
	struct row *rows;
	double *work;
	bool ok;

	*ret = (struct season){ 0 };
	if (span < 2 * day_ns)
		return true;
	ret->has_week = span >= 14 * day_ns;
	m.terms += ret->has_week ? 2 * WEEKLY : 0;
	rows = calloc(buckets->count, sizeof(*rows));
	work = calloc(buckets->count, sizeof(*work));
	ok = rows && work;
	size_t count = ok ? take_rows(rows, buckets) : 0;
	if (count > 4 * TERMS) {
		fit(&m, rows, count, work);
		if (is_worth(&m, rows, count, work))
			ok = lay_out(ret, s, &m, rows, count);
	}
	if (!ret->factor)
		*ret = (struct season){ 0 };
	free(rows);
	free(work);
	return ok;
}

void season_free(struct season *season)
{
	free(season->factor);
	*season = (struct season){ 0 };
}

size_t season_slot(const struct season *season, int64_t tick)
{
	int64_t slot = (tick - season->first_tick) / season->slot_ticks;

	return slot < 0 ? 0 : slot >= (int64_t)season->count ? season->count - 1 : (size_t)slot;
}

double season_at(const struct season *season, int64_t tick)
{
	return season->factor ? season->factor[season_slot(season, tick)] : 1;
}

bool season_flatten(
	const struct season *season, const struct series_route *r, struct series_route *flat)
{
	*flat = *r;
	flat->cells = malloc((r->count + 1) * sizeof(*flat->cells));
	if (!flat->cells)
		return false;
	for (size_t i = 0; i < r->count; i++) {
		double us = series_bin_us(series_cell_bin(r->cells[i])) /
			    season_at(season, series_cell_tick(r->cells[i]));
		uint64_t bin = season->factor ? series_bin((int64_t)(us + 0.5))
					      : series_cell_bin(r->cells[i]);

		flat->cells[i].word = r->cells[i].word + (bin - series_cell_bin(r->cells[i])) *
								 (SERIES_COUNT_MAX + UINT64_C(1));
	}
	return true;
}
