#include "capture/scrub.h"

#include <stdlib.h>

#include "capture/wire/match.h"
#include "capture/scrubcopy.h"
#include "capture/scrubhttp.h"
#include "core/model/places.h"
#include "core/model/sqlscrub.h"

enum { STRONG_SLOTS = 1 << 15, VALUES_MAX = 1 << 20 };

struct strong_answer {
	uint64_t session, seq_plus_1;
};

struct scrub {
	struct rcap_writer *writer;
	struct store store;
	struct sqlscrub *sql;
	struct httpscrub *http; /* made at the first HTTP request */
	const struct policy *policy;
	const struct token_key *key;
	const struct httproutes *routes;
	struct places *places;
	uint32_t *columns; /* number in the report by sqlscrub_place(), 0: not asked yet */
	struct buf bytes; /* of the record in hand */
	struct value *values;
	size_t *offsets; /* of values[i].bytes in bytes */
	size_t value_cap;
	struct edge *edges;
	size_t edge_cap;
	/* Which answers held generated values; a collision makes an edge weak. */
	struct strong_answer *strong;
	uint32_t fixed_routes[4];
	uint64_t session_count, request_count, unreadable, secret;
	uint64_t changed_predicates; /* statements' values that rows are looked up by, changed */
	uint64_t seen_sessions;
};

enum fixed_route { ROUTE_UNKNOWN, ROUTE_UNREADABLE, ROUTE_SECRET, ROUTE_FUNCTION };

struct scrub *scrub_new(
	const struct policy *policy, const struct token_key *key, struct rcap_writer *writer)
{
	struct scrub *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->writer = writer;
	s->policy = policy;
	s->key = key;
	s->places = places_new(PLACES_REPORTED_MAX);
	s->columns = calloc(UINT16_MAX + 1, sizeof *s->columns);
	s->sql = sqlscrub_new(policy, key, 0);
	s->strong = calloc(STRONG_SLOTS, sizeof *s->strong);
	if (!s->sql || !s->strong || !s->places || !s->columns) {
		scrub_free(s);
		return NULL;
	}
	return s;
}

void scrub_free(struct scrub *s)
{
	if (!s)
		return;
	sqlscrub_free(s->sql);
	httpscrub_free(s->http);
	places_free(s->places);
	free(s->columns);
	buf_free(&s->bytes);
	free(s->values);
	free(s->offsets);
	free(s->edges);
	free(s->strong);
	free(s);
}

void scrub_set_store(struct scrub *s, const struct store *store)
{
	s->store = *store;
}

void scrub_limit_cache(struct scrub *s, size_t bytes)
{
	sqlscrub_limit_cache(s->sql, bytes);
}

void scrub_set_writer(struct scrub *s, struct rcap_writer *writer)
{
	s->writer = writer;
	memset(s->fixed_routes, 0, sizeof s->fixed_routes);
}

uint64_t scrub_sessions(const struct scrub *s)
{
	return s->session_count;
}

uint64_t scrub_requests(const struct scrub *s)
{
	return s->request_count;
}

uint64_t scrub_unreadable(const struct scrub *s)
{
	return s->unreadable;
}

uint64_t scrub_changed_predicates(const struct scrub *s)
{
	return s->changed_predicates;
}

void scrub_set_routes(struct scrub *s, const struct httproutes *routes)
{
	s->routes = routes;
}

void scrub_places(const struct scrub *s, struct json *into)
{
	places_json(s->places, into);
}

uint64_t scrub_secret(const struct scrub *s)
{
	return s->secret;
}

/* ---- sessions */

static void scrub_name(struct scrub *s, struct slice raw, size_t ret_range[2])
{
	ret_range[0] = s->bytes.n;
	if (raw.n)
		sqlscrub_word(s->sql, raw, &s->bytes);
	ret_range[1] = s->bytes.n;
}

static struct slice range_of(const struct scrub *s, const size_t range[2])
{
	return (struct slice){ range[1] > range[0] ? s->bytes.p + range[0] : NULL,
		range[1] - range[0] };
}

static bool take_session(void *data, const struct raw_session *raw, struct err *e)
{
	struct scrub *s = data;
	size_t client[2], user[2], database[2], application[2];
	struct session_record r = {
		.id = raw->id,
		.protocol = raw->protocol,
		.open_ns = raw->open_ns,
		.close_ns = raw->close_ns,
		.flags = raw->flags,
		.server = raw->server,
	};

	buf_reset(&s->bytes);
	scrub_name(s, raw->client, client);
	scrub_name(s, raw->user, user);
	scrub_name(s, raw->database, database);
	scrub_name(s, raw->application, application);
	r.client = range_of(s, client);
	r.user = range_of(s, user);
	r.database = range_of(s, database);
	r.application = range_of(s, application);
	if (raw->id > s->seen_sessions) {
		s->seen_sessions = raw->id;
		s->session_count++;
	}
	record_seal_session(&r);
	return s->store.session ? s->store.session(s->store.data, &r, e)
				: rcap_put_session(s->writer, &r, e);
}

/* ---- routes */

/* FNV-1a; these fixed texts never meet the scrubber's hashes but by chance. */
static uint64_t hash_fixed(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

static uint32_t fixed_route(struct scrub *s, enum fixed_route which)
{
	static const char *const texts[] = {
		[ROUTE_UNKNOWN] = "(statement prepared before the capture)",
		[ROUTE_UNREADABLE] = "(unreadable statement)",
		[ROUTE_SECRET] = "(statement with a secret)",
		[ROUTE_FUNCTION] = "(function call)",
	};

	if (!s->fixed_routes[which])
		s->fixed_routes[which] = rcap_add_route(
			s->writer, PROTOCOL_PG, hash_fixed(texts[which]), slice_of(texts[which]));
	return s->fixed_routes[which];
}

static void set_route(struct scrub *s, const struct raw_request *raw,
	const struct sqlscrub_statement *st, struct request_record *q)
{
	if (raw->form == FORM_FUNCTION) {
		q->route = fixed_route(s, ROUTE_FUNCTION);
	} else if (raw->flags & REQUEST_TEXT_UNKNOWN) {
		q->route = fixed_route(s, ROUTE_UNKNOWN);
	} else if (st->flags & REQUEST_UNLEXABLE) {
		q->route = fixed_route(s, ROUTE_UNREADABLE);
		s->unreadable++;
	} else if (st->flags & REQUEST_SECRET) {
		s->secret++;
		q->route = fixed_route(s, ROUTE_SECRET);
	} else {
		q->route = rcap_add_route(s->writer, PROTOCOL_PG, st->fingerprint, st->route);
		q->template_id = rcap_add_template(s->writer, st->template_text);
	}
}

/* ---- values */

static bool grow(struct scrub *s, size_t count)
{
	struct value *values;
	size_t *offsets;

	if (count <= s->value_cap)
		return true;
	if (count > VALUES_MAX)
		return false;
	values = realloc(s->values, count * sizeof *values);
	if (values)
		s->values = values;
	offsets = realloc(s->offsets, count * sizeof *offsets);
	if (offsets)
		s->offsets = offsets;
	if (!values || !offsets)
		return false;
	s->value_cap = count;
	return true;
}

/* The scrubber's bytes live until its next call only. */
static void keep_value(struct scrub *s, size_t i, const struct value *v)
{
	s->values[i] = *v;
	s->offsets[i] = s->bytes.n;
	buf_add_slice(&s->bytes, v->bytes);
}

static void scrub_bind(struct scrub *s, const struct raw_value *raw, size_t i, size_t n)
{
	struct value v = { .place = (uint16_t)n, .is_bind = true, .role = s->values[i].role };
	uint8_t role = v.role;

	sqlscrub_param(
		s->sql, (uint16_t)n, raw->bytes, raw->format, raw->type_oid, raw->is_null, &v);
	v.is_bind = true;
	v.role = role;
	if (raw->is_cut) {
		v.flags |= VALUE_IS_CUT | VALUE_IS_UNKNOWN;
		v.bytes = (struct slice){ 0 };
	}
	keep_value(s, i, &v);
}

static size_t scrub_values(
	struct scrub *s, const struct raw_request *raw, const struct sqlscrub_statement *st)
{
	size_t literals = st->value_count, binds = raw->bind_count;

	if (!grow(s, literals + binds))
		return 0;
	for (size_t i = 0; i < literals; i++)
		keep_value(s, i, &st->values[i]);
	for (size_t i = 0; i < binds; i++)
		s->values[literals + i].role =
			i < st->param_count ? st->param_roles[i] : ROLE_UNKNOWN;
	for (size_t i = 0; i < binds; i++)
		scrub_bind(s, &raw->binds[i], literals + i, i);
	return literals + binds;
}

/* A value whose role is not known may be what a row is looked up by. */
static bool is_changed_predicate(const struct value *v)
{
	return v->action != VALUE_KEPT && v->role != ROLE_PAYLOAD && v->role != ROLE_STRUCTURAL &&
	       !(v->flags & VALUE_IS_NULL);
}

static void count_column(struct scrub *s, const struct value *v)
{
	uint16_t place = sqlscrub_place(s->sql, v);

	if (!s->columns[place])
		s->columns[place] = places_id(s->places, POLICY_COLUMN,
			place ? sqlscrub_place_name(s->sql, place) : SLICE("(no column known)"));
	places_count(s->places, s->columns[place], v->action);
}

static void point_values(struct scrub *s, struct request_record *q)
{
	for (size_t i = 0; i < q->value_count; i++) {
		s->changed_predicates += is_changed_predicate(&s->values[i]);
		if (!(s->values[i].flags & VALUE_IS_NULL))
			count_column(s, &s->values[i]);
		if (s->values[i].bytes.n)
			s->values[i].bytes.p = s->bytes.p + s->offsets[i];
		if (s->values[i].flags & (VALUE_IS_CUT | VALUE_IS_UNKNOWN))
			q->flags |= REQUEST_VALUE_LOST;
	}
	q->values = s->values;
}

/* ---- edges */

static struct strong_answer *strong_slot(struct scrub *s, uint64_t session, uint64_t seq)
{
	uint64_t h =
		(session * UINT64_C(0x9e3779b97f4a7c15)) ^ (seq * UINT64_C(0xc2b2ae3d27d4eb4f));

	return &s->strong[h >> 40 & (STRONG_SLOTS - 1)];
}

static bool is_strong(struct scrub *s, uint64_t session, const struct edge *e)
{
	const struct strong_answer *a = strong_slot(s, session, e->from_seq);

	return e->is_strong && a->session == session && a->seq_plus_1 == e->from_seq + 1;
}

static void set_edges(
	struct scrub *s, const struct raw_request *raw, size_t literals, struct request_record *q)
{
	if (!raw->edge_count)
		return;
	if (raw->edge_count > s->edge_cap) {
		struct edge *more = realloc(s->edges, raw->edge_count * sizeof *more);

		if (!more)
			return;
		s->edges = more;
		s->edge_cap = raw->edge_count;
	}
	for (size_t i = 0; i < raw->edge_count; i++) {
		struct edge e = raw->edges[i];
		size_t value = e.value & MATCH_EDGE_BIND ? literals + (e.value & ~MATCH_EDGE_BIND)
							 : e.value;

		if (value >= q->value_count || (value >= literals) != !!(e.value & MATCH_EDGE_BIND))
			continue;
		e.value = (uint16_t)value;
		e.is_strong = is_strong(s, raw->session, &e);
		s->edges[q->edge_count++] = e;
	}
	q->edges = s->edges;
}

/* ---- requests */

static void copy_plain(const struct raw_request *raw, struct request_record *q)
{
	q->session = raw->session;
	q->seq = raw->seq;
	q->start_ns = raw->start_ns;
	q->first_byte_ns = raw->first_byte_ns;
	q->end_ns = raw->end_ns;
	q->think_ns = raw->think_ns;
	q->statement = raw->statement;
	q->portal = raw->portal;
	q->row_limit = raw->row_limit;
	q->form = raw->form;
	q->state_before = raw->state_before;
	q->state_after = raw->state_after;
	q->in_flight = raw->in_flight;
	q->flags = raw->flags;
	q->rows = raw->rows;
	q->bytes_in = raw->bytes_in;
	q->bytes_out = raw->bytes_out;
	memcpy(q->sqlstate, raw->sqlstate, sizeof q->sqlstate);
}

static bool store_request(struct scrub *s, struct request_record *q, struct err *e)
{
	if (q->form != FORM_PREPARE)
		s->request_count++;
	record_seal_request(q);
	return s->store.request ? s->store.request(s->store.data, q, e)
				: rcap_put_request(s->writer, q, e);
}

static bool take_http(struct scrub *s, const struct raw_request *raw, struct err *e)
{
	struct request_record q = { 0 };

	if (!s->http) {
		s->http = httpscrub_new(s->policy, s->key, s->routes);
		if (!s->http)
			return err_set(e, ERR_ENV, "out of memory");
		httpscrub_set_places(s->http, s->places);
	}
	copy_plain(raw, &q);
	scrubhttp_request(s->http, raw->http, s->writer, &q);
	s->unreadable += (q.flags & REQUEST_UNLEXABLE) != 0;
	return store_request(s, &q, e);
}

static bool take_request(void *data, const struct raw_request *raw, struct err *e)
{
	struct scrub *s = data;
	struct request_record q = { 0 };
	struct sqlscrub_statement st = { 0 };
	size_t copy_at, literals;

	if (raw->form == FORM_HTTP && raw->http)
		return take_http(s, raw, e);
	buf_reset(&s->bytes);
	copy_plain(raw, &q);
	if (!(raw->flags & REQUEST_TEXT_UNKNOWN) && raw->form != FORM_FUNCTION) {
		sqlscrub_set_backslash_escape(s->sql, raw->is_backslash_escape);
		sqlscrub_text(s->sql, raw->text, &st);
		q.flags |= st.flags;
	} else {
		/* Binds are scrubbed by the last text's places: there is none now. */
		struct sqlscrub_statement none;

		sqlscrub_text(s->sql, (struct slice){ 0 }, &none);
	}
	set_route(s, raw, &st, &q);
	if (st.has_strong_result)
		*strong_slot(s, raw->session, raw->seq) =
			(struct strong_answer){ raw->session, raw->seq + 1 };
	literals = st.value_count;
	if (!(st.flags & (REQUEST_SECRET | REQUEST_UNLEXABLE)))
		q.value_count = scrub_values(s, raw, &st);
	if (q.value_count < literals + raw->bind_count)
		q.flags |= REQUEST_VALUE_LOST;
	copy_at = s->bytes.n;
	if (raw->copy_data.n && !scrubcopy_rows(s->sql, raw->text, raw->copy_data, &s->bytes)) {
		q.flags |= REQUEST_VALUE_LOST;
		s->bytes.n = copy_at;
	}
	if (s->bytes.n > copy_at)
		q.copy_data = (struct slice){ s->bytes.p + copy_at, s->bytes.n - copy_at };
	point_values(s, &q);
	set_edges(s, raw, literals, &q);
	return store_request(s, &q, e);
}

struct request_sink scrub_sink(struct scrub *s)
{
	return (struct request_sink){ take_session, take_request, s };
}
