#include "correlate/view.h"

#include <math.h>
#include <stdlib.h>

/* A request a thousand times the baseline weighs as much as any can. */
static const double weight_max = 6.9;

static bool take_ticks(struct view *v)
{
	v->n = calloc(v->ticks + 1, sizeof(*v->n));
	v->loud_before = calloc(v->ticks + 1, sizeof(*v->loud_before));
	return v->n && v->loud_before;
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

/* What is done with a request: counted, or its loudness added once there is room. */
typedef void take_request(struct view *v, int64_t at, const struct baseline_segment *segment,
	uint32_t bin, double count);

static void count_one(struct view *v, int64_t at, const struct baseline_segment *segment,
	uint32_t bin, double count)
{
	v->n[at] += v->base.is_floored ? 0 : count;
	if (v->base.count && bin > segment->bin)
		v->loud_before[at] = 1;
}

static void add_loud(struct view *v, int64_t at, const struct baseline_segment *segment,
	uint32_t bin, double count)
{
	double us = series_bin_us(bin), base_us = fmax(1, series_bin_us(segment->bin));
	struct view_loud *loud = &v->loud[v->loud_before[at]];

	if (!v->base.count || bin <= segment->bin)
		return;
	loud->weight += count * fmin(weight_max, log(us / base_us));
	loud->exceed += count;
	loud->slow += bin > segment->slow_bin ? count : 0;
	loud->lost_s += count * (us - base_us) / 1e6;
}

static void take_at(struct view *v, take_request *take, int64_t tick, uint32_t bin, double count)
{
	int64_t at = tick - v->first_tick + 1;

	if (at >= 1 && at <= (int64_t)v->ticks && !is_gap(v, at))
		take(v, at, baseline_at(&v->base, tick), bin, count);
}

/* An unanswered request tells something only once it is older than the baseline. */
static void take_pending(struct view *v, take_request *take)
{
	for (size_t i = 0; i < v->route->pending_count; i++) {
		const struct series_top *p = &v->route->pending[i];
		int64_t tick = series_tick(v->series, p->start_ns);
		uint32_t bin = series_bin(p->latency_us);

		if (v->base.count && bin > baseline_at(&v->base, tick)->bin)
			take_at(v, take, tick, bin, 1);
	}
}

/* Time stands for the requests that were never told. */
static void add_exposure(struct view *v)
{
	for (size_t i = 1; i <= v->ticks; i++)
		if (!is_gap(v, (int64_t)i))
			v->n[i] += baseline_at(&v->base, v->first_tick + (int64_t)i - 1)->exposure;
}

static void take_all(struct view *v, take_request *take)
{
	const struct series_route *r = v->route;

	for (size_t i = 0; i < r->count; i++)
		take_at(v, take, series_cell_tick(r->cells[i]), series_cell_bin(r->cells[i]),
			series_cell_count(r->cells[i]));
	take_pending(v, take);
}

/* Marks become indices; loud[0] stays zero. */
static bool take_loud(struct view *v)
{
	for (size_t i = 1; i <= v->ticks; i++)
		v->loud_before[i] += v->loud_before[i - 1];
	free(v->loud);
	v->loud = calloc((size_t)v->loud_before[v->ticks] + 1, sizeof(*v->loud));
	return v->loud != NULL;
}

static void run_up(struct view *v)
{
	for (size_t i = 1; i <= v->ticks; i++)
		v->n[i] += v->n[i - 1];
	for (size_t i = 1; i <= v->loud_before[v->ticks]; i++) {
		v->loud[i].weight += v->loud[i - 1].weight;
		v->loud[i].exceed += v->loud[i - 1].exceed;
		v->loud[i].slow += v->loud[i - 1].slow;
		v->loud[i].lost_s += v->loud[i - 1].lost_s;
	}
}

static bool sum_up(struct view *v)
{
	memset(v->n, 0, (v->ticks + 1) * sizeof(*v->n));
	memset(v->loud_before, 0, (v->ticks + 1) * sizeof(*v->loud_before));
	take_all(v, count_one);
	if (!take_loud(v))
		return false;
	take_all(v, add_loud);
	if (v->base.is_floored)
		add_exposure(v);
	run_up(v);
	return true;
}

bool view_init(
	struct view *v, const struct series *s, const struct series_route *r, int64_t bucket_ns)
{
	*v = (struct view){ .series = s, .route = r };
	if (!bucket_list_make(&v->buckets, s, r, bucket_ns))
		return false;
	v->first_tick = series_tick(s, s->first_ns);
	v->ticks = (size_t)(series_tick(s, s->last_ns) - v->first_tick + 1);
	if (baseline_fit(&v->base, s, r, &v->buckets) && take_observed(v) && take_ticks(v) &&
		sum_up(v))
		return true;
	view_free(v);
	return false;
}

bool view_refit(struct view *v, const struct span *loud, size_t count)
{
	if (!baseline_refit(&v->base, v->series, v->route, &v->buckets, loud, count))
		return false;
	return sum_up(v);
}

void view_free(struct view *v)
{
	free(v->n);
	free(v->loud_before);
	free(v->loud);
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
	const struct view_loud *a = view_loud_before(v, from), *b = view_loud_before(v, to);
	return (struct view_sum){ v->n[to] - v->n[from], b->weight - a->weight,
		b->exceed - a->exceed, b->slow - a->slow, b->lost_s - a->lost_s };
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

static void add_difference(struct view_loud *to, const struct view *from, size_t tick)
{
	const struct view_loud *a = view_loud_before(from, tick);
	const struct view_loud *b = view_loud_before(from, tick + 1);

	to->weight += b->weight - a->weight;
	to->exceed += b->exceed - a->exceed;
	to->slow += b->slow - a->slow;
	to->lost_s += b->lost_s - a->lost_s;
}

static void copy_outside(
	struct view *to, const struct view *from, const struct span *hidden, size_t count)
{
	size_t at = 0;

	for (size_t i = 0; i < from->ticks; i++) {
		bool is_gone = is_in(hidden, count, &at, from->first_tick + (int64_t)i);
		bool is_loud = from->loud_before[i + 1] > from->loud_before[i];
		uint32_t used = to->loud_before[i];

		to->n[i + 1] = to->n[i] + (is_gone ? 0 : from->n[i + 1] - from->n[i]);
		if (is_loud && !is_gone) {
			to->loud[used + 1] = to->loud[used];
			add_difference(&to->loud[++used], from, i);
		}
		to->loud_before[i + 1] = used;
	}
}

bool view_hide(struct view *to, const struct view *from, const struct span *hidden, size_t count)
{
	*to = *from;
	to->is_copy = true;
	to->buckets = (struct bucket_list){ 0 };
	to->loud = calloc((size_t)from->loud_before[from->ticks] + 1, sizeof(*to->loud));
	if (!take_ticks(to) || !to->loud) {
		view_free(to);
		return false;
	}
	copy_outside(to, from, hidden, count);
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
