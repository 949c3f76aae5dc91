#include <math.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/quantile.h"
#include "correlate/report_parts.h"
#include "correlate/words.h"

enum { UNEXPLAINED_MAX = 10, THIN_MAX = 5, ROUTES_MAX = 10, ANECDOTES_TOLD = 3, ROUTE_CHARS = 85 };

/* ---- spikes that nothing explains */

static void print_spike(const struct tested_route *t, size_t k, FILE *to)
{
	const struct spike *s = &t->spikes.items[k];
	char start[CLOCK_TEXT_MAX], length[CLOCK_TEXT_MAX];

	fprintf(to, "    %s  %-11s %-8s max %.4g ms  n=%llu  ", clock_text(s->start_ns, start),
		spike_kind_text(s->kind), clock_duration_text(s->end_ns - s->start_ns, length),
		s->max_ms, (unsigned long long)s->n);
	words_route(t->view.route->text, 24, to);
	fputs(t->covered && t->covered[k] ? "  (in a window)\n" : "\n", to);
}

void report_unexplained(const struct analysis *a, FILE *to)
{
	size_t all = 0, left = 0;
	double lost = 0, lost_left = 0;

	for (size_t i = 0; i < a->route_count; i++) {
		const struct tested_route *t = &a->routes[i];

		for (size_t k = 0; k < t->spikes.count; k++) {
			bool is_left = !t->explained[k];

			all++;
			lost += t->spikes.items[k].lost_s;
			if (!is_left)
				continue;
			lost_left += t->spikes.items[k].lost_s;
			if (++left == 1)
				fputs("\n  unexplained:\n", to);
			if (left <= UNEXPLAINED_MAX)
				print_spike(t, k, to);
		}
	}
	if (left > UNEXPLAINED_MAX)
		fprintf(to, "    ... and %zu more\n", left - UNEXPLAINED_MAX);
	if (left)
		fprintf(to, "  %zu of %zu spikes are unexplained, with %.1f %% of the time lost\n",
			left, all, lost > 0 ? 100 * lost_left / lost : 0);
	else if (all)
		fprintf(to, "\n  no spike of %zu is unexplained\n", all);
}

/* ---- rhythms */

static void print_period(const struct period *p, struct slice route, FILE *to)
{
	char period[CLOCK_TEXT_MAX], phase[CLOCK_TEXT_MAX];

	fprintf(to, "  rhythm: every %s%s, %zu of %zu cycles, in ",
		clock_duration_text(p->period_ns, period),
		p->is_interval ? " (a loop that sleeps, not cron)" : "", p->hit, p->cycles);
	words_route(route, 40, to);
	fputs("\n    ", to);
	if (!p->is_interval)
		fprintf(to, "at %s past, clock of %s%s; ",
			p->phase_ns ? clock_duration_text(p->phase_ns, phase) : "0 s", p->zone,
			p->is_zone_told ? " (its change was followed)" : "");
	fprintf(to, "chance 1e%.0f%s; ", p->score,
		p->is_by_counts ? ", by slow requests as there are hardly any spikes" : "");
	if (p->is_confirmed)
		fprintf(to, "confirmed by the half left out: %zu of %zu, p %.2g\n", p->held_out_hit,
			p->held_out_cycles, p->held_out_p);
	else if (isnan(p->held_out_p))
		fputs("too short to hold a half out: not confirmed\n", to);
	else
		fprintf(to, "not confirmed by the half left out: %zu of %zu, p %.2g\n",
			p->held_out_hit, p->held_out_cycles, p->held_out_p);
}

void report_periods(const struct report *r, FILE *to)
{
	const struct analysis *a = r->analysis;
	size_t asked = a->spiking_count, told = 0;

	for (size_t i = 0; i < a->route_count; i++) {
		const struct tested_route *t = &a->routes[i];
		struct period p;

		if (!period_find(&p, &t->view, &t->spikes, r->causes->zone,
			    i < asked ? asked : a->route_count))
			continue;
		if (told++ == 0)
			fputc('\n', to);
		print_period(&p, t->view.route->text, to);
	}
}

/* ---- routes */

static void print_level(const struct tested_route *t, FILE *to)
{
	const struct view *v = &t->view;
	unsigned long long n = v->route->requests;
	double max_ms = (double)v->route->max_us / 1e3;

	if (v->base.is_floored)
		fprintf(to, "n=%llu logged, faster ones were not: no p99; max %.4g ms", n, max_ms);
	else if (!v->base.count)
		fprintf(to, "n=%llu: p99 not estimable, max %.3f ms", n, max_ms);
	else if (v->base.has_shift)
		fprintf(to, "n=%llu, p99 %.4g ms, then %.4g ms: a level shift, p%.0f %.3g times", n,
			v->base.segments[0].p99_ms, v->base.segments[1].p99_ms,
			100 * v->base.shift_quantile, v->base.shift_ratio);
	else
		fprintf(to, "n=%llu, quiet p99 %.4g ms, max %.4g ms", n, v->base.segments[0].p99_ms,
			max_ms);
	if (v->base.season.swing > 1)
		fprintf(to, "; normal swings by %.2g over the %s", v->base.season.swing,
			v->base.season.has_week ? "week" : "day");
	fputc('\n', to);
}

/* Buckets that are too thin for a p99, told as such, when there are few of them. */
static void print_thin(const struct tested_route *t, FILE *to)
{
	char text[CLOCK_TEXT_MAX];
	size_t told = 0;

	for (size_t i = 0; i < t->view.buckets.count && t->view.base.count == 0 && told < 10; i++) {
		const struct bucket *b = &t->view.buckets.items[i];

		if (b->state != BUCKET_LOW)
			continue;
		fprintf(to, "    %s  n=%llu: p99 not estimable, max %.3f ms\n",
			clock_text(b->start_ns, text), (unsigned long long)b->n, b->max_ms);
		told++;
	}
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* The largest few, by size. */
static void print_anecdotes(const struct spike_list *list, FILE *to)
{
	const struct anecdote *last = NULL;
	char text[CLOCK_TEXT_MAX];

	fprintf(to, "    anecdotes, not used: %llu slow request%s outside of all spikes",
		(unsigned long long)list->anecdotes, plural(list->anecdotes));
	if (list->one_connection)
		fprintf(to, ", some over one connection alone");
	for (size_t told = 0; told < ANECDOTES_TOLD && told < list->anecdote_count; told++) {
		const struct anecdote *best = NULL;

		for (size_t i = 0; i < list->anecdote_count; i++) {
			const struct anecdote *x = &list->anecdote[i];
			bool is_behind =
				!last || x->ms < last->ms || (x->ms == last->ms && x > last);

			if (is_behind && (!best || x->ms > best->ms))
				best = x;
		}
		if (!best)
			break;
		fprintf(to, "%s%.4g ms at %s%s", told ? ", " : ";\n      ", best->ms,
			clock_text(best->start_ns, text),
			best->is_pending ? " (never answered)" : "");
		last = best;
	}
	fputc('\n', to);
}

static void print_counts(const struct tested_route *t, FILE *to)
{
	size_t of[4] = { 0 };

	for (size_t i = 0; i < t->spikes.count; i++)
		of[t->spikes.items[i].kind]++;
	fprintf(to,
		"    %zu spike%s, %zu stall%s, %zu unfinished, %zu level shift%s; "
		"slow %.1f %% of the time, %.3g s lost\n",
		of[SPIKE_SPIKE], plural(of[SPIKE_SPIKE]), of[SPIKE_STALL], plural(of[SPIKE_STALL]),
		of[SPIKE_UNFINISHED], of[SPIKE_LEVEL_SHIFT], plural(of[SPIKE_LEVEL_SHIFT]),
		100 * t->spikes.duty, t->lost_s);
	if (t->spikes.refused)
		fprintf(to, "    %llu further spikes were not kept\n",
			(unsigned long long)t->spikes.refused);
}

static void print_route(const struct tested_route *t, FILE *to)
{
	fputs("\n  ", to);
	words_route(t->view.route->text, ROUTE_CHARS, to);
	fputs("\n    ", to);
	print_level(t, to);
	print_thin(t, to);
	if (t->spikes.count)
		print_counts(t, to);
	if (t->spikes.anecdotes)
		print_anecdotes(&t->spikes, to);
}

void report_routes(const struct analysis *a, FILE *to)
{
	for (size_t i = 0; i < a->route_count; i++) {
		if (i >= 3 && i >= a->spiking_count)
			break;
		if (i == ROUTES_MAX) {
			fprintf(to, "  ... and %zu more routes with spikes\n",
				a->spiking_count - i);
			break;
		}
		print_route(&a->routes[i], to);
	}
	if (a->untested)
		fprintf(to, "  %zu quieter routes were not tested\n", a->untested);
}

/* Routes too thin for a p99 are told by what they have. */
void report_thin_routes(const struct analysis *a, FILE *to)
{
	size_t told = 0;

	if (!a->unestimable)
		return;
	fprintf(to, "\n  %zu route%s fewer than %d requests:\n", a->unestimable,
		a->unestimable == 1 ? " has" : "s have", QUANTILE_P99_MIN);
	for (size_t i = 0; i < a->series->route_count && told < THIN_MAX; i++) {
		const struct series_route *r = a->series->routes[i];

		if (r->requests >= QUANTILE_P99_MIN)
			continue;
		fprintf(to, "    n=%llu: p99 not estimable, max %.3f ms  ",
			(unsigned long long)r->requests, (double)r->max_us / 1e3);
		words_route(r->text, ROUTE_CHARS, to);
		fputc('\n', to);
		told++;
	}
	if (a->unestimable > told)
		fprintf(to, "    ... and %zu more\n", a->unestimable - told);
}
