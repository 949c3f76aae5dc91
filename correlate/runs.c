#include "correlate/runs.h"

#include <stdio.h>

enum { TWINS_MAX = 64 };

#define LATE_NS (90 * NS_PER_S)
#define EARLY_NS NS_PER_S

/* The conditions of one name, by who told them. */
struct twins {
	struct slice base;
	struct condition *schedules[TWINS_MAX], *logs[TWINS_MAX];
	size_t schedule_count, log_count;
};

/* "report#2" is a twin of "report". */
static struct slice base_of(const char *name)
{
	const char *mark = strrchr(name, '#');
	bool is_twin = mark && mark > name && mark[1] &&
		       strspn(mark + 1, "0123456789") == strlen(mark + 1);

	return is_twin ? (struct slice){ name, (size_t)(mark - name) } : slice_of(name);
}

static bool is_log(const struct condition *c)
{
	return strcmp(c->dialect, "event") == 0;
}

static void gather(struct twins *t, struct condition_list *list, size_t from)
{
	*t = (struct twins){ .base = base_of(list->items[from].name) };
	for (size_t i = 0; i < list->count; i++) {
		struct condition *c = &list->items[i];

		if (strcmp(c->kind, "job") != 0 || !slice_same(base_of(c->name), t->base))
			continue;
		if (is_log(c) && t->log_count < TWINS_MAX)
			t->logs[t->log_count++] = c;
		else if (!is_log(c) && t->schedule_count < TWINS_MAX)
			t->schedules[t->schedule_count++] = c;
	}
}

/* The share of the log's runs that follow a time of the schedule; both are by time. */
static double share(const struct condition *schedule, const struct condition *log)
{
	size_t at = 0, fit = 0;

	for (size_t i = 0; i < log->count; i++) {
		int64_t run_ns = log->items[i].start_ns;

		while (at < schedule->count && schedule->items[at].end_ns + LATE_NS < run_ns)
			at++;
		fit += at < schedule->count && schedule->items[at].start_ns - EARLY_NS <= run_ns;
	}
	return log->count ? (double)fit / (double)log->count : 0;
}

static void rename_to(struct condition_list *list, struct condition *c, const char *name)
{
	const char *id = arena_printf(&list->arena, "%s:%s", c->kind, name);

	if (!id)
		return;
	c->name = name;
	c->id = id;
}

static bool is_taken(const struct twins *t, const char *name, const bool settled[TWINS_MAX])
{
	for (size_t i = 0; i < t->schedule_count; i++)
		if (strcmp(t->schedules[i]->name, name) == 0)
			return true;
	for (size_t i = 0; i < t->log_count; i++)
		if (settled[i] && strcmp(t->logs[i]->name, name) == 0)
			return true;
	return false;
}

static void name_others(struct condition_list *list, struct twins *t, bool settled[TWINS_MAX])
{
	for (size_t i = 0; i < t->log_count; i++) {
		const char *name = arena_printf(&list->arena, "%.*s", (int)t->base.n, t->base.p);

		if (settled[i])
			continue;
		for (int twin = 2; name && is_taken(t, name, settled); twin++)
			name = arena_printf(
				&list->arena, "%.*s#%d", (int)t->base.n, t->base.p, twin);
		if (name)
			rename_to(list, t->logs[i], name);
		settled[i] = true;
	}
}

/* The best pair first, then the best of what is left; among equals those of one name. */
static void pair(struct condition_list *list, struct twins *t)
{
	double fits[TWINS_MAX][TWINS_MAX];
	bool settled[TWINS_MAX] = { 0 }, used[TWINS_MAX] = { 0 };

	for (size_t s = 0; s < t->schedule_count; s++)
		for (size_t l = 0; l < t->log_count; l++)
			fits[s][l] = share(t->schedules[s], t->logs[l]) +
				     1e-6 * (strcmp(t->schedules[s]->name, t->logs[l]->name) == 0);
	for (;;) {
		size_t best_s = 0, best_l = 0;
		double best = 0;

		for (size_t s = 0; s < t->schedule_count; s++)
			for (size_t l = 0; l < t->log_count; l++)
				if (!used[s] && !settled[l] && fits[s][l] > best) {
					best = fits[s][l];
					best_s = s;
					best_l = l;
				}
		if (best < 0.5)
			break;
		rename_to(list, t->logs[best_l], t->schedules[best_s]->name);
		used[best_s] = settled[best_l] = true;
	}
	name_others(list, t, settled);
}

void runs_name_twins(struct condition_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct condition *c = &list->items[i];
		struct twins t;

		/* Once a name: at its first schedule. */
		if (strcmp(c->kind, "job") != 0 || is_log(c))
			continue;
		gather(&t, list, i);
		if (t.schedules[0] == c && t.log_count && t.schedule_count + t.log_count > 2)
			pair(list, &t);
	}
}
