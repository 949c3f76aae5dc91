#include "correlate/spike.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"

enum { SLOW_MIN = 4 };

static const double false_share = 0.01;
static const int64_t longest_ns = 1800 * NS_PER_S;

const char *spike_kind_text(enum spike_kind kind)
{
	static const char *const texts[] = { "spike", "stall", "unfinished", "level shift" };

	return texts[kind];
}

/* A slow request, or several alike: [from, to] ticks in flight. */
struct slow {
	int64_t from, to;
	uint32_t count;
};

struct slow_list {
	struct slow *items; /* by arrival */
	size_t count, cap;
};

static bool add_slow(
	struct slow_list *list, const struct view *v, int64_t tick, uint32_t bin, uint32_t times)
{
	if (bin <= baseline_at(&v->base, tick)->slow_bin)
		return true;
	if (list->count == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 256;
		struct slow *grown = realloc(list->items, cap * sizeof(*grown));

		if (!grown)
			return false;
		list->items = grown;
		list->cap = cap;
	}
	int64_t length = (int64_t)(series_bin_us(bin) * 1e3 / (double)v->series->tick_ns);
	list->items[list->count++] = (struct slow){ tick, tick + length, times };
	return true;
}

static int by_arrival(const void *a, const void *b)
{
	const struct slow *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static bool collect(struct slow_list *list, const struct view *v)
{
	const struct series_route *r = v->route;

	for (size_t i = 0; i < r->count; i++)
		if (!add_slow(list, v, series_cell_tick(r->cells[i]), series_cell_bin(r->cells[i]),
			    series_cell_count(r->cells[i])))
			return false;
	for (size_t i = 0; i < r->pending_count; i++)
		if (!add_slow(list, v, series_tick(v->series, r->pending[i].start_ns),
			    series_bin(r->pending[i].latency_us), 1))
			return false;
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_arrival);
	return true;
}

/* Requests times ticks in flight: what a stall weighs, however many fast ones pass. */
static double area(const struct slow *s)
{
	return (double)(s->to - s->from + 1) * s->count;
}

/* Is there an instant at which slow requests of items[from, to) are in flight that
 * together reach this many, and this area? Looks back at 4,096 at most. */
static bool overlap_reaches(
	const struct slow_list *list, size_t from, size_t to, uint64_t wanted, double wanted_area)
{
	for (size_t i = from; i < to; i++) {
		uint64_t together = 0;
		double sum = 0;

		for (size_t k = i - from > 4096 ? i - 4096 : from; k <= i; k++)
			if (list->items[k].to >= list->items[i].from) {
				together += list->items[k].count;
				sum += area(&list->items[k]);
			}
		if (together >= wanted && sum >= wanted_area)
			return true;
	}
	return false;
}

/* One bucket of one of the two grids. */
struct trial {
	struct span span;
	size_t first, end; /* in the slow list */
	double n, slow, p;
};

static size_t slow_at(const struct slow_list *list, int64_t tick)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->items[middle].from < tick)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int by_p(const void *a, const void *b)
{
	const struct trial *x = a, *y = b;

	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	return (x->span.from_tick > y->span.from_tick) - (x->span.from_tick < y->span.from_tick);
}

static int by_slow_share(const void *a, const void *b)
{
	const struct trial *x = a, *y = b;
	double p = x->slow / fmax(1, x->n), q = y->slow / fmax(1, y->n);

	return (p > q) - (p < q);
}

/* Rate of slow requests over the quieter 70 % of the trials, and its dispersion. */
static void quiet_rate(struct trial *trials, size_t count, double *ret_rate, double *ret_phi)
{
	size_t quiet = (size_t)ceil(0.7 * (double)count);
	double n = 0, slow = 0, chi = 0;

	qsort(trials, count, sizeof(*trials), by_slow_share);
	for (size_t i = 0; i < quiet; i++) {
		n += trials[i].n;
		slow += trials[i].slow;
	}
	*ret_rate = (slow + 0.5) / (n + 1);
	for (size_t i = 0; i < quiet; i++) {
		double mean = trials[i].n * *ret_rate;

		chi += mean > 0 ? (trials[i].slow - mean) * (trials[i].slow - mean) / mean : 0;
	}
	*ret_phi = fmax(1, chi / fmax(1, (double)quiet - 1));
}

/* P(at least k) for a Poisson mean, both divided by the dispersion. */
static double tail_p(double k, double mean, double phi)
{
	double lambda = mean / phi, need = ceil(k / phi), term = exp(-lambda), below = 0;

	if (need <= 0)
		return 1;
	if (lambda > 500)
		return 0.5 * erfc((need - 0.5 - lambda) / sqrt(2 * lambda));
	for (double i = 0; i < need; i++) {
		below += term;
		term *= lambda / (i + 1);
	}
	/* Far out 1 - below loses its digits; the first term left is the tail's size. */
	return below < 1 - 1e-9 ? 1 - below : fmin(1e-9, term * (1 + lambda));
}

static size_t make_trials(struct trial *trials, const struct view *v, const struct slow_list *slow)
{
	size_t count = 0;

	for (size_t i = 0; i < 2 * v->buckets.count; i++) {
		int64_t start =
			v->buckets.items[0].start_ns + ((int64_t)i - 1) * v->buckets.width_ns / 2;
		struct span span = { series_tick(v->series, start),
			series_tick(v->series, start + v->buckets.width_ns) };
		struct view_sum sum = view_sum(v, span);

		if (sum.n <= 0)
			continue;
		trials[count++] = (struct trial){ span, slow_at(slow, span.from_tick),
			slow_at(slow, span.to_tick), sum.n, sum.slow, 1 };
	}
	return count;
}

static bool is_material(const struct trial *t, const struct slow_list *slow)
{
	if (t->slow < SLOW_MIN)
		return false;
	if (1 - quantile_binomial_cdf((uint64_t)t->n, 0.01, (int64_t)t->slow - 1) <= 0.01)
		return true;
	return overlap_reaches(slow, t->first, t->end, SLOW_MIN, 0);
}

struct chain {
	struct span span;
	uint64_t n;
	double area;
};

static struct chain in_flight(const struct slow_list *slow, size_t from, size_t to)
{
	struct chain c = { .span = { slow->items[from].from, slow->items[from].to + 1 } };

	for (size_t k = from; k < to; k++) {
		if (slow->items[k].to + 1 > c.span.to_tick)
			c.span.to_tick = slow->items[k].to + 1;
		c.n += slow->items[k].count;
		c.area += area(&slow->items[k]);
	}
	return c;
}

/* From the first slow arrival to the last slow end; when four fifths of the time in
 * flight hangs together, that: a lone slow request before a stall is not its onset. */
static struct span slow_span(const struct trial *t, const struct slow_list *slow)
{
	struct chain whole = in_flight(slow, t->first, t->end);

	for (size_t from = t->first, to; from < t->end; from = to) {
		int64_t end = slow->items[from].to;

		for (to = from + 1; to < t->end && slow->items[to].from <= end; to++)
			if (slow->items[to].to > end)
				end = slow->items[to].to;
		struct chain part = in_flight(slow, from, to);
		if (part.n >= SLOW_MIN && part.area * 5 >= whole.area * 4)
			return part.span;
	}
	return whole.span;
}

/* Benjamini and Hochberg; fills spans of what passed. */
static size_t choose(
	struct trial *trials, size_t count, const struct slow_list *slow, struct span *spans)
{
	size_t passed = 0, kept = 0;
	double rate, phi;

	quiet_rate(trials, count, &rate, &phi);
	for (size_t i = 0; i < count; i++)
		trials[i].p = tail_p(trials[i].slow, trials[i].n * rate, phi);
	qsort(trials, count, sizeof(*trials), by_p);
	for (size_t i = 0; i < count; i++)
		if (trials[i].p <= false_share * (double)(i + 1) / (double)count)
			passed = i + 1;
	for (size_t i = 0; i < passed; i++) {
		if (!is_material(&trials[i], slow))
			continue;
		struct span span = slow_span(&trials[i], slow);
		spans[kept++] = span;
	}
	return kept;
}

static void measure(struct spike *k, const struct view *v)
{
	struct bucket b = { 0 };
	struct view_sum sum = view_sum(v, k->span);

	bucket_measure(&b, v->series, v->route, k->span.from_tick, k->span.to_tick);
	k->n = b.n;
	k->p50_ms = b.p50_ms;
	k->p99_ms = b.p99_ms;
	k->max_ms = b.max_ms;
	k->slow = (uint64_t)(sum.slow + 0.5);
	k->lost_s = sum.lost_s;
	k->start_ns = series_tick_ns(v->series, k->span.from_tick);
	k->end_ns = series_tick_ns(v->series, k->span.to_tick);
	k->baseline_ms = baseline_at(&v->base, k->span.from_tick)->p99_ms;
}

static enum spike_kind kind_of(
	const struct spike *k, const struct view *v, const struct slow_list *slow)
{
	int64_t end_tick = v->first_tick + (int64_t)v->ticks;

	if (k->span.to_tick >= end_tick - 1)
		return SPIKE_UNFINISHED;
	if (k->end_ns - k->start_ns > longest_ns)
		return SPIKE_LEVEL_SHIFT;
	size_t first = slow_at(slow, k->span.from_tick), end = slow_at(slow, k->span.to_tick);
	double all = 0;

	for (size_t i = first; i < end; i++)
		all += area(&slow->items[i]);
	return overlap_reaches(slow, first, end, SLOW_MIN, 0.8 * all) ? SPIKE_STALL : SPIKE_SPIKE;
}

/* The level shift itself is told against the level before it. */
static void add_shift(struct spike *k, const struct view *v)
{
	const struct baseline_segment *before = &v->base.segments[0];
	int64_t from = v->base.segments[1].from_tick;
	size_t first = bucket_cell_at(v->route, from);

	*k = (struct spike){ .kind = SPIKE_LEVEL_SHIFT,
		.span = { from, v->first_tick + (int64_t)v->ticks } };
	measure(k, v);
	k->start_ns = v->base.shift_ns;
	k->end_ns = v->series->last_ns;
	k->baseline_ms = before->p99_ms;
	k->slow = 0;
	k->lost_s = 0;
	for (size_t i = first; i < v->route->count; i++) {
		double us = series_bin_us(series_cell_bin(v->route->cells[i]));

		if (series_cell_bin(v->route->cells[i]) <= before->bin)
			continue;
		k->lost_s +=
			(us / 1e6 - before->p99_ms / 1e3) * series_cell_count(v->route->cells[i]);
		k->slow += series_cell_bin(v->route->cells[i]) > before->slow_bin
				   ? series_cell_count(v->route->cells[i])
				   : 0;
	}
}

static int by_start(const void *a, const void *b)
{
	const struct spike *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->kind < y->kind) - (x->kind > y->kind);
}

static bool keep(struct spike_list *list, const struct view *v, const struct slow_list *slow,
	struct span *spans, size_t count)
{
	int64_t gap = v->buckets.width_ns / v->series->tick_ns;
	uint64_t used = 0, all = 0;

	count = span_join(spans, count, gap);
	list->items = calloc(count + 1, sizeof(*list->items));
	if (!list->items)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct spike k = { .span = spans[i] };

		if (list->count == SPIKES_MAX) {
			list->refused += count - i;
			break;
		}
		measure(&k, v);
		k.kind = kind_of(&k, v, slow);
		used += k.slow;
		list->items[list->count++] = k;
	}
	for (size_t i = 0; i < slow->count; i++)
		all += slow->items[i].count;
	list->anecdotes = all > used ? all - used : 0;
	if (v->base.has_shift)
		add_shift(&list->items[list->count++], v);
	qsort(list->items, list->count, sizeof(*list->items), by_start);
	return true;
}

bool spike_find(struct spike_list *list, const struct view *v)
{
	struct slow_list slow = { 0 };
	size_t room = 2 * v->buckets.count + 1;
	struct trial *trials = calloc(room, sizeof(*trials));
	struct span *spans = calloc(room, sizeof(*spans));
	bool ok = false;

	*list = (struct spike_list){ 0 };
	if (!v->base.count) {
		ok = true;
	} else if (trials && spans && collect(&slow, v)) {
		size_t count = make_trials(trials, v, &slow);

		ok = keep(list, v, &slow, spans, choose(trials, count, &slow, spans));
	}
	free(slow.items);
	free(trials);
	free(spans);
	return ok;
}

void spike_list_free(struct spike_list *list)
{
	free(list->items);
	*list = (struct spike_list){ 0 };
}
