#include "correlate/sham.h"

#include <math.h>
#include <stdlib.h>

/* The windows moved by so many ticks; those that leave what was seen come in again at
 * the other end. */
static size_t move(struct span *to, const struct condition *c, const struct lineup *l, int64_t by)
{
	int64_t whole = l->seen.to_tick - l->seen.from_tick;
	size_t used = 0;

	for (size_t i = 0; i < c->count; i++) {
		struct span s = l->spans[i];

		if (!l->placed[i])
			continue;
		s.from_tick += by;
		s.to_tick += by;
		if (s.to_tick > l->seen.to_tick) {
			s.from_tick -= whole;
			s.to_tick -= whole;
		}
		if (s.from_tick >= l->seen.from_tick)
			to[used++] = s;
	}
	return used;
}

bool sham_measure(
	struct sham *ret, const struct view *v, const struct condition *c, const struct lineup *l)
{
	int64_t period = c->period_ns / v->series->tick_ns;
	int64_t window = l->evaluable ? (int64_t)(l->around.taken_ticks / (double)l->evaluable) : 0;
	int64_t room = period - 2 * window;
	struct span *moved;

	*ret = (struct sham){ .best_lift = NAN };
	if (room < SHAMS + 1 || !l->evaluable)
		return true;
	moved = calloc(c->count + 1, sizeof(*moved));
	if (!moved)
		return false;
	bool ok = true;
	for (int64_t k = 0; ok && k < SHAMS; k++) {
		size_t count = move(moved, c, l, window + room * k / (SHAMS - 1));
		struct lift sham;

		ok = lift_compare(&sham, v, moved, NULL, count, l->seen);
		if (!ok || sham.n1 <= 0)
			continue;
		ret->count++;
		ret->reached += sham.lift >= l->lift;
		ret->best_lift = fmax(ret->best_lift, sham.lift);
	}
	free(moved);
	return ok;
}
