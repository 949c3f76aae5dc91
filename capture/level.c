#include "capture/level.h"

#include <math.h>

static bool settle(struct level *l, int64_t at_ns)
{
	int64_t held = at_ns > l->since_ns ? at_ns - l->since_ns : l->since_ns - at_ns;
	bool ok = !l->has_begun || hist_add(&l->held_ns, l->now, (uint64_t)held);

	l->since_ns = at_ns;
	l->has_begun = true;
	return ok;
}

bool level_change(struct level *l, int64_t at_ns, int by)
{
	if (!settle(l, at_ns))
		return false;
	if (by > 0 || l->now >= (uint32_t)-by)
		l->now += (uint32_t)by;
	else
		l->now = 0;
	if (l->now > l->max)
		l->max = l->now;
	return true;
}

bool level_finish(struct level *l, int64_t at_ns, int64_t span_ns)
{
	if (l->has_begun && !settle(l, at_ns))
		return false;
	if (span_ns <= 0 || (uint64_t)span_ns <= l->held_ns.total)
		return true;
	return hist_add(&l->held_ns, 0, (uint64_t)span_ns - l->held_ns.total);
}

double level_mean(const struct level *l)
{
	return l->held_ns.total ? l->held_ns.sum / (double)l->held_ns.total : (double)NAN;
}

double level_quantile(const struct level *l, double q)
{
	return l->held_ns.total ? (double)hist_quantile(&l->held_ns, q) : (double)NAN;
}

void level_free(struct level *l)
{
	hist_free(&l->held_ns);
}
