#include "replay/measure.h"

#include <stdlib.h>

bool measure_init(struct measure *m, struct replay_result *result, const struct rcap *capture,
	uint64_t judged, struct err *e)
{
	size_t count = rcap_route_count(capture);

	*m = (struct measure){
		.result = result, .capture = capture, .judged = judged, .has_judged = judged != 0
	};
	m->place = calloc(count + 1, sizeof(*m->place));
	m->place_count = count;
	return m->place ? true : err_set(e, ERR_ENV, "could not allocate memory for results");
}

static void add(struct measure *m, struct hist *h, int64_t ns)
{
	if (!hist_add(h, ns > 0 ? ns / NS_PER_US : 0, 1))
		m->is_out_of_memory = true;
}

static struct replay_route *new_route(struct measure *m, uint32_t id)
{
	struct replay_result *r = m->result;

	if (r->route_count == m->route_room) {
		size_t room = m->route_room ? 2 * m->route_room : 32;
		struct replay_route *p = realloc(r->routes, room * sizeof(*p));
		if (!p)
			return NULL;
		r->routes = p;
		m->route_room = room;
	}
	const struct rcap_route *from = rcap_route(m->capture, id);
	struct replay_route *route = &r->routes[r->route_count];
	*route = (struct replay_route){ .id = id, .fingerprint = from ? from->fingerprint : 0 };
	route->text =
		from ? strndup(from->text.p ? from->text.p : "", from->text.n) : strdup("other");
	if (!route->text)
		return NULL;
	m->place[id] = (uint32_t)++r->route_count;
	return route;
}

static struct replay_route *route_of(struct measure *m, const struct plan_item *item)
{
	uint32_t id = item->q.route < m->place_count ? item->q.route : 0;
	struct replay_route *route =
		m->place[id] ? &m->result->routes[m->place[id] - 1] : new_route(m, id);

	if (!route)
		m->is_out_of_memory = true;
	return route;
}

void measure_skip(struct measure *m, const struct plan_item *item, enum plan_skip skip)
{
	if (item->kind != PLAN_REQUEST)
		return;
	m->result->planned++;
	m->skipped[skip]++;
}

void measure_unsent(struct measure *m, const struct plan_item *item)
{
	if (item->kind != PLAN_REQUEST)
		return;
	m->result->planned++;
	m->result->failed++;
}

void measure_sent(struct measure *m, const struct plan_item *item, const struct measure_times *t)
{
	struct schedule_lag lag = schedule_lag(t->due_ns, t->free_ns, t->sent_ns);

	if (item->kind == PLAN_PREPARE) {
		m->result->prepares++;
		return;
	}
	m->result->planned++;
	m->result->sent++;
	m->captured_busy_ns += item->q.end_ns - item->q.start_ns;
	add(m, &m->result->lateness_us, lag.lateness_ns);
	add(m, &m->result->queue_us, lag.queue_ns);
	struct replay_route *route = route_of(m, item);
	if (!route)
		return;
	route->sent++;
	route->captured_requests++;
	route->captured_rows += item->q.rows;
	route->captured_errors += item->q.sqlstate[0] != '\0';
}

static void keep_sample(struct measure *m, const struct replay_sample *sample)
{
	struct replay_result *r = m->result;

	if (r->sample_count == m->sample_room && m->sample_room < SAMPLES_MAX) {
		size_t room = m->sample_room ? 2 * m->sample_room : 1024;
		room = room > SAMPLES_MAX ? SAMPLES_MAX : room;
		struct replay_sample *p = realloc(r->samples, room * sizeof(*p));
		if (p) {
			r->samples = p;
			m->sample_room = room;
		}
	}
	if (r->sample_count == m->sample_room)
		r->samples_dropped++;
	else
		r->samples[r->sample_count++] = *sample;
}

static void note_error_divergence(
	struct measure *m, uint32_t route, const char *expected, const char *got)
{
	for (size_t i = 0; i < m->divergence_count; i++) {
		struct divergence *d = &m->divergences[i];

		if (d->route == route && strcmp(d->expected, expected) == 0 &&
			strcmp(d->got, got) == 0) {
			d->count++;
			return;
		}
	}
	if (m->divergence_count == DIVERGENCES_MAX) {
		m->divergences_refused++;
		return;
	}
	struct divergence *d = &m->divergences[m->divergence_count++];
	*d = (struct divergence){ .route = route, .count = 1 };
	memcpy(d->expected, expected, sizeof(d->expected) - 1);
	memcpy(d->got, got, sizeof(d->got) - 1);
}

/* Unanswered in the capture, or discarded after another's error: nothing to compare. */
static bool is_comparable(const struct plan_item *item, const struct driver_answer *answer)
{
	return !(item->q.flags & (REQUEST_UNANSWERED | REQUEST_SKIPPED | REQUEST_GAP)) &&
	       !answer->is_aborted;
}

static void compare(struct measure *m, struct replay_route *route, const struct plan_item *item,
	const struct driver_answer *answer)
{
	if (!is_comparable(item, answer))
		return;
	if (strcmp(item->q.sqlstate, answer->sqlstate) != 0) {
		route->errors_differ++;
		note_error_divergence(m, route->id, item->q.sqlstate, answer->sqlstate);
	} else if (!answer->sqlstate[0] && !(item->q.flags & REQUEST_USES_NOW)) {
		route->rows_compared++;
		route->rows_differ += item->q.rows != answer->rows;
	}
}

void measure_end(struct measure *m, const struct plan_item *item, const struct measure_times *t,
	enum measure_end how, const struct driver_answer *answer)
{
	struct replay_route *route = item->kind == PLAN_REQUEST ? route_of(m, item) : NULL;

	if (!route)
		return;
	bool is_error = how != MEASURE_ANSWERED || answer->sqlstate[0] || answer->is_aborted;
	route->failed += is_error;
	route->censored += how == MEASURE_CENSORED;
	m->result->censored += how == MEASURE_CENSORED;
	m->busy_ns += t->end_ns - t->sent_ns;
	/* A pipeline's discarded statements were not run: their time says nothing. */
	if (how != MEASURE_ANSWERED || !answer->is_aborted) {
		add(m, &route->service_us, t->end_ns - t->sent_ns);
		add(m, &route->due_us, t->end_ns - t->due_ns);
	}
	if (how == MEASURE_ANSWERED) {
		route->rows += answer->rows;
		compare(m, route, item, answer);
	}
	if (m->has_judged && route->fingerprint == m->judged)
		keep_sample(m, &(struct replay_sample){ t->due_ns, t->sent_ns, t->end_ns,
				       how == MEASURE_CENSORED, is_error });
}

static int by_sent(const void *pa, const void *pb)
{
	const struct replay_sample *a = pa, *b = pb;

	return (a->sent_ns > b->sent_ns) - (a->sent_ns < b->sent_ns);
}

static void add_divergence(struct measure *m, const struct divergence *d)
{
	const struct replay_route *route = &m->result->routes[m->place[d->route] - 1];
	struct json *one = json_object();

	json_set_text(one, "route", route->text);
	json_set_text(one, "kind", "error");
	json_set_text(one, "captured", d->expected[0] ? d->expected : NULL);
	json_set_text(one, "replayed", d->got[0] ? d->got : NULL);
	json_set_int(one, "n", (int64_t)d->count);
	json_append(m->result->divergence, one);
}

static void add_rows_divergence(struct measure *m, const struct replay_route *route)
{
	struct json *one = json_object();

	json_set_text(one, "route", route->text);
	json_set_text(one, "kind", "rows");
	json_set_int(one, "captured", (int64_t)route->captured_rows);
	json_set_int(one, "replayed", (int64_t)route->rows);
	json_set_int(one, "n", (int64_t)route->rows_differ);
	json_append(m->result->divergence, one);
}

bool measure_finish(struct measure *m, struct err *e)
{
	struct replay_result *r = m->result;

	if (r->samples)
		qsort(r->samples, r->sample_count, sizeof(*r->samples), by_sent);
	for (size_t i = SKIP_NONE + 1; i < SKIP_COUNT; i++)
		if (m->skipped[i])
			r->skipped[r->skip_count++] =
				(struct replay_skip){ plan_skip_text((enum plan_skip)i),
					m->skipped[i] };
	r->divergence = json_array();
	for (size_t i = 0; i < m->divergence_count; i++)
		add_divergence(m, &m->divergences[i]);
	for (size_t i = 0; i < r->route_count; i++)
		if (r->routes[i].rows_differ)
			add_rows_divergence(m, &r->routes[i]);
	if (r->duration_ns > 0) {
		r->in_flight_mean = (double)m->busy_ns / (double)r->duration_ns;
		int64_t captured_ns = r->passes ? r->planned_ns * r->passes : r->duration_ns;
		r->captured_in_flight_mean =
			captured_ns > 0 ? (double)m->captured_busy_ns / (double)captured_ns : 0;
	}
	return m->is_out_of_memory ? err_set(e, ERR_ENV, "memory ran out during the run") : true;
}

void measure_free(struct measure *m)
{
	free(m->place);
	m->place = NULL;
}
