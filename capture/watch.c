#include "capture/watch.h"

#include <stdlib.h>

#include "capture/watchdir.h"
#include "capture/watchjoin.h"
#include "core/base/file.h"
#include "core/model/rcap_code.h"

enum {
	SESSIONS_MAX = 1 << 17, /* open at once; of others requests have no session record */
	PIECES_MAX = 6 * WATCH_PIECES, /* of an incident that goes on and on */
	WHY_MAX = 400,
};

static const int64_t hour_ns = 3600 * NS_PER_S, hour_flush_ns = 60 * NS_PER_S;

struct tally {
	uint64_t sessions, requests;
};

struct open_session {
	uint64_t id;
	uint32_t told; /* number of the piece that has its record */
	struct buf record;
};

struct piece {
	char name[WATCH_NAME_MAX];
	int64_t start_ns, end_ns;
};

struct seen_route {
	uint32_t hourly; /* its number in the file of the hour */
	uint32_t rules;
};

struct watch {
	struct watch_options options;
	struct pipeline *pipeline;
	struct store store;
	struct rcap_writer *ring, *hour;
	struct tally in_ring, in_hour; /* of the files being written */
	char hour_name[WATCH_NAME_MAX];
	int64_t hour_start_ns, hour_began_ns, hour_flushed_ns, fired_ns;
	struct piece pieces[PIECES_MAX]; /* the last one is being written */
	size_t piece_count;
	uint32_t number; /* of the piece, from 1 */
	struct seen_route *routes; /* by number in the piece */
	uint32_t route_room;
	struct table sessions;
	struct json *head; /* the latest */
	char why[WHY_MAX]; /* of the incident under way, or empty */
	int64_t why_ns, from_ns, until_ns;
	uint64_t incidents;
};

/* ---- routes */

static void see_route(
	void *data, uint32_t id, enum protocol protocol, uint64_t fingerprint, struct slice text)
{
	struct watch *w = data;

	if (id >= w->route_room) {
		uint32_t room = id < 64 ? 128 : 2 * id;
		struct seen_route *more = realloc(w->routes, room * sizeof *more);

		if (!more)
			return;
		memset(more + w->route_room, 0, (room - w->route_room) * sizeof *more);
		w->routes = more;
		w->route_room = room;
	}
	w->routes[id].hourly = rcap_add_route(w->hour, protocol, fingerprint, text);
	w->routes[id].rules = watch_rules_of_route(w->options.rules, text);
}

/* ---- the store */

static struct slice key_of(const uint64_t *id)
{
	return (struct slice){ (const char *)id, sizeof *id };
}

static void forget_session(struct watch *w, struct open_session *s)
{
	table_remove(&w->sessions, key_of(&s->id));
	buf_free(&s->record);
	free(s);
}

static bool take_session(void *data, const struct session_record *r, struct err *e)
{
	struct watch *w = data;
	struct open_session *s = table_get(&w->sessions, key_of(&r->id));

	rcap_count_session(w->hour, r);
	if (r->close_ns) {
		if (s)
			forget_session(w, s);
		return rcap_put_session(w->ring, r, e);
	}
	w->in_ring.sessions += !s;
	w->in_hour.sessions += !s;
	if (!s && (s = calloc(1, sizeof *s))) {
		s->id = r->id;
		if (!table_put(&w->sessions, key_of(&s->id), s)) {
			free(s);
			s = NULL;
		}
	}
	if (s) {
		buf_reset(&s->record);
		rcap_code_session(r, &s->record);
		s->told = w->number;
	}
	return rcap_put_session(w->ring, r, e);
}

/* The piece before had it; this one must be readable alone. */
static bool tell_session(struct watch *w, uint64_t id, struct err *e)
{
	struct open_session *s = table_get(&w->sessions, key_of(&id));
	struct session_record r;
	struct slice payload;
	struct cursor c;
	uint8_t kind;

	if (!s || s->told == w->number)
		return true;
	s->told = w->number;
	w->in_ring.sessions++;
	c = cursor_of(buf_text(&s->record), s->record.n);
	return rcap_next_record(&c, &kind, &payload) != STEP_ITEM ||
	       !rcap_decode_session(payload, &r) || rcap_put_session(w->ring, &r, e);
}

static bool take_request(void *data, const struct request_record *q, struct err *e)
{
	struct watch *w = data;
	struct seen_route none = { 0 };
	const struct seen_route *route = q->route < w->route_room ? &w->routes[q->route] : &none;
	struct request_record counted = *q;
	int64_t us = rcap_latency_us(q);

	counted.route = route->hourly;
	counted.template_id = 0;
	w->in_ring.requests += q->form != FORM_PREPARE;
	w->in_hour.requests += q->form != FORM_PREPARE;
	if (us >= 0 && q->form != FORM_PREPARE)
		watch_rules_count(w->options.rules, route->rules, us);
	return tell_session(w, q->session, e) && rcap_put_request(w->ring, q, e) &&
	       rcap_count_request(w->hour, &counted, e);
}

/* ---- files */

static struct rcap_writer *create(const struct watch *w, const char *name, struct err *e)
{
	struct rcap_writer *writer = rcap_create(name, false, e);

	if (writer && w->options.dictionary_max)
		rcap_limit(writer, w->options.dictionary_max / 2);
	return writer;
}

static bool open_hour(struct watch *w, int64_t now_ns, struct err *e)
{
	w->hour_start_ns = now_ns / hour_ns * hour_ns;
	w->in_hour = (struct tally){ 0 };
	w->hour_flushed_ns = w->hour_began_ns = now_ns;
	watchdir_name("counts", w->hour_start_ns, w->hour_name);
	w->hour = create(w, w->hour_name, e);
	return w->hour != NULL;
}

static bool open_piece(struct watch *w, int64_t now_ns, struct err *e)
{
	struct piece *p = &w->pieces[w->piece_count];

	*p = (struct piece){ .start_ns = now_ns,
		.end_ns = now_ns + w->options.ring_ns / WATCH_PIECES };
	watchdir_name("ring", now_ns, p->name);
	w->in_ring = (struct tally){ 0 };
	w->ring = create(w, p->name, e);
	if (!w->ring)
		return false;
	w->piece_count++;
	w->number++;
	if (w->routes)
		memset(w->routes, 0, w->route_room * sizeof *w->routes);
	rcap_on_route(w->ring, see_route, w);
	if (w->pipeline)
		pipeline_set_writer(w->pipeline, w->ring);
	return true;
}

static bool close_writer(struct rcap_writer **writer, const struct json *head, struct err *e)
{
	struct rcap_writer *w = *writer;

	*writer = NULL;
	return !w || rcap_finish(w, head, e);
}

/* The ledger is of the whole watch, counts are of the file. */
static void set_counts(struct json *head, const struct tally *t)
{
	struct json *counts = json_object();

	json_set_int(counts, "sessions", (int64_t)t->sessions);
	json_set_int(counts, "requests", (int64_t)t->requests);
	json_set(head, "counts", counts);
	json_set_text(head, "ledger_of", "watch");
}

/* The pipeline's head is of the piece; the hour is longer. */
static struct json *hour_head(const struct watch *w, int64_t now_ns)
{
	struct json *head = json_copy(w->head);

	json_set_time(head, "start", w->hour_began_ns);
	json_set_time(head, "end", now_ns);
	set_counts(head, &w->in_hour);
	return head;
}

static bool close_hour(struct watch *w, int64_t now_ns, struct err *e)
{
	CLEANUP(json_cleanup) struct json *head = hour_head(w, now_ns);

	return close_writer(&w->hour, head, e);
}

static void take_head(struct watch *w, bool is_complete)
{
	json_free(w->head);
	w->options.pipeline.facts->is_complete = is_complete;
	w->head = pipeline_head(w->pipeline);
	set_counts(w->head, &w->in_ring);
	w->options.pipeline.facts->is_complete = false;
	/* Each piece tells its own time. */
	w->options.pipeline.facts->start_ns = w->options.pipeline.facts->end_ns = 0;
}

/* The first n pieces leave the list, and the folder unless an incident may need them. */
static void forget_pieces(struct watch *w, size_t n)
{
	w->piece_count -= n;
	memmove(w->pieces, w->pieces + n, w->piece_count * sizeof w->pieces[0]);
}

static bool write_incident(struct watch *w, int64_t now_ns, struct err *e)
{
	const char *paths[PIECES_MAX];
	struct watch_join plan = { .paths = paths,
		.from_ns = w->from_ns,
		.until_ns = now_ns < w->until_ns ? now_ns : w->until_ns,
		.dictionary_max = w->options.dictionary_max / 2,
		.why = w->why,
		.at_ns = w->why_ns };
	char name[WATCH_NAME_MAX];
	uint64_t requests = 0;

	for (size_t i = 0; i < w->piece_count; i++)
		if (w->pieces[i].end_ns >= w->from_ns)
			paths[plan.count++] = w->pieces[i].name;
	watchdir_name("incident", w->why_ns, name);
	if (plan.count && !watch_join(&plan, name, &requests, e))
		return false;
	if (requests) {
		w->incidents++;
		run_note(w->options.run, "%s: %s", name, w->why);
	}
	w->why[0] = '\0';
	return true;
}

/* Files that are no longer in the ring, too old, or too much. */
static void prune(struct watch *w, int64_t now_ns)
{
	int64_t oldest = now_ns - w->options.ring_ns;
	size_t n = 0;

	if (w->why[0] && w->from_ns < oldest)
		oldest = w->from_ns;
	while (n + 1 < w->piece_count && w->pieces[n].end_ns < oldest)
		n++;
	forget_pieces(w, n);
	watchdir_prune(now_ns - w->options.keep_ns, w->pieces[0].start_ns / NS_PER_S * NS_PER_S,
		w->options.disk_bytes, w->hour_name);
}

static bool turn_over(struct watch *w, int64_t now_ns, bool is_last, struct err *e)
{
	bool is_new_hour = is_last || now_ns / hour_ns * hour_ns != w->hour_start_ns;

	w->pieces[w->piece_count - 1].end_ns = now_ns;
	take_head(w, true);
	if (!close_writer(&w->ring, w->head, e) || (is_new_hour && !close_hour(w, now_ns, e)))
		return false;
	if (w->why[0] && (is_last || now_ns >= w->until_ns || w->piece_count + 1 >= PIECES_MAX) &&
		!write_incident(w, now_ns, e))
		return false;
	prune(w, now_ns);
	if (w->piece_count == PIECES_MAX)
		forget_pieces(w, 1);
	return is_last || ((!is_new_hour || open_hour(w, now_ns, e)) && open_piece(w, now_ns, e));
}

/* ---- time */

static void fire(struct watch *w, int64_t now_ns)
{
	char why[WHY_MAX];

	if (!watch_rules_fire(w->options.rules, now_ns, why, sizeof why))
		return;
	w->until_ns = now_ns + w->options.ring_ns / 2;
	/* A breach that goes on makes its incident longer, it makes no second one. */
	if (w->why[0])
		return;
	memcpy(w->why, why, sizeof why);
	w->why_ns = now_ns;
	w->from_ns = now_ns - w->options.ring_ns;
	run_note(w->options.run, "keeping the minutes around: %s", why);
}

bool watch_tick(struct watch *w, int64_t now_ns, struct err *e)
{
	const struct piece *p = &w->pieces[w->piece_count - 1];

	if (now_ns - w->fired_ns >= NS_PER_S) {
		w->fired_ns = now_ns;
		fire(w, now_ns);
	}
	if (now_ns >= p->end_ns || now_ns / hour_ns * hour_ns > w->hour_start_ns ||
		(w->why[0] && now_ns >= w->until_ns))
		return turn_over(w, now_ns, false, e);
	if (now_ns - w->hour_flushed_ns < hour_flush_ns)
		return true;
	w->hour_flushed_ns = now_ns;
	CLEANUP(json_cleanup) struct json *head = hour_head(w, now_ns);
	return rcap_flush(w->hour, head, e);
}

bool watch_end(struct watch *w, int64_t now_ns, struct err *e)
{
	/* Going over to the next file failed: nothing more can be kept. */
	if (!w->ring) {
		pipeline_silence(w->pipeline);
		return !w->hour || close_hour(w, now_ns, e);
	}
	return pipeline_end(w->pipeline, e) && turn_over(w, now_ns, true, e);
}

/* ---- birth and death */

struct watch *watch_new(const struct watch_options *o, int64_t now_ns, struct err *e)
{
	struct watch *w = calloc(1, sizeof *w);

	if (!w) {
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	w->options = *o;
	w->fired_ns = now_ns;
	w->store = (struct store){ take_session, take_request, w };
	table_init(&w->sessions, SESSIONS_MAX);
	if (!open_hour(w, now_ns, e) || !open_piece(w, now_ns, e))
		goto failed;
	w->options.pipeline.writer = w->ring;
	w->options.pipeline.store = &w->store;
	w->pipeline = pipeline_new(&w->options.pipeline, e);
	if (!w->pipeline)
		goto failed;
	take_head(w, false);
	return w;
failed:
	watch_free(w);
	return NULL;
}

void watch_free(struct watch *w)
{
	struct slice key;
	void *value;

	if (!w)
		return;
	pipeline_free(w->pipeline);
	if (w->ring)
		rcap_abandon(w->ring);
	if (w->hour)
		rcap_abandon(w->hour);
	for (size_t at = 0; table_next(&w->sessions, &at, &key, &value);)
		forget_session(w, value);
	table_free(&w->sessions);
	json_free(w->head);
	free(w->routes);
	free(w);
}

struct pipeline *watch_pipeline(struct watch *w)
{
	return w->pipeline;
}

uint64_t watch_incidents(const struct watch *w)
{
	return w->incidents;
}

uint64_t watch_bytes(const struct watch *w)
{
	return (w->ring ? rcap_bytes(w->ring) : 0) + (w->hour ? rcap_bytes(w->hour) : 0);
}
