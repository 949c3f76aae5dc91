#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "capture/shape_parts.h"
#include "core/base/quantile.h"

static double share_of(double part, double whole)
{
	return whole > 0 ? part / whole : (double)NAN;
}

static void set_count(struct json *map, const char *key, uint64_t n)
{
	json_set_int(map, key, (int64_t)n);
}

static double quantile(const struct hist *h, double q, double unit)
{
	bool has = h->total && quantile_is_estimable(h->total, q);

	return has ? (double)hist_quantile(h, q) / unit : (double)NAN;
}

/* A distribution in few words; values are in the histogram's unit over `unit`. */
static struct json *distribution(const struct hist *h, double unit)
{
	struct json *map = json_object();

	set_count(map, "n", h->total);
	json_set_number(map, "mean", h->total ? h->sum / (double)h->total / unit : (double)NAN);
	json_set_number(map, "p50", quantile(h, 0.5, unit));
	json_set_number(map, "p90", quantile(h, 0.9, unit));
	json_set_number(map, "p99", quantile(h, 0.99, unit));
	json_set_number(map, "max", h->total ? (double)h->max / unit : (double)NAN);
	return map;
}

/* With the order statistics' interval at 95 %. */
static void set_interval(struct json *map, const char *name, const struct hist *h, double q)
{
	char key[32];
	uint64_t low = 0, high = 0;

	if (h->total && quantile_is_estimable(h->total, q))
		quantile_interval(h->total, q, 0.95, &low, &high);
	json_set_number(map, name, quantile(h, q, 1000));
	snprintf(key, sizeof(key), "%s_low", name);
	json_set_number(map, key, low ? (double)hist_rank(h, low) / 1000 : (double)NAN);
	snprintf(key, sizeof(key), "%s_high", name);
	json_set_number(map, key, high ? (double)hist_rank(h, high) / 1000 : (double)NAN);
}

static struct json *latency_json(const struct hist *h)
{
	struct json *map = json_object();

	set_count(map, "n", h->total);
	json_set_number(map, "mean", h->total ? h->sum / (double)h->total / 1000 : (double)NAN);
	set_interval(map, "p50", h, 0.5);
	set_interval(map, "p90", h, 0.9);
	set_interval(map, "p95", h, 0.95);
	set_interval(map, "p99", h, 0.99);
	set_interval(map, "p999", h, 0.999);
	json_set_number(map, "max", h->total ? (double)h->max / 1000 : (double)NAN);
	return map;
}

/* Without memory the sum stays short, which the counts beside it show. */
static struct hist latency_of(const struct shape_detail *d)
{
	struct hist sum = { 0 };
	bool ok = hist_merge(&sum, &d->latency_unknown_us);

	for (size_t i = 0; ok && i < SHAPE_FLIGHTS; i++)
		ok = hist_merge(&sum, &d->latency_us[i]);
	return sum;
}

static struct json *detail_latency(const struct shape_detail *d)
{
	struct hist sum = latency_of(d);
	struct json *map = latency_json(&sum);

	hist_free(&sum);
	return map;
}

static struct json *by_flight_json(const struct shape_detail *d)
{
	struct json *list = json_array();

	for (unsigned i = 0; i < SHAPE_FLIGHTS; i++) {
		const struct hist *h = &d->latency_us[i];
		uint32_t from, to;

		if (!h->total)
			continue;
		struct json *row = json_object();
		shape_flight_range(i, &from, &to);
		json_set_int(row, "from", from);
		if (to == UINT32_MAX)
			json_set_null(row, "to");
		else
			json_set_int(row, "to", to);
		set_count(row, "requests", h->total);
		json_set_number(row, "mean_ms", h->sum / (double)h->total / 1000);
		json_set_number(row, "p50_ms", quantile(h, 0.5, 1000));
		json_set_number(row, "p90_ms", quantile(h, 0.9, 1000));
		json_set_number(row, "p99_ms", quantile(h, 0.99, 1000));
		json_set_number(row, "max_ms", (double)h->max / 1000);
		json_append(list, row);
	}
	return list;
}

static struct json *scale_json(const struct burst_scale *s)
{
	struct json *map = json_object();
	double per_s = 1e9 / (double)s->width_ns;
	bool has = s->slices > 0;

	json_set_number(map, "slice_s", (double)s->width_ns / 1e9);
	json_set_int(map, "slices", s->slices);
	json_set_number(map, "dispersion", burst_dispersion(s));
	json_set_number(map, "mean_per_s", has ? s->sum / (double)s->slices * per_s : (double)NAN);
	json_set_number(map, "p50_per_s",
		has ? (double)hist_quantile(&s->counts, 0.5) * per_s : (double)NAN);
	json_set_number(map, "p95_per_s",
		has ? (double)hist_quantile(&s->counts, 0.95) * per_s : (double)NAN);
	json_set_number(map, "max_per_s", has ? (double)s->counts.max * per_s : (double)NAN);
	return map;
}

static struct json *gaps_json(const struct burst *b)
{
	struct json *map = distribution(&b->gaps_ns, 1e6);

	json_set_number(map, "cv", burst_gap_cv(b));
	set_count(map, "zero", b->together);
	return map;
}

/* The scales from the finest to the widest. */
static struct json *arrivals_json(const struct burst *b, double span_s)
{
	struct json *map = json_object(), *scales = json_array();

	set_count(map, "requests", b->events);
	json_set_number(map, "mean_per_s", share_of((double)b->events, span_s));
	for (size_t i = b->scale_count; i-- > 3;)
		json_append(scales, scale_json(&b->scales[i]));
	for (size_t i = 0; i < b->scale_count && i < 3; i++)
		json_append(scales, scale_json(&b->scales[i]));
	json_set(map, "scales", scales);
	json_set(map, "gaps_ms", gaps_json(b));
	return map;
}

static struct json *level_json(const struct level *l)
{
	struct json *map = json_object();
	uint64_t idle = l->held_ns.total && l->held_ns.min == 0 && l->held_ns.first == 0
				? l->held_ns.counts[0]
				: 0;

	json_set_number(map, "mean", level_mean(l));
	json_set_number(map, "p50", level_quantile(l, 0.5));
	json_set_number(map, "p95", level_quantile(l, 0.95));
	json_set_number(map, "p99", level_quantile(l, 0.99));
	json_set_int(map, "max", l->max);
	json_set_number(map, "busy_share",
		share_of((double)(l->held_ns.total - idle), (double)l->held_ns.total));
	return map;
}

/* ---- sessions */

static struct json *sessions_json(const struct sessionbook *b, double span_s)
{
	struct json *map = json_object(), *opens = json_object();
	double most = 0;

	set_count(map, "count", b->sessions);
	set_count(map, "opened", b->opened);
	set_count(map, "closed", b->closed);
	set_count(map, "joined_late", b->joined_late);
	set_count(map, "without_requests", b->silent);
	set_count(map, "untracked", b->untracked);
	json_set(map, "open", level_json(&b->level));
	for (int64_t i = 0; i < b->opens.used; i++)
		most = b->opens.amounts[i] > most ? b->opens.amounts[i] : most;
	json_set_number(opens, "mean", share_of((double)b->opened, span_s));
	json_set_number(opens, "max", most * 1e9 / (double)b->opens.width_ns);
	json_set(map, "opened_per_s", opens);
	json_set(map, "lifetime_ms", distribution(&b->lifetime_us, 1000));
	json_set(map, "requests_each", distribution(&b->requests_each, 1));
	return map;
}

static struct json *think_json(const struct sessionbook *b)
{
	struct json *map = json_object();

	json_set(map, "between_transactions", distribution(&b->think_idle_us, 1000));
	json_set(map, "inside_transactions", distribution(&b->think_inside_us, 1000));
	return map;
}

static struct json *transactions_json(const struct sessionbook *b)
{
	struct json *map = json_object();

	set_count(map, "explicit", b->explicit_count);
	set_count(map, "single_statements", b->implicit_count);
	set_count(map, "with_errors", b->failed);
	set_count(map, "rolled_back", b->rolled_back);
	set_count(map, "half_seen", b->half_seen);
	set_count(map, "state_unknown", b->unknown_state);
	json_set(map, "statements", distribution(&b->statements, 1));
	json_set(map, "length_ms", distribution(&b->length_us, 1000));
	json_set_number(map, "idle_share", share_of(b->idle_ns, b->length_ns));
	return map;
}

/* ---- mix */

static struct json *forms_json(const struct shape *s)
{
	static const char *const names[SHAPE_FORMS] = { [FORM_SIMPLE] = "simple",
		[FORM_UNNAMED] = "unnamed",
		[FORM_NAMED] = "named",
		[FORM_FETCH] = "fetch",
		[FORM_COPY_IN] = "copy_in",
		[FORM_COPY_OUT] = "copy_out",
		[FORM_FUNCTION] = "function",
		[FORM_HTTP] = "http" };
	struct json *map = json_object();

	for (size_t i = 0; i < SHAPE_FORMS; i++)
		if (names[i] && s->forms[i])
			set_count(map, names[i], s->forms[i]);
	return map;
}

static int oftener_first(const void *a, const void *b)
{
	const struct shape_code *x = a, *y = b;

	if (x->requests != y->requests)
		return x->requests < y->requests ? 1 : -1;
	return strcmp(x->text, y->text);
}

static struct json *errors_json(const struct shape *s)
{
	struct json *map = json_object(), *list = json_array();
	struct shape_code codes[SHAPE_CODES];

	memcpy(codes, s->codes, sizeof(codes));
	qsort(codes, s->code_count, sizeof(*codes), oftener_first);
	for (size_t i = 0; i < s->code_count; i++) {
		struct json *row = json_object();

		json_set_text(row, "protocol", codes[i].protocol == PROTOCOL_PG ? "pg" : "http");
		json_set_text(row, "code", codes[i].text);
		set_count(row, "requests", codes[i].requests);
		json_set_number(
			row, "share", share_of((double)codes[i].requests, (double)s->requests));
		json_append(list, row);
	}
	set_count(map, "requests", s->errors);
	json_set_number(map, "share", share_of((double)s->errors, (double)s->requests));
	set_count(map, "unanswered", s->unanswered);
	set_count(map, "cancelled", s->cancelled);
	set_count(map, "skipped", s->skipped);
	json_set(map, "codes", list);
	set_count(map, "codes_left_out", s->codes_left_out);
	return map;
}

static struct json *sizes_json(const struct shape_detail *d)
{
	struct json *map = json_object();

	json_set(map, "bytes_in", distribution(&d->bytes_in, 1));
	json_set(map, "bytes_out", distribution(&d->bytes_out, 1));
	json_set(map, "rows", distribution(&d->rows, 1));
	return map;
}

/* ---- routes */

static void set_identity(struct json *map, const struct rcap_route *route)
{
	char hex[20];

	snprintf(hex, sizeof(hex), "%016" PRIx64, route->fingerprint);
	json_set_int(map, "id", route->id);
	json_set_text(map, "protocol", route->protocol == PROTOCOL_HTTP ? "http" : "pg");
	json_set_slice(map, "route", route->text);
	json_set_text(map, "fingerprint", hex);
}

static struct json *route_json(const struct shape *s, uint32_t id, double span_s)
{
	const struct shape_route *r = &s->routes[id];
	const struct rcap_route *route = rcap_route(s->rcap, id);
	struct json *map = json_object();

	set_identity(map, route);
	set_count(map, "requests", r->requests);
	json_set_number(map, "share", share_of((double)r->requests, (double)s->requests));
	json_set_number(map, "busy_share", share_of(r->busy_ns, s->busy_ns));
	set_count(map, "errors", r->errors);
	set_count(map, "writes", r->writes);
	set_count(map, "rows", r->rows);
	set_count(map, "bytes_in", r->bytes_in);
	set_count(map, "bytes_out", r->bytes_out);
	json_set_number(map, "mean_per_s", share_of((double)r->requests, span_s));
	json_set(map, "in_flight", level_json(&s->flight.by_route[id]));
	if (!r->detail) {
		if (!s->has_window)
			json_set(map, "latency_ms", latency_json(&route->latency_us));
		return map;
	}
	json_set(map, "latency_ms", detail_latency(r->detail));
	json_set(map, "latency_by_in_flight", by_flight_json(r->detail));
	json_set(map, "arrivals", arrivals_json(&r->detail->burst, span_s));
	json_set(map, "sizes", sizes_json(r->detail));
	return map;
}

struct order {
	uint32_t id;
	uint64_t requests;
};

static int busier_first(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->requests != y->requests)
		return x->requests < y->requests ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static struct json *routes_json(const struct shape *s, double span_s)
{
	struct json *list = json_array();
	struct order *order = calloc(s->route_count + 1, sizeof(*order));

	for (uint32_t i = 0; order && i < s->route_count; i++)
		order[i] = (struct order){ i, s->routes[i].requests };
	if (order)
		qsort(order, s->route_count, sizeof(*order), busier_first);
	for (size_t i = 0; order && i < s->route_count && order[i].requests; i++)
		json_append(list, route_json(s, order[i].id, span_s));
	free(order);
	return list;
}

/* ---- whole */

PRINTF_LIKE(2, 3)
static void note(struct json *notes, const char *fmt, ...)
{
	struct buf text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	json_append_text(notes, buf_text(&text));
	buf_free(&text);
}

static struct json *notes_json(const struct shape *s, bool is_sampled)
{
	struct rcap_totals t = rcap_totals(s->rcap);
	struct json *notes = json_array();
	int64_t fineness = json_int(json_path(rcap_head(s->rcap), "clock.fineness_ns"), 0);

	if (is_sampled)
		note(notes,
			"sampled: of %" PRIu64 " requests %" PRIu64 " are stored, prepares "
			"included, and the shape is theirs; in flight at arrival is exact",
			t.requests, t.stored);
	if (fineness >= NS_PER_MS)
		note(notes, "the clock of the source is as coarse as %" PRId64 " ms",
			fineness / NS_PER_MS);
	if (s->flight.out_of_order)
		note(notes, "%" PRIu64 " requests were stored far out of order",
			s->flight.out_of_order);
	if (s->sessions.untracked)
		note(notes, "more than %d sessions open at once: %" PRIu64 " were not followed",
			SESSIONBOOK_OPEN_MAX, s->sessions.untracked);
	if (s->shed)
		note(notes, "%" PRIu64 " requests are from times when others were shed", s->shed);
	if (rcap_is_torn(s->rcap))
		note(notes, "the file is not complete");
	return notes;
}

static void set_times(struct json *map, const struct shape *s)
{
	int64_t end_ns = s->has_window || !s->last_ns ? s->to_ns : s->to_ns - 1;

	if (s->from_ns) {
		json_set_time(map, "start", s->from_ns);
		json_set_time(map, "end", end_ns);
	} else {
		json_set_null(map, "start");
		json_set_null(map, "end");
	}
	json_set_number(map, "duration_s", (double)(end_ns - s->from_ns) / 1e9);
}

static struct json *mix_json(const struct shape *s)
{
	struct json *map = json_object();
	uint64_t pg = s->requests - s->forms[FORM_HTTP];

	set_count(map, "reads", s->requests - s->writes);
	set_count(map, "writes", s->writes);
	json_set_number(map, "write_share", share_of((double)s->writes, (double)s->requests));
	json_set(map, "forms", forms_json(s));
	json_set_number(map, "prepared_share", share_of((double)s->forms[FORM_NAMED], (double)pg));
	return map;
}

static struct json *in_flight_json(const struct shape *s)
{
	struct json *map = level_json(&s->flight.all);

	json_set(map, "at_arrival", distribution(&s->all.in_flight, 1));
	return map;
}

struct json *shape_json(const struct shape *s)
{
	struct json *map = json_object();
	const struct json *sampling = json_get(rcap_head(s->rcap), "sampling");
	struct rcap_totals totals = rcap_totals(s->rcap);
	bool is_sampled = json_type(sampling) == JSON_MAP || totals.requests > totals.stored;
	double span_s = (double)(s->to_ns - s->from_ns) / 1e9;

	json_set_text(map, "format", "shape");
	json_set_int(map, "version", 1);
	set_times(map, s);
	json_set_bool(map, "has_window", s->has_window);
	if (s->route)
		json_set_text(map, "route", s->route);
	else
		json_set_null(map, "route");
	set_count(map, "requests", s->requests);
	json_set_bool(map, "is_sampled", is_sampled);
	json_set(map, "arrivals", arrivals_json(&s->all.burst, span_s));
	json_set(map, "in_flight", in_flight_json(s));
	json_set(map, "latency_ms", detail_latency(&s->all));
	json_set(map, "latency_by_in_flight", by_flight_json(&s->all));
	json_set(map, "sessions", sessions_json(&s->sessions, span_s));
	json_set(map, "think_ms", think_json(&s->sessions));
	json_set(map, "transactions", transactions_json(&s->sessions));
	json_set(map, "mix", mix_json(s));
	json_set(map, "sizes", sizes_json(&s->all));
	json_set(map, "errors", errors_json(s));
	json_set(map, "routes", routes_json(s, span_s));
	json_set(map, "notes", notes_json(s, is_sampled));
	return map;
}
