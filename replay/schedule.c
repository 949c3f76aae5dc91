#include "replay/schedule.h"

static int64_t scaled(const struct schedule *s, int64_t ns)
{
	return s->speed == 1 ? ns : (int64_t)((double)ns / s->speed);
}

int64_t schedule_length(const struct schedule *s)
{
	int64_t sum = 0;

	for (size_t i = 0; i < s->window_count; i++)
		sum += s->windows[i].to_ns - s->windows[i].from_ns;
	return scaled(s, sum);
}

int64_t schedule_at(const struct schedule *s, int64_t capture_ns, bool *ret_is_inside)
{
	int64_t before = 0;

	*ret_is_inside = false;
	for (size_t i = 0; i < s->window_count; i++) {
		const struct replay_window *w = &s->windows[i];

		if (capture_ns < w->from_ns)
			break;
		if (capture_ns < w->to_ns) {
			*ret_is_inside = true;
			return scaled(s, before + capture_ns - w->from_ns);
		}
		before += w->to_ns - w->from_ns;
	}
	return scaled(s, before);
}

int64_t schedule_due(const struct schedule *s, const struct schedule_turn *t)
{
	if (!t->has_previous || (!t->is_chained && !s->is_closed))
		return t->offset_ns;
	return t->previous_end_ns + (t->think_ns > 0 ? t->think_ns : 0);
}

struct schedule_lag schedule_lag(int64_t due_ns, int64_t free_ns, int64_t sent_ns)
{
	int64_t could_ns = free_ns > due_ns ? free_ns : due_ns;

	return (struct schedule_lag){
		.queue_ns = could_ns - due_ns,
		.lateness_ns = sent_ns > could_ns ? sent_ns - could_ns : 0,
	};
}
