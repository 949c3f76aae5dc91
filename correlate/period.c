#include "correlate/period.h"

#include <math.h>
#include <stdlib.h>

#include "correlate/period_fold.h"

/* Periods of schedulers, in seconds; below a minute those of sleep loops. */
static const int periods_s[] = { 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 60, 120, 180, 240, 300, 360,
	600, 720, 900, 1200, 1800, 3600, 5400, 7200, 10800, 14400, 21600, 28800, 43200, 86400,
	604800 };
static const double widths_s[] = { 0.5, 1, 2, 5, 15, 60, 120, 300, 600, 1200 };
/* Of free periods, as shares of them. */
static const double free_shares[] = { 1.0 / 20, 1.0 / 8 };

enum { ONSETS_MIN = 4, HITS_MIN = 3, CYCLES_MIN = 3, FREE_ONSETS_MAX = 100, HALF_MIN = 3 };

static const double accepted = -3, free_margin = 2, held_out_level = 0.05, alike = 0.015;

struct search {
	const int64_t *onsets; /* sorted, UTC */
	size_t count;
	int64_t first_ns, last_ns;
	int64_t grain_ns; /* of the onsets: narrower windows would find the grain's rhythm */
	const struct period_clocks *clocks;
	int64_t *local;
	struct fold fold;
};

static struct fold_times times_of(const struct search *s, const struct period_clock *c)
{
	for (size_t i = 0; i < s->count; i++)
		s->local[i] = c ? period_clock_local(c, s->onsets[i]) : s->onsets[i];
	return (struct fold_times){ s->local, s->count,
		c ? period_clock_local(c, s->first_ns) : s->first_ns,
		c ? period_clock_local(c, s->last_ns) : s->last_ns };
}

/* ---- usual periods */

static int64_t span_of(const struct search *s)
{
	return s->last_ns - s->first_ns;
}

/* A divisor of the true period must not fit better than it only for a narrower window. */
static bool is_worth_it(const struct search *s, int64_t period, int64_t width)
{
	return 4 * width <= period && width >= 2 * s->grain_ns && span_of(s) / period >= CYCLES_MIN;
}

/* Clocks step by half an hour at least: what divides that is the same on all. */
static bool depends_on_clock(int64_t period)
{
	return 1800 * NS_PER_S % period != 0;
}

static double count_pairs(const struct search *s)
{
	double pairs = 0;

	for (size_t p = 0; p < LENGTH(periods_s); p++)
		for (size_t w = 0; w < LENGTH(widths_s); w++)
			if (is_worth_it(s, periods_s[p] * NS_PER_S, (int64_t)(widths_s[w] * 1e9)))
				pairs += depends_on_clock(periods_s[p] * NS_PER_S)
						 ? (double)s->clocks->count
						 : 1;
	return pairs;
}

static void keep_better(struct period *best, const struct fold_best *b, struct period now)
{
	if (b->hit < HITS_MIN || now.score >= best->score - 1e-12)
		return;
	now.phase_ns = b->phase;
	now.cycles = b->cycles;
	now.hit = b->hit;
	*best = now;
}

static void try_pairs(struct period *best, struct search *s, size_t clock, double pairs)
{
	const struct period_clock *c = &s->clocks->items[clock];
	struct fold_times times = times_of(s, c);

	for (size_t p = 0; p < LENGTH(periods_s); p++)
		for (size_t w = 0; w < LENGTH(widths_s); w++) {
			struct period now = { .period_ns = periods_s[p] * NS_PER_S,
				.width_ns = (int64_t)(widths_s[w] * 1e9),
				.zone = c->name };

			if (!is_worth_it(s, now.period_ns, now.width_ns) ||
				(clock && !depends_on_clock(now.period_ns)))
				continue;
			struct fold_best b =
				fold_find(&s->fold, &times, now.period_ns, now.width_ns);
			now.score = b.score + log10(pairs);
			keep_better(best, &b, now);
		}
}

static struct period find_usual(struct search *s)
{
	struct period best = { 0 };
	double pairs = count_pairs(s), others = 0;

	for (size_t clock = 0; clock < s->clocks->count && s->count; clock++) {
		struct period now = { 0 };

		try_pairs(&now, s, clock, pairs);
		if (now.score < best.score - 1e-12) {
			others = best.score;
			best = now;
		} else {
			others = fmin(others, now.score);
		}
	}
	/* Ten times as likely as by any other clock. */
	best.is_zone_told = s->clocks->count > 1 && best.score < others - 1 &&
			    depends_on_clock(best.period_ns ? best.period_ns : 1);
	return best;
}

/* ---- free periods */

/* The most onsets in any window a little wider than w: no fold by this period can hit
 * more cycles. */
static size_t most_in_window(const struct fold_times *t, double period, double share)
{
	size_t bins[4 * 20] = { 0 }, room = (size_t)lround(4 / share), sum = 0, most = 0;

	for (size_t i = 0; i < t->count; i++) {
		double turns = (double)(t->at[i] - t->at[0]) / period;

		bins[(size_t)((turns - floor(turns)) * (double)room) % room]++;
	}
	for (size_t i = 0; i < room + 4; i++) {
		sum += bins[i % room];
		sum -= i > 4 ? bins[(i - 5) % room] : 0;
		most = sum > most ? sum : most;
	}
	return most;
}

static double count_free(double shortest, double longest, double span)
{
	double tries = 0;

	/* Each step moves the last onset by half a window: dP = w P / (2 T). */
	for (size_t i = 0; i < LENGTH(free_shares); i++)
		tries += 2 * span / free_shares[i] * (1 / shortest - 1 / longest);
	return fmax(1, tries);
}

/* log10 of the chance of a period whose cycles are hit by as many onsets as could be. */
static double best_hope(const struct fold_times *t, double period, double share, size_t most)
{
	double span = (double)(t->last - t->first + 1);
	double mean = (double)t->count * period * share / span;
	size_t cycles = (size_t)(span / period);

	most = most < cycles ? most : cycles;
	return fold_log_tail(cycles, -expm1(-mean), most) - log10(share);
}

/* One width, over all periods. */
static void try_free(struct period *best, struct search *s, const struct fold_times *t,
	double share, double shortest, double longest, double tries)
{
	double span = (double)(t->last - t->first);

	for (double period = shortest; period < longest;
		period += share * period * period / (2 * span)) {
		struct period now = { .period_ns = (int64_t)period,
			.width_ns = (int64_t)(period * share),
			.zone = "UTC",
			.is_interval = true };
		size_t most = most_in_window(t, period, share);

		if (most < HITS_MIN ||
			best_hope(t, period, share, most) + log10(tries) >= best->score)
			continue;
		struct fold_best b = fold_find(&s->fold, t, now.period_ns, now.width_ns);
		now.score = b.score + log10(tries);
		keep_better(best, &b, now);
	}
}

/* A loop whose runs bite at least one time in three, over the first hundred onsets. */
static struct period find_free(struct search *s)
{
	struct fold_times t = { s->onsets, s->count, s->first_ns, s->last_ns };
	struct period best = { 0 };

	if (t.count > FREE_ONSETS_MAX) {
		t.count = FREE_ONSETS_MAX;
		t.last = t.at[t.count - 1];
	}
	if (t.count < HALF_MIN)
		return best;
	double span = (double)(t.last - t.first);
	double shortest = fmax(span / (3 * (double)t.count), 1e9);

	shortest = fmax(shortest, 2 * (double)s->grain_ns / free_shares[0]);
	double longest = fmin(span / CYCLES_MIN, 6 * 3600e9);
	if (longest <= shortest)
		return best;
	double tries = count_free(shortest, longest, span);
	for (size_t i = 0; i < LENGTH(free_shares); i++)
		try_free(&best, s, &t, free_shares[i], shortest, longest, tries);
	return best;
}

/* ---- the search, and the half that it may not see */

static struct period find_any(struct search *s)
{
	struct period usual = find_usual(s);

	if (usual.score <= accepted && usual.hit * 5 >= s->count * 4)
		return usual;
	struct period loop = find_free(s);
	if (loop.score > accepted || loop.score > usual.score - free_margin)
		return usual;
	/* As near to a usual period as the capture can tell: that one. */
	double off = fabs((double)(loop.period_ns - usual.period_ns));
	bool is_usual = usual.score <= accepted &&
			off * (double)span_of(s) < (double)loop.width_ns * (double)loop.period_ns;
	return is_usual ? usual : loop;
}

static bool are_alike(const struct period *a, const struct period *b)
{
	return fabs((double)(a->period_ns - b->period_ns)) <= alike * (double)b->period_ns;
}

static const struct period_clock *clock_of(const struct search *s, const struct period *p)
{
	size_t i = 0;

	while (i + 1 < s->clocks->count && strcmp(s->clocks->items[i].name, p->zone) != 0)
		i++;
	return &s->clocks->items[i];
}

/* The first half alone says what to look for in the second. The window is widened to
 * both sides: it began at the earliest of few onsets. */
static void hold_out(struct period *found, struct search *whole)
{
	struct search half = *whole, rest = *whole;

	found->held_out_p = NAN;
	half.last_ns = rest.first_ns = whole->first_ns + span_of(whole) / 2;
	half.count = 0;
	while (half.count < whole->count && whole->onsets[half.count] < half.last_ns)
		half.count++;
	rest.onsets += half.count;
	rest.count -= half.count;
	if (half.count < HALF_MIN)
		return;
	/* The clock is not looked for again: one half has no change that could tell. */
	const struct period_clock *clock = clock_of(whole, found);
	struct period_clocks one = { .items[0] = *clock, .count = 1 };
	half.clocks = &one;
	struct period said = found->is_interval ? find_free(&half) : find_usual(&half);
	whole->fold = half.fold;
	if (!said.period_ns)
		return;
	struct fold_times times = times_of(&rest, found->is_interval ? NULL : clock);
	struct fold_best b = fold_test(
		&times, said.period_ns, 2 * said.width_ns, said.phase_ns - said.width_ns / 2);
	found->held_out_p = pow(10, b.score);
	found->held_out_cycles = b.cycles;
	found->held_out_hit = b.hit;
	found->is_confirmed = found->held_out_p <= held_out_level && are_alike(&said, found);
}

bool period_find_in(struct period *ret, const int64_t *onsets, size_t count, int64_t grain_ns,
	int64_t first_ns, int64_t last_ns, const char *zone)
{
	struct period_clocks clocks;
	struct search s = { .onsets = onsets,
		.count = count < PERIOD_ONSETS_MAX ? count : PERIOD_ONSETS_MAX,
		.first_ns = first_ns,
		.last_ns = last_ns,
		.grain_ns = grain_ns,
		.clocks = &clocks };

	*ret = (struct period){ .held_out_p = NAN };
	if (count < ONSETS_MIN || !period_clocks_open(&clocks, zone, first_ns, last_ns))
		return false;
	s.local = calloc(s.count, sizeof(*s.local));
	if (s.local && fold_init(&s.fold, s.count)) {
		*ret = find_any(&s);
		if (ret->score <= accepted)
			hold_out(ret, &s);
	}
	fold_free(&s.fold);
	free(s.local);
	period_clocks_close(&clocks);
	return ret->score <= accepted;
}

/* ---- what is folded */

static size_t spike_onsets(const struct spike_list *spikes, int64_t *onsets)
{
	size_t n = 0;

	for (size_t i = 0; i < spikes->count && n < PERIOD_ONSETS_MAX; i++)
		if (spikes->items[i].kind != SPIKE_LEVEL_SHIFT)
			onsets[n++] = spikes->items[i].start_ns;
	return n;
}

/* P(Poisson(mean) >= k). */
static double poisson_tail(double mean, double k)
{
	double term = exp(-mean), below = 0;

	for (double i = 0; i < k; i++) {
		below += term;
		term *= mean / (i + 1);
	}
	return fmax(0, 1 - below);
}

/* Buckets with more slow requests than one in twenty has by chance; where hardly any
 * request is slow, those with one. */
static int64_t first_slow_ns(const struct view *v, struct span span)
{
	int64_t low = span.from_tick, high = span.to_tick;

	while (low + 1 < high) {
		int64_t middle = low + (high - low) / 2;

		if (view_sum(v, (struct span){ span.from_tick, middle }).slow > 0)
			high = middle;
		else
			low = middle;
	}
	return series_tick_ns(v->series, low);
}

static size_t count_onsets(const struct view *v, int64_t *onsets)
{
	double all_slow = view_loud_before(v, v->ticks)->slow;
	double rate = v->n[v->ticks] > 0 ? all_slow / v->n[v->ticks] : 0;
	size_t n = 0;

	for (size_t i = 0; i < v->buckets.count && n < PERIOD_ONSETS_MAX; i++) {
		const struct bucket *b = &v->buckets.items[i];
		struct span span = { series_tick(v->series, b->start_ns),
			series_tick(v->series, b->start_ns + v->buckets.width_ns) };
		double slow = view_sum(v, span).slow;

		if (slow >= 1 && poisson_tail((double)b->n * rate, slow) <= 0.05)
			onsets[n++] = first_slow_ns(v, span);
	}
	return n;
}

bool period_find(struct period *ret, const struct view *v, const struct spike_list *spikes,
	const char *zone, size_t routes)
{
	const struct series *s = v->series;
	int64_t *onsets = calloc(PERIOD_ONSETS_MAX, sizeof(*onsets));
	bool is_found = false;

	*ret = (struct period){ .held_out_p = NAN };
	if (!onsets)
		return false;
	is_found = period_find_in(ret, onsets, spike_onsets(spikes, onsets), s->tick_ns,
		s->first_ns, s->last_ns, zone);
	if (!is_found && v->base.count) {
		is_found = period_find_in(ret, onsets, count_onsets(v, onsets), s->tick_ns,
			s->first_ns, s->last_ns, zone);
		ret->is_by_counts = is_found;
	}
	free(onsets);
	ret->score += is_found ? log10((double)routes) : 0;
	return is_found && ret->score <= accepted;
}
