#include <math.h>

#include "core/base/clock.h"
#include "correlate/report_parts.h"
#include "correlate/words.h"

enum { LINE_MAX_BYTES = 400, INDENT = 6 };

static void say(FILE *to, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void say(FILE *to, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	words_wrap(line, INDENT, INDENT + 2, to);
}

static void print_lag(const struct finding *f, FILE *to)
{
	char lag[WORDS_RANGE_MAX], lasts[CLOCK_TEXT_MAX];

	if (isnan(f->lag.lag_s))
		return;
	words_range(f->lag.lag_s, f->lag.low_s, f->lag.high_s, lag);
	if (isnan(f->lag.duration_s))
		say(to, "onset %s s from its start", lag);
	else
		say(to, "onset %s s from its start, lasts %s", lag,
			clock_duration_text((int64_t)(f->lag.duration_s * 1e9), lasts));
}

static void print_rates(const struct finding *f, FILE *to)
{
	if (isnan(f->coverage) || isnan(f->trigger))
		return;
	say(to,
		"%.0f %% of the slow spells fall into its windows (%.0f %% of the time lost); "
		"%.0f %% of its windows have one",
		100 * f->coverage, 100 * f->coverage_time, 100 * f->trigger);
}

static void print_unobserved(const struct finding *f, FILE *to)
{
	const struct condition *c = f->condition;

	if (f->whole.unobserved)
		say(to, "%zu of %zu runs fell into time that nobody watched: not judged",
			f->whole.unobserved, f->whole.inside);
	if (c->scheduled && !c->confirmed)
		say(to, "its times are a schedule's: that it ran is not known");
	if (f->has_rest)
		say(to, "outside of what ranks above it: %zu of %zu runs hit, p %.2g", f->rest.hit,
			f->rest.evaluable, f->rest.p);
}

static void print_shams(const struct finding *f, FILE *to)
{
	char best[WORDS_NUMBER_MAX];

	if (f->sham.count)
		say(to, "the same schedule at %zu other phases: %zu reach its lift (the best: %s)",
			f->sham.count, f->sham.reached, words_number(f->sham.best_lift, best));
}

static void print_dose(const struct finding *f, FILE *to)
{
	const struct dose *d = &f->dose;
	char slope[WORDS_NUMBER_MAX], p[WORDS_NUMBER_MAX], t[6][WORDS_NUMBER_MAX];
	bool is_more = d->p <= 0.05 && d->rho > 0;

	if (!d->is_evaluable)
		return;
	for (size_t i = 0; i < 3; i++) {
		words_number(d->tercile_dose[i], t[i]);
		words_number(d->tercile_lost_s[i], t[i + 3]);
	}
	say(to,
		"dose (%s): %s, rho %.2f, p %s over %zu runs; %s s lost per %s; thirds around "
		"%s, %s, %s lose %s, %s, %s s",
		d->is_duration ? "how long it ran, s" : "as logged",
		is_more ? "more of it loses more" : "no clear relation", d->rho,
		words_number(d->p, p), d->n, words_number(d->slope_s, slope),
		d->is_duration ? "second" : "unit", t[0], t[1], t[2], t[3], t[4], t[5]);
}

static void print_contexts(const struct finding *f, FILE *to)
{
	const struct context_list *list = &f->contexts;

	for (size_t i = 0; i < list->count; i++)
		say(to, "necessary, not sufficient: %s (q %.2g)", list->items[i].text,
			list->items[i].q);
	if (list->untested)
		say(to, "%zu further contexts were not tested", list->untested);
}

/* "metric.h": a positive lag moves first. */
static void print_metric(const struct finding *f, FILE *to)
{
	const struct metric_result *r = &f->by_metric;
	char lag[WORDS_NUMBER_MAX], most[WORDS_NUMBER_MAX];

	if (!r->is_evaluable)
		return;
	words_number(fabs(r->lag_s), lag);
	words_number(r->lag_max_s, most);
	say(to, "%s; lags up to %s s were tried; %zu spikes%s",
		r->lag_s > 0   ? "it moves first"
		: r->lag_s < 0 ? "it moves after the slow time: a consequence"
			       : "it moves with the slow time",
		most, r->episodes, r->is_deseasoned ? "; its daily wave is taken out" : "");
	if (r->lag_s > 0)
		say(to, "%s s ahead of the slow time", lag);
	if (r->effect < 0)
		say(to, "it falls in slow time: rather a consequence of it");
}

void report_depth(const struct analysis *a, const struct finding *f, FILE *to)
{
	if (a->spiking_count > 1 && f->route) {
		fprintf(to, "%*son ", INDENT, "");
		words_route(a->routes[f->route].view.route->text, WORDS_WIDTH - INDENT - 8, to);
		fputc('\n', to);
	}
	if (f->metric) {
		print_metric(f, to);
		return;
	}
	print_lag(f, to);
	print_rates(f, to);
	print_unobserved(f, to);
	print_shams(f, to);
	print_dose(f, to);
	print_contexts(f, to);
}
