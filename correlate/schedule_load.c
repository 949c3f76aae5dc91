#include "correlate/schedule_load.h"

#include <stdio.h>
#include <stdlib.h>

static const char *unique_name(struct condition_list *list, const char *name, const char *dialect)
{
	const char *result = name;

	for (int twin = 2; result; twin++) {
		bool is_taken = false;

		for (size_t i = 0; i < list->count; i++)
			is_taken |= strcmp(list->items[i].kind, "job") == 0 &&
				    strcmp(list->items[i].name, result) == 0 &&
				    strcmp(list->items[i].dialect, dialect) == 0;
		if (!is_taken)
			break;
		result = arena_printf(&list->arena, "%s#%d", name, twin);
	}
	return result;
}

bool schedule_entry(struct schedule_loader *l, const char *name, struct err *e)
{
	const char *unique = unique_name(l->to->list, name, l->dialect);

	l->into = unique ? condition_get(l->to->list, "job", unique, l->dialect) : NULL;
	if (!l->into)
		return err_set(
			e, ERR_ENV, "more than %d conditions, or out of memory", CONDITIONS_MAX);
	l->reach->read++;
	return true;
}

void schedule_drop(struct schedule_loader *l)
{
	struct condition_list *list = l->to->list;

	free(l->into->items);
	list->count--;
	l->reach->read--;
	l->into = NULL;
}

static int by_start(const void *a, const void *b)
{
	const struct occurrence *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

void schedule_unite(struct schedule_loader *l)
{
	struct condition *c = l->into;
	size_t kept = 0;

	if (c->count)
		qsort(c->items, c->count, sizeof(*c->items), by_start);
	for (size_t i = 0; i < c->count; i++)
		if (!kept || c->items[kept - 1].start_ns != c->items[i].start_ns)
			c->items[kept++] = c->items[i];
	c->count = kept;
}

void schedule_silent(struct schedule_loader *l, enum schedule_silence why)
{
	l->silent[why]++;
}

void schedule_bad(struct schedule_loader *l, const struct err *why, const char *place)
{
	if (l->reach->bad++)
		return;
	l->reach->first_bad = *why;
	err_in(&l->reach->first_bad, "%s: %s", l->path, place);
}

bool schedule_emit_ns(struct schedule_loader *l, int64_t start_ns, int64_t end_ns)
{
	if (end_ns < l->to->first_ns || start_ns > l->to->last_ns)
		return true;
	if (l->times == SCHEDULE_TIMES_MAX) {
		l->is_full = true;
		return false;
	}
	l->times++;
	return condition_add_time(l->into, start_ns, end_ns, false);
}

bool schedule_emit(void *loader, int64_t start_s, int64_t end_s)
{
	return schedule_emit_ns(loader, start_s * NS_PER_S, end_s * NS_PER_S);
}

bool schedule_zone(struct schedule_loader *l, const char *named, struct zone *ret, struct err *e)
{
	l->is_utc_assumed |= !named && !l->to->zone;
	return zone_open(ret, named ? named : l->to->zone, e);
}

bool schedule_line(struct slice *text, struct slice *ret)
{
	const char *end = text->n ? memchr(text->p, '\n', text->n) : NULL;
	size_t n = end ? (size_t)(end - text->p) : text->n;

	*ret = (struct slice){ text->p, n };
	if (!text->n)
		return false;
	text->p += end ? n + 1 : n;
	text->n -= end ? n + 1 : n;
	if (ret->n && ret->p[ret->n - 1] == '\r')
		ret->n--;
	return true;
}
