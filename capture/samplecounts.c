#include "capture/samplecounts.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"

enum { FIRST_ROOM = 64 };

bool samplecounts_init(struct samplecounts *c)
{
	*c = (struct samplecounts){ 0 };
	c->routes = calloc(FIRST_ROOM, sizeof *c->routes);
	c->room = c->routes ? FIRST_ROOM : 0;
	if (c->routes)
		c->routes[0].rule = SAMPLE_BASELINE;
	c->used = 1;
	return timegrid_init(&c->busy, NS_PER_MS) && timegrid_init(&c->arrivals, NS_PER_S) &&
	       c->routes;
}

void samplecounts_free(struct samplecounts *c)
{
	free(c->routes);
	timegrid_free(&c->busy);
	timegrid_free(&c->arrivals);
}

/* Out of memory: the route counts as "other", at the baseline. */
void samplecounts_route(struct samplecounts *c, uint32_t id, uint64_t fingerprint, int rule)
{
	if (id >= c->room) {
		uint32_t room = 2 * c->room > id ? 2 * c->room : id + 1;
		struct sampled_route *more = realloc(c->routes, room * sizeof *more);

		if (!more)
			return;
		memset(more + c->room, 0, (room - c->room) * sizeof *more);
		c->routes = more;
		c->room = room;
	}
	c->routes[id] = (struct sampled_route){ .fingerprint = fingerprint, .rule = rule };
	if (id >= c->used)
		c->used = id + 1;
}

static struct sampled_route *route_of(struct samplecounts *c, const struct request_record *q)
{
	return &c->routes[q->route < c->used ? q->route : 0];
}

int samplecounts_seen(struct samplecounts *c, const struct request_record *q)
{
	struct sampled_route *r = route_of(c, q);

	if (q->form == FORM_PREPARE)
		return r->rule;
	c->seen++;
	r->seen++;
	if (!r->first_ns || q->start_ns < r->first_ns)
		r->first_ns = q->start_ns;
	if (q->start_ns > r->last_ns)
		r->last_ns = q->start_ns;
	if (!c->start_ns || q->start_ns < c->start_ns)
		c->start_ns = q->start_ns;
	if (q->end_ns > c->end_ns)
		c->end_ns = q->end_ns;
	if (q->in_flight > c->in_flight_max)
		c->in_flight_max = q->in_flight;
	c->busy_ns += (double)(q->end_ns - q->start_ns);
	timegrid_cover(&c->busy, q->start_ns, q->end_ns);
	timegrid_add(&c->arrivals, q->start_ns, 1);
	return r->rule;
}

void samplecounts_stored(struct samplecounts *c, const struct request_record *q)
{
	if (q->form == FORM_PREPARE)
		return;
	c->stored++;
	route_of(c, q)->stored++;
}

/* ---- the head */

static struct json *rule_json(
	const struct samplecounts *c, const struct sample_rules *rules, int rule)
{
	struct json *j = json_object();
	uint64_t seen = 0, stored = 0, routes = 0;

	for (uint32_t i = 0; i < c->used; i++) {
		const struct sampled_route *r = &c->routes[i];

		if (r->rule != rule || !r->seen)
			continue;
		seen += r->seen;
		stored += r->stored;
		routes++;
	}
	json_set_text(j, "rule", sample_rules_name(rules, rule));
	json_set_number(j, "rate", sample_rules_rate(rules, rule));
	json_set_int(j, "routes", (int64_t)routes);
	json_set_int(j, "seen", (int64_t)seen);
	json_set_int(j, "stored", (int64_t)stored);
	return j;
}

static struct json *rules_json(const struct samplecounts *c, const struct sample_rules *rules)
{
	struct json *list = json_array();

	for (size_t i = 0; i < rules->count; i++)
		json_append(list, rule_json(c, rules, (int)i));
	return list;
}

static int busier_first(const void *a, const void *b)
{
	const struct sampled_route *x = *(const struct sampled_route *const *)a;
	const struct sampled_route *y = *(const struct sampled_route *const *)b;

	if (x->seen != y->seen)
		return x->seen < y->seen ? 1 : -1;
	return x < y ? -1 : x > y;
}

static struct json *route_json(const struct sampled_route *r)
{
	struct json *j = json_object();
	char hex[20];

	snprintf(hex, sizeof hex, "%016llx", (unsigned long long)r->fingerprint);
	json_set_text(j, "fingerprint", hex);
	json_set_int(j, "rule", r->rule);
	json_set_int(j, "seen", (int64_t)r->seen);
	json_set_int(j, "stored", (int64_t)r->stored);
	json_set_time(j, "first", r->first_ns);
	json_set_time(j, "last", r->last_ns);
	return j;
}

static void set_routes(struct json *to, const struct samplecounts *c)
{
	const struct sampled_route **sorted = calloc(c->used, sizeof(struct sampled_route *));
	struct json *list = json_array();
	size_t n = 0;

	for (uint32_t i = 0; sorted && i < c->used; i++)
		if (c->routes[i].seen)
			sorted[n++] = &c->routes[i];
	if (n)
		qsort(sorted, n, sizeof(struct sampled_route *), busier_first);
	for (size_t i = 0; i < n && i < SAMPLE_ROUTES_LISTED; i++)
		json_append(list, route_json(sorted[i]));
	json_set(to, "routes", list);
	json_set_int(to, "routes_left_out",
		(int64_t)(n > SAMPLE_ROUTES_LISTED ? n - SAMPLE_ROUTES_LISTED : 0));
	free(sorted);
}

/* Slices in which nothing ran are there too, between the first and the last request. */
static double busy_p95(const struct samplecounts *c)
{
	size_t n = (size_t)c->busy.used;
	double *levels = calloc(n + 1, sizeof *levels), p95;

	if (!levels || !n) {
		free(levels);
		return NAN;
	}
	for (size_t i = 0; i < n; i++)
		levels[i] = c->busy.amounts[i] / (double)c->busy.width_ns;
	quantile_sort(levels, n);
	p95 = quantile_of(levels, n, 0.95);
	free(levels);
	return p95;
}

static struct json *in_flight_json(const struct samplecounts *c, bool is_final)
{
	struct json *j = json_object();
	double span = (double)(c->end_ns - c->start_ns);

	json_set_number(j, "mean", span > 0 ? c->busy_ns / span : (double)NAN);
	json_set_number(j, "p95", is_final ? busy_p95(c) : (double)NAN);
	json_set_int(j, "max", c->in_flight_max);
	return j;
}

static struct json *rate_json(const struct samplecounts *c)
{
	struct json *j = json_object();
	double most = 0, span = (double)(c->end_ns - c->start_ns);

	for (int64_t i = 0; i < c->arrivals.used; i++)
		if (c->arrivals.amounts[i] > most)
			most = c->arrivals.amounts[i];
	json_set_number(j, "mean", span > 0 ? (double)c->seen * 1e9 / span : (double)NAN);
	json_set_number(j, "max",
		c->arrivals.width_ns ? most * 1e9 / (double)c->arrivals.width_ns : (double)NAN);
	return j;
}

static struct json *pair_json(uint64_t seen, uint64_t stored)
{
	struct json *j = json_object();

	json_set_int(j, "seen", (int64_t)seen);
	json_set_int(j, "stored", (int64_t)stored);
	return j;
}

struct json *samplecounts_json(
	const struct samplecounts *c, const struct sample_rules *rules, bool is_final)
{
	struct json *j = json_object(), *sessions = pair_json(c->sessions, c->sessions_stored);
	struct json *requests = pair_json(c->seen, c->stored);

	json_set_int(sessions, "late", (int64_t)c->sessions_late);
	json_set_int(sessions, "over_cap", (int64_t)c->sessions_over_cap);
	json_set_int(requests, "over_cap", (int64_t)c->over_cap);
	json_set_text(j, "unit", "session");
	json_set_text(j, "digest", rules->digest);
	json_set(j, "document", json_copy(rules->document));
	json_set_int(j, "seed", (int64_t)rules->seed);
	json_set(j, "sessions", sessions);
	json_set(j, "requests", requests);
	json_set(j, "rules", rules_json(c, rules));
	json_set(j, "baseline", rule_json(c, rules, SAMPLE_BASELINE));
	set_routes(j, c);
	json_set(j, "in_flight", in_flight_json(c, is_final));
	json_set(j, "rate_per_s", rate_json(c));
	return j;
}
