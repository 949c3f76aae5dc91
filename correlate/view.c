#include "correlate/view.h"

#include <math.h>
#include <stdlib.h>

/* A request a thousand times the baseline weighs as much as any can. */
static const double weight_max = 6.9;

static bool take_sums(struct view *v)
{
	size_t room = v->ticks + 1;
	double *all = calloc(room, 5 * sizeof(*all));

	if (!all)
		return false;
	v->n = all;
	v->weight = all + room;
	v->exceed = all + 2 * room;
	v->slow = all + 3 * room;
	v->lost_s = all + 4 * room;
	return true;
}

static bool is_gap(const struct view *v, int64_t at)
{
	return v->observed && v->observed[at] <= v->observed[at - 1];
}

static bool take_observed(struct view *v)
{
	const struct series *s = v->series;

	if (!s->gap_count || !series_is_gap(s, s->first_ns, s->last_ns))
		return true;
	v->observed = calloc(v->ticks + 1, sizeof(*v->observed));
	for (size_t i = 0; v->observed && i < v->ticks; i++) {
		int64_t start = series_tick_ns(s, v->first_tick + (int64_t)i);

		v->observed[i + 1] = v->observed[i] + !series_is_gap(s, start, start + s->tick_ns);
	}
	return v->observed != NULL;
}

static void add_at(struct view *v, int64_t tick, uint32_t bin, double count)
{
	const struct baseline_segment *segment = baseline_at(&v->base, tick);
	int64_t at = tick - v->first_tick + 1;

	if (at < 1 || at > (int64_t)v->ticks || is_gap(v, at))
		return;
	v->n[at] += v->base.is_floored ? 0 : count;
	if (!v->base.count || bin <= segment->bin)
		return;
	double us = series_bin_us(bin), base_us = fmax(1, series_bin_us(segment->bin));
	v->weight[at] += count * fmin(weight_max, log(us / base_us));
	v->exceed[at] += count;
	v->slow[at] += bin > segment->slow_bin ? count : 0;
	v->lost_s[at] += count * (us - base_us) / 1e6;
}

static void run_up(double *sums, size_t ticks)
{
	for (size_t i = 1; i <= ticks; i++)
		sums[i] += sums[i - 1];
}

/* An unanswered request tells something only once it is older than the baseline. */
static void add_pending(struct view *v)
{
	for (size_t i = 0; i < v->route->pending_count; i++) {
		const struct series_top *p = &v->route->pending[i];
		int64_t tick = series_tick(v->series, p->start_ns);
		uint32_t bin = series_bin(p->latency_us);

		if (v->base.count && bin > baseline_at(&v->base, tick)->bin)
			add_at(v, tick, bin, 1);
	}
}

/* Time stands for the requests that were never told. */
static void add_exposure(struct view *v)
{
	for (size_t i = 1; i <= v->ticks; i++)
		if (!is_gap(v, (int64_t)i))
			v->n[i] += baseline_at(&v->base, v->first_tick + (int64_t)i - 1)->exposure;
}

static void sum_up(struct view *v)
{
	const struct series_route *r = v->route;
	double *sums[] = { v->n, v->weight, v->exceed, v->slow, v->lost_s };

	for (size_t i = 0; i < r->count; i++)
		add_at(v, series_cell_tick(r->cells[i]), series_cell_bin(r->cells[i]),
			series_cell_count(r->cells[i]));
	add_pending(v);
	if (v->base.is_floored)
		add_exposure(v);
	for (size_t i = 0; i < LENGTH(sums); i++)
		run_up(sums[i], v->ticks);
}

bool view_init(
	struct view *v, const struct series *s, const struct series_route *r, int64_t bucket_ns)
{
	*v = (struct view){ .series = s, .route = r };
	if (!bucket_list_make(&v->buckets, s, r, bucket_ns))
		return false;
	v->first_tick = series_tick(s, s->first_ns);
	v->ticks = (size_t)(series_tick(s, s->last_ns) - v->first_tick + 1);
	if (!baseline_fit(&v->base, s, r, &v->buckets) || !take_observed(v) || !take_sums(v)) {
		view_free(v);
		return false;
	}
	sum_up(v);
	return true;
}

bool view_refit(struct view *v, const struct span *loud, size_t count)
{
	if (!baseline_refit(&v->base, v->series, v->route, &v->buckets, loud, count))
		return false;
	memset(v->n, 0, 5 * (v->ticks + 1) * sizeof(*v->n));
	sum_up(v);
	return true;
}

void view_free(struct view *v)
{
	free(v->n);
	if (!v->is_copy) {
		bucket_list_free(&v->buckets);
		baseline_free(&v->base);
		free(v->observed);
	}
	*v = (struct view){ 0 };
}

static size_t clip(const struct view *v, int64_t tick)
{
	int64_t at = tick - v->first_tick;

	return at < 0 ? 0 : at > (int64_t)v->ticks ? v->ticks : (size_t)at;
}

struct view_sum view_sum(const struct view *v, struct span span)
{
	size_t from = clip(v, span.from_tick), to = clip(v, span.to_tick);

	if (to <= from)
		return (struct view_sum){ 0 };
	return (struct view_sum){ v->n[to] - v->n[from], v->weight[to] - v->weight[from],
		v->exceed[to] - v->exceed[from], v->slow[to] - v->slow[from],
		v->lost_s[to] - v->lost_s[from] };
}

double view_observed(const struct view *v, struct span span)
{
	size_t from = clip(v, span.from_tick), to = clip(v, span.to_tick);
	double length = (double)(span.to_tick - span.from_tick);

	if (to <= from || length <= 0)
		return 0;
	return (v->observed ? v->observed[to] - v->observed[from] : (double)(to - from)) / length;
}

static bool is_in(const struct span *spans, size_t count, size_t *at, int64_t tick)
{
	while (*at < count && spans[*at].to_tick <= tick)
		(*at)++;
	return *at < count && spans[*at].from_tick <= tick;
}

void view_learn_quiet(struct view *v, const struct span *loud, size_t count)
{
	double n = v->n[v->ticks], sum = 0, square = 0;
	size_t at = 0;

	for (size_t i = 0; i < count; i++)
		n -= view_sum(v, loud[i]).n;
	for (size_t i = 0; i < v->route->count && v->base.count; i++) {
		int64_t tick = series_cell_tick(v->route->cells[i]);
		uint32_t bin = series_cell_bin(v->route->cells[i]);
		uint32_t base = baseline_at(&v->base, tick)->bin;
		double times = series_cell_count(v->route->cells[i]);

		if (is_in(loud, count, &at, tick) || is_gap(v, tick - v->first_tick + 1))
			continue;
		if (bin > base) {
			double w = fmin(
				weight_max, log(series_bin_us(bin) / fmax(1, series_bin_us(base))));

			sum += times * w;
			square += times * w * w;
		}
	}
	v->quiet_weight = n > 0 ? sum / n : 0;
	v->quiet_square = fmax(1e-4, n > 0 ? square / n : 0);
}

bool view_hide(struct view *to, const struct view *from, const struct span *hidden, size_t count)
{
	*to = *from;
	to->is_copy = true;
	to->buckets = (struct bucket_list){ 0 };
	if (!take_sums(to)) {
		*to = (struct view){ 0 };
		return false;
	}
	const double *old[] = { from->n, from->weight, from->exceed, from->slow, from->lost_s };
	double *new[] = { to->n, to->weight, to->exceed, to->slow, to->lost_s };
	for (size_t k = 0; k < LENGTH(old); k++) {
		size_t at = 0;

		for (size_t i = 0; i < from->ticks; i++) {
			bool is_gone = is_in(hidden, count, &at, from->first_tick + (int64_t)i);

			new[k][i + 1] = new[k][i] + (is_gone ? 0 : old[k][i + 1] - old[k][i]);
		}
	}
	return true;
}

static int by_from(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->from_tick > y->from_tick) - (x->from_tick < y->from_tick);
}

size_t span_join(struct span *spans, size_t count, int64_t gap_ticks)
{
	size_t kept = 0;

	if (count)
		qsort(spans, count, sizeof(*spans), by_from);
	for (size_t i = 0; i < count; i++) {
		if (kept && spans[i].from_tick <= spans[kept - 1].to_tick + gap_ticks) {
			if (spans[i].to_tick > spans[kept - 1].to_tick)
				spans[kept - 1].to_tick = spans[i].to_tick;
		} else {
			spans[kept++] = spans[i];
		}
	}
	return kept;
}

int64_t span_common(const struct span *a, size_t na, const struct span *b, size_t nb)
{
	int64_t common = 0;

	for (size_t i = 0, k = 0; i < na && k < nb;) {
		int64_t from = a[i].from_tick > b[k].from_tick ? a[i].from_tick : b[k].from_tick;
		int64_t to = a[i].to_tick < b[k].to_tick ? a[i].to_tick : b[k].to_tick;

		common += to > from ? to - from : 0;
		if (a[i].to_tick < b[k].to_tick)
			i++;
		else
			k++;
	}
	return common;
}

int64_t span_total(const struct span *spans, size_t count)
{
	int64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += spans[i].to_tick - spans[i].from_tick;
	return total;
}
