#include "correlate/remote_histogram.h"

#include <math.h>
#include <stdlib.h>

void remote_histograms_init(struct remote_histograms *h, struct series *s, int64_t step_ns)
{
	*h = (struct remote_histograms){ .series = s, .unit_us = 1e6, .step_ns = step_ns };
	table_init(&h->groups, REMOTE_GROUPS_MAX);
}

void remote_histograms_free(struct remote_histograms *h)
{
	struct slice key;
	void *value;

	for (size_t at = 0; table_next(&h->groups, &at, &key, &value);) {
		struct remote_group *g = value;

		free((char *)key.p);
		free(g->buckets);
		free(g);
	}
	table_free(&h->groups);
}

struct remote_group *remote_histograms_group(
	struct remote_histograms *h, struct slice key, struct slice route)
{
	struct remote_group *g = table_get(&h->groups, key);
	char *copy;

	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	copy = g ? strndup(key.p, key.n) : NULL;
	if (copy && (g->route = series_route(h->series, route, 0)) &&
		table_put(&h->groups, (struct slice){ copy, key.n }, g)) {
		g->number = h->groups.count;
		g->last_ns = INT64_MIN;
		return g;
	}
	free(copy);
	free(g);
	return NULL;
}

/* ---- what was added */

static double total_of(const struct remote_bucket *buckets, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += buckets[i].count;
	return sum;
}

/* Native histograms halve their resolution when they grow: a new bucket is then the sum of
 * the old ones inside of it. False when an old one that is not empty lies across an edge, or
 * is gone. */
static bool match(const struct remote_group *g, const struct remote_bucket *now, size_t count,
	struct remote_bucket *before)
{
	size_t old = 0;
	bool is_same = true;

	for (size_t i = 0; i < count; i++) {
		for (; old < g->count && g->buckets[old].high <= now[i].high; old++) {
			if (g->buckets[old].low < now[i].low) {
				is_same &= g->buckets[old].count == 0;
				continue;
			}
			before[i].count += g->buckets[old].count;
			before[i].rest += g->buckets[old].rest;
		}
	}
	for (; old < g->count; old++)
		is_same &= g->buckets[old].count == 0;
	return is_same;
}

static bool has_fallen(
	const struct remote_bucket *before, const struct remote_bucket *now, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (now[i].count < before[i].count - 1e-6 * before[i].count)
			return true;
	return false;
}

static int64_t to_us(const struct remote_histograms *h, double value)
{
	double us = value * h->unit_us;

	if (!(us > 0))
		return 0;
	return us < 9e15 ? (int64_t)llround(us) : INT64_MAX;
}

/* A fraction waits for the rest of its request. */
static void hand_on(struct remote_histograms *h, const struct remote_group *g, int64_t t_ns,
	struct remote_bucket *b, double added)
{
	double sum = b->rest + added;
	double whole = floor(sum + 0.5);

	if (!(whole > 0)) {
		b->rest = sum;
		return;
	}
	b->rest = sum - whole;
	int64_t low_us = to_us(h, b->low);
	if (whole < 1e9 && low_us < INT64_MAX &&
		series_add_counted(h->series, g->route, t_ns - h->step_ns, h->step_ns, low_us,
			to_us(h, b->high), (uint64_t)whole))
		h->requests += (uint64_t)whole;
	else
		h->refused++;
}

static void keep(struct remote_group *g, struct remote_bucket *buckets, size_t count, int64_t t_ns)
{
	free(g->buckets);
	g->buckets = buckets;
	g->count = count;
	g->last_ns = t_ns;
}

/* now's own count is what was added. */
static void feed_increase(struct remote_histograms *h, struct remote_group *g, int64_t t_ns,
	struct remote_bucket *now, size_t count, const struct remote_bucket *before)
{
	for (size_t i = 0; i < count; i++) {
		now[i].rest = before[i].rest;
		hand_on(h, g, t_ns, &now[i], now[i].count * h->scale);
	}
}

static void feed_total(struct remote_histograms *h, struct remote_group *g, int64_t t_ns,
	struct remote_bucket *now, size_t count, const struct remote_bucket *before, bool is_same)
{
	bool is_reset = is_same ? has_fallen(before, now, count)
				: total_of(now, count) < total_of(g->buckets, g->count);

	if (g->last_ns == INT64_MIN)
		return;
	h->resets += is_reset;
	if (g->last_ns != t_ns - h->step_ns) {
		h->unplaced++;
		return;
	}
	if (!is_same && !is_reset) {
		h->changed++;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		now[i].rest = is_same ? before[i].rest : 0;
		hand_on(h, g, t_ns, &now[i], now[i].count - (is_reset ? 0 : before[i].count));
	}
}

bool remote_histograms_feed(struct remote_histograms *h, struct remote_group *g, int64_t t_ns,
	const struct remote_bucket *buckets, size_t count)
{
	struct remote_bucket *now = calloc(count + 1, sizeof(*now));
	struct remote_bucket *before = calloc(count + 1, sizeof(*before));

	if (!now || !before) {
		free(now);
		free(before);
		return false;
	}
	memcpy(now, buckets, count * sizeof(*now));
	bool is_same = match(g, now, count, before);
	if (h->scale > 0)
		feed_increase(h, g, t_ns, now, count, before);
	else
		feed_total(h, g, t_ns, now, count, before, is_same);
	free(before);
	keep(g, now, count, t_ns);
	return true;
}
