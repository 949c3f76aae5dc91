#include "correlate/baseline.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"
#include "correlate/quiet.h"
#include "correlate/shift.h"

static const struct baseline_segment *level_at(const struct baseline *base, size_t k, int64_t tick)
{
	if (!base->levels)
		return &base->segments[k];
	return &base->levels[k * base->season.count + season_slot(&base->season, tick)];
}

const struct baseline_segment *baseline_at(const struct baseline *base, int64_t tick)
{
	return level_at(base, base->count == 2 && tick >= base->segments[1].from_tick, tick);
}

const struct baseline_segment *baseline_before(const struct baseline *base, int64_t tick)
{
	return level_at(base, 0, tick);
}

void baseline_free(struct baseline *base)
{
	season_free(&base->season);
	free(base->levels);
	*base = (struct baseline){ 0 };
}

/* Limits around a latency; what a floor hides has no p99. */
static void set_limits(struct baseline_segment *segment, double us, bool is_floored)
{
	segment->bin = series_bin((int64_t)(us + 0.5));
	segment->slow_bin = series_bin((int64_t)fmax(2 * us, us + 5000));
	segment->limit_ms = us / 1e3;
	segment->p99_ms = segment->n < QUANTILE_P99_MIN || is_floored ? NAN : us / 1e3;
	segment->slow_ms = series_bin_us(segment->slow_bin) / 1e3;
}

/* One level per segment and slot of the season. */
static bool lay_out(struct baseline *base)
{
	size_t slots = base->season.count;

	free(base->levels);
	base->levels = NULL;
	if (!base->season.factor || !base->count)
		return true;
	base->levels = calloc(base->count * slots, sizeof(*base->levels));
	for (size_t i = 0; base->levels && i < base->count * slots; i++) {
		struct baseline_segment *level = &base->levels[i];

		*level = base->segments[i / slots];
		set_limits(level, level->limit_ms * 1e3 * base->season.factor[i % slots],
			base->is_floored);
	}
	return base->levels != NULL;
}

static size_t bucket_of(const struct bucket_list *buckets, int64_t wall_ns)
{
	int64_t i = (wall_ns - buckets->items[0].start_ns) / buckets->width_ns;

	return i < 0 ? 0 : (size_t)i >= buckets->count ? buckets->count - 1 : (size_t)i;
}

/* What a fit works on: the route with its season taken out, and room. */
struct work {
	const struct series *s;
	struct series_route flat;
	struct bucket_list *buckets;
	struct quiet quiet;
};

static void work_free(struct work *w)
{
	free(w->flat.cells);
	quiet_free(&w->quiet);
}

static bool flatten(struct work *w, const struct baseline *base, const struct series_route *r)
{
	free(w->flat.cells);
	return season_flatten(&base->season, r, &w->flat);
}

static void take_quiet(const struct baseline *base, struct baseline_segment *segment,
	const struct work *w, uint32_t bin)
{
	segment->n = w->quiet.n;
	segment->exposure =
		w->quiet.exposure * (double)w->s->tick_ns / (double)w->buckets->width_ns;
	set_limits(segment, series_bin_us(bin), base->is_floored);
}

static void fit_segment(struct baseline *base, struct baseline_segment *segment, struct work *w,
	size_t from, size_t to)
{
	uint32_t bin = quiet_find(&w->quiet, &w->flat, w->buckets, &base->season, from, to);

	take_quiet(base, segment, w, bin);
}

static bool is_known(const struct baseline *base, const struct baseline_segment *segment)
{
	return base->is_floored ? segment->n >= QUIET_FLOORED_MIN : !isnan(segment->p99_ms);
}

/* The bucket in which it happened is half of each: it tells neither level. */
static bool split_at(struct baseline *base, struct work *w, const struct shift *shift)
{
	struct baseline_segment *segments = base->segments;
	size_t border;

	base->shift_ns = series_tick_ns(w->s, shift->tick);
	base->shift_ratio = shift->ratio;
	base->shift_quantile = shift->quantile;
	segments[1].from_tick = shift->tick;
	border = bucket_of(w->buckets, base->shift_ns);
	fit_segment(base, &segments[0], w, 0, border ? border : 1);
	fit_segment(base, &segments[1], w, border + 1, w->buckets->count);
	base->has_shift = is_known(base, &segments[0]) && is_known(base, &segments[1]);
	base->count = base->has_shift ? 2 : 0;
	return base->has_shift;
}

static void fit_levels(struct baseline *base, struct work *w)
{
	struct shift shift;

	base->segments[0].from_tick = INT64_MIN;
	base->has_shift = false;
	if (!base->is_floored && shift_find(&shift, &w->flat) && split_at(base, w, &shift))
		return;
	fit_segment(base, &base->segments[0], w, 0, w->buckets->count);
	base->count = is_known(base, &base->segments[0]) ? 1 : 0;
}

/* Season, levels, and both again without what was flagged and with the step known. */
static bool fit_all(struct baseline *base, struct work *w, const struct series_route *r)
{
	for (int round = 0; round < 3; round++) {
		season_free(&base->season);
		if (!base->is_floored && !season_fit(&base->season, w->s, w->buckets,
						 base->has_shift ? base->shift_ns : INT64_MAX))
			return false;
		if (!flatten(w, base, r))
			return false;
		fit_levels(base, w);
		if (!base->season.factor)
			break;
	}
	return lay_out(base);
}

bool baseline_fit(struct baseline *base, const struct series *s, const struct series_route *r,
	struct bucket_list *buckets)
{
	struct work w = { .s = s, .buckets = buckets };
	bool ok = true;

	*base = (struct baseline){ .is_floored = r->floor_us > 0 };
	if (r->requests < (base->is_floored ? QUIET_FLOORED_MIN : QUANTILE_P99_MIN))
		return true;
	ok = quiet_open(&w.quiet, buckets->count) && fit_all(base, &w, r);
	work_free(&w);
	if (!ok)
		baseline_free(base);
	return ok;
}

static bool is_loud(const struct bucket *b, const struct series *s, int64_t width_ns,
	const struct span *loud, size_t count)
{
	int64_t from = series_tick(s, b->start_ns), to = series_tick(s, b->start_ns + width_ns);
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (loud[middle].to_tick <= from)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && loud[low].from_tick < to;
}

static void refit_segment(struct baseline *base, size_t k, struct work *w)
{
	struct baseline_segment *segment = &base->segments[k];
	bool has_next = k + 1 < base->count;
	size_t border = base->has_shift ? bucket_of(w->buckets, base->shift_ns) : 0;
	size_t from = k ? border + 1 : 0, to = has_next ? border : w->buckets->count;
	uint64_t all = 0;

	uint32_t bin = quiet_again(&w->quiet, &w->flat, w->buckets, from, to);
	for (size_t i = from; i < to; i++)
		all += w->buckets->items[i].state == BUCKET_GAP ? 0 : w->buckets->items[i].n;
	if (w->quiet.n < (base->is_floored ? QUIET_FLOORED_MIN : QUANTILE_P99_MIN) ||
		(w->quiet.n * 2 < all && !base->is_floored))
		return;
	take_quiet(base, segment, w, bin);
}

bool baseline_refit(struct baseline *base, const struct series *s, const struct series_route *r,
	struct bucket_list *buckets, const struct span *loud, size_t count)
{
	struct work w = { .s = s, .buckets = buckets };
	bool had_season = base->season.factor != NULL, ok = quiet_open(&w.quiet, buckets->count);

	for (size_t i = 0; i < buckets->count; i++)
		buckets->items[i].is_flagged |=
			is_loud(&buckets->items[i], s, buckets->width_ns, loud, count);
	if (ok && had_season) {
		season_free(&base->season);
		ok = season_fit(
			&base->season, s, buckets, base->has_shift ? base->shift_ns : INT64_MAX);
	}
	ok = ok && flatten(&w, base, r);
	for (size_t k = 0; ok && k < base->count; k++)
		refit_segment(base, k, &w);
	ok = ok && lay_out(base);
	work_free(&w);
	return ok;
}
