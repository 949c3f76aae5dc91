#include "recipes/layout.h"

#define WINDOW_MIN_S 2.0
#define AROUND_S 0.9 /* quiet traffic of each window, if it can be had */
#define LEAD_SHARE 0.55 /* of that, how much stands before the occurrence */
#define RUN_IN_S 0.15 /* arrivals after the start that may still meet the stall */
#define DRAIN_SHARE 0.3 /* of the stall: what queued up behind it is served */
#define DRAIN_MAX_S 0.5
#define HALF_SHARE_MIN 0.6 /* of the occurrence's rest that must be found behind the hole */
#define SLICE_MAX_S 1.6
#define QUIET_SLICE_MAX_S 1.2
#define WARM_UP_S 1.2

static int64_t ns(double s)
{
	return (int64_t)(s * 1e9);
}

static double seconds(int64_t from_ns, int64_t to_ns)
{
	return (double)(to_ns - from_ns) / 1e9;
}

static void add(struct layout *l, struct recipe_window w)
{
	l->windows[l->count++] = w;
	l->duration_s += seconds(w.from_ns, w.to_ns);
}

static void add_whole(struct layout *l, struct span o, struct span window, int64_t k)
{
	add(l, (struct recipe_window){ .from_ns = window.from_ns,
		       .to_ns = window.to_ns,
		       .inside_from_s = seconds(window.from_ns, o.from_ns),
		       .inside_to_s = seconds(window.from_ns, o.to_ns),
		       .occurrence = k,
		       .is_quiet = true });
}

/* Room for the part behind the hole: until the next occurrence or the end. */
static bool add_halves(
	struct layout *l, struct span o, struct span window, int64_t limit_ns, int64_t k)
{
	double inside_s = seconds(o.from_ns, o.to_ns);
	double run_in_s = inside_s * 0.3 < RUN_IN_S ? inside_s * 0.3 : RUN_IN_S;
	int64_t cut_ns = o.from_ns + ns(run_in_s);
	double drain_s =
		inside_s * DRAIN_SHARE < DRAIN_MAX_S ? inside_s * DRAIN_SHARE : DRAIN_MAX_S;
	int64_t on_ns = o.to_ns + ns(drain_s), rest_ns = window.to_ns - cut_ns;
	double rest_inside_s = inside_s - run_in_s;

	if (on_ns + rest_ns > limit_ns)
		rest_ns = limit_ns - on_ns;
	if ((double)rest_ns / 1e9 < HALF_SHARE_MIN * rest_inside_s)
		return false;
	if (rest_inside_s > (double)rest_ns / 1e9)
		rest_inside_s = (double)rest_ns / 1e9;
	add(l, (struct recipe_window){ .from_ns = window.from_ns,
		       .to_ns = cut_ns,
		       .inside_from_s = seconds(window.from_ns, o.from_ns),
		       .inside_to_s = seconds(window.from_ns, cut_ns),
		       .occurrence = k,
		       .is_quiet = true });
	add(l, (struct recipe_window){ .from_ns = on_ns,
		       .to_ns = on_ns + rest_ns,
		       .inside_from_s = 0,
		       .inside_to_s = rest_inside_s,
		       .occurrence = k,
		       .is_quiet = true });
	return true;
}

static double lead_of(struct span o)
{
	double inside_s = seconds(o.from_ns, o.to_ns);
	double length_s = inside_s + AROUND_S > WINDOW_MIN_S ? inside_s + AROUND_S : WINDOW_MIN_S;

	return (length_s - inside_s) * LEAD_SHARE;
}

/* Half of the time between two occurrences is the later one's, at most. */
static int64_t start_of(const struct span *all, size_t i, struct span capture)
{
	int64_t lead_ns = ns(lead_of(all[i]));
	int64_t before_ns =
		i > 0 ? (all[i].from_ns - all[i - 1].to_ns) / 2 : all[i].from_ns - capture.from_ns;

	return all[i].from_ns - (lead_ns < before_ns ? lead_ns : before_ns);
}

/* The window that an occurrence would like, and what its neighbours leave it. */
static struct span window_of(
	const struct span *all, size_t count, size_t i, struct span capture, int64_t *ret_limit_ns)
{
	struct span o = all[i], window;
	double lead_s = lead_of(o);

	*ret_limit_ns = i + 1 < count ? start_of(all, i + 1, capture) : capture.to_ns;
	if (*ret_limit_ns < o.to_ns)
		*ret_limit_ns = o.to_ns;
	window.from_ns = start_of(all, i, capture);
	window.to_ns = o.to_ns + ns(lead_s / LEAD_SHARE * (1 - LEAD_SHARE));
	return window;
}

static void add_occurrence(struct layout *l, const struct span *all, size_t count, size_t i,
	struct span capture, bool has_hole)
{
	int64_t k = (int64_t)(l->count ? l->windows[l->count - 1].occurrence + 1 : 0), limit_ns;
	struct span window = window_of(all, count, i, capture, &limit_ns);

	if (has_hole && add_halves(l, all[i], window, limit_ns, k))
		return;
	if (window.to_ns > limit_ns)
		window.to_ns = limit_ns;
	add_whole(l, all[i], window, k);
}

/* Traffic behind a hole is needed only where there is a hole. */
static bool has_room(const struct span *all, size_t count, size_t i, struct span capture)
{
	struct layout trial = { 0 };
	int64_t limit_ns;
	struct span window = window_of(all, count, i, capture, &limit_ns);

	return add_halves(&trial, all[i], window, limit_ns, 0);
}

void layout_occurrences(struct layout *l, const struct span *occurrences, size_t count,
	struct span capture, bool has_hole)
{
	size_t wanted = count < LAYOUT_OCCURRENCES ? count : LAYOUT_OCCURRENCES;
	size_t first = 0, last = count;

	*l = (struct layout){ 0 };
	/* The capture's ends are where room is missing. */
	while (has_hole && last - first > wanted && !has_room(occurrences, count, first, capture))
		first++;
	while (has_hole && last - first > wanted &&
		!has_room(occurrences, count, last - 1, capture))
		last--;
	for (size_t i = 0; i < wanted; i++) {
		size_t range = last - first - 1;
		size_t at =
			first + (wanted > 1 ? (i * range + (wanted - 1) / 2) / (wanted - 1) : 0);

		add_occurrence(l, occurrences, count, at, capture, has_hole);
	}
}

/* The middle of the i-th of equal parts of a range, at most max_s long. */
static struct span slice_at(struct span range, size_t i, double max_s)
{
	struct span slots[LAYOUT_OCCURRENCES];
	int64_t room_ns, length_ns;

	span_slice(range, slots, LAYOUT_OCCURRENCES);
	room_ns = slots[i].to_ns - slots[i].from_ns;
	length_ns = room_ns < ns(max_s) ? room_ns : ns(max_s);
	slots[i].from_ns += (room_ns - length_ns) / 2;
	slots[i].to_ns = slots[i].from_ns + length_ns;
	return slots[i];
}

static void add_slices(struct layout *l, struct span range, double max_s, bool is_quiet)
{
	if (range.to_ns <= range.from_ns)
		return;
	for (size_t i = 0; i < LAYOUT_OCCURRENCES; i++) {
		struct span slice = slice_at(range, i, max_s);

		add(l, (struct recipe_window){ .from_ns = slice.from_ns,
			       .to_ns = slice.to_ns,
			       .inside_to_s = is_quiet ? 0 : seconds(slice.from_ns, slice.to_ns),
			       .occurrence = is_quiet ? -1 : (int64_t)i,
			       .is_quiet = is_quiet });
	}
}

/* A server that was just reset is cold: the first second in front of the first slice
 * is replayed by every arm and judged in none. Measured on the demo's stale statistics:
 * the reference arm's first quiet slices were twice as slow as its later ones. */
static void add_warm_up(struct layout *l, struct span range, double slice_s)
{
	/* To the nanosecond: a window may not begin before the one before it ends. */
	int64_t to_ns = slice_at(range, 0, slice_s).from_ns;
	int64_t from_ns = to_ns - ns(WARM_UP_S);

	if (from_ns < range.from_ns)
		from_ns = range.from_ns;
	if (to_ns > from_ns)
		add(l, (struct recipe_window){
			       .from_ns = from_ns, .to_ns = to_ns, .occurrence = -1 });
}

void layout_state(struct layout *l, struct span before, struct span after)
{
	bool has_quiet = before.to_ns > before.from_ns;

	*l = (struct layout){ 0 };
	add_warm_up(l, has_quiet ? before : after, has_quiet ? QUIET_SLICE_MAX_S : SLICE_MAX_S);
	add_slices(l, before, QUIET_SLICE_MAX_S, true);
	add_slices(l, after, SLICE_MAX_S, false);
}

bool layout_place(const struct layout *l, int64_t instant_ns, double *ret_s)
{
	double base_s = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct recipe_window *w = &l->windows[i];
		bool is_cut = i + 1 < l->count && w->occurrence >= 0 &&
			      l->windows[i + 1].occurrence == w->occurrence;
		double length_s = seconds(w->from_ns, w->to_ns);

		/* The reference arm alone replays it, and starts nothing. */
		if (w->is_quiet && w->occurrence < 0)
			continue;
		if (instant_ns >= w->from_ns && instant_ns < w->to_ns) {
			*ret_s = base_s + seconds(w->from_ns, instant_ns);
			return true;
		}
		base_s += length_s;
		if (is_cut && instant_ns >= w->to_ns && instant_ns < l->windows[i + 1].from_ns) {
			*ret_s = base_s;
			return true;
		}
	}
	return false;
}
