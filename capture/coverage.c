#include "capture/coverage.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "capture/turnover.h"
#include "core/base/clock.h"
#include "core/base/quantile.h"

enum {
	WORDS_MAX = 96, /* of a route's text that are compared */
	LIKE_MIN_PERCENT = 50, /* below this two routes are not called similar */
	COMPARED_MAX = 2000, /* the busiest routes that a missing one is compared with */
};

struct covered {
	const struct rcap_route *route;
	int rule;
	uint64_t samples;
};

struct cover {
	const struct coverage_input *in;
	struct covered *routes; /* by number in the file */
	size_t count;
	size_t *order; /* those with traffic, the busiest first */
	size_t ordered;
	struct turnover times;
	struct json *warnings;
	bool is_ok;
};

/* ---- similarity */

static bool is_word(unsigned char c)
{
	return isalnum(c) || c == '_' || c == '$' || c >= 0x80;
}

/* Words; a sign is a word of its own, white space none. */
static size_t split(struct slice text, struct slice words[WORDS_MAX])
{
	size_t n = 0, at = 0;

	while (at < text.n && n < WORDS_MAX) {
		size_t start = at;

		while (at < text.n && is_word((unsigned char)text.p[at]))
			at++;
		if (at == start && isspace((unsigned char)text.p[at++]))
			continue;
		words[n++] = (struct slice){ text.p + start, at - start };
	}
	return n;
}

double coverage_similarity(struct slice a, struct slice b)
{
	struct slice x[WORDS_MAX], y[WORDS_MAX];
	unsigned char row[WORDS_MAX + 1] = { 0 };
	size_t n = split(a, x), m = split(b, y);

	for (size_t i = 0; i < n; i++) {
		unsigned char corner = 0;

		for (size_t k = 1; k <= m; k++) {
			unsigned char above = row[k];

			if (slice_same(x[i], y[k - 1]))
				row[k] = (unsigned char)(corner + 1);
			else if (row[k - 1] > row[k])
				row[k] = row[k - 1];
			corner = above;
		}
	}
	return n + m ? 2.0 * row[m] / (double)(n + m) : 0;
}

/* ---- counting */

static bool count_samples(struct cover *c, struct err *e)
{
	struct rcap *r = c->in->capture;
	struct rcap_item item;
	enum step step;

	rcap_rewind(r);
	while ((step = rcap_next(r, &item, e)) == STEP_ITEM)
		if (item.kind == RCAP_REQUEST && item.request.form != FORM_PREPARE &&
			item.request.route < c->count) {
			c->routes[item.request.route].samples++;
			turnover_add(&c->times, &item.request);
		}
	rcap_rewind(r);
	turnover_take_sampling(&c->times, r);
	return step == STEP_END;
}

static int busier_first(const void *a, const void *b, void *data)
{
	const struct covered *routes = data;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	uint64_t nx = routes[x].route->requests, ny = routes[y].route->requests;

	if (nx != ny)
		return nx < ny ? 1 : -1;
	return x < y ? -1 : x > y;
}

static bool gather(struct cover *c, struct err *e)
{
	c->count = rcap_route_count(c->in->capture);
	c->routes = calloc(c->count + 1, sizeof *c->routes);
	c->order = calloc(c->count + 1, sizeof *c->order);
	if (!c->routes || !c->order)
		return err_set(e, ERR_ENV, "out of memory");
	if (!turnover_init(&c->times, c->count, e))
		return false;
	for (uint32_t i = 0; i < c->count; i++) {
		const struct rcap_route *route = rcap_route(c->in->capture, i);

		c->routes[i].route = route;
		c->routes[i].rule = c->in->rules ? sample_rules_find(c->in->rules,
							   route->fingerprint, route->text)
						 : SAMPLE_BASELINE;
		if (route->requests)
			c->order[c->ordered++] = i;
	}
	qsort_r(c->order, c->ordered, sizeof *c->order, busier_first, c->routes);
	return count_samples(c, e);
}

/* ---- findings */

static void warn(struct cover *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void warn(struct cover *c, const char *fmt, ...)
{
	CLEANUP(buf_free) struct buf text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	json_append_text(c->warnings, buf_text(&text));
}

static bool had_route(const struct rcap *before, uint64_t fingerprint)
{
	for (uint32_t i = 0; before && i < rcap_route_count(before); i++)
		if (rcap_route(before, i)->requests &&
			rcap_route(before, i)->fingerprint == fingerprint)
			return true;
	return false;
}

/* The route with traffic that is most like the text: one that no rule names and that
 * the earlier capture, when there is one, did not have. */
static const struct covered *most_like(
	const struct cover *c, struct slice text, bool is_fragment, double *ret_similarity)
{
	CLEANUP(buf_free) struct buf wanted = { 0 }, folded = { 0 };
	const struct covered *best = NULL;

	*ret_similarity = LIKE_MIN_PERCENT / 100.0;
	rcap_fold_text(text, &wanted);
	for (size_t i = 0; i < c->ordered && i < COMPARED_MAX; i++) {
		const struct covered *r = &c->routes[c->order[i]];
		double s;

		if (r->rule >= 0 || had_route(c->in->before, r->route->fingerprint))
			continue;
		rcap_fold_text(r->route->text, &folded);
		/* A fragment is compared with as much text as it has itself. */
		if (is_fragment && folded.n > wanted.n + wanted.n / 2)
			folded.n = wanted.n + wanted.n / 2;
		s = coverage_similarity(buf_slice(&wanted), buf_slice(&folded));
		if (s > *ret_similarity) {
			best = r;
			*ret_similarity = s;
		}
	}
	return best;
}

static void set_like(struct json *to, const struct covered *like, double similarity)
{
	if (!like) {
		json_set_null(to, "like");
		return;
	}
	json_set_slice(to, "like", like->route->text);
	json_set_number(to, "similarity", similarity);
}

static void miss_rule(struct cover *c, struct json *to, int rule)
{
	const char *name = sample_rules_name(c->in->rules, rule);
	double similarity = 0;
	const struct covered *like = c->in->rules->items[rule].fragment.n
					     ? most_like(c, slice_of(name), true, &similarity)
					     : NULL;

	c->is_ok = false;
	set_like(to, like, similarity);
	if (like)
		warn(c, "the rule '%s' has no traffic, but '%.*s' is like it and falls to the baseline: renamed?",
			name, (int)like->route->text.n, like->route->text.p);
	else
		warn(c, "the rule '%s' has no traffic", name);
}

static struct json *rule_json(struct cover *c, int rule)
{
	struct json *j = json_object();
	uint64_t traffic = 0, samples = 0, routes = 0;

	for (size_t i = 0; i < c->ordered; i++) {
		const struct covered *r = &c->routes[c->order[i]];

		if (r->rule != rule)
			continue;
		traffic += r->route->requests;
		samples += r->samples;
		routes++;
	}
	json_set_text(j, "rule", sample_rules_name(c->in->rules, rule));
	json_set_number(j, "rate", sample_rules_rate(c->in->rules, rule));
	json_set_int(j, "routes", (int64_t)routes);
	json_set_int(j, "traffic", (int64_t)traffic);
	json_set_int(j, "samples", (int64_t)samples);
	if (!routes && rule >= 0)
		miss_rule(c, j, rule);
	return j;
}

static struct json *rules_json(struct cover *c)
{
	struct json *list = json_array();

	if (!c->in->rules)
		return list;
	for (size_t i = 0; i < c->in->rules->count; i++)
		json_append(list, rule_json(c, (int)i));
	json_append(list, rule_json(c, SAMPLE_BASELINE));
	return list;
}

static bool has_traffic(const struct cover *c, uint64_t fingerprint)
{
	for (size_t i = 0; i < c->ordered; i++)
		if (c->routes[c->order[i]].route->fingerprint == fingerprint)
			return true;
	return false;
}

static struct json *vanished_json(struct cover *c)
{
	struct json *list = json_array();

	for (uint32_t i = 1; c->in->before && i < rcap_route_count(c->in->before); i++) {
		const struct rcap_route *old = rcap_route(c->in->before, i);
		const struct covered *like;
		double similarity;
		struct json *j;

		if (!old->requests || has_traffic(c, old->fingerprint))
			continue;
		like = most_like(c, old->text, false, &similarity);
		j = json_object();
		json_set_slice(j, "route", old->text);
		json_set_int(j, "traffic_before", (int64_t)old->requests);
		set_like(j, like, similarity);
		json_append(list, j);
		c->is_ok = false;
		if (like)
			warn(c, "'%.*s' vanished and '%.*s' is new and like it: renamed?",
				(int)old->text.n, old->text.p, (int)like->route->text.n,
				like->route->text.p);
		else
			warn(c, "'%.*s' vanished", (int)old->text.n, old->text.p);
	}
	return list;
}

/* Within this capture. A successor that a rule names is one that sampling still reaches. */
static const struct covered *successor(const struct cover *c, uint32_t gone, double *ret_similarity)
{
	const struct covered *best = NULL, *old = &c->routes[gone];

	*ret_similarity = LIKE_MIN_PERCENT / 100.0;
	for (size_t i = 0; i < c->ordered && i < COMPARED_MAX; i++) {
		const struct covered *r = &c->routes[c->order[i]];
		double s;

		if (r->rule >= 0 || r->route->protocol != old->route->protocol ||
			!turnover_is_succession(&c->times, gone, r->route->id))
			continue;
		s = coverage_similarity(old->route->text, r->route->text);
		if (s <= *ret_similarity)
			continue;
		best = r;
		*ret_similarity = s;
	}
	return best;
}

static struct json *renamed_json(struct cover *c)
{
	struct json *list = json_array();

	for (size_t i = 0; i < c->ordered && i < COMPARED_MAX; i++) {
		const struct covered *old = &c->routes[c->order[i]], *new;
		const struct turnover_route *when = &c->times.routes[old->route->id];
		char text[CLOCK_TEXT_MAX];
		double similarity;
		struct json *j;

		if (!turnover_is_gone(&c->times, old->route->id) ||
			!(new = successor(c, old->route->id, &similarity)))
			continue;
		j = json_object();
		json_set_slice(j, "route", old->route->text);
		json_set_time(j, "last", when->last_ns);
		json_set_time(j, "like_first", c->times.routes[new->route->id].first_ns);
		set_like(j, new, similarity);
		json_append(list, j);
		c->is_ok = false;
		clock_text(when->last_ns / NS_PER_S * NS_PER_S, text);
		warn(c, "'%.*s' was last seen at %s, and '%.*s' came up and is like it: renamed?",
			(int)old->route->text.n, old->route->text.p, text, (int)new->route->text.n,
			new->route->text.p);
	}
	return list;
}

static struct json *route_json(const struct cover *c, const struct covered *r)
{
	struct json *j = json_object();
	char hex[20];

	snprintf(hex, sizeof hex, "%016llx", (unsigned long long)r->route->fingerprint);
	json_set_slice(j, "route", r->route->text);
	json_set_text(j, "fingerprint", hex);
	json_set_text(j, "rule", c->in->rules ? sample_rules_name(c->in->rules, r->rule) : NULL);
	json_set_number(
		j, "rate", c->in->rules ? sample_rules_rate(c->in->rules, r->rule) : (double)NAN);
	json_set_int(j, "traffic", (int64_t)r->route->requests);
	json_set_int(j, "samples", (int64_t)r->samples);
	json_set_number(j, "effective_rate", (double)r->samples / (double)r->route->requests);
	json_set_bool(j, "p99_ok", quantile_is_estimable(r->samples ? r->samples : 1, 0.99));
	return j;
}

static struct json *routes_json(struct cover *c)
{
	struct json *list = json_array();
	uint64_t few = 0;

	for (size_t i = 0; i < c->ordered; i++) {
		const struct covered *r = &c->routes[c->order[i]];

		json_append(list, route_json(c, r));
		few += r->samples < QUANTILE_P99_MIN && r->route->requests >= QUANTILE_P99_MIN;
	}
	if (few)
		warn(c, "%llu routes have enough traffic for a p99 but fewer than %d samples",
			(unsigned long long)few, QUANTILE_P99_MIN);
	return list;
}

struct json *coverage_json(const struct coverage_input *in, struct err *e)
{
	struct cover c = { .in = in, .is_ok = true };
	struct json *j = NULL;

	if (gather(&c, e)) {
		j = json_object();
		c.warnings = json_array();
		json_set(j, "routes", routes_json(&c));
		json_set(j, "rules", rules_json(&c));
		json_set(j, "vanished", vanished_json(&c));
		json_set(j, "renamed", renamed_json(&c));
		json_set(j, "warnings", c.warnings);
		json_set_bool(j, "ok", c.is_ok);
	}
	turnover_free(&c.times);
	free(c.routes);
	free(c.order);
	return j;
}
