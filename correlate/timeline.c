#include "correlate/timeline.h"

#include <math.h>
#include <string.h>

#include "core/base/clock.h"
#include "correlate/words.h"

enum { COLUMNS = 72, ROWS_MAX = 8, NAME = 17, ROUTE_CHARS = 85 };

static const char *const bars[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

/* What one column stands for. */
struct scale {
	int64_t first_ns, column_ns;
	size_t columns;
};

struct marks {
	char text[COLUMNS + 1];
};

static size_t column_of(const struct scale *s, int64_t wall_ns)
{
	int64_t at = (wall_ns - s->first_ns) / s->column_ns;

	return at < 0 ? 0 : (size_t)at >= s->columns ? s->columns - 1 : (size_t)at;
}

static int64_t scale_end(const struct scale *s)
{
	return s->first_ns + s->column_ns * (int64_t)s->columns;
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

static struct marks marks_for(const struct scale *s)
{
	struct marks m;

	memset(m.text, ' ', sizeof(m.text));
	m.text[s->columns] = '\0';
	return m;
}

static void print_marks(const char *name, const struct marks *m, FILE *to)
{
	fputs("  ", to);
	words_pad(name, NAME, to);
	fprintf(to, " %s\n", m->text);
}

/* One column of the route. */
struct column {
	double ms; /* 0: nothing */
	enum bucket_state state;
};

/* The largest p99 of its buckets; where none has one, that of all of it together. */
static void measure_column(struct column *ret, const struct tested_route *t, const struct scale *s,
	size_t at, size_t first, size_t end)
{
	const struct series *series = t->view.series;
	int64_t from_ns = s->first_ns + s->column_ns * (int64_t)at;
	struct bucket all = { 0 };

	*ret = (struct column){ 0, BUCKET_EMPTY };
	for (size_t i = first; i < end; i++) {
		const struct bucket *b = &t->view.buckets.items[i];

		if (b->state == BUCKET_GAP)
			ret->state = BUCKET_GAP;
		ret->ms = fmax(ret->ms, isnan(b->p99_ms) ? 0 : b->p99_ms);
	}
	if (ret->ms <= 0) {
		bucket_measure(&all, series, t->view.route, series_tick(series, from_ns),
			series_tick(series, from_ns + s->column_ns));
		ret->ms = !all.n                   ? 0
			  : !isnan(all.p99_ms)     ? all.p99_ms
			  : !isnan(all.p99_low_ms) ? all.p99_low_ms
						   : all.max_ms;
	}
	if (ret->state != BUCKET_GAP && ret->ms > 0)
		ret->state = all.n && isnan(all.p99_ms) && isnan(all.p99_low_ms) ? BUCKET_LOW
										 : BUCKET_OK;
}

/* Spikes stand out in columns that are wider, and stalls hide from a p99. */
static void raise_spikes(
	struct column *columns, const struct tested_route *t, const struct scale *s)
{
	for (size_t i = 0; i < t->spikes.count; i++) {
		const struct spike *k = &t->spikes.items[i];
		size_t from = column_of(s, k->start_ns), end = column_of(s, k->end_ns - 1);
		double ms = k->kind == SPIKE_STALL || isnan(k->p99_ms) ? k->max_ms : k->p99_ms;

		for (size_t c = from; c <= end && k->kind != SPIKE_LEVEL_SHIFT; c++)
			columns[c].ms = fmax(columns[c].ms, ms);
	}
}

static void fill_columns(
	struct column columns[COLUMNS], const struct tested_route *t, const struct scale *s)
{
	size_t each = (size_t)(s->column_ns / t->view.buckets.width_ns);

	for (size_t c = 0; c < s->columns; c++) {
		size_t first = c * each, end = first + each;

		measure_column(&columns[c], t, s, c, first,
			end < t->view.buckets.count ? end : t->view.buckets.count);
	}
	raise_spikes(columns, t, s);
}

static void print_bars(const char *name, const double values[COLUMNS], const struct scale *s,
	bool is_log, FILE *to)
{
	double low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < s->columns; i++) {
		if (isnan(values[i]) || (is_log && values[i] <= 0))
			continue;
		low = fmin(low, values[i]);
		high = fmax(high, values[i]);
	}
	fputs("  ", to);
	words_pad(name, NAME, to);
	fputc(' ', to);
	for (size_t i = 0; i < s->columns; i++) {
		bool is_none = isnan(values[i]) || (is_log && values[i] <= 0);
		double share = is_none || high <= low ? 0
			       : is_log               ? log(values[i] / low) / log(high / low)
						      : (values[i] - low) / (high - low);

		fputs(bars[is_none ? 0 : 1 + (int)lround(7 * share)], to);
	}
	if (high >= low && !is_log) {
		char a[WORDS_NUMBER_MAX], b[WORDS_NUMBER_MAX];

		fprintf(to, "\n  %*s   %s to %s", NAME - 2, "", words_number(low, a),
			words_number(high, b));
	}
	fputc('\n', to);
}

static bool range_of(const double values[COLUMNS], const struct scale *s, double *low, double *high)
{
	*low = INFINITY;
	*high = 0;
	for (size_t i = 0; i < s->columns; i++)
		if (values[i] > 0) {
			*low = fmin(*low, values[i]);
			*high = fmax(*high, values[i]);
		}
	return *high > 0;
}

/* Nothing when all is well. */
static bool print_states(const struct column *columns, const struct scale *s, FILE *to)
{
	static const char of[] = {
		[BUCKET_OK] = ' ', [BUCKET_LOW] = '.', [BUCKET_EMPTY] = 'o', [BUCKET_GAP] = '?'
	};
	struct marks m = marks_for(s);
	bool is_odd = false;

	for (size_t i = 0; i < s->columns; i++) {
		m.text[i] = of[columns[i].state];
		is_odd |= columns[i].state != BUCKET_OK;
	}
	if (is_odd)
		print_marks("data", &m, to);
	return is_odd;
}

static void print_spikes(const struct tested_route *t, const struct scale *s, FILE *to)
{
	struct marks m = marks_for(s);

	for (size_t i = 0; i < t->spikes.count; i++) {
		const struct spike *k = &t->spikes.items[i];
		size_t from = column_of(s, k->start_ns), end = column_of(s, k->end_ns - 1);

		if (k->kind == SPIKE_LEVEL_SHIFT) {
			for (size_t c = from; c <= end; c++)
				m.text[c] = m.text[c] == ' ' ? '-' : m.text[c];
			m.text[from] = '/';
			continue;
		}
		for (size_t c = from; c <= end; c++)
			m.text[c] = k->kind == SPIKE_UNFINISHED ? '~' : '^';
	}
	print_marks("spikes", &m, to);
}

/* Times under the columns, each behind a tick. */
static void print_axis(const struct scale *s, FILE *to)
{
	int64_t span = s->column_ns * (int64_t)s->columns;
	size_t step = span > 86400 * NS_PER_S ? 18 : 12;
	size_t at = 0;

	fprintf(to, "  %*s ", NAME, "");
	for (size_t c = 0; c == 0 || c + step / 2 < s->columns; c += step) {
		char text[WORDS_NUMBER_MAX];

		fprintf(to, "%*s", (int)(c - at), "");
		at = c + (size_t)fprintf(to, "'%s",
				 words_clock(s->first_ns + s->column_ns * (int64_t)c, span, text));
	}
	fputc('\n', to);
}

static char mark_of(const struct lineup *l, size_t i)
{
	if (!l->hits || !l->judged || !l->judged[i])
		return '\'';
	return l->hits[i] ? '|' : ':';
}

/* A hit is seen before a miss where both fall into a column. */
static void set_mark(struct marks *m, size_t at, char mark)
{
	static const char order[] = " =':|";

	if (strchr(order, mark) > strchr(order, m->text[at]))
		m->text[at] = mark;
}

static void print_runs(const struct finding *f, const struct scale *s, FILE *to)
{
	const struct condition *c = f->condition;
	struct marks m = marks_for(s);

	for (size_t i = 0; i < c->count; i++) {
		const struct occurrence *o = &c->items[i];
		size_t from = column_of(s, o->start_ns), end = column_of(s, o->end_ns);

		if (o->end_ns < s->first_ns || o->start_ns >= scale_end(s))
			continue;
		for (size_t k = from; o->has_end && k <= end; k++)
			set_mark(&m, k, '=');
		if (o->start_ns >= s->first_ns)
			set_mark(&m, from, mark_of(&f->whole, i));
	}
	print_marks(c->id, &m, to);
}

static void print_metric(
	const struct analysis *a, const struct finding *f, const struct scale *s, FILE *to)
{
	const struct bucket_list *buckets = &a->routes[f->route].view.buckets;
	double values[COLUMNS];

	for (size_t i = 0; i < COLUMNS; i++)
		values[i] = NAN;
	for (size_t i = 0; f->metric->points && i < f->metric->count; i++) {
		const struct metric_point *p = &f->metric->points[i];

		if (p->t_ns >= s->first_ns && p->t_ns < scale_end(s))
			values[column_of(s, p->t_ns)] =
				fmax(values[column_of(s, p->t_ns)], p->value);
	}
	for (size_t i = 0; f->metric == &a->traffic && i < buckets->count; i++) {
		size_t at = column_of(s, buckets->items[i].start_ns);

		if (buckets->items[i].state != BUCKET_GAP)
			values[at] = (isnan(values[at]) ? 0 : values[at]) +
				     (double)buckets->items[i].n * 1e9 / (double)s->column_ns;
	}
	print_bars(f->condition->id, values, s, false, to);
}

static bool print_row(
	const struct analysis *a, const struct finding *f, const struct scale *s, FILE *to)
{
	if (f->metric && f->verdict > VERDICT_SUGGESTIVE)
		return false;
	if (f->metric)
		print_metric(a, f, s, to);
	else
		print_runs(f, s, to);
	return true;
}

static void print_head(
	const struct tested_route *t, const struct scale *s, const double values[COLUMNS], FILE *to)
{
	char from[CLOCK_TEXT_MAX], end[CLOCK_TEXT_MAX], width[CLOCK_TEXT_MAX];
	double low, high;

	fputs("\nslowest: ", to);
	words_route(t->view.route->text, ROUTE_CHARS, to);
	fprintf(to, "\n  %s to %s, a column is %s", clock_text(s->first_ns, from),
		clock_text(scale_end(s), end), clock_duration_text(s->column_ns, width));
	if (range_of(values, s, &low, &high))
		fprintf(to, ", %.3g to %.4g ms", low, high);
	fputs("\n", to);
}

static void print_legend(bool has_states, bool has_spikes, bool has_runs, FILE *to)
{
	if (has_states)
		fputs("  data: . under 100 requests, the bar is the largest   o none   ? not observed\n",
			to);
	if (has_spikes)
		fputs("  spikes: ^ spike or stall   ~ unfinished   /--- level shift\n", to);
	if (has_runs)
		fputs("  runs: | with slow time   : without   ' not judged   = goes on\n", to);
}

void timeline_print(const struct analysis *a, size_t route, FILE *to)
{
	const struct tested_route *t = &a->routes[route];
	struct column columns[COLUMNS];
	double values[COLUMNS];
	size_t rows = 0, runs = 0;

	if (!t->view.buckets.count)
		return;
	struct scale s = scale_for(a, &t->view.buckets);
	fill_columns(columns, t, &s);
	for (size_t i = 0; i < s.columns; i++)
		values[i] = columns[i].ms;
	print_head(t, &s, values, to);
	print_bars(t->view.base.is_floored ? "largest" : "p99", values, &s, true, to);
	bool has_states = print_states(columns, &s, to);
	if (t->spikes.count)
		print_spikes(t, &s, to);
	for (size_t i = 0; i < a->finding_count && rows < ROWS_MAX; i++)
		if (print_row(a, &a->findings[i], &s, to)) {
			rows++;
			runs += !a->findings[i].metric;
		}
	print_axis(&s, to);
	print_legend(has_states, t->spikes.count, runs, to);
}
