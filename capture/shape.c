#include <stdlib.h>
#include <strings.h>

#include "capture/shape_parts.h"

static bool out_of_memory(struct err *e)
{
	return err_set(e, ERR_ENV, "out of memory");
}

unsigned shape_flight_bucket(uint32_t in_flight)
{
	unsigned bits = in_flight > 1 ? 32 - (unsigned)__builtin_clz(in_flight - 1) : 0;

	return bits < SHAPE_FLIGHTS ? bits : SHAPE_FLIGHTS - 1;
}

void shape_flight_range(unsigned bucket, uint32_t *ret_from, uint32_t *ret_to)
{
	*ret_from = bucket ? (UINT32_C(1) << (bucket - 1)) + 1 : 1;
	*ret_to = bucket == SHAPE_FLIGHTS - 1 ? UINT32_MAX : UINT32_C(1) << bucket;
}

/* ---- which routes */

static bool begins_with_word(struct slice text, const char *word)
{
	size_t n = strlen(word);

	return text.n >= n && strncasecmp(text.p, word, n) == 0 &&
	       (text.n == n || text.p[n] == ' ' || text.p[n] == ';');
}

struct weight {
	uint32_t route;
	double share;
};

static int heavier_first(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return x->route < y->route ? -1 : x->route > y->route;
}

/* A route's share of the requests or of the busy time, whichever is more. */
static struct weight weigh(const struct shape *s, uint32_t id, uint64_t requests, double busy)
{
	const struct rcap_route *route = rcap_route(s->rcap, id);
	double n = requests ? (double)route->requests / (double)requests : 0;
	double t = busy > 0 ? route->latency_us.sum / busy : 0;

	return (struct weight){ id, s->routes[id].is_wanted ? n > t ? n : t : -1 };
}

/* The capture's own counts tell beforehand which routes will be the busiest. */
static bool choose_details(struct shape *s)
{
	struct weight *weights = calloc(s->route_count, sizeof(*weights));
	uint64_t requests = rcap_totals(s->rcap).requests;
	double busy = 0;
	bool ok = weights != NULL;

	for (uint32_t i = 0; i < s->route_count; i++)
		busy += rcap_route(s->rcap, i)->latency_us.sum;
	for (uint32_t i = 0; ok && i < s->route_count; i++)
		weights[i] = weigh(s, i, requests, busy);
	if (ok)
		qsort(weights, s->route_count, sizeof(*weights), heavier_first);
	for (size_t i = 0; ok && i < s->route_count && i < SHAPE_DETAILS; i++) {
		if (weights[i].share <= 0)
			break;
		struct shape_detail *d = calloc(1, sizeof(*d));
		s->routes[weights[i].route].detail = d;
		ok = d != NULL;
	}
	free(weights);
	return ok;
}

static bool look_at_routes(struct shape *s)
{
	struct buf fragment = { 0 }, text = { 0 };

	s->route_count = rcap_route_count(s->rcap);
	s->routes = calloc(s->route_count, sizeof(*s->routes));
	if (!s->routes)
		return false;
	rcap_fold_text(slice_of(s->route ? s->route : ""), &fragment);
	for (uint32_t i = 0; i < s->route_count; i++) {
		struct slice route = rcap_route(s->rcap, i)->text;

		rcap_fold_text(route, &text);
		s->routes[i].is_wanted = !s->route || strstr(buf_text(&text), buf_text(&fragment));
		s->routes[i].is_rollback =
			begins_with_word(route, "rollback") || begins_with_word(route, "abort");
	}
	buf_free(&fragment);
	buf_free(&text);
	return choose_details(s);
}

/* ---- forwards */

static void count_code(struct shape *s, enum protocol protocol, const char *text)
{
	for (size_t i = 0; i < s->code_count; i++)
		if (s->codes[i].protocol == protocol && strcmp(s->codes[i].text, text) == 0) {
			s->codes[i].requests++;
			return;
		}
	if (s->code_count == SHAPE_CODES) {
		s->codes_left_out++;
		return;
	}
	struct shape_code *c = &s->codes[s->code_count++];
	*c = (struct shape_code){ .protocol = protocol, .requests = 1 };
	snprintf(c->text, sizeof(c->text), "%s", text);
}

static void count_outcome(struct shape *s, const struct request_record *q)
{
	char text[12];

	if (q->sqlstate[0])
		count_code(s, PROTOCOL_PG, q->sqlstate);
	if (q->status >= 400) {
		snprintf(text, sizeof(text), "%u", q->status);
		count_code(s, PROTOCOL_HTTP, text);
	}
	if (q->grpc > 1) {
		snprintf(text, sizeof(text), "grpc %u", q->grpc - 1U);
		count_code(s, PROTOCOL_HTTP, text);
	}
	s->unanswered += (q->flags & REQUEST_UNANSWERED) != 0;
	s->cancelled += (q->flags & REQUEST_CANCELLED) != 0;
	s->skipped += (q->flags & REQUEST_SKIPPED) != 0;
	s->shed += (q->flags & REQUEST_SHED) != 0;
}

static bool add_detail(struct shape_detail *d, const struct request_record *q)
{
	int64_t us = rcap_latency_us(q);
	struct hist *latency = q->in_flight ? &d->latency_us[shape_flight_bucket(q->in_flight)]
					    : &d->latency_unknown_us;

	return (us < 0 || hist_add(latency, us, 1)) &&
	       (!q->in_flight || hist_add(&d->in_flight, q->in_flight, 1)) &&
	       hist_add(&d->bytes_in, (int64_t)q->bytes_in, 1) &&
	       hist_add(&d->bytes_out, (int64_t)q->bytes_out, 1) &&
	       hist_add(&d->rows, (int64_t)q->rows, 1);
}

static bool add_request(struct shape *s, const struct request_record *q)
{
	struct shape_route *route = &s->routes[q->route];
	bool has_failed = rcap_is_error(q);
	bool is_writing = q->flags & REQUEST_WRITES;

	s->requests++;
	s->errors += has_failed;
	s->writes += is_writing;
	if (q->form < SHAPE_FORMS)
		s->forms[q->form]++;
	s->busy_ns += (double)(q->end_ns - q->start_ns);
	count_outcome(s, q);
	route->requests++;
	route->errors += has_failed;
	route->writes += is_writing;
	route->bytes_in += q->bytes_in;
	route->bytes_out += q->bytes_out;
	route->rows += q->rows;
	route->busy_ns += (double)(q->end_ns - q->start_ns);
	return add_detail(&s->all, q) && (!route->detail || add_detail(route->detail, q));
}

static void stretch(struct shape *s, int64_t start_ns, int64_t end_ns)
{
	if (!s->first_ns || start_ns < s->first_ns)
		s->first_ns = start_ns;
	if (end_ns > s->last_ns)
		s->last_ns = end_ns;
}

static bool take(struct shape *s, const struct rcap_item *item)
{
	const struct request_record *q = &item->request;

	if (item->kind == RCAP_SESSION)
		return sessionbook_session(&s->sessions, &item->session);
	if (!sessionbook_request(&s->sessions, q, s->routes[q->route].is_rollback))
		return false;
	if (q->form == FORM_PREPARE)
		return true;
	stretch(s, q->start_ns, q->end_ns);
	bool is_within = !s->has_window || (q->start_ns >= s->from_ns && q->start_ns < s->to_ns);
	return !is_within || !s->routes[q->route].is_wanted || add_request(s, q);
}

static bool stopped(const struct run *run, struct err *e)
{
	return run_stopped(run) && !err_set(e, ERR_INTERRUPTED, "interrupted");
}

static bool read_forwards(
	struct shape *s, struct blockread *b, const struct run *run, struct err *e)
{
	struct run_progress progress = {
		.verb = "reading", .unit = "requests", .total = (double)rcap_totals(s->rcap).stored
	};
	struct rcap_item item;
	enum step step;
	uint64_t done = 0;

	while ((step = blockread_next(b, &item, e)) == STEP_ITEM) {
		if (!take(s, &item))
			return out_of_memory(e);
		if (++done % 65536 == 0) {
			run_progress_at(run, &progress, (double)done);
			if (stopped(run, e))
				return false;
		}
	}
	run_progress_end(run, &progress);
	return step == STEP_END;
}

/* ---- backwards */

static bool arrive(void *data, int64_t at_ns, uint32_t route)
{
	struct shape *s = data;
	struct shape_detail *d = s->routes[route].detail;

	return burst_add(&s->all.burst, at_ns) && (!d || burst_add(&d->burst, at_ns));
}

static bool finish_bursts(struct shape *s)
{
	bool ok = burst_finish(&s->all.burst);

	for (size_t i = 0; i < s->route_count; i++)
		if (s->routes[i].detail)
			ok = burst_finish(&s->routes[i].detail->burst) && ok;
	return ok;
}

static void begin_bursts(struct shape *s)
{
	int64_t span_ns = s->to_ns - s->from_ns;

	burst_init(&s->all.burst, BURST_SCALES, s->from_ns, span_ns);
	for (size_t i = 0; i < s->route_count; i++)
		if (s->routes[i].detail)
			burst_init(&s->routes[i].detail->burst, 3, s->from_ns, span_ns);
}

static bool read_backwards(
	struct shape *s, struct blockread *b, const struct run *run, struct err *e)
{
	struct run_progress progress = { .verb = "reading backwards",
		.unit = "requests",
		.total = (double)rcap_totals(s->rcap).stored };
	struct span span;
	enum step step;
	uint64_t done = 0;

	begin_bursts(s);
	if (!flight_init(&s->flight, s->route_count, s->from_ns, s->to_ns))
		return out_of_memory(e);
	s->flight.arrival = arrive;
	s->flight.data = s;
	while ((step = blockread_back(b, &span, e)) == STEP_ITEM) {
		if (s->routes[span.route].is_wanted && !flight_add(&s->flight, span))
			return out_of_memory(e);
		if (++done % 65536 == 0) {
			run_progress_at(run, &progress, (double)done);
			if (stopped(run, e))
				return false;
		}
	}
	run_progress_end(run, &progress);
	if (step == STEP_FAIL)
		return false;
	return (flight_finish(&s->flight) && finish_bursts(s)) || out_of_memory(e);
}

/* ---- whole */

static int64_t head_time(const struct rcap *r, const char *key, int64_t fallback)
{
	int64_t ns;

	return clock_parse(slice_of(json_text(json_get(rcap_head(r), key), "")), &ns) ? ns
										      : fallback;
}

/* The head says how long was listened, which may be longer than the traffic. */
static void settle_times(struct shape *s)
{
	if (s->has_window)
		return;
	s->from_ns = head_time(s->rcap, "start", s->first_ns);
	s->to_ns = head_time(s->rcap, "end", s->last_ns);
	if (s->first_ns && s->first_ns < s->from_ns)
		s->from_ns = s->first_ns;
	if (s->last_ns > s->to_ns)
		s->to_ns = s->last_ns;
	/* The end is outside: a request that starts at the last instant is not. */
	if (s->last_ns)
		s->to_ns++;
	if (s->to_ns < s->from_ns)
		s->to_ns = s->from_ns;
}

static bool measure(struct shape *s, const struct run *run, struct err *e)
{
	struct blockread b;
	int64_t from = s->has_window ? s->from_ns : head_time(s->rcap, "start", INT64_MIN);
	int64_t to = s->has_window ? s->to_ns : INT64_MAX;

	if (!look_at_routes(s) || !sessionbook_init(&s->sessions, from, to))
		return out_of_memory(e);
	blockread_init(&b, s->rcap);
	bool ok = read_forwards(s, &b, run, e);
	if (ok)
		settle_times(s);
	ok = ok && read_backwards(s, &b, run, e);
	blockread_free(&b);
	return ok && (sessionbook_finish(&s->sessions, s->from_ns, s->to_ns) || out_of_memory(e));
}

static void free_detail(struct shape_detail *d)
{
	for (size_t i = 0; i < SHAPE_FLIGHTS; i++)
		hist_free(&d->latency_us[i]);
	hist_free(&d->latency_unknown_us);
	hist_free(&d->in_flight);
	hist_free(&d->bytes_in);
	hist_free(&d->bytes_out);
	hist_free(&d->rows);
	burst_free(&d->burst);
}

static void free_shape(struct shape *s)
{
	for (size_t i = 0; s->routes && i < s->route_count; i++)
		if (s->routes[i].detail) {
			free_detail(s->routes[i].detail);
			free(s->routes[i].detail);
		}
	free(s->routes);
	free_detail(&s->all);
	sessionbook_free(&s->sessions);
	flight_free(&s->flight);
	free(s);
}

struct json *capture_shape(
	struct rcap *r, const struct shape_options *o, const struct run *run, struct err *e)
{
	struct shape *s = calloc(1, sizeof(*s));
	struct json *doc = NULL;

	if (!s) {
		out_of_memory(e);
		return NULL;
	}
	*s = (struct shape){ .rcap = r,
		.from_ns = o->from_ns,
		.to_ns = o->to_ns,
		.has_window = o->from_ns || o->to_ns,
		.route = o->route };
	rcap_rewind(r);
	if (measure(s, run, e))
		doc = shape_json(s);
	free_shape(s);
	rcap_rewind(r);
	return doc;
}
