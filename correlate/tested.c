#include "correlate/tested.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"
#include "correlate/quiet.h"

/* Ticks held over all tested routes; 12 bytes each, and 32 for each that is loud. */
enum { TICKS_MAX = 16000000, OTHERS_MAX = 20 };

static int64_t round_bucket(int64_t ns)
{
	static const int steps_s[] = { 1, 2, 5, 10, 15, 30, 60 };
	int64_t best = NS_PER_S;

	for (size_t i = 0; i < LENGTH(steps_s); i++)
		if (steps_s[i] * NS_PER_S <= ns)
			best = steps_s[i] * NS_PER_S;
	return best;
}

int64_t analysis_bucket(
	const struct series *s, const struct condition_list *conditions, bool is_from_packets)
{
	int64_t most = (is_from_packets ? 10 : 60) * NS_PER_S;
	int64_t bucket = (s->last_ns - s->first_ns) / 60;

	bucket = bucket > most ? most : bucket;
	for (size_t i = 0; i < conditions->count; i++) {
		const struct condition *c = &conditions->items[i];
		int64_t period = c->period_ns;

		/* Two deploys half a second apart are no rhythm to cut a day by. */
		if (c->is_regular && period && period / 8 < bucket)
			bucket = period / 8;
	}
	/* Finer than the ticks there is nothing to see. */
	bucket = round_bucket(bucket);
	while (bucket < s->tick_ns)
		bucket *= 2;
	return bucket;
}

/* Spans of what is slow, joined; a level that moved for good is not loud but normal from
 * then on. NULL when out of memory. */
static struct span *loud_spans(const struct tested_route *t, size_t *ret_count)
{
	const struct spike_list *spikes = &t->spikes;
	const struct baseline *base = &t->view.base;
	struct span *loud = calloc(spikes->count + 1, sizeof(*loud));
	size_t count = 0;

	for (size_t i = 0; loud && i < spikes->count; i++)
		if (!base->has_shift ||
			spikes->items[i].span.from_tick != base->segments[1].from_tick)
			loud[count++] = spikes->items[i].span;
	*ret_count = span_join(loud, count, 0);
	return loud;
}

/* Spikes once found are kept out of the baseline, and then looked for again. */
static bool find_spikes(struct tested_route *t)
{
	size_t count;
	struct span *loud;

	if (!spike_find(&t->spikes, &t->view))
		return false;
	loud = loud_spans(t, &count);
	if (loud && count) {
		spike_list_free(&t->spikes);
		if (!view_refit(&t->view, loud, count) || !spike_find(&t->spikes, &t->view)) {
			free(loud);
			return false;
		}
	}
	free(loud);
	return loud != NULL;
}

static bool open_route(
	struct tested_route *t, const struct analysis *a, const struct series_route *r)
{
	*t = (struct tested_route){ 0 };
	if (!view_init(&t->view, a->series, r, a->bucket_ns))
		return false;
	if (!find_spikes(t)) {
		spike_list_free(&t->spikes);
		view_free(&t->view);
		return false;
	}
	for (size_t i = 0; i < t->spikes.count; i++)
		t->lost_s += t->spikes.items[i].lost_s;
	return true;
}

void tested_close(struct tested_route *t)
{
	view_free(&t->view);
	spike_list_free(&t->spikes);
	free(t->explained);
	*t = (struct tested_route){ 0 };
}

struct choice {
	size_t index;
	double lost_s;
	bool has_spikes;
	uint64_t requests;
};

static int by_worth(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->has_spikes != y->has_spikes)
		return x->has_spikes ? -1 : 1;
	if (x->has_spikes && x->lost_s != y->lost_s)
		return x->lost_s > y->lost_s ? -1 : 1;
	if (x->requests != y->requests)
		return x->requests > y->requests ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Every route is looked at once for spikes; which are kept is decided afterwards. */
static size_t look(struct analysis *a, const struct series_route *named, struct choice *choices)
{
	size_t count = 0;

	for (size_t i = 0; i < a->series->route_count; i++) {
		const struct series_route *r = a->series->routes[i];
		struct tested_route t;

		if (named && r != named)
			continue;
		if (r->requests < (r->floor_us > 0 ? QUIET_FLOORED_MIN : QUANTILE_P99_MIN)) {
			a->unestimable++;
			if (!named)
				continue;
		}
		if (!open_route(&t, a, r)) {
			a->untested++;
			continue;
		}
		choices[count++] = (struct choice){ i, t.lost_s, t.spikes.count > 0, r->requests };
		tested_close(&t);
	}
	qsort(choices, count, sizeof(*choices), by_worth);
	return count;
}

static bool learn_quiet(struct tested_route *t)
{
	size_t count;
	struct span *loud = loud_spans(t, &count);

	t->explained = calloc(t->spikes.count + 1, sizeof(*t->explained));
	if (loud)
		view_learn_quiet(&t->view, loud, count);
	free(loud);
	return loud && t->explained;
}

bool tested_open(struct analysis *a, const struct series_route *named)
{
	struct choice *choices = calloc(a->series->route_count + 1, sizeof(*choices));
	size_t ticks = 0, others = 0, count;

	if (!choices)
		return false;
	count = look(a, named, choices);
	a->routes = calloc(count + 1, sizeof(*a->routes));
	for (size_t i = 0; a->routes && i < count; i++) {
		struct tested_route *t = &a->routes[a->route_count];

		others += !choices[i].has_spikes;
		if ((a->route_count >= 4 && ticks > TICKS_MAX) ||
			a->route_count == TESTED_ROUTES_MAX || others > OTHERS_MAX) {
			a->untested += count - i;
			break;
		}
		if (!open_route(t, a, a->series->routes[choices[i].index]))
			break;
		a->route_count++;
		a->spiking_count += t->spikes.count > 0;
		ticks += t->view.ticks;
		if (!learn_quiet(t)) {
			free(choices);
			return false;
		}
	}
	free(choices);
	return a->routes != NULL;
}
