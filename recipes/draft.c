#include "recipes/draft.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/model/recipe.h"
#include "recipes/causes.h"
#include "recipes/layout.h"
#include "recipes/own.h"
#include "recipes/paths.h"
#include "recipes/production.h"

#define BLOCKS 10 /* pieces of quiet time, and slices of a state */
#define SETTLE_S 0.5 /* after an onset, before its first slice */
#define HOLE_SHARE 0.5 /* arrivals below this share of the usual rate: a hole */
#define HOLE_MIN_S 0.1

/* What is decided about production, before any run. */
struct basis {
	struct production production;
	struct causes causes;
	const struct cause *cause; /* whose runs are the occurrences, or NULL */
	double lag_s;
	struct span *slow, *inside; /* all occurrences, and those wholly in the capture */
	size_t slow_count, inside_count;
	struct span quiet[BLOCKS];
	size_t quiet_count;
	int64_t guard_ns;
	const char *shape; /* "occurrences", "state", "always" */
	int64_t onset_ns;
	bool has_hole;
	struct layout layout;
	struct production_sets sets;
	double q;
	struct interval ratio;
};

static int64_t ns(double s)
{
	return (int64_t)(s * 1e9);
}

static struct span whole(const struct basis *b)
{
	return (struct span){ b->production.start_ns, b->production.end_ns };
}

/* ---- when was it slow */

/* The onset that correlate found: a level shift, of the judged route if it is named. */
static bool find_onset(struct basis *b, const struct json *correlation)
{
	const struct json *spikes = json_get(correlation, "spikes");

	for (size_t i = 0; i < json_count(spikes); i++) {
		const struct json *s = json_at(spikes, i);
		const char *route = json_text(json_get(s, "route"), "");
		const char *start = json_text(json_get(s, "start"), "");

		if (strcmp(json_text(json_get(s, "kind"), ""), "level shift") == 0 &&
			(!*route || strcmp(route, b->production.route) == 0) &&
			clock_parse(slice_of(start), &b->onset_ns) &&
			b->onset_ns > b->production.start_ns && b->onset_ns < b->production.end_ns)
			return true;
	}
	return false;
}

/* Spikes themselves, when no condition's runs explain them. */
static size_t find_spikes(
	const struct basis *b, const struct json *correlation, struct span *spans, size_t max)
{
	const struct json *spikes = json_get(correlation, "spikes");
	size_t n = 0;

	for (size_t i = 0; i < json_count(spikes) && n < max; i++) {
		const struct json *s = json_at(spikes, i);
		const char *route = json_text(json_get(s, "route"), "");
		struct span at;

		if ((!*route || strcmp(route, b->production.route) == 0) &&
			clock_parse(slice_of(json_text(json_get(s, "start"), "")), &at.from_ns) &&
			clock_parse(slice_of(json_text(json_get(s, "end"), "")), &at.to_ns) &&
			at.to_ns > at.from_ns && at.from_ns >= b->production.start_ns &&
			at.to_ns <= b->production.end_ns)
			spans[n++] = at;
	}
	return spans_join(spans, n);
}

/* A step in the route's time-weighted p90, where correlate was not asked: the cut
 * that separates most, if it separates by half. */
static bool find_step(struct basis *b)
{
	struct span range = whole(b), pieces[20];
	double best = log(1.5);
	bool found = false;

	span_slice(range, pieces, LENGTH(pieces));
	for (size_t i = 3; i + 5 <= LENGTH(pieces); i++) {
		struct span sides[2] = { { range.from_ns, pieces[i].from_ns },
			{ pieces[i].from_ns, range.to_ns } };
		struct judge_set before = { 0 }, after = { 0 };
		struct err ignored = { 0 };
		double step;

		if (inside_collect(&before, b->production.requests, b->production.count, &sides[0],
			    1, &ignored) &&
			inside_collect(&after, b->production.requests, b->production.count,
				&sides[1], 1, &ignored) &&
			judge_set_seal(&before, &ignored) && judge_set_seal(&after, &ignored)) {
			step = log(
				judge_set_quantile(&after, 0.9) / judge_set_quantile(&before, 0.9));
			if (step > best) {
				best = step;
				b->onset_ns = pieces[i].from_ns;
				found = true;
			}
		}
		judge_set_free(&before);
		judge_set_free(&after);
	}
	return found;
}

/* An occurrence that the capture's end cuts through shows stalls that were not over:
 * it is neither judged nor quiet. */
static void use_occurrences(struct basis *b, size_t count)
{
	int64_t total = 0;

	b->shape = "occurrences";
	b->slow_count = count;
	for (size_t i = 0; i < count; i++) {
		total += b->slow[i].to_ns - b->slow[i].from_ns;
		if (b->slow[i].from_ns >= b->production.start_ns &&
			b->slow[i].to_ns <= b->production.end_ns)
			b->inside[b->inside_count++] = b->slow[i];
	}
	b->guard_ns = total / (int64_t)count / 2;
	if (b->guard_ns > NS_PER_S / 2)
		b->guard_ns = NS_PER_S / 2;
	span_slice(whole(b), b->quiet, BLOCKS);
	b->quiet_count = BLOCKS;
}

static void use_slices(struct basis *b, bool has_onset)
{
	struct span after = whole(b), before = whole(b);

	if (has_onset) {
		after.from_ns = b->onset_ns + ns(SETTLE_S);
		before.to_ns = b->onset_ns;
		span_slice(before, b->quiet, BLOCKS);
		b->quiet_count = BLOCKS;
		layout_state(&b->layout, before, after);
	} else {
		layout_state(&b->layout, (struct span){ 0, 0 }, after);
	}
	b->shape = has_onset ? "state" : "always";
	span_slice(after, b->inside, BLOCKS);
	b->inside_count = BLOCKS;
}

static bool find_hole(
	struct basis *b, const struct draft_options *o, const struct run *r, struct err *e)
{
	struct span *spans = calloc(b->inside_count + 1, sizeof(*spans));
	uint64_t *counts = calloc(b->inside_count + 1, sizeof(*counts));
	double in_s = 0, all_s = (double)(b->production.end_ns - b->production.start_ns) / 1e9;
	uint64_t in = 0;
	bool ok = spans && counts;

	for (size_t i = 0; ok && i < b->inside_count; i++) {
		int64_t length = b->inside[i].to_ns - b->inside[i].from_ns;

		spans[i] = (struct span){ b->inside[i].from_ns + length / 4,
			b->inside[i].to_ns - length / 8 };
		in_s += (double)(spans[i].to_ns - spans[i].from_ns) / 1e9;
	}
	ok = ok && production_arrivals(o->capture, spans, b->inside_count, counts, r, e);
	for (size_t i = 0; ok && i < b->inside_count; i++)
		in += counts[i];
	if (ok && all_s > in_s && in_s / (double)b->inside_count >= HOLE_MIN_S)
		b->has_hole = (double)in / in_s <
			      HOLE_SHARE * (double)(b->production.all - in) / (all_s - in_s);
	free(spans);
	free(counts);
	return ok;
}

static bool find_shape(
	struct basis *b, const struct draft_options *o, const struct run *r, struct err *e)
{
	size_t n;

	b->inside = calloc(RECIPE_SPANS_MAX, sizeof(*b->inside));
	b->slow = calloc(RECIPE_SPANS_MAX, sizeof(*b->slow));
	if (!b->inside || !b->slow)
		return err_set(e, ERR_ENV, "memory ran out");
	n = causes_occurrences(&b->causes, b->slow, RECIPE_SPANS_MAX, &b->cause, &b->lag_s);
	if (n == 0 && find_onset(b, o->correlation)) {
		use_slices(b, true);
		return true;
	}
	if (n == 0) {
		n = find_spikes(b, o->correlation, b->slow, RECIPE_SPANS_MAX);
		if (n < JUDGE_BLOCKS_MIN) {
			use_slices(b, find_step(b));
			return true;
		}
	}
	use_occurrences(b, n);
	if (!find_hole(b, o, r, e))
		return false;
	layout_occurrences(&b->layout, b->inside, b->inside_count, whole(b), b->has_hole);
	return true;
}

static bool measure(struct basis *b, const struct run *r, struct err *e)
{
	struct production_spans spans = { .inside = b->inside,
		.inside_count = b->inside_count,
		.slow = b->slow,
		.slow_count = b->slow_count,
		.quiet = b->quiet,
		.quiet_count = b->quiet_count,
		.guard_ns = b->guard_ns };

	if (!production_divide(&b->production, &spans, &b->sets, e))
		return false;
	b->q = judge_pick_quantile(&b->sets.inside);
	if (b->q == 0) {
		err_set(e, ERR_INPUT,
			"too few requests of '%.80s' were in flight while it was slow",
			b->production.route);
		return err_hint(e, "name the slow route with --route, or capture for longer");
	}
	b->ratio = judge_ratio(&b->sets.inside, &b->sets.outside, b->q, r->seed);
	return true;
}

/* ---- as JSON */

static struct json *span_list(const struct span *spans, size_t count)
{
	struct json *list = json_array();

	for (size_t i = 0; i < count; i++) {
		struct json *j = json_object();

		json_set_time(j, "from", spans[i].from_ns);
		json_set_time(j, "to", spans[i].to_ns);
		json_append(list, j);
	}
	return list;
}

static struct json *expectation_json(const struct basis *b)
{
	struct json *j = json_object();
	char fingerprint[24];

	snprintf(fingerprint, sizeof(fingerprint), "%016llx",
		(unsigned long long)b->production.fingerprint);
	json_set_text(j, "route", b->production.route);
	json_set_text(j, "fingerprint", fingerprint);
	json_set_number(j, "quantile", b->q);
	json_set_number(j, "baseline_ms", judge_set_quantile(&b->sets.outside, b->q));
	json_set_number(j, "spike_ms", judge_set_quantile(&b->sets.inside, b->q));
	json_set_number(j, "ratio", b->ratio.value);
	json_set_number(j, "ratio_low", b->ratio.low);
	json_set_number(j, "ratio_high", b->ratio.high);
	json_set_int(j, "requests_inside", (int64_t)b->sets.inside.count);
	json_set_int(j, "requests_outside", (int64_t)b->sets.outside.count);
	json_set_text(j, "shape", b->shape);
	if (b->cause) {
		json_set_text(j, "occurrences_of", b->cause->id);
		json_set_number(j, "lag_s", b->lag_s);
	}
	if (strcmp(b->shape, "state") == 0)
		json_set_time(j, "onset", b->onset_ns);
	json_set_number(j, "guard_s", (double)b->guard_ns / 1e9);
	json_set(j, "inside", span_list(b->inside, b->inside_count));
	json_set(j, "slow", span_list(b->slow, b->slow_count));
	json_set(j, "quiet", span_list(b->quiet, b->quiet_count));
	return j;
}

static struct json *cell_json(const struct basis *b)
{
	struct json *j = json_object(), *windows = json_array();

	for (size_t i = 0; i < b->layout.count; i++) {
		const struct recipe_window *w = &b->layout.windows[i];
		struct json *item = json_object();

		json_set_time(item, "from", w->from_ns);
		json_set_time(item, "to", w->to_ns);
		if (w->inside_to_s > w->inside_from_s) {
			struct json *inside = json_array();

			json_append_number(inside, w->inside_from_s);
			json_append_number(inside, w->inside_to_s);
			json_set(item, "inside_s", inside);
			json_set_int(item, "occurrence", w->occurrence);
		}
		json_set_bool(item, "quiet", w->is_quiet);
		json_append(windows, item);
	}
	json_set_number(j, "duration_s", b->layout.duration_s);
	json_set_bool(j, "hole_cut_out", b->has_hole);
	json_set(j, "windows", windows);
	return j;
}

static void set_offsets(struct json *condition, const struct cause *c, const struct basis *b)
{
	int64_t *starts = calloc(RECIPE_SPANS_MAX, sizeof(*starts));
	size_t n = starts ? causes_starts(c, starts, RECIPE_SPANS_MAX) : 0;
	struct json *on = json_get(condition, "on"), *offsets = json_array();

	for (size_t i = 0; i < n && json_count(offsets) < RECIPE_OFFSETS_MAX; i++) {
		double at;

		if (layout_place(&b->layout, starts[i], &at))
			json_append_number(offsets, at);
	}
	json_set(on, "offsets_s", offsets);
	free(starts);
}

static struct json *conditions_json(
	const struct basis *b, const struct draft_options *o, struct err *e)
{
	struct json *list = json_array();

	for (size_t i = 0; i < b->causes.count; i++) {
		const struct cause *c = &b->causes.items[i];
		struct json *j = causes_condition(c, o, e);

		if (!j) {
			json_free(list);
			return NULL;
		}
		if (c->correlated || c->file)
			set_offsets(j, c, b);
		json_append(list, j);
	}
	return list;
}

static struct json *traffic_json(
	const struct basis *b, const struct draft_options *o, struct err *e)
{
	struct json *j;
	char relative[4096], hex[65];

	if (!file_sha256(o->capture, hex, e) || !path_relative(o->path, o->capture, relative, e))
		return NULL;
	j = json_object();
	json_set_text(j, "capture", relative);
	json_set_text(j, "sha256", hex);
	json_set_time(j, "start", b->production.start_ns);
	json_set_time(j, "end", b->production.end_ns);
	json_set_int(j, "requests", (int64_t)b->production.all);
	json_set_number(j, "speed", 1);
	json_set_null(j, "routes");
	return j;
}

static struct json *environment_json(const struct basis *b)
{
	struct json *j = json_object(), *production = json_object();
	const struct json *server = json_get(b->production.head, "server");

	json_set_text(production, "server_version", json_text(json_get(server, "version"), NULL));
	json_set(production, "cores", json_copy(json_get(server, "cores")));
	json_set(production, "memory_bytes", json_copy(json_get(server, "memory_bytes")));
	json_set(j, "production", production);
	return j;
}

static struct json *document(const struct basis *b, const struct draft_options *o,
	struct json *traffic, struct json *conditions, const struct run *r)
{
	struct json *j = json_object(), *time = json_object();

	json_set_text(j, "format", "reprod-recipe");
	json_set_int(j, "version", RECIPE_VERSION);
	json_set_text(j, "title", o->title ? o->title : b->production.route);
	json_set_time(j, "created", clock_wall_ns(&r->clock));
	json_set(j, "traffic", traffic);
	json_set(j, "snapshot", o->manifest ? json_copy(o->manifest) : json_object());
	json_set(j, "expectation", expectation_json(b));
	json_set(j, "cell", cell_json(b));
	json_set(j, "conditions", conditions);
	json_set(j, "left_out", json_copy(b->causes.left_out));
	json_set_time(time, "start", b->production.start_ns);
	json_set_text(
		time, "zone", json_text(json_path(b->production.head, "server.time_zone"), "UTC"));
	json_set(j, "time_of_day", time);
	json_set(j, "environment", environment_json(b));
	json_set_text(j, "key_id", json_text(json_get(b->production.head, "key_id"), NULL));
	json_set_null(j, "profile");
	json_set(j, "results", json_array());
	return j;
}

/* What the jobs themselves send is never what suffers. */
static bool find_own(struct own *own, const struct draft_options *o, struct err *e)
{
	for (size_t i = 0; o->jobs && i < o->jobs->count; i++) {
		const char *equals = strchr(o->jobs->items[i], '=');

		if (equals && !own_add_file(own, equals + 1, e))
			return false;
	}
	return true;
}

static uint64_t fingerprint_of(const struct json *map)
{
	return strtoull(json_text(json_get(map, "fingerprint"), "0"), NULL, 16);
}

/* The route with the most time lost in correlate's spikes, the jobs' own aside; 0: none. */
static uint64_t most_affected(const struct json *correlation, const struct own *own)
{
	const struct json *spikes = json_get(correlation, "spikes");
	uint64_t best = 0;
	double most_s = -1;

	for (size_t i = 0; i < json_count(spikes); i++) {
		uint64_t fingerprint = fingerprint_of(json_at(spikes, i));
		double lost_s = 0;

		if (fingerprint == 0 || own_has(own, fingerprint))
			continue;
		for (size_t k = 0; k < json_count(spikes); k++) {
			const struct json *spike = json_at(spikes, k);

			if (fingerprint_of(spike) == fingerprint)
				lost_s += json_number(json_get(spike, "lost_s"), 0);
		}
		if (lost_s > most_s) {
			most_s = lost_s;
			best = fingerprint;
		}
	}
	return best;
}

/* --route, else the route that correlate judged, else the most affected, else the
 * busiest. */
static bool load_production(
	struct basis *b, const struct draft_options *o, const struct run *r, struct err *e)
{
	struct own *own = calloc(1, sizeof(*own));
	struct production_choice choice = { .own = own };
	bool ok = own || err_set(e, ERR_ENV, "memory ran out");

	ok = ok && find_own(own, o, e);
	if (ok && o->route) {
		choice.fragment = o->route;
	} else if (ok) {
		choice.fingerprint = fingerprint_of(o->correlation);
		choice.fragment = json_text(json_get(o->correlation, "route"), NULL);
		if (choice.fingerprint && own_has(own, choice.fingerprint)) {
			choice.fingerprint = most_affected(o->correlation, own);
			choice.fragment = NULL;
			run_note(r,
				"the route that correlate judged is a job's own: another is judged");
		}
	}
	ok = ok && production_load(&b->production, o->capture, &choice, r, e);
	free(own);
	return ok;
}

struct json *draft_recipe(const struct draft_options *o, const struct run *r, struct err *e)
{
	struct basis *b = calloc(1, sizeof(*b));
	struct json *traffic = NULL, *conditions = NULL, *j = NULL;

	if (!b) {
		err_set(e, ERR_ENV, "memory ran out");
		return NULL;
	}
	if (load_production(b, o, r, e) && causes_choose(&b->causes, o, e) &&
		find_shape(b, o, r, e) && measure(b, r, e) && (traffic = traffic_json(b, o, e))) {
		conditions = conditions_json(b, o, e);
		if (conditions)
			j = document(b, o, traffic, conditions, r);
		else
			json_free(traffic);
	}
	production_sets_free(&b->sets);
	production_free(&b->production);
	json_free(b->causes.left_out);
	free(b->inside);
	free(b->slow);
	free(b);
	return j;
}
