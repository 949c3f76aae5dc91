#include "correlate/cover.h"

#include <math.h>
#include <stdlib.h>

bool cover_init(struct analysis *a)
{
	for (size_t i = 0; i < a->route_count; i++) {
		struct tested_route *t = &a->routes[i];

		t->covered = calloc(t->spikes.count + 1, sizeof(*t->covered));
		if (!t->covered)
			return false;
	}
	return true;
}

/* The first window that ends after the tick; they are in order and end in order. */
static size_t first_open(const struct finding *f, int64_t tick)
{
	size_t low = 0, high = f->condition->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->whole.spans[middle].to_tick <= tick)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool overlaps(const struct finding *f, struct span s)
{
	size_t at = first_open(f, s.from_tick);

	return at < f->condition->count && f->whole.spans[at].from_tick < s.to_tick;
}

/* blur: a lone slow request may have come up to a bucket before the spike proper. */
static bool starts_in(const struct finding *f, struct span s, int64_t blur)
{
	size_t at = first_open(f, s.from_tick);

	return at < f->condition->count && f->whole.spans[at].from_tick <= s.from_tick + blur &&
	       f->whole.spans[at].from_tick < s.to_tick;
}

/* On whichever route: what a condition covers there is covered too. */
static void mark(struct analysis *a, const struct finding *f)
{
	for (size_t r = 0; r < a->spiking_count; r++) {
		struct tested_route *t = &a->routes[r];

		for (size_t i = 0; i < t->spikes.count; i++) {
			const struct spike *s = &t->spikes.items[i];
			bool is_in = s->kind == SPIKE_LEVEL_SHIFT ? starts_in(f, s->span, 0)
								  : overlaps(f, s->span);

			t->covered[i] |= is_in;
			t->explained[i] |= is_in && f->verdict <= VERDICT_SUGGESTIVE;
		}
	}
}

void cover_measure(struct finding *f, struct analysis *a)
{
	const struct tested_route *t = &a->routes[f->route];
	const struct lineup *l = &f->whole;
	int64_t blur = a->bucket_ns / a->series->tick_ns;
	size_t inside = 0;

	f->trigger = l->evaluable ? (double)l->hit / (double)l->evaluable : NAN;
	if (!l->spans)
		return;
	mark(a, f);
	for (size_t i = 0; i < t->spikes.count; i++)
		inside += starts_in(f, t->spikes.items[i].span, blur);
	f->coverage = t->spikes.count ? (double)inside / (double)t->spikes.count : 0;
	f->coverage_time = t->lost_s > 0 ? fmin(1, l->lost_s / t->lost_s) : 0;
}
