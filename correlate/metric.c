#include "correlate/metric.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"

enum { NAMES_BYTES = 4 << 20 };

void metric_list_init(struct metric_list *list)
{
	*list = (struct metric_list){ 0 };
	arena_init(&list->arena, NAMES_BYTES);
	table_init(&list->by_name, METRICS_MAX);
}

void metric_free(struct metric *m)
{
	free(m->points);
	*m = (struct metric){ 0 };
}

void metric_list_free(struct metric_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		metric_free(&list->items[i]);
	free(list->items);
	table_free(&list->by_name);
	arena_free(&list->arena);
	*list = (struct metric_list){ 0 };
}

static struct metric *keep(struct metric_list *list, const struct metric *new)
{
	struct slice name = slice_of(new->id + strlen("metric:"));

	/* All at once: whoever fills a metric may ask for another. */
	if (!list->items)
		list->items = calloc(METRICS_MAX, sizeof(*list->items));
	if (!list->items || list->count == METRICS_MAX ||
		!table_put(&list->by_name, name, &list->items[list->count]))
		return NULL;
	list->items[list->count] = *new;
	return &list->items[list->count++];
}

struct metric *metric_get(struct metric_list *list, const char *name, const char *unit)
{
	struct metric *m = table_get(&list->by_name, slice_of(name));

	if (m)
		return m;
	struct metric new = { .id = arena_printf(&list->arena, "metric:%s", name),
		.unit = unit ? arena_copy(&list->arena, slice_of(unit)).p : NULL };
	if (new.id && (!unit || new.unit))
		m = keep(list, &new);
	list->refused += m == NULL;
	return m;
}

bool metric_add(struct metric_list *list, struct metric *m, int64_t t_ns, double value)
{
	if (!isfinite(value) || t_ns > CLOCK_FAR_NS || t_ns < -CLOCK_FAR_NS ||
		list->points == METRIC_POINTS_MAX) {
		list->refused++;
		return false;
	}
	if (m->count == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 64;
		struct metric_point *grown = realloc(m->points, cap * sizeof(*grown));

		if (!grown) {
			list->refused++;
			return false;
		}
		m->points = grown;
		m->cap = cap;
	}
	m->points[m->count++] = (struct metric_point){ t_ns, value };
	list->points++;
	return true;
}

bool metric_add_counter(struct metric_list *list, struct metric *m, int64_t t_ns, double value,
	struct metric_point *before)
{
	struct metric_point was = *before;
	double s = (double)(t_ns - was.t_ns) / 1e9;

	*before = (struct metric_point){ t_ns, value };
	if (!was.t_ns || s <= 0 || value < was.value)
		return true;
	return metric_add(list, m, t_ns, (value - was.value) / s);
}

static int by_time(const void *a, const void *b)
{
	const struct metric_point *x = a, *y = b;

	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

static int by_length(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t usual_gap(const struct metric_point *points, size_t count)
{
	int64_t *gaps = count > 1 ? malloc((count - 1) * sizeof(*gaps)) : NULL;
	int64_t gap = 0;

	for (size_t i = 1; gaps && i < count; i++)
		gaps[i - 1] = points[i].t_ns - points[i - 1].t_ns;
	if (gaps) {
		qsort(gaps, count - 1, sizeof(*gaps), by_length);
		gap = gaps[(count - 1) / 2];
		gap = gap < INT64_MAX / METRIC_STALE ? gap : INT64_MAX / METRIC_STALE;
	}
	free(gaps);
	return gap;
}

static size_t sort_apart(struct metric_point *points, size_t count)
{
	size_t kept = 0;

	for (size_t i = 1; i < count; i++)
		if (points[i].t_ns < points[i - 1].t_ns) {
			qsort(points, count, sizeof(*points), by_time);
			break;
		}
	for (size_t i = 0; i < count; i++) {
		if (kept && points[kept - 1].t_ns == points[i].t_ns)
			kept--;
		points[kept++] = points[i];
	}
	return kept;
}

void metric_make_rates(struct metric_list *list, struct metric *m, size_t from)
{
	struct metric_point *points = m->points + from;
	size_t count = sort_apart(points, m->count - from), kept = 0;
	int64_t longest = METRIC_STALE * usual_gap(points, count);
	struct metric_point was = count ? points[0] : (struct metric_point){ 0 };

	for (size_t i = 1; i < count; i++) {
		struct metric_point now = points[i];
		double grown = now.value - was.value, s = (double)(now.t_ns - was.t_ns) / 1e9;

		if (grown >= 0 && now.t_ns - was.t_ns <= longest)
			points[kept++] = (struct metric_point){ now.t_ns, grown / s };
		was = now;
	}
	list->points -= m->count - from - kept;
	m->count = from + kept;
}

void metric_list_finish(struct metric_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct metric *m = &list->items[i];
		size_t kept = sort_apart(m->points, m->count);

		list->repeated += m->count - kept;
		list->points -= m->count - kept;
		m->count = kept;
		if (!m->count)
			continue;
		m->gap_ns = usual_gap(m->points, m->count);
		if (m->from_ns == m->to_ns) {
			m->from_ns = m->points[0].t_ns;
			m->to_ns = m->points[m->count - 1].t_ns;
		}
	}
}
