#include "capture/summary.h"

#include <math.h>
#include <stdlib.h>

#include "capture/timegrid.h"
#include "core/base/quantile.h"

/* What one pass over the requests gives. */
struct tally {
	struct timegrid busy; /* nanoseconds in flight */
	struct timegrid arrivals;
	int64_t start_ns, end_ns;
	double busy_ns;
	uint64_t requests, sessions, last_session;
	uint32_t in_flight_max;
};

static void stretch(struct tally *t, int64_t start_ns, int64_t end_ns)
{
	if (!t->start_ns || start_ns < t->start_ns)
		t->start_ns = start_ns;
	if (end_ns > t->end_ns)
		t->end_ns = end_ns;
}

static void add_request(struct tally *t, const struct request_record *q)
{
	if (q->form == FORM_PREPARE)
		return;
	stretch(t, q->start_ns, q->end_ns);
	t->requests++;
	t->busy_ns += (double)(q->end_ns - q->start_ns);
	if (q->in_flight > t->in_flight_max)
		t->in_flight_max = q->in_flight;
	timegrid_cover(&t->busy, q->start_ns, q->end_ns);
	timegrid_add(&t->arrivals, q->start_ns, 1);
}

static void add_session(struct tally *t, const struct session_record *s)
{
	if (s->id > t->last_session) {
		t->last_session = s->id;
		t->sessions++;
	}
}

static bool tally_up(struct tally *t, struct rcap *r, const struct run *run, struct err *e)
{
	struct run_progress progress = {
		.verb = "reading", .unit = "requests", .total = (double)rcap_totals(r).stored
	};
	struct rcap_item item;
	enum step step;
	uint64_t done = 0;

	if (!timegrid_init(&t->busy, NS_PER_MS) || !timegrid_init(&t->arrivals, NS_PER_S))
		return err_set(e, ERR_ENV, "out of memory");
	rcap_rewind(r);
	while ((step = rcap_next(r, &item, e)) == STEP_ITEM) {
		if (item.kind == RCAP_REQUEST)
			add_request(t, &item.request);
		else
			add_session(t, &item.session);
		if (++done % 65536 == 0)
			run_progress_at(run, &progress, (double)done);
	}
	run_progress_end(run, &progress);
	rcap_rewind(r);
	return step == STEP_END;
}

static void set_quantile(struct json *map, const char *key, const struct hist *h, double q)
{
	bool has = h->total && quantile_is_estimable(h->total, q);

	json_set_number(map, key, has ? (double)hist_quantile(h, q) / 1000 : (double)NAN);
}

static void set_rank(struct json *map, const char *key, const struct hist *h, uint64_t rank)
{
	json_set_number(map, key, rank ? (double)hist_rank(h, rank) / 1000 : (double)NAN);
}

static struct json *latency_json(const struct hist *h)
{
	struct json *map = json_object();
	uint64_t low = 0, high = 0;

	json_set_number(map, "mean", h->total ? h->sum / (double)h->total / 1000 : (double)NAN);
	set_quantile(map, "p50", h, 0.5);
	set_quantile(map, "p90", h, 0.9);
	set_quantile(map, "p99", h, 0.99);
	if (h->total && quantile_is_estimable(h->total, 0.99))
		quantile_interval(h->total, 0.99, 0.95, &low, &high);
	set_rank(map, "p99_low", h, low);
	set_rank(map, "p99_high", h, high);
	json_set_number(map, "max", h->total ? (double)h->max / 1000 : (double)NAN);
	return map;
}

static struct json *route_json(const struct rcap_route *route)
{
	struct json *map = json_object();
	char hex[20];

	snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)route->fingerprint);
	json_set_int(map, "id", route->id);
	json_set_text(map, "protocol", route->protocol == PROTOCOL_HTTP ? "http" : "pg");
	json_set_slice(map, "route", route->text);
	json_set_text(map, "fingerprint", hex);
	json_set_int(map, "requests", (int64_t)route->requests);
	json_set_int(map, "errors", (int64_t)route->errors);
	json_set(map, "latency_ms", latency_json(&route->latency_us));
	json_set_int(map, "rows", (int64_t)route->rows);
	json_set_int(map, "bytes_in", (int64_t)route->bytes_in);
	json_set_int(map, "bytes_out", (int64_t)route->bytes_out);
	return map;
}

/* Requests, errors and routes of each protocol that was seen. */
static struct json *protocols_json(const struct rcap *r)
{
	static const char *const names[] = { [PROTOCOL_PG] = "pg", [PROTOCOL_HTTP] = "http" };
	int64_t requests[LENGTH(names)] = { 0 }, errors[LENGTH(names)] = { 0 },
		routes[LENGTH(names)] = { 0 };
	struct json *map = json_object();

	for (uint32_t i = 0; i < rcap_route_count(r); i++) {
		const struct rcap_route *route = rcap_route(r, i);

		requests[route->protocol] += (int64_t)route->requests;
		errors[route->protocol] += (int64_t)route->errors;
		routes[route->protocol] += route->requests > 0;
	}
	for (size_t i = PROTOCOL_PG; i < LENGTH(names); i++) {
		if (!requests[i])
			continue;
		struct json *one = json_object();
		json_set_int(one, "requests", requests[i]);
		json_set_int(one, "errors", errors[i]);
		json_set_int(one, "routes", routes[i]);
		json_set(map, names[i], one);
	}
	return map;
}

static int busier_first(const void *a, const void *b)
{
	const struct rcap_route *x = *(const struct rcap_route *const *)a;
	const struct rcap_route *y = *(const struct rcap_route *const *)b;

	if (x->requests != y->requests)
		return x->requests < y->requests ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static struct json *routes_json(const struct rcap *r)
{
	size_t n = rcap_route_count(r);
	const struct rcap_route **routes = calloc(n + 1, sizeof(struct rcap_route *));
	struct json *list = json_array();

	if (!routes)
		return list;
	for (uint32_t i = 0; i < n; i++)
		routes[i] = rcap_route(r, i);
	qsort(routes, n, sizeof(struct rcap_route *), busier_first);
	for (size_t i = 0; i < n; i++)
		if (routes[i]->requests)
			json_append(list, route_json(routes[i]));
	free(routes);
	return list;
}

/* A slice counts with the part of it that the capture covers. Before the first and
 * after the last request nothing was in flight. */
static double busy_p95(const struct timegrid *busy, int64_t start_ns, int64_t end_ns)
{
	size_t n = 0;
	double *levels = calloc((size_t)busy->used + 1, sizeof(*levels));

	if (!levels)
		return NAN;
	for (int64_t i = 0; i < busy->used; i++) {
		int64_t from = (busy->first + i) * busy->width_ns, to = from + busy->width_ns;

		from = from < start_ns ? start_ns : from;
		to = to > end_ns ? end_ns : to;
		if (to > from)
			levels[n++] = busy->amounts[i] / (double)(to - from);
	}
	quantile_sort(levels, n);
	uint64_t all = (uint64_t)((end_ns - start_ns + busy->width_ns - 1) / busy->width_ns);
	uint64_t silent = all > n ? all - n : 0;
	uint64_t rank = quantile_rank(silent + n, 0.95);
	double p95 = rank > silent ? levels[rank - silent - 1] : 0;
	free(levels);
	return p95;
}

static struct json *in_flight_json(const struct tally *t, double span_ns)
{
	struct json *map = json_object();
	bool has = t->requests && span_ns > 0;

	json_set_number(map, "mean", has ? t->busy_ns / span_ns : (double)NAN);
	json_set_number(map, "p95", has ? busy_p95(&t->busy, t->start_ns, t->end_ns) : (double)NAN);
	if (t->requests && t->in_flight_max)
		json_set_int(map, "max", t->in_flight_max);
	else
		json_set_null(map, "max");
	return map;
}

static struct json *rate_json(const struct tally *t, uint64_t requests, double span_ns)
{
	struct json *map = json_object();
	double most = 0;

	for (int64_t i = 0; i < t->arrivals.used; i++)
		if (t->arrivals.amounts[i] > most)
			most = t->arrivals.amounts[i];
	json_set_number(map, "mean", span_ns > 0 ? (double)requests * 1e9 / span_ns : (double)NAN);
	json_set_number(
		map, "max", t->requests ? most * 1e9 / (double)t->arrivals.width_ns : (double)NAN);
	return map;
}

static void copy_field(struct json *to, const struct json *head, const char *key)
{
	const struct json *value = json_get(head, key);

	if (value)
		json_set(to, key, json_copy(value));
	else
		json_set_null(to, key);
}

static void copy_map(struct json *to, const struct json *head, const char *key)
{
	const struct json *value = json_get(head, key);

	json_set(to, key, value ? json_copy(value) : json_object());
}

/* The head's times say how long was listened, which may be longer than the
 * traffic; without them the traffic's own. */
static void set_times(struct json *map, const struct json *head, struct tally *t)
{
	int64_t start, end;

	if (!clock_parse(slice_of(json_text(json_get(head, "start"), "")), &start))
		start = t->start_ns;
	if (!clock_parse(slice_of(json_text(json_get(head, "end"), "")), &end))
		end = t->end_ns;
	if (t->requests) {
		start = start && start < t->start_ns ? start : t->start_ns;
		end = end > t->end_ns ? end : t->end_ns;
	}
	t->start_ns = start;
	t->end_ns = end > start ? end : start;
	if (start) {
		json_set_time(map, "start", t->start_ns);
		json_set_time(map, "end", t->end_ns);
	} else {
		json_set_null(map, "start");
		json_set_null(map, "end");
	}
	json_set_number(map, "duration_s", (double)(t->end_ns - t->start_ns) / 1e9);
}

static void set_state(struct json *map, const struct rcap *r, const struct json *head)
{
	bool is_complete = json_is_true(json_get(head, "complete"), true) && !rcap_is_torn(r);

	json_set_bool(map, "complete", is_complete);
	json_set_bool(map, "finished", rcap_is_finished(r));
	json_set_int(map, "torn_bytes", (int64_t)rcap_torn_bytes(r));
	json_set_int(map, "damaged_blocks", (int64_t)rcap_damaged_blocks(r));
}

/* Of a sampled capture the stored requests tell only their own: the writer's counts of all
 * requests are in the head. */
static void set_load(
	struct json *map, const struct json *head, const char *key, struct json *stored)
{
	const struct json *all = json_get(json_get(head, "sampling"), key);

	if (all)
		json_free(stored);
	json_set(map, key, all ? json_copy(all) : stored);
}

static struct json *build(const struct rcap *r, struct tally *t)
{
	const struct json *head = rcap_head(r);
	struct rcap_totals totals = rcap_totals(r);
	struct json *map = json_object();
	uint64_t sessions = totals.sessions > t->sessions ? totals.sessions : t->sessions;

	json_set_text(map, "format", "rcap");
	json_set_int(map, "version", RCAP_VERSION);
	const struct json *sources = json_get(head, "sources");
	json_set(map, "sources", sources ? json_copy(sources) : json_array());
	set_times(map, head, t);
	double span_ns = (double)(t->end_ns - t->start_ns);
	json_set_int(map, "sessions", (int64_t)sessions);
	json_set_int(map, "requests", (int64_t)totals.requests);
	json_set_int(map, "errors", (int64_t)totals.errors);
	json_set_int(map, "stored", (int64_t)totals.stored);
	copy_map(map, head, "lost");
	copy_map(map, head, "ledger");
	set_load(map, head, "in_flight", in_flight_json(t, span_ns));
	set_load(map, head, "rate_per_s", rate_json(t, totals.requests, span_ns));
	json_set(map, "protocols", protocols_json(r));
	json_set(map, "routes", routes_json(r));
	copy_field(map, head, "sampling");
	static const char *const live[] = { "cost", "shedding", "probe", "ended", "merged",
		"servers" };
	for (size_t i = 0; i < LENGTH(live); i++)
		if (json_get(head, live[i]))
			copy_field(map, head, live[i]);
	copy_field(map, head, "policy");
	copy_field(map, head, "policy_digest");
	copy_map(map, head, "places");
	copy_field(map, head, "key_id");
	copy_field(map, head, "is_key_fresh");
	copy_field(map, head, "server");
	copy_field(map, head, "clock");
	copy_field(map, head, "audit");
	set_state(map, r, head);
	return map;
}

struct json *capture_summary(struct rcap *r, const struct run *run, struct err *e)
{
	struct tally t = { 0 };
	struct json *map = NULL;

	if (tally_up(&t, r, run, e))
		map = build(r, &t);
	timegrid_free(&t.busy);
	timegrid_free(&t.arrivals);
	return map;
}
