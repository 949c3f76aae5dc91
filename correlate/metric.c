#include "correlate/metric.h"

#include <math.h>
#include <stdlib.h>

enum { NAMES_BYTES = 4 << 20 };

void metric_list_init(struct metric_list *list)
{
	*list = (struct metric_list){ 0 };
	arena_init(&list->arena, NAMES_BYTES);
}

void metric_list_free(struct metric_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].points);
	free(list->items);
	arena_free(&list->arena);
	*list = (struct metric_list){ 0 };
}

static struct metric *find(struct metric_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].id + strlen("metric:"), name) == 0)
			return &list->items[i];
	return NULL;
}

static bool grow(struct metric_list *list)
{
	size_t cap = list->cap ? list->cap * 2 : 16;
	struct metric *grown;

	if (list->count < list->cap)
		return true;
	cap = cap > METRICS_MAX ? METRICS_MAX : cap;
	grown = list->count == METRICS_MAX ? NULL : realloc(list->items, cap * sizeof(*grown));
	if (!grown)
		return false;
	list->items = grown;
	list->cap = cap;
	return true;
}

struct metric *metric_get(struct metric_list *list, const char *name, const char *unit)
{
	struct metric *m = find(list, name);

	if (m)
		return m;
	struct metric new = { .id = arena_printf(&list->arena, "metric:%s", name),
		.unit = unit ? arena_copy(&list->arena, slice_of(unit)).p : NULL };
	if (!new.id || (unit && !new.unit) || !grow(list)) {
		list->refused++;
		return NULL;
	}
	list->items[list->count] = new;
	return &list->items[list->count++];
}

bool metric_add(struct metric_list *list, struct metric *m, int64_t t_ns, double value)
{
	if (!isfinite(value) || list->points == METRIC_POINTS_MAX) {
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

	return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

static int by_length(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t usual_gap(const struct metric *m)
{
	int64_t *gaps = m->count > 1 ? malloc((m->count - 1) * sizeof(*gaps)) : NULL;
	int64_t gap = 0;

	for (size_t i = 1; gaps && i < m->count; i++)
		gaps[i - 1] = m->points[i].t_ns - m->points[i - 1].t_ns;
	if (gaps) {
		qsort(gaps, m->count - 1, sizeof(*gaps), by_length);
		gap = gaps[(m->count - 1) / 2];
	}
	free(gaps);
	return gap;
}

void metric_list_finish(struct metric_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct metric *m = &list->items[i];

		if (!m->count)
			continue;
		qsort(m->points, m->count, sizeof(*m->points), by_time);
		m->gap_ns = usual_gap(m);
		if (m->from_ns == m->to_ns) {
			m->from_ns = m->points[0].t_ns;
			m->to_ns = m->points[m->count - 1].t_ns;
		}
	}
}
