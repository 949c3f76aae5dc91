#include "correlate/rhythm.h"

enum { PHASES = 20 };

static const struct {
	const char *name;
	int64_t period_ns;
	bool is_fitted;
} rhythms[RHYTHMS] = {
	{ "hourly", 3600 * NS_PER_S, false },
	{ "checkpoint_timeout", 300 * NS_PER_S, true },
	{ "autovacuum_naptime", 60 * NS_PER_S, true },
};

static int64_t ceil_to(int64_t t, int64_t period, int64_t phase)
{
	int64_t over = (t - phase) % period;

	over += over < 0 ? period : 0;
	return over ? t + period - over : t;
}

/* The twentieth of the period with most slow requests in [first, last). */
static int64_t fit_phase(const struct view *v, int64_t first_ns, int64_t last_ns, int64_t period_ns)
{
	int64_t width_ns = period_ns / PHASES;
	double slow[PHASES] = { 0 };
	size_t best = 0;

	for (int64_t t = ceil_to(first_ns, period_ns, 0); t + width_ns <= last_ns; t += width_ns) {
		struct span span = { series_tick(v->series, t),
			series_tick(v->series, t + width_ns) };

		slow[(size_t)(t % period_ns / width_ns)] += view_sum(v, span).slow;
	}
	for (size_t i = 1; i < PHASES; i++)
		best = slow[i] > slow[best] ? i : best;
	/* What begins late in the one before spills over into it. */
	size_t before = (best + PHASES - 1) % PHASES;
	if (slow[before] * 4 > slow[best])
		best = before;
	return (int64_t)best * width_ns;
}

static bool add(struct condition_list *list, const char *name, int64_t from_ns, int64_t to_ns,
	int64_t period_ns, int64_t phase_ns)
{
	struct condition *c = condition_get(list, "rhythm", name, "built-in");

	if (!c)
		return false;
	for (int64_t t = ceil_to(from_ns, period_ns, phase_ns); t <= to_ns; t += period_ns)
		if (!condition_add_time(c, t, t, false))
			break;
	c->scheduled = c->count;
	c->is_weak = true;
	c->from_ns = from_ns;
	c->to_ns = to_ns;
	return true;
}

bool rhythm_conditions(struct condition_list *list, const struct view *v)
{
	int64_t first = v->series->first_ns, last = v->series->last_ns;
	int64_t middle = first + (last - first) / 2;

	for (size_t i = 0; i < LENGTH(rhythms); i++) {
		int64_t period = rhythms[i].period_ns, from = rhythms[i].is_fitted ? middle : first;

		if ((last - from) / period < RHYTHM_CYCLES_MIN)
			continue;
		int64_t phase = rhythms[i].is_fitted ? fit_phase(v, first, middle, period) : 0;
		if (!add(list, rhythms[i].name, from, last, period, phase))
			return false;
	}
	condition_list_finish(list, first, last);
	return true;
}
