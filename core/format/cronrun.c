#include "core/format/cronrun.h"

#include "core/format/wall.h"

/* A change of the clock by more is none to catch up with. */
enum { LARGE_MIN = 180, DAY_S = 86400 };

/* Time between two changes of the zone; local minutes are counted since 1970. */
struct segment {
	int64_t from_s, until_s, offset_s;
	int64_t from_min, until_min; /* local; until is the first one beyond */
	bool has_before;
};

struct walk {
	const struct cron_fields *f;
	const struct zone *zone;
	const struct cron_span *span;
	bool is_wild;
	int64_t ran_min; /* the daemon's virtualTime: local minutes up to here have run */
	int64_t last_start_s; /* what was told last */
	bool is_done;
};

static int64_t ceil_div(int64_t a, int64_t b)
{
	return a / b + (a % b > 0);
}

static struct segment segment_at(const struct zone *z, int64_t utc_s)
{
	struct segment g;

	g.offset_s = zone_at(z, utc_s, &g.from_s, &g.until_s)->offset_ns / NS_PER_S;
	g.has_before = g.from_s != INT64_MIN;
	if (!g.has_before)
		g.from_s = utc_s;
	g.from_min = ceil_div(g.from_s + g.offset_s, 60);
	g.until_min = g.until_s == INT64_MAX ? INT64_MAX : ceil_div(g.until_s + g.offset_s, 60);
	return g;
}

/* The first instant, not before from_s, at which the clock shows that minute or a later one. */
static int64_t clock_reaches(const struct zone *z, int64_t minute, int64_t from_s)
{
	for (;;) {
		struct segment g = segment_at(z, from_s);
		int64_t at = minute * 60 - g.offset_s;

		at = at < from_s ? from_s : at;
		if (at < g.until_s)
			return at;
		from_s = g.until_s;
	}
}

static void tell(struct walk *w, int64_t start_s, int64_t minute, int width_min)
{
	int64_t end_s = start_s;

	if (start_s > w->span->last_s) {
		w->is_done = true;
		return;
	}
	if (width_min)
		end_s = clock_reaches(w->zone, minute + width_min, start_s);
	if (end_s < w->span->first_s || start_s == w->last_start_s)
		return;
	w->last_start_s = start_s;
	w->is_done = !w->span->emit(w->span->data, start_s, end_s);
}

static void run_minute(struct walk *w, const struct segment *g, int64_t minute, int width_min)
{
	bool is_gap = minute < g->from_min;

	/* In a gap whatever has a star runs only when its value may lie behind it. */
	if (is_gap && w->is_wild && minute + width_min < g->from_min)
		return;
	if (!w->is_wild && minute <= w->ran_min)
		return;
	tell(w, is_gap ? g->from_s : minute * 60 - g->offset_s, minute, width_min);
}

static void run_day(struct walk *w, const struct segment *g, int64_t day, int64_t from_min)
{
	const struct cron_fields *f = w->f;

	for (int h = 0; h < 24 && !w->is_done; h++) {
		if (!(f->hour >> h & 1))
			continue;
		for (int m = 0; m < 60 && !w->is_done; m++) {
			int64_t minute = day * 1440 + h * 60 + m;
			int width = f->minute_width[m] + f->hour_width[h] * 60 + w->span->delay_min;

			if ((f->minute >> m & 1) && minute >= from_min && minute < g->until_min)
				run_minute(w, g, minute, width);
		}
	}
}

/* The local minutes [from, the segment's end) in order. */
static void run_segment(struct walk *w, const struct segment *g, int64_t from_min)
{
	int64_t last_min = (w->span->last_s + g->offset_s) / 60;

	last_min = last_min < g->until_min ? last_min : g->until_min - 1;
	for (int64_t day = from_min / 1440 - (from_min < 0); day * 1440 <= last_min; day++) {
		if (w->is_done)
			return;
		if (cron_fields_fit_day(w->f, day))
			run_day(w, g, day, from_min);
	}
}

/* What the daemon makes of a changed clock: the local minute from which to look. */
static int64_t wake(struct walk *w, const struct segment *g)
{
	int64_t ahead = g->from_min - w->ran_min;

	if (ahead > LARGE_MIN || ahead < -LARGE_MIN)
		w->ran_min = g->from_min - 1;
	return ahead > 1 ? w->ran_min + 1 : g->from_min;
}

static struct walk walk_of(
	const struct cron_fields *f, const struct zone *z, const struct cron_span *span)
{
	return (struct walk){
		.f = f,
		.zone = z,
		.span = span,
		.is_wild = f->is_minute_star || f->is_hour_star,
		.last_start_s = INT64_MIN,
	};
}

void cron_run(const struct cron_fields *f, const struct zone *host, const struct cron_span *span)
{
	struct walk w = walk_of(f, host, span);
	/* A start that may be delayed lies before what it reaches. */
	int64_t start_s = span->first_s - 2 * DAY_S;
	struct segment g = segment_at(host, start_s);

	w.ran_min = g.has_before ? segment_at(host, g.from_s - 1).until_min - 1 : g.from_min - 1;
	for (;; g = segment_at(host, g.until_s)) {
		int64_t from_min = wake(&w, &g);
		int64_t start_min = ceil_div(start_s + g.offset_s, 60);

		run_segment(&w, &g, from_min > start_min ? from_min : start_min);
		if (g.until_min - 1 > w.ran_min)
			w.ran_min = g.until_min - 1;
		if (w.is_done || g.until_s > span->last_s)
			return;
	}
}

/* In the hour that the daemon's own clock repeats. */
static bool is_repeated(const struct zone *host, int64_t utc_s)
{
	struct segment g = segment_at(host, utc_s);

	if (!g.has_before)
		return false;
	int64_t repeated_s = segment_at(host, g.from_s - 1).offset_s - g.offset_s;
	return repeated_s > 0 && repeated_s <= LARGE_MIN * 60 && utc_s < g.from_s + repeated_s;
}

struct filter {
	const struct cron_span *to;
	const struct zone *host;
};

static bool emit_unless_repeated(void *data, int64_t start_s, int64_t end_s)
{
	const struct filter *filter = data;

	return is_repeated(filter->host, start_s) ||
	       filter->to->emit(filter->to->data, start_s, end_s);
}

void cron_run_zoned(const struct cron_fields *f, const struct zone *zone, const struct zone *host,
	const struct cron_span *span)
{
	struct filter filter = { span, host };
	struct cron_span filtered = *span;
	struct walk w = walk_of(f, zone, span);

	if (host && !w.is_wild) {
		filtered.emit = emit_unless_repeated;
		filtered.data = &filter;
		w.span = &filtered;
	}
	w.is_wild = true;
	int64_t start_s = span->first_s - 2 * DAY_S;
	for (struct segment g = segment_at(zone, start_s);; g = segment_at(zone, g.until_s)) {
		int64_t start_min = ceil_div(start_s + g.offset_s, 60);

		run_segment(&w, &g, g.from_min > start_min ? g.from_min : start_min);
		if (w.is_done || g.until_s > span->last_s)
			return;
	}
}
