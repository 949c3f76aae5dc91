#include "correlate/condition.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"

enum { MINUTE_S = 60 };

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void condition_list_init(struct condition_list *list)
{
	*list = (struct condition_list){ 0 };
	arena_init(&list->arena, (size_t)16 << 20);
}

void condition_list_free(struct condition_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].items);
	free(list->items);
	arena_free(&list->arena);
	*list = (struct condition_list){ 0 };
}

struct condition *condition_get(
	struct condition_list *list, const char *kind, const char *name, const char *dialect)
{
	for (size_t i = 0; i < list->count; i++) {
		struct condition *c = &list->items[i];

		if (strcmp(c->kind, kind) == 0 && strcmp(c->name, name) == 0 &&
			strcmp(c->dialect, dialect) == 0)
			return c;
	}
	if (list->count == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 16;
		cap = cap > CONDITIONS_MAX ? CONDITIONS_MAX : cap;
		struct condition *grown = list->count == CONDITIONS_MAX
						  ? NULL
						  : realloc(list->items, cap * sizeof(*grown));

		if (!grown) {
			list->refused++;
			return NULL;
		}
		list->items = grown;
		list->cap = cap;
	}
	struct condition c = { .from_ns = INT64_MIN,
		.to_ns = INT64_MAX,
		.kind = arena_copy(&list->arena, slice_of(kind)).p,
		.name = arena_copy(&list->arena, slice_of(name)).p,
		.id = arena_printf(&list->arena, "%s:%s", kind, name),
		.dialect = dialect };
	if (!c.kind || !c.name || !c.id) {
		list->refused++;
		return NULL;
	}
	list->items[list->count] = c;
	return &list->items[list->count++];
}

/* A window without an end may be written with one in the year 9999. */
static int64_t near_ns(int64_t ns)
{
	return ns > CLOCK_FAR_NS ? CLOCK_FAR_NS : ns < -CLOCK_FAR_NS ? -CLOCK_FAR_NS : ns;
}

bool condition_add_time(struct condition *c, int64_t start_ns, int64_t end_ns, bool has_end)
{
	if (c->count == CONDITION_TIMES_MAX) {
		c->refused++;
		return false;
	}
	if (c->count == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 16;
		struct occurrence *grown = realloc(c->items, cap * sizeof(*grown));

		if (!grown) {
			c->refused++;
			return false;
		}
		c->items = grown;
		c->cap = cap;
	}
	start_ns = near_ns(start_ns);
	end_ns = near_ns(end_ns);
	c->items[c->count++] = (struct occurrence){ start_ns, end_ns, end_ns, has_end, NAN };
	return true;
}

/* What its events' sources can tell of, taken together. */
static void extend_reach(struct condition *c, const struct reach *reach)
{
	bool is_first = c->count == 1;

	if (is_first || reach->from_ns < c->from_ns)
		c->from_ns = reach->from_ns;
	if (is_first || reach->to_ns > c->to_ns)
		c->to_ns = reach->to_ns;
}

bool condition_add_events(struct condition_list *list, const struct event_list *events,
	const struct reach_list *reaches, struct err *e)
{
	for (size_t i = 0; i < events->count; i++) {
		const struct event *event = &events->items[i];
		struct condition *c = condition_get(list, event->kind, event->name, "event");

		if (!c || !condition_add_time(c, event->start_ns, event->end_ns, event->has_end))
			continue;
		c->items[c->count - 1].dose = event->dose;
		c->is_weak |= event->is_weak;
		if (event->source < reaches->count)
			extend_reach(c, &reaches->items[event->source]);
		c->confirmed++;
	}
	if (list->refused && !list->count)
		return err_set(e, ERR_ENV, "out of memory");
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct occurrence *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int by_gap(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void find_period(struct condition *c)
{
	size_t n = c->count > 1 ? c->count - 1 : 0;
	int64_t *gaps = n ? malloc(n * sizeof(*gaps)) : NULL;
	size_t regular = 0;

	if (!gaps)
		return;
	for (size_t i = 0; i < n; i++)
		gaps[i] = c->items[i + 1].start_ns - c->items[i].start_ns;
	qsort(gaps, n, sizeof(*gaps), by_gap);
	c->period_ns = gaps[n / 2];
	for (size_t i = 0; i < n; i++)
		regular += llabs(gaps[i] - c->period_ns) <= c->period_ns / 10;
	c->is_regular = n >= 2 && regular * 10 >= n * 8;
	free(gaps);
}

/* How long after a lone event an effect is still looked for. */
static int64_t lone_margin(const struct condition *c, int64_t span_ns)
{
	bool is_start = strcmp(c->kind, "deploy") == 0 || strcmp(c->kind, "restart") == 0;

	return lesser((is_start ? 15 : 2) * MINUTE_S * NS_PER_S, span_ns / 10);
}

static int64_t margin(const struct condition *c, const struct occurrence *o, int64_t span_ns)
{
	if (!c->period_ns)
		return lone_margin(c, span_ns);
	return lesser((o->has_end ? 1 : 10) * MINUTE_S * NS_PER_S, c->period_ns / 10);
}

static void set_windows(struct condition *c, int64_t span_ns)
{
	for (size_t i = 0; i < c->count; i++) {
		struct occurrence *o = &c->items[i];

		o->until_ns = o->end_ns + margin(c, o, span_ns);
		/* A request belongs to one occurrence only. */
		if (i + 1 < c->count && o->until_ns > c->items[i + 1].start_ns)
			o->until_ns = c->items[i + 1].start_ns;
	}
}

/* Of whatever dialect: all but events are schedules. */
static bool is_schedule(const struct condition *c)
{
	return strcmp(c->dialect, "event") != 0;
}

/* The logged runs of a schedule's job. */
static struct condition *runs_of(struct condition_list *list, const struct condition *schedule)
{
	for (size_t i = 0; i < list->count; i++)
		if (!is_schedule(&list->items[i]) && strcmp(list->items[i].id, schedule->id) == 0)
			return &list->items[i];
	return NULL;
}

/* A log may begin with a run that its schedule has a little before. */
static bool has_run_after(const struct condition *log, size_t count, int64_t ns)
{
	for (size_t i = 0; i < count; i++)
		if (log->items[i].start_ns >= ns && log->items[i].start_ns - ns < 90 * NS_PER_S)
			return true;
	return false;
}

/* Where the log does not reach, the schedule is the best that is known. */
static void fill_outside(struct condition *log, const struct condition *schedule)
{
	int64_t from_ns = log->from_ns, to_ns = log->to_ns;
	size_t logged = log->count;

	for (size_t i = 0; i < schedule->count; i++) {
		const struct occurrence *o = &schedule->items[i];
		bool is_outside = o->start_ns < from_ns || o->start_ns > to_ns;
		/* Only next to the log's beginning can it be told already. */
		bool is_near = is_outside && o->start_ns < from_ns &&
			       from_ns - o->start_ns < 90 * NS_PER_S;

		if (is_outside && !(is_near && has_run_after(log, logged, o->start_ns)))
			condition_add_time(log, o->start_ns, o->end_ns, o->has_end);
	}
	log->from_ns = schedule->from_ns < from_ns ? schedule->from_ns : from_ns;
	log->to_ns = schedule->to_ns > to_ns ? schedule->to_ns : to_ns;
}

/* A schedule whose job also logs its runs: the log says when, the schedule how often. */
static void merge_schedules(struct condition_list *list, int64_t first_ns, int64_t last_ns)
{
	for (size_t i = 0; i < list->count; i++) {
		struct condition *c = &list->items[i];
		struct condition *log = is_schedule(c) ? runs_of(list, c) : NULL;

		if (!log) {
			if (!c->scheduled)
				c->scheduled = c->count;
			continue;
		}
		log->scheduled = 0;
		for (size_t k = 0; k < c->count; k++)
			log->scheduled +=
				c->items[k].start_ns >= first_ns && c->items[k].start_ns <= last_ns;
		fill_outside(log, c);
		free(c->items);
		memmove(c, c + 1, (list->count - i - 1) * sizeof(*c));
		list->count--;
		i--;
	}
}

void condition_list_finish(struct condition_list *list, int64_t first_ns, int64_t last_ns)
{
	merge_schedules(list, first_ns, last_ns);
	for (size_t i = 0; i < list->count; i++) {
		struct condition *c = &list->items[i];

		if (c->count)
			qsort(c->items, c->count, sizeof(*c->items), by_start);
		find_period(c);
		set_windows(c, last_ns - first_ns);
	}
}
