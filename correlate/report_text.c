#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/quantile.h"
#include "correlate/report.h"

enum { COLUMNS = 72, ROWS_MAX = 8, UNEXPLAINED_MAX = 10, THIN_MAX = 5, ROUTE_CHARS = 90 };

static const char *const bars[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

/* What one column of the timeline stands for. */
struct scale {
	int64_t first_ns, column_ns;
	size_t columns;
};

static size_t column_of(const struct scale *s, int64_t wall_ns)
{
	int64_t at = (wall_ns - s->first_ns) / s->column_ns;

	return at < 0 ? 0 : (size_t)at >= s->columns ? s->columns - 1 : (size_t)at;
}

static struct scale scale_for(const struct analysis *a, const struct bucket_list *buckets)
{
	struct scale s = { buckets->items[0].start_ns, a->bucket_ns, buckets->count };

	if (s.columns > COLUMNS) {
		size_t times = (s.columns + COLUMNS - 1) / COLUMNS;

		s.column_ns = a->bucket_ns * (int64_t)times;
		s.columns = (buckets->count + times - 1) / times;
	}
	return s;
}

/* A bucket's p99, its largest where there are too few for one, or where a stall hides
 * from it. */
static void fill_columns(
	const struct tested_route *t, const struct scale *s, double values[COLUMNS])
{
	for (size_t i = 0; i < COLUMNS; i++)
		values[i] = 0;
	for (size_t i = 0; i < t->view.buckets.count; i++) {
		const struct bucket *b = &t->view.buckets.items[i];
		size_t at = column_of(s, b->start_ns);
		double v = isnan(b->p99_ms) ? b->max_ms : b->p99_ms;

		if (b->n && v > values[at])
			values[at] = v;
	}
	for (size_t i = 0; i < t->spikes.count; i++) {
		const struct spike *k = &t->spikes.items[i];
		size_t from = column_of(s, k->start_ns), to = column_of(s, k->end_ns - 1);

		for (size_t c = from; c <= to && k->kind == SPIKE_STALL; c++)
			values[c] = fmax(values[c], k->max_ms);
	}
}

static void print_bars(const double values[COLUMNS], const struct scale *s, FILE *to)
{
	double low = INFINITY, high = 0;

	for (size_t i = 0; i < s->columns; i++) {
		if (values[i] > 0 && values[i] < low)
			low = values[i];
		high = fmax(high, values[i]);
	}
	fprintf(to, "  %-14.14s", "p99");
	for (size_t i = 0; i < s->columns; i++) {
		/* Logarithmic: a stall is a thousand times the rest. */
		double share = high > low ? log(values[i] / low) / log(high / low) : 0;
		int bar = values[i] <= 0 ? 0 : 1 + (int)lround(7 * fmax(0, share));

		fputs(bars[bar], to);
	}
	if (high > 0)
		fprintf(to, "  %.3g to %.4g ms", low, high);
	fputc('\n', to);
}

static void print_marks(const char *name, const char marks[COLUMNS + 1], FILE *to)
{
	fprintf(to, "  %-14.14s%s\n", name, marks);
}

static void mark_spikes(const struct tested_route *t, const struct scale *s, FILE *to)
{
	char marks[COLUMNS + 1];

	memset(marks, ' ', sizeof(marks));
	marks[s->columns] = '\0';
	for (size_t i = 0; i < t->spikes.count; i++) {
		const struct spike *k = &t->spikes.items[i];
		size_t from = column_of(s, k->start_ns), end = column_of(s, k->end_ns - 1);

		if (k->kind == SPIKE_LEVEL_SHIFT) {
			for (size_t c = from; c < s->columns; c++)
				marks[c] = marks[c] == ' ' ? '-' : marks[c];
			marks[from] = '/';
			continue;
		}
		for (size_t c = from; c <= end; c++)
			marks[c] = '^';
	}
	print_marks("spikes", marks, to);
}

static void mark_condition(const struct condition *c, const struct scale *s, FILE *to)
{
	char marks[COLUMNS + 1];

	memset(marks, ' ', sizeof(marks));
	marks[s->columns] = '\0';
	for (size_t i = 0; i < c->count; i++) {
		int64_t at = c->items[i].start_ns;

		if (at >= s->first_ns && at < s->first_ns + s->column_ns * (int64_t)s->columns)
			marks[column_of(s, at)] = '|';
	}
	print_marks(c->id, marks, to);
}

static void print_route(struct slice route, FILE *to)
{
	size_t n = route.n < ROUTE_CHARS ? route.n : ROUTE_CHARS;

	/* Not in the middle of a UTF-8 character. */
	while (n && n < route.n && ((unsigned char)route.p[n] & 0xc0) == 0x80)
		n--;
	for (size_t i = 0; i < n; i++)
		fputc((unsigned char)route.p[i] < ' ' ? ' ' : route.p[i], to);
	if (n < route.n)
		fputs("...", to);
}

static void print_timeline(const struct analysis *a, const struct tested_route *t, FILE *to)
{
	struct scale s = scale_for(a, &t->view.buckets);
	char first[CLOCK_TEXT_MAX], width[CLOCK_TEXT_MAX];
	double values[COLUMNS];

	fill_columns(t, &s, values);
	fputs("  slowest: ", to);
	print_route(t->view.route->text, to);
	fprintf(to, "\n\n  from %s, one column is %s\n", clock_text(s.first_ns, first),
		clock_duration_text(s.column_ns, width));
	print_bars(values, &s, to);
	mark_spikes(t, &s, to);
	for (size_t i = 0; i < a->finding_count && i < ROWS_MAX; i++)
		mark_condition(a->findings[i].condition, &s, to);
}

static void print_level(const struct tested_route *t, FILE *to)
{
	const struct view *v = &t->view;
	unsigned long long n = v->route->requests;

	if (!v->base.count)
		fprintf(to, "n=%llu: p99 not estimable, max %.3f ms\n", n,
			(double)v->route->max_us / 1e3);
	else if (v->base.has_shift)
		fprintf(to, "n=%llu, p99 %.4g ms, then %.4g ms: a level shift, p%.0f %.3g times\n",
			n, v->base.segments[0].p99_ms, v->base.segments[1].p99_ms,
			100 * v->base.shift_quantile, v->base.shift_ratio);
	else
		fprintf(to, "n=%llu, quiet p99 %.4g ms, max %.4g ms\n", n,
			v->base.segments[0].p99_ms, (double)v->route->max_us / 1e3);
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

static void print_spikes(const struct tested_route *t, FILE *to)
{
	size_t of[4] = { 0 };
	double slow_s = 0, span_s = 0;

	for (size_t i = 0; i < t->spikes.count; i++) {
		const struct spike *s = &t->spikes.items[i];

		of[s->kind]++;
		if (s->kind != SPIKE_LEVEL_SHIFT)
			slow_s += (double)(s->end_ns - s->start_ns) / 1e9;
	}
	span_s = (double)t->view.ticks * (double)t->view.series->tick_ns / 1e9;
	fprintf(to,
		"    %zu spikes, %zu stalls, %zu unfinished, %zu level shifts; slow %.1f %% of the time",
		of[SPIKE_SPIKE], of[SPIKE_STALL], of[SPIKE_UNFINISHED], of[SPIKE_LEVEL_SHIFT],
		100 * slow_s / span_s);
	if (t->spikes.anecdotes)
		fprintf(to, "; %llu lone slow requests, not used",
			(unsigned long long)t->spikes.anecdotes);
	fputc('\n', to);
}

static void print_routes(const struct report *r, FILE *to)
{
	const struct analysis *a = r->analysis;

	for (size_t i = 0; i < a->route_count; i++) {
		const struct tested_route *t = &a->routes[i];

		if (i >= 3 && i >= a->spiking_count)
			break;
		if (i == 10) {
			fprintf(to, "  ... and %zu more routes with spikes\n",
				a->spiking_count - i);
			break;
		}
		fputs("\n  ", to);
		print_route(t->view.route->text, to);
		fputs("\n    ", to);
		print_level(t, to);
		print_thin(t, to);
		if (t->spikes.count || t->spikes.anecdotes)
			print_spikes(t, to);
	}
	if (a->untested)
		fprintf(to, "  %zu quieter routes were not tested\n", a->untested);
}

static void number_text(char *text, size_t size, double v)
{
	if (isnan(v))
		snprintf(text, size, "-");
	else if (v != 0 && fabs(v) < 0.001)
		snprintf(text, size, "%.1e", v);
	else
		snprintf(text, size, "%.3g", v);
}

static void print_finding(const struct finding *f, FILE *to)
{
	const struct lineup *l = &f->whole;
	char lift[24], low[24], high[24], lag[24], p[24], q[24];

	number_text(lift, sizeof(lift), l->lift);
	number_text(low, sizeof(low), l->lift_low);
	number_text(high, sizeof(high), l->lift_high);
	number_text(lag, sizeof(lag), f->lag.lag_s);
	number_text(p, sizeof(p), f->p);
	number_text(q, sizeof(q), f->q);
	fprintf(to, "  %-3zu %-12s %-24.40s %4zu/%-4zu %6.1f  %6s [%s, %s]  lag %s s  p %s  q %s\n",
		f->group, verdict_text(f->verdict), f->condition->id, l->hit, l->evaluable,
		l->hit_by_luck, lift, low, high, lag, p, q);
	fprintf(to, "      %s\n", f->reason);
}

static void print_findings(const struct analysis *a, FILE *to)
{
	if (!a->finding_count)
		return;
	fprintf(to, "\n  %-3s %-12s %-24s %9s %6s  %s\n", "", "", "condition", "hits/of", "luck",
		"lift [95 %]");
	for (size_t i = 0; i < a->finding_count; i++)
		print_finding(&a->findings[i], to);
}

static void print_list(const struct analysis *a, enum verdict v, const char *title, FILE *to)
{
	size_t n = 0;

	for (size_t i = 0; i < a->finding_count; i++)
		if (a->findings[i].verdict == v)
			fprintf(to, "%s%s", n++ ? ", " : title, a->findings[i].condition->id);
	if (n)
		fputc('\n', to);
}

static void print_unexplained(const struct analysis *a, FILE *to)
{
	char start[CLOCK_TEXT_MAX], length[CLOCK_TEXT_MAX];
	size_t all = 0, left = 0;
	double lost = 0, lost_left = 0;

	for (size_t i = 0; i < a->route_count; i++)
		for (size_t k = 0; k < a->routes[i].spikes.count; k++) {
			const struct spike *s = &a->routes[i].spikes.items[k];
			bool is_left = !a->routes[i].explained[k];

			all++;
			lost += s->lost_s;
			left += is_left;
			lost_left += is_left ? s->lost_s : 0;
			if (!is_left || left > UNEXPLAINED_MAX)
				continue;
			if (left == 1)
				fputs("\n  unexplained:\n", to);
			fprintf(to, "    %s  %-11s %-8s max %.4g ms  n=%llu  ",
				clock_text(s->start_ns, start), spike_kind_text(s->kind),
				clock_duration_text(s->end_ns - s->start_ns, length), s->max_ms,
				(unsigned long long)s->n);
			print_route(a->routes[i].view.route->text, to);
			fputc('\n', to);
		}
	if (left > UNEXPLAINED_MAX)
		fprintf(to, "    ... and %zu more\n", left - UNEXPLAINED_MAX);
	if (all)
		fprintf(to, "  %zu of %zu spikes are unexplained, with %.1f %% of the time lost\n",
			left, all, lost > 0 ? 100 * lost_left / lost : 0);
}

static void print_periods(const struct report *r, FILE *to)
{
	const struct analysis *a = r->analysis;
	char period[CLOCK_TEXT_MAX];

	for (size_t i = 0; i < a->route_count; i++) {
		struct period p;

		size_t asked = i < a->spiking_count ? a->spiking_count : a->route_count;
		if (!period_find(
			    &p, &a->routes[i].view, &a->routes[i].spikes, r->causes->zone, asked))
			continue;
		fprintf(to, "  a rhythm of %s%s, %zu of %zu cycles (log10 of chance %.1f%s), in ",
			clock_duration_text(p.period_ns, period),
			p.is_interval ? " (a loop that sleeps, not cron)" : "", p.hit, p.cycles,
			p.score,
			p.is_confirmed ? "; the second half confirms the first"
				       : "; not confirmed by a half left out");
		print_route(a->routes[i].view.route->text, to);
		fputc('\n', to);
	}
}

/* Routes too thin for a p99 are told by what they have. */
static void print_thin_routes(const struct analysis *a, FILE *to)
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
		print_route(r->text, to);
		fputc('\n', to);
		told++;
	}
	if (a->unestimable > told)
		fprintf(to, "    ... and %zu more\n", a->unestimable - told);
}

void report_print(const struct report *r, FILE *to)
{
	const struct analysis *a = r->analysis;
	char first[CLOCK_TEXT_MAX], span[CLOCK_TEXT_MAX];

	fprintf(to, "%s\n", r->answer);
	fprintf(to, "  %llu requests of %zu route%s, from %s, %s\n",
		(unsigned long long)a->series->requests, a->series->route_count,
		a->series->route_count == 1 ? "" : "s", clock_text(a->series->first_ns, first),
		clock_duration_text(a->series->last_ns - a->series->first_ns, span));
	for (size_t i = 0; i < r->notes->count; i++)
		fprintf(to, "note: %s\n", r->notes->items[i]);
	if (a->route_count)
		print_timeline(a, &a->routes[0], to);
	print_findings(a, to);
	print_list(a, VERDICT_NO_EVIDENCE, "  no evidence in the timing: ", to);
	print_list(a, VERDICT_CANNOT_TELL, "  could not be told: ", to);
	print_unexplained(a, to);
	print_periods(r, to);
	print_routes(r, to);
	print_thin_routes(a, to);
}
