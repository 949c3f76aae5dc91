#include "correlate/rank_rhythm.h"

#include <math.h>
#include <stdlib.h>

#include "correlate/cover.h"
#include "correlate/family.h"
#include "correlate/group.h"
#include "correlate/verdict.h"

static bool anything_lines_up(const struct analysis *a)
{
	for (size_t i = 0; i < a->finding_count; i++)
		if (a->findings[i].verdict == VERDICT_LINES_UP)
			return true;
	return false;
}

/* The p of the worst route only: its slow time gave the phases. */
static bool test(struct finding *f, const struct analysis *a)
{
	const struct view *v = &a->routes[0].view;
	uint64_t seed = family_seed(a, f->condition->id, 0);
	struct lineup_question q = { v, v, f->condition, seed, VERDICT_LEVEL / RHYTHMS };

	f->null = "every cycle shifted by itself";
	if (!lineup_test(&f->whole, &q) ||
		!lag_measure(&f->lag, v, f->condition, &f->whole, seed) ||
		!sham_measure(&f->sham, v, f->condition, &f->whole))
		return false;
	f->p = f->q = fmin(1, RHYTHMS * f->whole.p);
	verdict_judge(f, a);
	return true;
}

static bool is_given(const struct analysis *a, const struct finding *f)
{
	for (size_t i = 0; i < a->finding_count; i++) {
		const struct finding *other = &a->findings[i];

		if (!other->metric && other->verdict <= VERDICT_SUGGESTIVE &&
			group_of(a, f, &other, 1))
			return true;
	}
	return false;
}

static void keep(struct analysis *a, struct finding *f)
{
	f->group = a->finding_count + 1;
	verdict_say(f, VERDICT_SUGGESTIVE,
		"%zu of %zu turns hit, luck alone hits %.1f; a rhythm that nobody gave an event for",
		f->whole.hit, f->whole.evaluable, f->whole.hit_by_luck);
	cover_measure(f, a);
	a->findings[a->finding_count++] = *f;
}

bool rank_rhythms(struct analysis *a)
{
	if (!a->spiking_count || anything_lines_up(a))
		return true;
	if (!rhythm_conditions(&a->rhythms, &a->routes[0].view))
		return false;
	for (size_t i = 0; i < a->rhythms.count; i++) {
		struct finding f = { .condition = &a->rhythms.items[i] };

		if (!test(&f, a)) {
			lineup_free(&f.whole);
			return false;
		}
		if (f.verdict == VERDICT_SUGGESTIVE && !is_given(a, &f))
			keep(a, &f);
		else
			lineup_free(&f.whole);
	}
	return true;
}
